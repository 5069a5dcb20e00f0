import type { TakesPages } from "../storage/stored-object.ts";
import type { SystemEnv } from "./env.ts";
import { openKeyRing, type SystemKeys } from "./open-ring.ts";
import type { SystemStores } from "./system-stores.ts";
import { pathScope, sinceScope } from "./watermarks.ts";

/** What the end of a restore ends of that which was issued before it. Times in ms. */
export interface EndsOfRestore {
  /** Everything that was issued at this moment or later, root tokens and tokens of teams included; null: nothing. */
  readonly issuedSince: number | null;
  /** What was issued before this moment, except for root tokens; "now": before the end of the restore; null: nothing. */
  readonly issuedBefore: number | "now" | null;
}

/** How a new installation gets its keys: new ones, or those of a backup with all that belongs to them. */
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
   * @param restores the run whose backup is restored from now on, which is safe to repeat: nothing else is served until `finish`. null: none.
   * @returns false, with nothing changed, when there is an installation already, or another run is being restored.
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

  /** Lets a new installation take the rows of a backup in the place of its own. @throws unless it is being restored. */
  takesPages(): TakesPages {
    if (this.#stores.restore.running === null) throw new Error("the installation is not being restored");
    return "new";
  }

  /**
   * Ends the restore of a run at `now` (ms): the installation serves requests. Safe to repeat. False, with nothing changed, when that
   * run is not being restored, or when its restore has ended without ending what is asked for.
   */
  async finish(run: string, { issuedSince, issuedBefore }: EndsOfRestore, now: number): Promise<boolean> {
    await this.#keys.mustOpen();
    const { restore, watermarks } = this.#stores;
    const sinceId = `${run} since`;
    if (restore.hasFinished(run)) {
      // A repeated call must not succeed when it asks for an end that the first call did not make: those tokens are still accepted.
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
