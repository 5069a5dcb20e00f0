import type { Ms } from "../base/clock.ts";
import { Copies } from "../base/copies.ts";
import { repeated } from "../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok, type Result, unavailable } from "../base/result.ts";
import { freshCopies } from "../system/copy-age.ts";
import type { TeamEnv } from "./env.ts";
import type { TeamRecord, TokenKind } from "./record.ts";
import type { LifetimeRules } from "./rules/token-lifetime.ts";
import { organizationNamed } from "./stubs.ts";
import type { TeamStore } from "./team-store.ts";

/** The refusal of a change while the organization does not answer. */
export const NO_ANSWER = unavailable("the organization does not answer; try again");

/** The rules of a team's organization for the lifetimes of tokens, with the copy that the team has of them. */
export class OrganizationRules {
  readonly #env: TeamEnv;
  /** By organization and kind. A holder has tokens of two kinds. */
  readonly #copy = new Copies<string, LifetimeRules | undefined>(2);

  constructor(env: TeamEnv) {
    this.#env = env;
  }

  /**
   * The rules, no older than POLICY_CACHE_SECONDS; undefined when the organization does not exist. The deletion of an
   * organization is answered after that time, so none of its team tokens is valid from that answer on.
   */
  copied(team: TeamRecord, kind: TokenKind = "team"): Promise<LifetimeRules | undefined> {
    const read = async () => (await this.#read(team, kind)) ?? undefined;
    return this.#copy.load(`${team.organizationId} ${kind}`, freshCopies(this.#env), read);
  }

  /** Reads the current rules. "not_found" without a team or organization, "unavailable" without an answer. */
  async current(team: TeamRecord | null, kind: TokenKind = "team"): Promise<Result<LifetimeRules>> {
    if (!team) return NOT_FOUND;
    try {
      const rules = await this.#read(team, kind);
      return rules ? ok(rules) : NOT_FOUND;
    } catch (error) {
      console.error(JSON.stringify({ type: "team_lifetimes", error: String(error) }));
      return err(NO_ANSWER);
    }
  }

  #read(team: TeamRecord, kind: TokenKind): Promise<LifetimeRules | null> {
    return organizationNamed(this.#env, team.organization).lifetimes(team.organizationId, kind);
  }
}

/** After so many consecutive failures the organization is broken rather than busy, and the attempts become rare. */
const MAX_FAST_RETRIES = 600;
const RETRY_MS = 500;
const SLOW_RETRY_MS = 30_000;

/** Pause before the next notification of the organization. Its lists are out of date until then. */
export function resendPause(failures: number): Ms {
  return failures < MAX_FAST_RETRIES ? RETRY_MS : SLOW_RETRY_MS;
}

/**
 * The result of a notification: the organization is up to date, the team has ended, or the organization does not exist.
 */
export type SyncResult = "sent" | "ended" | "no_organization";

/**
 * Sends all changes of a team to its organization, and applies the answers to the team; `wipe` deletes all its rows. A
 * lost call is repeated with the state of the team by then.
 * @throws when the organization does not answer.
 */
export function notifyOrganization(env: TeamEnv, store: TeamStore, wipe: () => Promise<void>): Promise<SyncResult> {
  return repeated(env.deployment, () => notify(env, store, wipe));
}

async function notify(env: TeamEnv, store: TeamStore, wipe: () => Promise<void>): Promise<SyncResult> {
  if (!store.exists) return "ended";
  for (let state = store.unsent(); state; state = store.unsent()) {
    const { name, organization } = state.team;
    const applied = await organizationNamed(env, organization).apply(state);
    // An overlapping run may have finished meanwhile.
    if (!store.exists) return "ended";
    const isUnnamed = applied.kind === "name_taken" && applied.name === null;
    if (applied.kind === "no_organization" || isUnnamed || (applied.kind === "applied" && state.ended)) {
      await wipe();
      return applied.kind === "no_organization" ? "no_organization" : "ended";
    }
    if (applied.kind === "applied") store.sent(state.revision);
    else if (applied.kind === "unknown_team") store.forgotten(0);
    // Restores the registered name, unless the name has changed again.
    else if (store.team()?.name === name) store.update({ name: applied.name ?? "" });
  }
  return "sent";
}
