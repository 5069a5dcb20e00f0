import { DENIED, err, type Failure, invalid, NOT_FOUND, ok, type Result } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { openText, sealText } from "../crypto/sealed-data.ts";
import type { Verdict } from "../policy/acl.ts";
import { mayWrite } from "../policy/write-grants.ts";
import { columnOf, type Migration, type SchemaVersions, storedJson, Tables } from "../storage/tables.ts";
import type { CallerAction, Outcome } from "../token/actions.ts";
import type { TokenAddress } from "../token/ids.ts";

export const CUBBYHOLE_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "values by token and path",
    sql: `
      CREATE TABLE cubbyhole (
        row INTEGER NOT NULL,
        path TEXT NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (row, path)
      ) WITHOUT ROWID;
    `,
  },
];

/** Bytes of the largest sealed value with its path: fits into a row of an object's database. */
export const MAX_VALUE_BYTES = 1_900_000;

/** Maximum number of values of one token. Bounded because each write counts them. */
export const MAX_ENTRIES = 1_000;
/** Maximum bytes of all sealed values of one token, with their paths. A whole tree of tokens shares 10 GB. */
export const MAX_BYTES = 16 * 1024 * 1024;

/** The values of a token without the one that is being written. */
type OtherEntries = { entries: number; bytes: number };

/** Why a value can't be stored (a 400), or null. `bytes`: size of the sealed value and its path. */
export function cubbyholeProblem(others: Readonly<OtherEntries>, bytes: number): Failure | null {
  if (bytes > MAX_VALUE_BYTES) return invalid("the value is too large to be kept");
  if (others.entries >= MAX_ENTRIES) return invalid(`a token can keep at most ${MAX_ENTRIES} values in its cubbyhole`);
  if (others.bytes + bytes > MAX_BYTES) {
    return invalid(`a token can keep at most ${MAX_BYTES / 1024 / 1024} MiB in its cubbyhole`);
  }
  return null;
}

type CubbyholeAction = Extract<CallerAction, { kind: `cubbyhole_${string}` }>;

/** A sealed value and its place. */
export interface CubbyholeValue {
  readonly path: string;
  readonly sealed: Uint8Array;
}

/** The private values of the tokens of one tree. Values are sealed by the Worker; the tree can't read them. */
export class CubbyholeStore {
  readonly tables: Tables;

  constructor(sql: SqlStorage, versions: SchemaVersions) {
    this.tables = new Tables(sql, CUBBYHOLE_MIGRATIONS, "cubbyhole", versions);
  }

  get isEmpty(): boolean {
    return this.tables.exec("SELECT 1 FROM cubbyhole LIMIT 1").toArray().length === 0;
  }

  /** Resets the store while the storage of the tree is deleted. */
  forget(): void {
    this.tables.forget();
  }

