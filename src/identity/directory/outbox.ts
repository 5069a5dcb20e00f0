import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { columnOf } from "../../storage/tables.ts";
import type { IdentityEnv } from "../env.ts";
import type { DirectoryEntry } from "../model.ts";
import { shardOfEntity } from "../shard/place.ts";
import { entityShard } from "../stubs.ts";

/** Maximum number of entities in one round of calls. */
const BATCH = 1_000;
/** Delay (ms) of the alarm that sends pending entries after a change or a failed retry. */
const RETRY_MS = 10_000;

/**
 * Sends the directory's data about entities to their shards. Changed entities are queued in the transaction of the
 * change, and the answer to the change waits until their shards have them. After a crash in between, or when a shard
 * does not answer, the alarm sends them. An entry is complete and has a version, so entries may arrive twice and in any
 * order.
 */
export class Outbox {
  readonly #env: IdentityEnv;
  readonly #storage: DurableObjectStorage;
  readonly #entryOf: (entityId: string) => DirectoryEntry;

  constructor(env: IdentityEnv, storage: DurableObjectStorage, entryOf: (entityId: string) => DirectoryEntry) {
    this.#env = env;
    this.#storage = storage;
    this.#entryOf = entryOf;
  }

  /** Queues these entities. Call it in the transaction of the change. */
  note(entityIds: Iterable<string>): void {
    const { sql } = this.#storage;
    let version: number | null = null;
    for (const id of entityIds) {
      version ??= this.#nextVersion();
      sql.exec("INSERT OR REPLACE INTO unsent (entity_id, version) VALUES (?, ?)", id, version);
    }
    if (version !== null) void this.#storage.setAlarm(currentTime() + RETRY_MS);
  }

  /** Sends all queued entities. @throws when a shard does not answer. */
  async send(): Promise<void> {
    for (let ids = this.#unsent(); ids.length > 0; ids = this.#unsent()) {
      const byShard = [...Map.groupBy(ids, shardOfEntity)];
      await inGroups(byShard, ([shard, here]) => this.#sendTo(shard, here));
    }
  }

  /** Sends all queued entities. On a failure, sets the alarm for another attempt. */
  async retry(): Promise<void> {
    try {
      await this.send();
    } catch (error) {
      console.error(JSON.stringify({ type: "directory_unsent", error: String(error) }));
      await this.#storage.setAlarm(currentTime() + RETRY_MS);
    }
  }

  async #sendTo(shard: number | null, entityIds: readonly string[]): Promise<void> {
    const { sql } = this.#storage;
    const [version = 0] = columnOf<number>(sql, "SELECT version FROM state");
    if (shard !== null) {
      await entityShard(this.#env, shard).putDirectoryEntries(entityIds.map(this.#entryOf), version);
    }
    // An entity that changed during the call has a greater version and stays queued.
    const ids = JSON.stringify(entityIds);
    sql.exec("DELETE FROM unsent WHERE entity_id IN (SELECT value FROM json_each(?)) AND version <= ?", ids, version);
  }

  #unsent(): string[] {
    return columnOf(this.#storage.sql, "SELECT entity_id FROM unsent LIMIT ?", BATCH);
  }

  /** Returns a version above the last one and not below the time in ms, so that a restored object repeats none. */
  #nextVersion(): number {
    const statement = "UPDATE state SET version = max(version + 1, ?) RETURNING version";
    const [version = 0] = columnOf<number>(this.#storage.sql, statement, currentTime());
    return version;
  }
}
