import { currentTime, isWithin } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { snapshotMaxAgeMs } from "../system/copy-age.ts";
import type { TeamEnv } from "./env.ts";
import { organizationNamed } from "./find.ts";
import type { TeamRecord } from "./record.ts";
import { type LifetimeRules, NO_RULES } from "./rules/lifetime.ts";

/** The refusal of a change that needs an organization which does not answer. */
export const NO_ANSWER: Failure = {
  code: "unavailable",
  message: "the organization does not answer; try again",
  retryAfterSeconds: 1,
};

/** What a team knows of its organization: whether it exists, and its rules for the lifetimes of tokens. */
export class OrganizationView {
  readonly #env: TeamEnv;
  #rules: LifetimeRules = NO_RULES;
  /** When the rules were read (ms). */
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(env: TeamEnv) {
    this.#env = env;
  }

  /** The rules that were read last; none before the first time. */
  get rules(): LifetimeRules {
    return this.#rules;
  }

  /**
   * True while the organization of the team exists. It is asked no more often than policies are read: an organization answers
   * its deletion after that time, so from that answer on none of its team tokens is valid.
   */
  async exists(team: TeamRecord | null): Promise<boolean> {
    const now = currentTime();
    if (isWithin(this.#readAt, snapshotMaxAgeMs(this.#env), now)) return true;
    const rules = team && (await this.#read(team));
    if (!rules) return false;
    this.#rules = rules;
    this.#readAt = now;
    return true;
  }

  /** The rules as they are now. "not_found" without a team or organization, "unavailable" without an answer. */
  async currentRules(team: TeamRecord | null): Promise<Result<LifetimeRules, Failure>> {
    if (!team) return err({ code: "not_found" });
    try {
      const rules = await this.#read(team);
      return rules ? ok(rules) : err({ code: "not_found" });
    } catch (error) {
      console.error(JSON.stringify({ type: "team_lifetimes", error: String(error) }));
      return err(NO_ANSWER);
    }
  }

  #read(team: TeamRecord): Promise<LifetimeRules | null> {
    return organizationNamed(this.#env, team.organization).lifetimes(team.organizationId);
  }
}
