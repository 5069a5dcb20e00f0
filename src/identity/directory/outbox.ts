import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { columnOf } from "../../storage/tables.ts";
import type { IdentityEnv } from "../env.ts";
import type { DirectoryEntry } from "../model.ts";
import { shardOfEntity } from "../shard/place.ts";
import { entityShard } from "../stubs.ts";

/** Entities that are sent at once. */
const BATCH = 1_000;
/** How long (ms) after a change the alarm sends what was not sent. */
const RETRY_MS = 10_000;

/**
 * Sends what the directory decides about entities to their shards. A change is noted in the transaction that makes it; its answer
 * waits until the shards have it. After a crash in between, or when a shard does not answer, the alarm sends it. An entry
 * is sent whole and with a version, so entries may arrive twice or in any order.
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

  /** Notes in the transaction of a change that the shards of these entities must be notified. */
  note(entityIds: Iterable<string>): void {
    const { sql } = this.#storage;
    let version: number | null = null;
    for (const id of entityIds) {
      version ??= this.#nextVersion();
      sql.exec("INSERT OR REPLACE INTO unsent (entity_id, version) VALUES (?, ?)", id, version);
    }
    if (version !== null) void this.#storage.setAlarm(currentTime() + RETRY_MS);
  }

  /** Sends all that was noted. @throws when a shard does not answer. */
  async send(): Promise<void> {
    for (let ids = this.#unsent(); ids.length > 0; ids = this.#unsent()) {
      const byShard = [...Map.groupBy(ids, shardOfEntity)];
      await inGroups(byShard, ([shard, here]) => this.#sendTo(shard, here));
    }
  }

  /** Sends what a crash or an outage kept from being sent, and tries again later when it can't. */
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
    // What has changed meanwhile stays.
    const ids = JSON.stringify(entityIds);
    sql.exec("DELETE FROM unsent WHERE entity_id IN (SELECT value FROM json_each(?)) AND version <= ?", ids, version);
  }

  #unsent(): string[] {
    return columnOf(this.#storage.sql, "SELECT entity_id FROM unsent LIMIT ?", BATCH);
  }

  /** Grows, and is never below the time in ms: an object that is restored repeats none. */
  #nextVersion(): number {
    const statement = "UPDATE state SET version = max(version + 1, ?) RETURNING version";
    const [version = 0] = columnOf<number>(this.#storage.sql, statement, currentTime());
    return version;
  }
}
