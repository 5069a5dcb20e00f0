import { currentTime } from "../../../base/clock.ts";
import type { Env } from "../../../env.ts";
import { pauseAfter, shareOf } from "../../../tidy/pace.ts";
import type { CloudStore } from "../store.ts";
import { OldAccessList } from "./old-list.ts";
import { accessShardsOf } from "./shards.ts";

/**
 * The way of the access list of a release of before from the object of a mount to the shards: a batch of one shard after the
 * other, and in the end the old rows are dropped. Every entry holds all the while, so there is no hurry: it works for a bounded
 * share of the time.
 */
export class AccessTakeOver {
  readonly list: OldAccessList;
  readonly #store: CloudStore;
  /** The shard that takes over next. After a restart, the first one again: a shard that has everything says so at once. */
  #shard = 0;
  /** When the next step may begin (ms). */
  #dueAt = 0;

  constructor(store: CloudStore) {
    this.#store = store;
    this.list = new OldAccessList(store);
  }

  /** Notes which mount this is, so that the alarm knows the shards. */
  begin(mount: string): void {
    if (this.#store.mount.read() !== mount) this.#store.mount.write(mount);
  }

  /** When there is a step to take (ms), or null. */
  nextStepAt(now: number): number | null {
    return this.#mount() === null ? null : Math.max(now, this.#dueAt);
  }

  /** Takes a step, if there is one. Safe to repeat after a failure. */
  async step(env: Env): Promise<void> {
    const mount = this.#mount();
    if (mount === null) return;
    const began = currentTime();
    const shard = accessShardsOf(env, { uuid: mount })[this.#shard];
    if (!shard) this.list.drop();
    else if (await shard.list.takeOver(shard.place)) this.#shard++;
    const now = currentTime();
    this.#dueAt = now + pauseAfter(now - began, shareOf(env.ONE_PROCESS === "true", 1));
  }

  /** The mount, while there is anything left here to take over; else null. */
  #mount(): string | null {
    return this.#store.exists && this.list.isLeft() ? this.#store.mount.read() : null;
  }
}
