import type { Result } from "../base/result.ts";
import { maxSnapshotAgeMs } from "./copy-age.ts";
import type { SystemEnv } from "./env.ts";
import { longestTtl, type SystemStores } from "./system-stores.ts";
import type { WatermarkRequest } from "./watermark-store.ts";
import type { WatermarkScope } from "./watermarks.ts";

/** Makes watermarks, and drops those that end nothing any more. */
export class WatermarkWriter {
  readonly #stores: SystemStores;
  readonly #env: SystemEnv;

  constructor(stores: SystemStores, env: SystemEnv) {
    this.#stores = stores;
    this.#env = env;
  }

  /** Makes a watermark at `now` (ms), see `WatermarkStore.add`. */
  add(request: WatermarkRequest, now: number): Result<number> {
    this.#dropOld(now);
    const added = this.#stores.watermarks.add(request, now);
    if (added.ok) this.#stores.versions.change("watermarks");
    return added;
  }

  /** Notes that nothing is left of what some watermarks end, see `WatermarkStore.clean`. `now` in ms. */
  clean(scope: WatermarkScope | null, upTo: number, now: number): void {
    const cleaned = this.#stores.watermarks.clean(scope, upTo, now);
    const dropped = this.#dropOld(now);
    if (cleaned || dropped) this.#stores.versions.change("watermarks");
  }

  /** Drops watermarks once every batch token from before them has expired: nothing else ends those. */
  #dropOld(now: number): boolean {
    const madeBefore = now - longestTtl(this.#stores) * 1000 - maxSnapshotAgeMs(this.#env);
    return this.#stores.watermarks.dropOld(madeBefore);
  }
}
