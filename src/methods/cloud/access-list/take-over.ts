import type { Env } from "../../../env.ts";
import type { CloudStore } from "../store.ts";
import { OldAccessList } from "./old-list.ts";
import { accessShardsOf } from "./shards.ts";

/** The way of the access list of a release of before from the object of a mount to the shards. */
export class AccessTakeOver {
  readonly list: OldAccessList;
  readonly #store: CloudStore;

  constructor(store: CloudStore) {
    this.#store = store;
    this.list = new OldAccessList(store);
  }

  /** Notes which mount this is, so that the alarm knows the shards. */
  begin(mount: string): void {
    if (this.#store.mount.read() !== mount) this.#store.mount.write(mount);
  }

  /** True while it has begun and is not done. */
  isUnderWay(): boolean {
    return this.#store.exists && this.list.isLeft() && this.#store.mount.read() !== null;
  }

  /** Lets the shards take over what is left, and drops it when all have. */
  async run(env: Env): Promise<void> {
    const mount = this.list.isLeft() ? this.#store.mount.read() : null;
    if (mount === null) return;
    let done = true;
    for (const { list, place } of accessShardsOf(env, { uuid: mount })) {
      if (!(await list.takeOver(place))) done = false;
    }
    if (done) this.list.drop();
  }
}
