import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import type { IdentityEnv } from "../env.ts";
import type { DirectoryEntry } from "../model.ts";
import { shardOfEntity } from "../shard/place.ts";
import { entityShard } from "../stubs.ts";

/** Maximum number of entities in one round of calls. */
const BATCH = 1_000;
/** Delay (ms) of the alarm that sends pending entries, after a change or a failed attempt. */
export const RETRY_MS = 10_000;

/**
 * Sends the directory's data about entities to their shards. Changed entities are queued in the transaction of the
 * change, and the answer to the change waits until their shards have them. After a crash in between, or when a shard
 * does not answer, the alarm sends them. An entry is complete and has a version, so entries may arrive twice and in any
 * order.
 */
export class Outbox {
  readonly #env: IdentityEnv;
  readonly #sql: Sql;
  readonly #entryOf: (entityId: string) => DirectoryEntry;

  constructor(env: IdentityEnv, sql: Sql, entryOf: (entityId: string) => DirectoryEntry) {
    this.#env = env;
    this.#sql = sql;
    this.#entryOf = entryOf;
  }

  /** True when all changes were sent. */
  get isEmpty(): boolean {
    return this.#unsent(1).length === 0;
  }

  /** Queues these entities. Call it in the transaction of the change. */
  note(entityIds: Iterable<string>): void {
    let version: number | null = null;
    for (const id of entityIds) {
      version ??= this.#nextVersion();
      this.#sql.exec("INSERT OR REPLACE INTO unsent (entity_id, version) VALUES (?, ?)", id, version);
    }
  }

  /** Sends all queued entities. @throws when a shard does not answer. */
  async send(): Promise<void> {
    for (let ids = this.#unsent(BATCH); ids.length > 0; ids = this.#unsent(BATCH)) {
      const byShard = [...Map.groupBy(ids, shardOfEntity)];
      await inGroups(byShard, ([shard, here]) => this.#sendTo(shard, here));
    }
  }

  async #sendTo(shard: number | null, entityIds: readonly string[]): Promise<void> {
    const [version = 0] = columnOf<number>(this.#sql, "SELECT version FROM state");
    if (shard !== null) {
      await entityShard(this.#env, shard).putDirectoryEntries(entityIds.map(this.#entryOf), version);
    }
    // An entity that changed during the call has a greater version and stays queued.
    const ids = JSON.stringify(entityIds);
    const sent = "DELETE FROM unsent WHERE entity_id IN (SELECT value FROM json_each(?)) AND version <= ?";
    this.#sql.exec(sent, ids, version);
  }

  #unsent(limit: number): string[] {
    return columnOf(this.#sql, "SELECT entity_id FROM unsent LIMIT ?", limit);
  }

  /** Returns a version above the last one and not below the time in ms, so that a restored object repeats none. */
  #nextVersion(): number {
    const statement = "UPDATE state SET version = max(version + 1, ?) RETURNING version";
    const [version = 0] = columnOf<number>(this.#sql, statement, currentTime());
    return version;
  }
}
