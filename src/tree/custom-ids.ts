import type { Ms } from "../base/clock.ts";
import { objectNamed } from "../base/object-stub.ts";
import { keepEndedMs } from "../listing/env.ts";
import type { Migration } from "../storage/tables.ts";
import { GroveObject } from "../system/grove-object.ts";
import { mustBeRestoring } from "../system/installation.ts";
import { isSameAddress, rowGeneratedAt, type TokenAddress } from "../token/ids.ts";
import type { TokenSpec } from "../token/record.ts";
import type { TreeEnv } from "./env.ts";

/** How many objects share the directory. */
export const CUSTOM_ID_SHARDS = 16;

export interface CustomIdEntry extends TokenAddress {
  readonly key: string;
}

export const CUSTOM_ID_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    // Keys are 8 bytes of the hash. The rest is the verifier that the tree compares, and only the tree may store it.
    description: "key of a custom id -> where the token lives",
    sql: "CREATE TABLE custom_ids (key TEXT PRIMARY KEY, tree_id TEXT NOT NULL, row INTEGER NOT NULL) WITHOUT ROWID",
  },
  {
    version: 2,
    description: "keys of custom ids whose tokens have ended -> where they lived",
    sql: `
      CREATE TABLE ended_ids (
        key TEXT PRIMARY KEY, tree_id TEXT NOT NULL, row INTEGER NOT NULL, ended_at INTEGER NOT NULL
      ) WITHOUT ROWID;
      CREATE INDEX ended_ids_by_time ON ended_ids (ended_at);
    `,
    readableFrom: 1,
  },
];

/** Age of a reservation without a token from which on it counts as left behind by a crash, and another one replaces it. */
export const RESERVATION_MS: Ms = 60_000;

/**
 * True for a token whose custom id was reserved so long ago that its tree must not write it any more: another creation
 * may have the id by now. Half of the time is left for clocks that differ.
 */
export function isReservationOld({ record }: TokenSpec, row: number, now: Ms): boolean {
  return record.customIdKey !== null && now - rowGeneratedAt(row) >= RESERVATION_MS / 2;
}

/** How many ids of ended tokens an object keeps, the last to end; at most as long as the records of their ends. */
const MAX_ENDED_IDS = 4096;

/**
 * The directory of token ids that root callers chose: keyed hash of the id -> tree and row. Generated tokens contain
 * their address and are never looked up here. The first digit of the key selects one of several objects.
 *
 * The tree is the authority: an entry without a row in the tree is stale and may be replaced.
 */
export class CustomIds extends GroveObject<TreeEnv> {
  constructor(ctx: DurableObjectState, env: TreeEnv) {
    super(ctx, env, CUSTOM_ID_MIGRATIONS);
  }

  /** The address of the token with this key. */
  find(key: string): TokenAddress | null {
    const query = "SELECT tree_id AS treeId, row FROM custom_ids WHERE key = ?";
    return this.tables.exec<{ treeId: string; row: number }>(query, key).toArray()[0] ?? null;
  }

  /** At most `limit` entries after `after`, in the order of their keys. */
  page(after: string, limit: number): CustomIdEntry[] {
    const query = "SELECT key, tree_id AS treeId, row FROM custom_ids WHERE key > ? ORDER BY key LIMIT ?";
    return this.tables.exec<{ key: string; treeId: string; row: number }>(query, after, limit).toArray();
  }

  /**
   * Reserves `key` for `address`, in place of the stale `replaces`. Returns null, or the address that has the key. Safe to
   * repeat: an address is that of one token.
   */
  reserve(key: string, address: TokenAddress, replaces: TokenAddress | null): TokenAddress | null {
    const held = this.find(key);
    if (held && isSameAddress(held, address)) return null;
    if (held && !(replaces && isSameAddress(held, replaces))) return held;
    const statement = "INSERT OR REPLACE INTO custom_ids (key, tree_id, row) VALUES (?, ?, ?)";
    this.tables.exec(statement, key, address.treeId, address.row);
    return null;
  }

  /**
   * Writes entries of a backup. Safe to repeat.
   *
   * @param replaces true for entries made from rows of trees, which replace those of the directory.
   * @throws unless the installation is being restored.
   */
  async restore(entries: readonly CustomIdEntry[], replaces: boolean): Promise<void> {
    await mustBeRestoring(this.env);
    const insert = replaces ? "INSERT OR REPLACE" : "INSERT OR IGNORE";
    for (const { key, treeId, row } of entries)
      this.tables.exec(`${insert} INTO custom_ids (key, tree_id, row) VALUES (?, ?, ?)`, key, treeId, row);
  }

  /**
   * Deletes those entries that still have the given address. Safe to repeat. `endedAt`: when the sweep removed their
   * tokens, whose ids `findEnded` then finds for a while; null: the entries had no tokens.
   */
  release(entries: readonly CustomIdEntry[], endedAt: Ms | null = null): void {
    for (const { key, treeId, row } of entries) {
      this.tables.exec("DELETE FROM custom_ids WHERE key = ? AND tree_id = ? AND row = ?", key, treeId, row);
      if (endedAt === null) continue;
      const statement = "INSERT OR REPLACE INTO ended_ids (key, tree_id, row, ended_at) VALUES (?, ?, ?, ?)";
      this.tables.exec(statement, key, treeId, row, endedAt);
    }
    if (endedAt === null) return;
    const last = "SELECT key FROM ended_ids ORDER BY ended_at DESC LIMIT ?";
    const statement = `DELETE FROM ended_ids WHERE ended_at <= ? OR key NOT IN (${last})`;
    this.tables.exec(statement, endedAt - keepEndedMs(this.env), MAX_ENDED_IDS);
  }

  /** The address of the recently ended token with this key; null when none is known. */
  findEnded(key: string): TokenAddress | null {
    const query = "SELECT tree_id AS treeId, row FROM ended_ids WHERE key = ?";
    return this.tables.exec<{ treeId: string; row: number }>(query, key).toArray()[0] ?? null;
  }
}

/** The number of the object that holds `key`, which is hex: 0 to 15. */
export function customIdsShardNumber(key: string): number {
  return Number.parseInt(key.slice(0, 1), 16);
}

/** How a shard is called in a cluster. */
const RULES = {
  repeated: ["find", "page", "findEnded", "reserve", "release"],
} as const;

export function customIdsShard(env: TreeEnv, number: number): DurableObjectStub<CustomIds> {
  return objectNamed(env, env.CUSTOM_IDS, customIdsName(number), RULES);
}

/** The name of the object with this number. */
export function customIdsName(number: number): string {
  return `custom-ids-${number.toString(16)}`;
}

export function customIdsOf(env: TreeEnv, key: string): DurableObjectStub<CustomIds> {
  return customIdsShard(env, customIdsShardNumber(key));
}
