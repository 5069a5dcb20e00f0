/** The index of secrets' leases in a shard; `accessors` beside it is the one of tokens' leases. */
export const LEASE_INDEX_SQL = `
  CREATE TABLE leases (tail TEXT PRIMARY KEY, path TEXT NOT NULL, expires_at INTEGER, error TEXT) WITHOUT ROWID;
  CREATE INDEX leases_by_path ON leases (path);
  CREATE INDEX leases_given_up ON leases (expires_at) WHERE error IS NOT NULL;
`;

/** What a lease is of. */
export type LeaseKind = "token" | "secret";

/** A lease as the index knows it. */
export interface IndexedLease {
  readonly kind: LeaseKind;
  readonly path: string;
  /** The accessor of a token, or the tail of a secret's lease: either leads to the tree. */
  readonly id: string;
}

/** The place of a lease in the order of pages. */
export interface PagePosition {
  /** Among the leases whose path is the prefix's own, or among those below it. */
  readonly part: typeof OWN | typeof BELOW;
  readonly path: string;
  readonly id: string;
}

/** Leases in order, and where the next page begins; null after the last. */
export interface IndexPage {
  readonly leases: readonly IndexedLease[];
  readonly next: PagePosition | null;
}

/** A lease whose revocation was given up. */
export interface IrrevocableLease {
  readonly path: string;
  readonly tail: string;
  /** ms. */
  readonly expiresAt: number;
  readonly error: string;
}

interface PathRow extends Record<string, SqlStorageValue> {
  path: string;
  id: string;
}

const SOURCES = {
  token: { table: "accessors", column: "accessor" },
  secret: { table: "leases", column: "tail" },
} as const;
const KINDS = ["token", "secret"] as const;

const OWN = "own";
const BELOW = "below";

/** After every path: the highest character there is. */
const END = "\u{10ffff}";

/** Finds leases of one shard by their path. A prefix ends with a slash and means whole segments; "" means all. */
export class LeaseIndex {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Indexes a secret's lease. Safe to repeat. */
  add(tail: string, path: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO leases (tail, path) VALUES (?, ?)", tail, path);
  }

  /** Drops secrets' leases. Safe to repeat. */
  remove(tails: readonly string[]): void {
    this.#sql.exec("DELETE FROM leases WHERE tail IN (SELECT value FROM json_each(?))", JSON.stringify(tails));
  }

