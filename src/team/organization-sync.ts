import { currentTime, isWithin } from "../base/clock.ts";
import { err, NOT_FOUND, ok, type Result, unavailable } from "../base/result.ts";
import { maxCopyAgeMs } from "../system/copy-age.ts";
import type { TeamEnv } from "./env.ts";
import { organizationNamed } from "./find.ts";
import type { TeamRecord } from "./record.ts";
import { type LifetimeRules, NO_RULES } from "./rules/lifetime.ts";
import type { TeamStore } from "./team-store.ts";

/** The refusal of a change that needs an organization which does not answer. */
export const NO_ANSWER = unavailable("the organization does not answer; try again");

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
    if (isWithin(this.#readAt, maxCopyAgeMs(this.#env), now)) return true;
    const rules = team && (await this.#read(team));
    if (!rules) return false;
    this.#rules = rules;
    this.#readAt = now;
    return true;
  }

  /** The rules as they are now. "not_found" without a team or organization, "unavailable" without an answer. */
  async currentRules(team: TeamRecord | null): Promise<Result<LifetimeRules>> {
    if (!team) return NOT_FOUND;
    try {
      const rules = await this.#read(team);
      return rules ? ok(rules) : NOT_FOUND;
    } catch (error) {
      console.error(JSON.stringify({ type: "team_lifetimes", error: String(error) }));
      return err(NO_ANSWER);
    }
  }

  #read(team: TeamRecord): Promise<LifetimeRules | null> {
    return organizationNamed(this.#env, team.organization).lifetimes(team.organizationId);
  }
}

/** Failures in a row after which the attempts become rare: the organization is then broken rather than busy. */
const MAX_FAST_RETRIES = 600;
const RESEND_MS = 500;
const RESEND_SLOWLY_MS = 30_000;

/** Pause before the organization is notified again (ms): its lists are out of date until then. */
export function resendPause(failures: number): number {
  return failures < MAX_FAST_RETRIES ? RESEND_MS : RESEND_SLOWLY_MS;
}

/** What a notification of the organization came to: it is up to date, or the team or the organization has ended. */
export type SyncResult = "sent" | "ended" | "no_organization";

/**
 * Notifies the organization of a team of everything that it does not know yet, and takes in what it answers.
 *
 * @param wipe deletes everything that the team has stored.
 * @throws when it does not answer.
 */
export async function notifyOrganization(
  env: TeamEnv,
  store: TeamStore,
  wipe: () => Promise<void>,
): Promise<SyncResult> {
  if (!store.exists) return "ended";
  for (let state = store.unsent(); state; state = store.unsent()) {
    const applied = await organizationNamed(env, state.team.organization).apply(state);
    // Two runs can overlap, and the other one may have finished meanwhile.
    if (!store.exists) return "ended";
    if (applied.kind === "no_organization" || (applied.kind === "name_taken" && applied.name === null)) {
      await wipe();
      return applied.kind === "no_organization" ? "no_organization" : "ended";
    }
    if (applied.kind === "unknown_team") store.forgotten(0);
    else if (applied.kind === "name_taken") restoreName(store, state.team.name, applied.name ?? "");
    else if (state.ended) {
      await wipe();
      return "ended";
    } else store.sent(state.revision);
  }
  return "sent";
}

function restoreName(store: TeamStore, refused: string, name: string): void {
  if (store.team()?.name === refused) store.update({ name });
}
