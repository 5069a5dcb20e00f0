import type { TeamEnv } from "./env.ts";
import { organizationNamed } from "./find.ts";
import type { TeamStore } from "./team-store.ts";

/** Failures in a row after which the attempts become rare: the organization is then broken rather than busy. */
const MAX_FAST_RETRIES = 600;
const RESEND_MS = 500;
const RESEND_SLOWLY_MS = 30_000;

/** Pause before the organization is notified again (ms): its lists are out of date until then. */
export function resendPause(failures: number): number {
  return failures < MAX_FAST_RETRIES ? RESEND_MS : RESEND_SLOWLY_MS;
}

/** The result of telling the organization: it knows everything now, or the team or the organization has ended. */
export type SyncResult = "sent" | "ended" | "no_organization";

/** What telling the organization needs of the team. */
export interface OrganizationSyncDeps {
  readonly env: TeamEnv;
  readonly store: TeamStore;
  /** False once the team was wiped. */
  exists(): boolean;
  /** Deletes everything that the team has stored. */
  wipe(): Promise<void>;
}

/** Tells the organization of a team what it has not heard yet. */
export class OrganizationSync {
  readonly #deps: OrganizationSyncDeps;

  constructor(deps: OrganizationSyncDeps) {
    this.#deps = deps;
  }

  /**
   * Tells the organization everything that it does not know yet and takes in what it answers.
   *
   * @throws when it does not answer.
   */
  async run(): Promise<SyncResult> {
    const { env, store, exists, wipe } = this.#deps;
    if (!exists()) return "ended";
    for (let state = store.unsent(); state; state = store.unsent()) {
      const applied = await organizationNamed(env, state.team.organization).apply(state);
      // Two runs can overlap, and the other one may have finished meanwhile.
      if (!exists()) return "ended";
      if (applied.kind === "no_organization" || (applied.kind === "name_taken" && applied.name === null)) {
        await wipe();
        return applied.kind === "no_organization" ? "no_organization" : "ended";
      }
      if (applied.kind === "unknown_team") store.forgotten(0);
      else if (applied.kind === "name_taken") this.#restoreName(state.team.name, applied.name ?? "");
      else if (state.ended) {
        await wipe();
        return "ended";
      } else store.sent(state.revision);
    }
    return "sent";
  }

  #restoreName(refused: string, name: string): void {
    const { store } = this.#deps;
    if (store.team()?.name === refused) store.update({ name });
  }
}
