import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { inPool } from "../../src/base/parallel.ts";
import { concat } from "../../src/crypto/bytes.ts";
import type { Keys } from "../../src/crypto/key-ring.ts";
import { ACCESSOR_SHARDS, accessorShardName, accessorShardNumber } from "../../src/listing/accessor-shard-number.ts";
import type { TreeSize } from "../../src/listing/inventory/entry.ts";
import { type InventoryEntry, newEntry } from "../../src/listing/inventory/entry.ts";
import { InventoryStore } from "../../src/listing/inventory/shard/inventory-store.ts";
import { newTokenIds, readServiceToken } from "../../src/token/ids.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../src/token/record.ts";
import { sealToken } from "../../src/tree/token-rows.ts";
import { ask, makeToken, text } from "../servers/client.ts";
import { type Secrets, ServeProcess } from "../servers/serve.ts";
import { asStorage, databasePath, keysOf, newObjectId, openDatabase } from "./objects.ts";

/** The size of a forest. Its trees have the lifetimes of a month of use. */
export interface ForestShape {
  readonly trees: number;
  readonly tokens: number;
  /** Tokens of an additional, largest tree. */
  readonly largest?: number;
}

/** The first tokens of the planted trees. */
export interface Forest {
  /** Of the largest tree; "" without one. */
  readonly largest: string;
  /** Of trees that began with a creation without a role: every fourth. */
  readonly plain: readonly string[];
  /** Of trees that began with a creation by the role `ci`: every fourth. */
  readonly ofRole: readonly string[];
  /** Of trees that began with a login at `auth/aws/`: every second. */
  readonly ofLogins: readonly string[];
}

/** A token before it is written. */
interface SeededToken {
  readonly ids: Awaited<ReturnType<typeof newTokenIds>>;
  /** Index of the parent in the tree. */
  readonly parent: number | null;
  readonly record: TokenRecord;
  /** ms. */
  readonly expiresAt: number;
}

/** The fields that depend on how a tree began. */
type Kind = Pick<TokenRecord, "path" | "displayName" | "role" | "policies" | "login">;

const HOUR_SECONDS = 3600;
/** Children of one token: trees are three to five levels deep. */
const FAN_OUT = 6;
/** Sizes of trees as shares of the mean, and their lifetimes in hours, in turn. */
const SHARES = [0.04, 0.1, 0.26, 0.5, 0.8, 1, 1.2, 1.5, 1.9, 2.7];
const LIFETIMES = [2, 8, 24, 48, 24 * 7, 24 * 30];
/** Roles of logins, in turn. */
const ROLES = ["web", "worker", "database"];
/** Tokens that the API makes first: enough for every shard to have one, and so its tables. */
const FIRST_TOKENS = 120;
/** Tokens that are hashed in parallel, and entries of one write into a shard. */
const BATCH = 500;

/** Makes an installation with a forest in an empty data directory. */
export async function plantForest(data: string, secrets: Secrets, shape: ForestShape): Promise<Forest> {
  const server = await ServeProcess.start(data, secrets);
  await ask(server, "POST", "v1/sys/auth/aws", { type: "aws" });
  const mount = text(await ask(server, "GET", "v1/sys/auth"), "data", "aws/", "uuid");
  const top = await makeToken(server, "create-orphan", { ttl: "24h", policies: ["root"] });
  const model = await makeToken({ url: server.url, token: top.token }, "create", { ttl: "24h" });
  for (let made = 0; made < FIRST_TOKENS; made++)
    await makeToken(server, "create", { ttl: "24h", policies: ["default"] });
  // A read completes the lists.
  await ask(server, "GET", "v1/sys/tokens/map");
  await server.stop();
  const keys = await keysOf(data, secrets.GROVE_SEAL_KEY);
  return seedForest(data, keys, model.token, mount, shape);
}

/** @param like a token of a tree with children, whose database is the model of all planted databases. */
async function seedForest(
  data: string,
  keys: Keys,
  like: string,
  mount: string,
  { trees, tokens, largest = 0 }: ForestShape,
): Promise<Forest> {
  const write = await treeWriter(data, keys, like);
  const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => new SeededShard(data, number));
  const plant = async (number: number, size: number, kind: Kind) => {
    const treeId = newObjectId(data, "TokenTree");
    const tree = await growTree(keys, treeId, kind, size, number);
    write(treeId, tree);
    for (const entry of entriesOf(tree)) {
      shards[accessorShardNumber(entry.accessor)]?.add(entry, entry.first ? size : 1);
    }
    return tree[0]?.ids.token ?? "";
  };
  // Its tokens, made 10 ms after each other, need a long lifetime.
  const top = largest > 0 ? await plant(LIFETIMES.length - 1, largest, kindOf(0, mount)) : "";
  const forest = { largest: top, plain: [] as string[], ofRole: [] as string[], ofLogins: [] as string[] };
  let left = tokens;
  for (let number = 0; number < trees; number++) {
    const mean = ((SHARES[number % SHARES.length] ?? 1) * tokens) / trees;
    const size = number === trees - 1 ? left : Math.min(Math.round(mean), left);
    left -= size;
    const kind = kindOf(number, mount);
    const tops = kind.login ? forest.ofLogins : kind.role === null ? forest.plain : forest.ofRole;
    tops.push(await plant(number, Math.max(1, size), kind));
  }
  for (const shard of shards) shard.close();
  return forest;
}