  /** Notes that the revocation of a secret's lease was given up. Safe to repeat. */
  giveUp({ tail, path, expiresAt, error }: IrrevocableLease): void {
    this.#sql.exec(
      `INSERT INTO leases (tail, path, expires_at, error) VALUES (?, ?, ?, ?)
       ON CONFLICT (tail) DO UPDATE SET expires_at = excluded.expires_at, error = excluded.error`,
      tail,
      path,
      expiresAt,
      error,
    );
  }

  /** At most `limit` leases of one kind below `prefix` from `start` on (null: the first), by path and id. */
  page(kind: LeaseKind, prefix: string, start: PagePosition | null, limit: number): IndexPage {
    const leases: IndexedLease[] = [];
    if (prefix !== "" && start?.part !== BELOW) leases.push(...this.#at(kind, ownPath(prefix), start?.id ?? "", limit));
    if (leases.length >= limit) return pageOf(leases, OWN);
    if (start?.part === BELOW) leases.push(...this.#at(kind, start.path, start.id, limit));
    const after = start?.part === BELOW ? start.path : null;
    leases.push(...this.#between(kind, after, prefix, limit - leases.length));
    return leases.length >= limit ? pageOf(leases, BELOW) : { leases, next: null };
  }

  /**
   * At most `limit` leases whose path is exactly that of `prefix` without its slash, and the names of at most `limit` folders
   * below it.
   */
  level(prefix: string, limit: number): { readonly leases: IndexedLease[]; readonly folders: string[] } {
    const leases: IndexedLease[] = [];
    const folders = new Set<string>();
    for (const kind of KINDS) {
      if (prefix !== "") leases.push(...this.#at(kind, ownPath(prefix), "", limit));
      this.#folders(SOURCES[kind].table, prefix, limit, folders);
    }
    return { leases, folders: [...folders] };
  }

  /** At most `limit` leases whose revocation was given up (-1: all), by expiry and id. */
  irrevocable(limit: number): IrrevocableLease[] {
    return this.#sql
      .exec<{ path: string; tail: string; expires_at: number; error: string }>(
        `SELECT path, tail, expires_at, error FROM leases WHERE error IS NOT NULL ORDER BY expires_at, path, tail LIMIT ?`,
        limit,
      )
      .toArray()
      .map(({ path, tail, expires_at, error }) => ({ path, tail, expiresAt: expires_at, error }));
  }

  /** How many leases were given up, by the first segment of their path. */
  countIrrevocable(): Record<string, number> {
    const counts = this.#sql
      .exec<{ engine: string; n: number }>(
        `SELECT substr(path, 1, instr(path || '/', '/')) AS engine, COUNT(*) AS n
         FROM leases WHERE error IS NOT NULL GROUP BY engine`,
      )
      .toArray();
    return Object.fromEntries(counts.map(({ engine, n }) => [engine.endsWith("/") ? engine : `${engine}/`, n]));
  }

  /** Leases of one path after `id`. */
  #at(kind: LeaseKind, path: string, id: string, limit: number): IndexedLease[] {
    const { table, column } = SOURCES[kind];
    return this.#read(
      kind,
      `SELECT path, ${column} AS id FROM ${table} WHERE path = ? AND ${column} > ? ORDER BY ${column} LIMIT ?`,
      path,
      id,
      limit,
    );
  }

  /** Leases whose path begins with `prefix` and comes after `after` (null: from the first on). */
  #between(kind: LeaseKind, after: string | null, prefix: string, limit: number): IndexedLease[] {
    const { table, column } = SOURCES[kind];
    return this.#read(
      kind,
      `SELECT path, ${column} AS id FROM ${table}
       WHERE path ${after === null ? ">=" : ">"} ? AND path < ? ORDER BY path, ${column} LIMIT ?`,
      after ?? prefix,
      endOf(prefix),
      limit,
    );
  }

  #read(kind: LeaseKind, query: string, ...values: SqlStorageValue[]): IndexedLease[] {
    const rows = this.#sql.exec<PathRow>(query, ...values).toArray();
    return rows.map(({ path, id }) => ({ kind, path, id }));
  }

  /** Jumps from folder to folder, so that what is in them costs nothing. */
  #folders(table: string, prefix: string, limit: number, folders: Set<string>): void {
    let from = prefix;
    // The path "" is no lease's.
    let inclusive = prefix !== "";
    while (folders.size < limit) {
      const next: { path: string } | undefined = this.#sql
        .exec<{ path: string }>(
          `SELECT path FROM ${table} WHERE path ${inclusive ? ">=" : ">"} ? AND path < ? ORDER BY path LIMIT 1`,
          from,
          endOf(prefix),
        )
        .toArray()[0];
      if (!next) return;
      const folder: string = prefix + (next.path.slice(prefix.length).split("/")[0] ?? "");
      folders.add(`${folder.slice(prefix.length)}/`);
      // `a-b` stands between `a` and `a/c`, so after `a` itself what is below it may still come.
      inclusive = next.path !== folder;
      from = inclusive ? endOf(`${folder}/`) : folder;
    }
  }
}

function pageOf(leases: IndexedLease[], part: PagePosition["part"]): IndexPage {
  const last = leases.at(-1);
  return { leases, next: last ? { part, path: last.path, id: last.id } : null };
}

function ownPath(prefix: string): string {
  return prefix.slice(0, -1);
}

/** The first text after everything that begins with `prefix`: `0` follows the slash. */
function endOf(prefix: string): string {
  return prefix === "" ? END : `${ownPath(prefix)}0`;
}
