import type { TakesPages } from "../storage/stored-object.ts";
import type { SystemEnv } from "./env.ts";
import { openKeyRing, type SystemKeys } from "./open-ring.ts";
import type { SystemStores } from "./system-stores.ts";
import { pathScope, sinceScope } from "./watermarks.ts";

/** The tokens that are ended when a restore finishes. Times in ms. */
export interface EndsOfRestore {
  /** Ends everything issued at this time or later, including root tokens and tokens of teams; null: nothing. */
  readonly issuedSince: number | null;
  /** Ends what was issued before this time, except root tokens; "now": before the end of the restore; null: nothing. */
  readonly issuedBefore: number | "now" | null;
}

/** Gives a new installation its key ring: a new one, or that of a backup, whose rows are restored then. */
export class Setup {
  readonly #env: SystemEnv;
  readonly #stores: SystemStores;
  readonly #keys: SystemKeys;

  constructor(env: SystemEnv, stores: SystemStores, keys: SystemKeys) {
    this.#env = env;
    this.#stores = stores;
    this.#keys = keys;
  }

  /**
   * Stores the wrapped key ring of a new installation.
   *
   * @param restores the run whose backup is restored from now on; null: none. Until `finish` only the restore is
   *   served. Safe to repeat with the same run.
   * @returns false, with nothing changed, when there is a key ring already, when another run is being restored, or when
   *   the seal key does not open `sealedKeyRing`.
   */
  async begin(sealedKeyRing: string, restores: string | null): Promise<boolean> {
    const { installation, restore } = this.#stores;
    if (restores !== null && restore.running === restores) return true;
    const opened = await openKeyRing(this.#env, sealedKeyRing);
    if (!opened.ok || installation.sealedKeyRing !== null) return false;
    this.#keys.take(opened.value.ring, sealedKeyRing);
    this.#stores.seals.sealAll();
    installation.writeKeyRing(sealedKeyRing);
    if (restores !== null) restore.begin(restores);
    return true;
  }

  /** Allows the pages of a backup to replace the rows of a new installation. @throws unless it is being restored. */
  takesPages(): TakesPages {
    if (this.#stores.restore.running === null) throw new Error("the installation is not being restored");
    return "new";
  }

  /**
   * Ends the restore of a run at `now` (ms). From then on the installation serves requests. Safe to repeat. False, with
   * nothing changed, when that run is not being restored, or when its restore has ended without the watermarks that are
   * asked for.
   */
  async finish(run: string, { issuedSince, issuedBefore }: EndsOfRestore, now: number): Promise<boolean> {
    await this.#keys.mustOpen();
    const { restore, watermarks } = this.#stores;
    const sinceId = `${run} since`;
    if (restore.hasFinished(run)) {
      // A repeated call must not succeed if it asks for a watermark that the first call did not make: the tokens that
      // it would end are still accepted.
      const wanted = [...(issuedBefore === null ? [] : [run]), ...(issuedSince === null ? [] : [sinceId])];
      return wanted.every((id) => watermarks.numberOf(id) !== null);
    }
    if (restore.running !== run) return false;
    const before = { id: run, scope: pathScope("auth/"), createdBefore: issuedBefore === "now" ? null : issuedBefore };
    if (issuedBefore !== null && !watermarks.add(before, now).ok) return false;
    const since = issuedSince === null ? null : sinceScope(issuedSince);
    if (since && !watermarks.add({ id: sinceId, scope: since, createdBefore: null }, now).ok) return false;
    restore.finish(now);
    return true;
  }
}
