import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { concat } from "../../../src/crypto/bytes.ts";
import type { Keys } from "../../../src/crypto/key-ring.ts";
import { newTokenIds, readServiceToken } from "../../../src/token/ids.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../../src/token/record.ts";
import {
  ACCESSOR_SHARDS,
  accessorShardName,
  accessorShardNumber,
} from "../../../src/tree/index/accessor-shard-number.ts";
import { fixedPart, type InventoryEntry } from "../../../src/tree/inventory/entry.ts";
import { InventoryStore } from "../../../src/tree/inventory/shard/inventory-store.ts";
import type { TreeSize } from "../../../src/tree/inventory/shard/tree-size.ts";
import { sealToken } from "../../../src/tree/tree-store.ts";
import type { GroveBuild } from "../servers/grove.ts";
import {
  asStorage,
  databasePath,
  inBulk,
  insertLike,
  keysOf,
  newObjectId,
  openDatabase,
  type Row,
} from "./installation.ts";

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** Children of one token, so that trees are three to five levels deep. */
const FAN_OUT = 6;
/** Sizes of trees as shares of the mean, in turn. Their sum is their number. */
const SHARES = [0.04, 0.1, 0.26, 0.5, 0.8, 1, 1.2, 1.5, 1.9, 2.7];
/** Lifetimes of trees in hours, in turn. */
const LIFETIMES = [2, 8, 24, 48, 24 * 7, 24 * 30];
/** The policy of every tree that began with a login: half of the forest. */
export const FLEET_POLICY = "fleet";
/** The number of a tree that begins with a login. */
const LOGIN = 3;
/** Entries that one call writes into a shard. */
const BATCH = 500;

/** What the forest consists of. */
export interface ForestShape {
  readonly trees: number;
  readonly tokens: number;
  /** The id under which an auth mount issues tokens (`issuerOf`): half of the trees begin with a login there. */
  readonly mount: { readonly id: string; readonly path: string };
  /** True: all of them do. */
  readonly onlyLogins: boolean;
}

/** Who made a tree, and what its tokens may do. */
interface TreeKind {
  readonly record: Pick<TokenRecord, "policies" | "path" | "displayName" | "role" | "login">;
  readonly period: number;
}

/** A token of a tree before it is written. Times in ms. */
interface SeededToken {
  readonly ids: Awaited<ReturnType<typeof newTokenIds>>;
  readonly parent: number | null;
  readonly record: TokenRecord;
  readonly expiresAt: number;
}

/**
 * Adds a forest as an installation grows it over a month: trees of logins, of token roles and of people, from one token to
 * several times the mean, with all that the inventory keeps of them. The server must be stopped.
 *
 * @param like a token whose tree has children, which the API made.
 * @returns the token at the top of each tree.
 */
export async function seedForest(
  build: GroveBuild,
  directory: string,
  like: { readonly token: string; readonly accessor: string },
  shape: ForestShape,
): Promise<string[]> {
  const keys = await keysOf(build, directory);
  const model = await readModel(build, directory, keys, like.token);
  const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => new SeededShard(build, directory, number));
  const now = Date.now();
  const tops: string[] = [];
  let left = shape.tokens;
  for (let number = 0; number < shape.trees; number++) {
    const share = SHARES[number % SHARES.length] ?? 1;
    const isLast = number === shape.trees - 1;
    const size = isLast ? left : Math.max(1, Math.min(Math.round((share * shape.tokens) / shape.trees), left));
    left -= size;
    const treeId = newObjectId(build, directory, "TokenTree");
    const tokens = await growTree(
      keys,
      treeId,
      kindOf(shape.onlyLogins ? LOGIN : number, shape.mount),
      Math.max(1, size),
      number,
      now,
    );
    const path = databasePath(build, directory, "TokenTree", treeId);
    writeFileSync(path, model.file, { mode: 0o600 });
    writeTree(path, keys, treeId, model.row, tokens);
    const [first] = tokens;
    if (!first) throw new Error("a tree has a first token");
    tops.push(first.ids.token);
    for (const entry of entriesOf(tokens)) {
      shards[accessorShardNumber(entry.accessor)]?.add(entry, entry.first ? tokens.length : 1);
    }
  }
  for (const shard of shards) shard.close();
  return tops;
}

/** The file and the row of a token that the API made. */
async function readModel(build: GroveBuild, directory: string, keys: Keys, token: string) {
  const found = await readServiceToken(keys, token);
  if (!found) throw new Error("the model is not a token of this installation");
  const path = databasePath(build, directory, "TokenTree", found.treeId);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const row = database.prepare("SELECT * FROM tokens WHERE row = ?").get(found.row);
  database.close();
  if (!row) throw new Error("a token that the API gave is not in its tree");
  return { file: readFileSync(path), row };
}

