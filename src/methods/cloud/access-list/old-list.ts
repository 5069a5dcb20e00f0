import { accessShardOf } from "../../../system/access-shards.ts";
import type { CloudStore } from "../store.ts";
import type { OldEntry } from "./entry.ts";

/** Instances that one call looks at. */
const BATCH = 2_000;
/** Rows that one step drops. */
const DROP_ROWS = 1_000;

/** The access list as a release of before kept it, in the object of the mount: shards take it over, and nobody writes it. */
export class OldAccessList {
  readonly #store: CloudStore;

  constructor(store: CloudStore) {
    this.#store = store;
  }

  /** True while there is any entry. */
  isLeft(): boolean {
    return this.#store.oldAccess.names("", 1).length > 0;
  }

  read(instanceId: string): OldEntry | null {
    const { oldAccess } = this.#store;
    return oldAccess.has(instanceId) ? { instanceId, entry: oldAccess.read(instanceId) } : null;
  }

  /** Entries of one shard among the next after `after`, and where to go on; null at the end. */
  ofShard(shard: number, after: string): { entries: OldEntry[]; next: string | null } {
    const names = this.#store.oldAccess.names(after, BATCH);
    const ofShard = names.filter((name) => accessShardOf(name) === shard);
    const entries = this.#store.oldAccess
      .readEach(ofShard)
      .map(({ name, value }) => ({ instanceId: name, entry: value }));
    return { entries, next: names.length < BATCH ? null : (names.at(-1) ?? null) };
  }

  /** Drops some entries, when the shards have all of them. */
  drop(): void {
    this.#store.sql.exec(
      "DELETE FROM access_list WHERE name IN (SELECT name FROM access_list ORDER BY name LIMIT ?)",
      DROP_ROWS,
    );
  }
}
