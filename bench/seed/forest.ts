import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { inPool } from "../../src/base/parallel.ts";
import { concat } from "../../src/crypto/bytes.ts";
import type { Keys } from "../../src/crypto/key-ring.ts";
import { ACCESSOR_SHARDS, accessorShardName, accessorShardNumber } from "../../src/listing/accessor-shards.ts";
import { type InventoryEntry, newEntry, type TreeSize } from "../../src/listing/inventory/entry.ts";
import { InventoryStore } from "../../src/listing/inventory/shard/inventory-store.ts";
import { newTokenIds, readServiceToken } from "../../src/token/ids.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../src/token/record.ts";
import { sealToken } from "../../src/tree/token-rows.ts";
import { ask, makeToken, text } from "../servers/client.ts";
import { type Secrets, ServeProcess } from "../servers/serve.ts";
import { asStorage, databasePath, keysOf, newObjectId, openDatabase } from "./objects.ts";

/** The size of a forest: a set of token trees whose lifetimes are those of a month of use. */
export interface ForestShape {
  readonly trees: number;
  readonly tokens: number;
  /** Tokens of an additional, largest tree. */
  readonly largest?: number;
}

/** The root tokens of the created trees. */
export interface Forest {
  /** The root of the largest tree; "" without one. */
  readonly largest: string;
  /** Roots that were created without a role: every fourth tree. */
  readonly plain: readonly string[];
  /** Roots that were created by the role `ci`: every fourth tree. */
  readonly ofRole: readonly string[];
  /** Roots that were issued by a login at `auth/aws/`: every second tree. */
  readonly ofLogins: readonly string[];
}

/** A token that is not yet written. */
interface SeededToken {
  readonly ids: Awaited<ReturnType<typeof newTokenIds>>;
  /** Index of the parent in the tree's list; null for the root. */
  readonly parent: number | null;
  readonly record: TokenRecord;
  /** Unix time (ms). */
  readonly expiresAt: number;
}

/** The record fields that depend on how the root was created. */
type Kind = Pick<TokenRecord, "path" | "displayName" | "role" | "policies" | "login">;

const HOUR_SECONDS = 3600;
/** Children of one token. Trees are three to five levels deep. */
const FAN_OUT = 6;
/** Sizes of consecutive trees, as ratios to the mean size. */
const SHARES = [0.04, 0.1, 0.26, 0.5, 0.8, 1, 1.2, 1.5, 1.9, 2.7];
/** Lifetimes of consecutive trees (hours). */
const LIFETIMES = [2, 8, 24, 48, 24 * 7, 24 * 30];
/** Login roles of consecutive trees. */
const ROLES = ["web", "worker", "database"];
/** Tokens created through the API first: enough that every shard has an entry and has created its tables. */
const FIRST_TOKENS = 120;
/** Tokens hashed in parallel, and entries per write to a shard. */
const BATCH = 500;

/** Creates an installation with a forest in an empty data directory. Its server is stopped afterwards. */
export async function plantForest(data: string, secrets: Secrets, shape: ForestShape): Promise<Forest> {
  const server = await ServeProcess.start(data, secrets);
  await ask(server, "POST", "v1/sys/auth/aws", { type: "aws" });
  const mount = text(await ask(server, "GET", "v1/sys/auth"), "data", "aws/", "uuid");
  const top = await makeToken(server, "create-orphan", { ttl: "24h", policies: ["root"] });
  const model = await makeToken({ url: server.url, token: top.token }, "create", { ttl: "24h" });
  for (let made = 0; made < FIRST_TOKENS; made++)
    await makeToken(server, "create", { ttl: "24h", policies: ["default"] });
  // Reading the map applies pending inventory updates.
  await ask(server, "GET", "v1/sys/tokens/map");
  await server.stop();
  const keys = await keysOf(data, secrets.GROVE_SEAL_KEY);
  return seedForest(data, keys, model.token, mount, shape);
}

/**
 * Writes the forest into the databases of a stopped server.
 *
 * @param like a child token; the database of its tree is the template of all new databases.
 */
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
  // Creation times are 10 ms apart, so a large tree needs a long lifetime for all tokens to be valid.
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

/** Generates the tokens of one tree, starting with the root. */
async function growTree(keys: Keys, treeId: string, kind: Kind, size: number, number: number): Promise<SeededToken[]> {
  const ttl = (LIFETIMES[number % LIFETIMES.length] ?? 24) * HOUR_SECONDS;
  // The tree is in the first half of its lifetime. Creation times are 10 ms apart.
  const bornAt = Date.now() - Math.floor((((number * 37) % 100) / 200) * ttl * 1000) - size * 10;
  const createdAt = (index: number) => bornAt + index * 10;
  const numbers = Array.from({ length: size }, (_, index) => index);
  // In parallel, because each waits for the thread pool that computes hashes.
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
  if (!row) throw new Error("a token that the API created is missing from its tree's database");
  const file = readFileSync(path);
  const columns = Object.keys(row);
  const insert = `INSERT INTO tokens (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  return (treeId: string, tokens: readonly SeededToken[]): void => {
    const target = databasePath(data, "TokenTree", treeId);
    writeFileSync(target, file, { mode: 0o600 });
    const tree = new DatabaseSync(target);
    // Delete the template's alarm row: the runtime has no alarm for this object.
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
    // Mark the tokens as listed: otherwise the tree would send them to the shards again when it starts.
    tree.exec("UPDATE listed SET up_to = (SELECT MAX(row) FROM tokens); COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    tree.close();
  };
}

/** The inventory entries of a tree. */
function entriesOf(tokens: readonly SeededToken[]): InventoryEntry[] {
  const children = new Map<number, number>();
  for (const { parent } of tokens) if (parent !== null) children.set(parent, (children.get(parent) ?? 0) + 1);
  return tokens.map((token, index) => {
    const parent = token.parent === null ? null : (tokens[token.parent]?.ids.accessor ?? null);
    return { ...newEntry(token, token.ids.accessor, parent), children: children.get(index) ?? 0 };
  });
}

/** Writes the inventory entries of one accessor shard in batches. */
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

  /** @param size the size of the tree for its root, 1 for other tokens. */
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