  perform(action: CubbyholeAction, row: number, verdict: Verdict): Result<Outcome> {
    switch (action.kind) {
      case "cubbyhole_read": {
        const sealed = this.read(row, action.path);
        return sealed ? ok({ kind: "value", sealed }) : NOT_FOUND;
      }
      case "cubbyhole_list": {
        const limit = Math.min(verdict.limit || action.limit, action.limit);
        return ok({ kind: "keys", keys: this.#list(row, action.prefix, action.after, limit) });
      }
      case "cubbyhole_write": {
        if (!mayWrite(this.read(row, action.path), verdict)) return err(DENIED);
        const problem = cubbyholeProblem(this.#others(row, action.path), action.path.length + action.sealed.length);
        if (problem) return err(problem);
        this.write(row, action.path, action.sealed);
        return ok({ kind: "done" });
      }
      case "cubbyhole_delete":
        this.tables.exec("DELETE FROM cubbyhole WHERE row = ? AND path = ?", row, action.path);
        return ok({ kind: "done" });
    }
  }

  read(row: number, path: string): Uint8Array | null {
    const query = "SELECT value FROM cubbyhole WHERE row = ? AND path = ?";
    const [value] = columnOf<ArrayBuffer>(this.tables, query, row, path);
    return value ? new Uint8Array(value) : null;
  }

  /** Number and bytes of the values of the token `row`, without the one at `path`. Reads all of them. */
  #others(row: number, path: string): OtherEntries {
    const query = `SELECT COUNT(*) AS entries, COALESCE(SUM(LENGTH(path) + LENGTH(value)), 0) AS bytes
      FROM cubbyhole WHERE row = ? AND path <> ?`;
    return this.tables.exec<OtherEntries>(query, row, path).toArray()[0] ?? { entries: 0, bytes: 0 };
  }

  /** Number and bytes of the values of these tokens, of at most `limit` values. `more`: there are others. */
  sizeOf(rows: readonly number[], limit: number): { values: number; bytes: number; more: boolean } {
    const query = `SELECT COUNT(*) AS entries, COALESCE(SUM(size), 0) AS bytes FROM (
        SELECT LENGTH(c.path) + LENGTH(c.value) AS size
        FROM json_each(?) r JOIN cubbyhole c ON c.row = r.value LIMIT ?
      )`;
    const [size] = this.tables.exec<OtherEntries>(query, JSON.stringify(rows), limit + 1).toArray();
    const { entries, bytes } = size ?? { entries: 0, bytes: 0 };
    return { values: Math.min(entries, limit), bytes, more: entries > limit };
  }

  write(row: number, path: string, sealed: Uint8Array): void {
    this.tables.exec("INSERT OR REPLACE INTO cubbyhole (row, path, value) VALUES (?, ?, ?)", row, path, sealed);
  }

  deleteOf(rows: readonly number[]): void {
    this.tables.exec("DELETE FROM cubbyhole WHERE row IN (SELECT value FROM json_each(?))", JSON.stringify(rows));
  }

  /**
   * The names one level below `prefix` (which is "" or ends with a slash), sorted, at most `limit` after `after`.
   * Folders end with a slash. The cost is proportional to the number of names in the answer, because each folder is
   * skipped.
   */
  #list(row: number, prefix: string, after: string, limit: number): string[] {
    const keys: string[] = [];
    let from = prefix + (after.endsWith("/") ? afterFolder(after) : after === "" ? "" : `${after}\u0000`);
    while (keys.length < limit) {
      const query = "SELECT path FROM cubbyhole WHERE row = ? AND path >= ? ORDER BY path LIMIT 1";
      const [next] = columnOf<string>(this.tables, query, row, from);
      if (!next?.startsWith(prefix)) break;
      const rest = next.slice(prefix.length);
      const slash = rest.indexOf("/");
      const key = slash < 0 ? rest : rest.slice(0, slash + 1);
      keys.push(key);
      from = prefix + (slash < 0 ? `${key}\u0000` : afterFolder(key));
    }
    return keys;
  }
}

/** The first text after everything that starts with `folder`: its slash replaced by the next character. */
function afterFolder(folder: string): string {
  return `${folder.slice(0, -1)}0`;
}

/** Seals a value for the cubbyhole of one token. */
export function sealValue(
  keys: Keys,
  owner: TokenAddress,
  path: string,
  value: Readonly<Record<string, unknown>>,
): Promise<Uint8Array<ArrayBuffer>> {
  return sealText(keys, context(owner, path), JSON.stringify(value));
}

/** Opens a value that was sealed for this token and path. @throws for anything else: the storage is damaged. */
export async function openValue(
  keys: Keys,
  owner: TokenAddress,
  path: string,
  sealed: Uint8Array,
): Promise<Record<string, unknown>> {
  const plain = await openText(keys, context(owner, path), sealed);
  if (plain === null) throw new Error("a cubbyhole value does not open");
  return storedJson<Record<string, unknown>>(plain);
}

/** Binds a value to its token and path: a copy at another row or path in the storage does not open. */
function context({ treeId, row }: TokenAddress, path: string): string {
  return `cubbyhole ${treeId} ${row} ${path}`;
}