function kindOf(number: number, mount: ForestShape["mount"]): TreeKind {
  const plain = { role: null, login: null };
  switch (number % 6) {
    case 0:
      return {
        record: {
          ...plain,
          path: "auth/token/create/ci",
          role: "ci",
          displayName: "token-ci",
          policies: ["ci", "default"],
        },
        period: 0,
      };
    case 1:
      return {
        record: {
          ...plain,
          path: "auth/token/create",
          displayName: "token-operator",
          policies: ["default", "operator"],
        },
        period: DAY_SECONDS,
      };
    case 2:
      return {
        record: { ...plain, path: "auth/token/create", displayName: "token-deploy", policies: ["default", "deploy"] },
        period: 0,
      };
    default: {
      const role = ["web", "worker", "database"][number % 3] ?? "web";
      const login = { mount: mount.id, internal: { role } };
      const path = `auth/${mount.path}login`;
      return {
        record: { role: null, login, path, displayName: `aws-${role}`, policies: ["default", FLEET_POLICY, role] },
        period: 0,
      };
    }
  }
}

/** The tokens of one tree, the first of them at its top. */
async function growTree(
  keys: Keys,
  treeId: string,
  kind: TreeKind,
  size: number,
  number: number,
  now: number,
): Promise<SeededToken[]> {
  const hours = LIFETIMES[number % LIFETIMES.length] ?? 24;
  const ttl = kind.period || hours * HOUR_SECONDS;
  // Somewhere in the first half of its life, and the tokens below it a second later each.
  const bornAt = now - Math.floor((((number * 37) % 100) / 200) * ttl * 1000) - size * 10;
  const createdAt = (index: number) => bornAt + index * 10;
  // At once: each waits for threads that hash.
  const ids = await Promise.all(
    Array.from({ length: size }, (_, index) => newTokenIds(keys, treeId, createdAt(index))),
  );
  return ids.map((own, index) => {
    const made: Pick<TokenRecord, "path" | "displayName" | "role" | "login"> =
      index === 0
        ? kind.record
        : { path: "auth/token/create", displayName: `token-job-${index % 12}`, role: null, login: null };
    return {
      ids: own,
      parent: index === 0 ? null : (ids[Math.floor((index - 1) / FAN_OUT)]?.row ?? null),
      record: {
        ...PLAIN_RECORD,
        ...made,
        policies: kind.record.policies,
        createdAt: createdAt(index),
        creationTtl: ttl,
        period: index === 0 ? kind.period : 0,
        renewable: true,
      },
      expiresAt: createdAt(index) + ttl * 1000,
    };
  });
}

function writeTree(path: string, keys: Keys, treeId: string, like: Row, tokens: readonly SeededToken[]): void {
  const database = new DatabaseSync(path);
  function* rows() {
    for (const { ids, parent, record, expiresAt } of tokens) {
      const recordJson = JSON.stringify(record);
      yield {
        row: ids.row,
        parent,
        verifier: concat(ids.verifier, sealToken(keys.rows, treeId, { ...ids, recordJson })),
        accessor: ids.accessorTail,
        granted_ttl: record.creationTtl,
        expires_at: expiresAt,
        record: recordJson,
      };
    }
  }
  inBulk(database, () => {
    database.exec("DELETE FROM tokens");
    insertLike(database, "tokens", like, rows());
  });
}

/** What the inventory keeps of a tree's tokens. */
function entriesOf(tokens: readonly SeededToken[]): InventoryEntry[] {
  const accessors = new Map(tokens.map(({ ids }) => [ids.row, ids.accessor]));
  const children = new Map<number, number>();
  for (const { parent } of tokens) if (parent !== null) children.set(parent, (children.get(parent) ?? 0) + 1);
  return tokens.map(({ ids, parent, record, expiresAt }, index) => ({
    accessor: ids.accessor,
    parent: parent === null ? null : (accessors.get(parent) ?? null),
    first: index === 0,
    ...fixedPart(record),
    expiresAt,
    renewedAt: null,
    usesLeft: record.numUses,
    children: children.get(ids.row) ?? 0,
    lastUsed: null,
  }));
}

/** One shard of the list of accessors, open until everything is in it. */
class SeededShard {
  readonly #database: DatabaseSync;
  readonly #store: InventoryStore;
  #waiting: InventoryEntry[] = [];
  #sizes: TreeSize[] = [];

  constructor(build: GroveBuild, directory: string, number: number) {
    this.#database = openDatabase(build, directory, "AccessorShard", accessorShardName(number));
    this.#database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN");
    this.#store = new InventoryStore(asStorage(this.#database));
  }

  /** @param size of the tree, for its oldest token; else 1. */
  add(entry: InventoryEntry, size: number): void {
    this.#waiting.push(entry);
    if (size > 1) this.#sizes.push({ root: entry.accessor, count: size });
    if (this.#waiting.length >= BATCH) this.#flush();
  }

  close(): void {
    this.#flush();
    this.#database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    this.#database.close();
  }

  #flush(): void {
    this.#store.put({ made: this.#waiting, sizes: this.#sizes });
    this.#waiting = [];
    this.#sizes = [];
  }
}