function kindOf(number: number, mount: string): Kind {
  const role = ROLES[number % ROLES.length] ?? "";
  if (number % 2 === 1) {
    const login = { mount, internal: { role } };
    return {
      path: "auth/aws/login",
      displayName: `aws-${role}`,
      role: null,
      login,
      policies: ["default", "fleet", role],
    };
  }
  if (number % 4 === 0) {
    const policies = ["default", "operator"];
    return { path: "auth/token/create", displayName: "token-operator", role: null, login: null, policies };
  }
  return {
    path: "auth/token/create/ci",
    displayName: "token-ci",
    role: "ci",
    login: null,
    policies: ["ci", "default"],
  };
}

/** The tokens of one tree, its first token first. */
async function growTree(keys: Keys, treeId: string, kind: Kind, size: number, number: number): Promise<SeededToken[]> {
  const ttl = (LIFETIMES[number % LIFETIMES.length] ?? 24) * HOUR_SECONDS;
  // The tree is in the first half of its life; its tokens were made 10 ms after each other.
  const bornAt = Date.now() - Math.floor((((number * 37) % 100) / 200) * ttl * 1000) - size * 10;
  const createdAt = (index: number) => bornAt + index * 10;
  const numbers = Array.from({ length: size }, (_, index) => index);
  // In parallel: each waits for threads that hash.
  const ids = await inPool(numbers, BATCH, (index) => newTokenIds(keys, treeId, createdAt(index)));
  return ids.map((own, index) => {
    const { policies } = kind;
    const job = {
      path: "auth/token/create",
      displayName: `token-job-${index % 12}`,
      role: null,
      login: null,
      policies,
    };
    return {
      ids: own,
      parent: index === 0 ? null : Math.floor((index - 1) / FAN_OUT),
      record: {
        ...PLAIN_RECORD,
        ...(index === 0 ? kind : job),
        createdAt: createdAt(index),
        creationTtl: ttl,
        renewable: true,
      },
      expiresAt: createdAt(index) + ttl * 1000,
    };
  });
}

/** Returns a function that writes the tokens of a tree into a new database. */
async function treeWriter(data: string, keys: Keys, like: string) {
  const model = await readServiceToken(keys, like);
  const path = databasePath(data, "TokenTree", model?.treeId ?? "");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const row = database.prepare("SELECT * FROM tokens WHERE row = ?").get(model?.row ?? 0);
  database.close();
  if (!row) throw new Error("a token that the API gave is not in its tree");
  const file = readFileSync(path);
  const columns = Object.keys(row);
  const insert = `INSERT INTO tokens (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  return (treeId: string, tokens: readonly SeededToken[]): void => {
    const target = databasePath(data, "TokenTree", treeId);
    writeFileSync(target, file, { mode: 0o600 });
    const tree = new DatabaseSync(target);
    // The row with the model's alarm is deleted: the runtime has no such alarm for this tree.
    tree.exec("PRAGMA synchronous = OFF; BEGIN; DELETE FROM tokens; DELETE FROM _cf_METADATA");
    const statement = tree.prepare(insert);
    for (const { ids, parent, record, expiresAt } of tokens) {
      const recordJson = JSON.stringify(record);
      const changed: typeof row = {
        ...row,
        row: ids.row,
        parent: parent === null ? null : (tokens[parent]?.ids.row ?? null),
        verifier: concat(ids.verifier, sealToken(keys.rows, treeId, { ...ids, recordJson })),
        accessor: ids.accessorTail,
        granted_ttl: record.creationTtl,
        expires_at: expiresAt,
        record: recordJson,
      };
      statement.run(...columns.map((column) => changed[column] ?? null));
    }
    // The shards have these tokens: without this the tree would send them again when it wakes.
    tree.exec("UPDATE listed SET up_to = (SELECT MAX(row) FROM tokens); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    tree.close();
  };
}

/** The inventory's entries of a tree. */
function entriesOf(tokens: readonly SeededToken[]): InventoryEntry[] {
  const children = new Map<number, number>();
  for (const { parent } of tokens) if (parent !== null) children.set(parent, (children.get(parent) ?? 0) + 1);
  return tokens.map((token, index) => {
    const parent = token.parent === null ? null : (tokens[token.parent]?.ids.accessor ?? null);
    return { ...newEntry(token, token.ids.accessor, parent), children: children.get(index) ?? 0 };
  });
}

/** One shard of the list of accessors, open until it is complete. */
class SeededShard {
  readonly #database: DatabaseSync;
  readonly #store: InventoryStore;
  #waiting: InventoryEntry[] = [];
  #sizes: TreeSize[] = [];

  constructor(data: string, number: number) {
    this.#database = openDatabase(data, "AccessorShard", accessorShardName(number));
    this.#database.exec("BEGIN");
    this.#store = new InventoryStore(asStorage(this.#database));
  }

  /** @param size the size of the tree for its first token, 1 for others. */
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
