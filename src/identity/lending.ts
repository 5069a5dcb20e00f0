import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { inGroups } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { isWithin } from "../system/copy-age.ts";
import { shardThatTells } from "./shard/place.ts";
import { entityShard } from "./shard/stub.ts";

/** For so long (ms) after a recall an entity is not lent: another change may follow, as of an alias that many log in by. */
const RECALLED_MS = 10_000;
/** Entities in one generation of those that were recalled. */
const MAX_RECALLED = 4096;

/** Notes that something changes about an entity: its row, its aliases or which groups it is in itself. */
export type NoteChange = (entityId: string) => void;

/**
 * Which entities of `Identity` shards have copies of. Invariant: a shard that has a copy is noted here, and nothing of the entity
 * changes for as long as it is noted. So a copy that a shard has is true.
 */
export class Lending {
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  /** The entities that the change which is being made changes. */
  readonly #changing = new Set<string>();
  /** How many recalls of the copies of entities are under way. */
  readonly #recalling = new Map<string, number>();
  /** When copies of entities were recalled (ms). */
  readonly #recalled = new GenerationalCache<string, number>(MAX_RECALLED);
  /** The tables call it with every write. */
  readonly noteChange: NoteChange = (entityId) => void this.#changing.add(entityId);

  constructor(env: Env, storage: DurableObjectStorage) {
    this.#env = env;
    this.#storage = storage;
  }

  /** Notes that the shard gets a copy, before it is sent. `now` in ms. @returns false when it may not keep it. */
  lend(entityId: string, now: number): boolean {
    if (this.#recalling.has(entityId)) return false;
    if (isWithin(this.#recalled.get(entityId) ?? Number.NEGATIVE_INFINITY, RECALLED_MS, now)) return false;
    this.#storage.sql.exec("INSERT OR IGNORE INTO lent (entity_id) VALUES (?)", entityId);
    return true;
  }

  /**
   * Makes a change in one transaction when no shard has a copy of an entity that it changes. Copies are recalled before: until the
   * change is made they are true, and after a crash in between they are missing at most. When one can't be recalled the change is
   * not made.
   */
  async change<T>(write: () => T): Promise<T> {
    for (;;) {
      const attempt = this.#attempt(write);
      if (attempt.made) return attempt.value;
      await this.#recall(attempt.lent);
    }
  }

  /** Makes a change, unless shards have copies of what it changes: then nothing is written. */
  #attempt<T>(write: () => T): { made: true; value: T } | { made: false; lent: readonly string[] } {
    try {
      return this.#storage.transactionSync(() => {
        this.#changing.clear();
        const value = write();
        const lent = this.#lentAmongst([...this.#changing]);
        if (lent.length > 0) throw new IsLent(lent);
        return { made: true, value };
      });
    } catch (error) {
      if (error instanceof IsLent) return { made: false, lent: error.entityIds };
      throw error;
    }
  }

  /** Has the shards forget their copies. They get no other ones meanwhile and for a while, so that the change is made in the end. */
  async #recall(entityIds: readonly string[]): Promise<void> {
    const byShard = [...Map.groupBy(entityIds, shardThatTells)];
    for (const id of entityIds) this.#recalling.set(id, (this.#recalling.get(id) ?? 0) + 1);
    try {
      await inGroups(byShard, ([shard, ids]) => entityShard(this.#env, shard).forgetCopies(ids));
      const ids = JSON.stringify(entityIds);
      this.#storage.sql.exec("DELETE FROM lent WHERE entity_id IN (SELECT value FROM json_each(?))", ids);
    } finally {
      const now = currentTime();
      for (const id of entityIds) {
        const others = (this.#recalling.get(id) ?? 0) - 1;
        if (others > 0) this.#recalling.set(id, others);
        else this.#recalling.delete(id);
        this.#recalled.set(id, now, 1);
      }
    }
  }

  #lentAmongst(entityIds: readonly string[]): string[] {
    if (entityIds.length === 0) return [];
    const query = "SELECT entity_id FROM lent WHERE entity_id IN (SELECT value FROM json_each(?))";
    return this.#storage.sql
      .exec<{ entity_id: string }>(query, JSON.stringify(entityIds))
      .toArray()
      .map((row) => row.entity_id);
  }
}

/** Ends a transaction that would change entities of which shards have copies. */
class IsLent extends Error {
  readonly entityIds: readonly string[];

  constructor(entityIds: readonly string[]) {
    super("shards have copies of these entities");
    this.entityIds = entityIds;
  }
}
