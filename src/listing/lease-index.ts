import type { Ms } from "../base/clock.ts";
import { MAX_PATH_LENGTH } from "../base/limits.ts";
import { columnOf, type Tables } from "../storage/tables.ts";

/** The table `inventory` serves as the index of tokens' leases. */
export const LEASE_INDEX_SQL = `
  CREATE TABLE leases (tail TEXT PRIMARY KEY, path TEXT NOT NULL, expires_at INTEGER, error TEXT) WITHOUT ROWID;
  CREATE INDEX leases_by_path ON leases (path);
  CREATE INDEX leases_given_up ON leases (expires_at) WHERE error IS NOT NULL;
`;

/** Finds leases whose revocation fails, and is tried again: they have a time and no error, see `LeaseIndex.noteFailed`. */
export const FAILED_LEASES_SQL = `
  CREATE INDEX leases_failed ON leases (expires_at) WHERE error IS NULL AND expires_at IS NOT NULL;
`;

/**
 * Leases that were removed by force although their targets did not accept the revocation: they have not ended. Kept as
 * long as the records of ended tokens. `holder` is "" when the token was alive, or is not known.
 */
export const REMOVED_LEASES_SQL = `
  CREATE TABLE removed_leases (tail TEXT PRIMARY KEY, holder TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX removed_leases_by_time ON removed_leases (at);
`;

/** A lease that is removed by force, without its target's answer. `holder`: accessor of the ended token that held it. */
export interface ForcedRemoval {
  readonly tail: string;
  readonly holder: string;
}

/** Number of leases of one holder that were removed by force. */
export type RemovedLeases = { readonly holder: string; readonly count: number };

export type LeaseKind = (typeof KINDS)[number];

export type IndexedLease = {
  readonly kind: LeaseKind;
  readonly path: string;
  /** The accessor of a token, or the tail of a secret's lease. Both contain the tree. */
  readonly id: string;
};

export interface LeasePosition {
  /** Whether the path of the lease is that of the prefix itself, or below it. */
  readonly part: "own" | "below";
  readonly path: string;
  readonly id: string;
}

/** Leases in order, and the position after which the next page begins; null after the last. */
export interface IndexPage {
  readonly leases: readonly IndexedLease[];
  readonly next: LeasePosition | null;
}

/** Leases and folders, with a slash at the end, of one level of paths. */
export interface LeaseLevel {
  readonly leases: readonly IndexedLease[];
  readonly folders: readonly string[];
}

export type IrrevocableLease = {
  readonly path: string;
  readonly tail: string;
  readonly expiresAt: Ms;
  readonly error: string;
};

const SOURCES = {
  token: { table: "inventory", column: "accessor" },
  secret: { table: "leases", column: "tail" },
} as const;
const KINDS = ["token", "secret"] as const;

/** Prefix of the accessor of a token in the order of names, because the tail of its lease id begins with it. */
const TOKEN_ORDER = "h";

/** Sorts after every path: the highest code point. */
const END = "\u{10ffff}";

/** The leases of a shard. A prefix ends with a slash, so that it matches whole segments; "" matches all. */
export class LeaseIndex {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Indexes the leases of secrets of a restored tree. Safe to repeat. */
  restore(held: readonly Pick<IrrevocableLease, "tail" | "path">[], givenUp: readonly IrrevocableLease[]): void {
    for (const { tail, path } of held) this.add(tail, path);
    for (const lease of givenUp) this.giveUp(lease);
  }

  /** Indexes the lease of a secret. Safe to repeat. */
  add(tail: string, path: string): void {
    this.#tables.exec("INSERT OR IGNORE INTO leases (tail, path) VALUES (?, ?)", tail, path);
  }

  /** Removes leases of secrets from the index. Safe to repeat. */
  remove(tails: readonly string[]): void {
    this.#tables.exec("DELETE FROM leases WHERE tail IN (SELECT value FROM json_each(?))", JSON.stringify(tails));
  }

  /** Stores which leases were removed by force. Safe to repeat. */
  noteRemoved(removals: readonly ForcedRemoval[], at: Ms): void {
    const statement = `INSERT OR REPLACE INTO removed_leases (tail, holder, at)
      SELECT value ->> 'tail', value ->> 'holder', ? FROM json_each(?)`;
    this.#tables.exec(statement, at, JSON.stringify(removals));
  }

  /** Counts the leases that were removed by force, by holder: those whose tail begins with one of `beginnings`. */
  removed(beginnings: readonly string[], from: Ms): RemovedLeases[] {
    const query = `SELECT l.holder, COUNT(*) AS count FROM json_each(?1) j
      JOIN removed_leases l ON l.tail >= j.value AND l.tail < j.value || ?2 WHERE l.at >= ?3 GROUP BY l.holder`;
    return this.#tables.exec<RemovedLeases>(query, JSON.stringify(beginnings), END, from).toArray();
  }

  /** Deletes records of leases that were removed before `before`. */
  forgetRemoved(before: Ms): void {
    this.#tables.exec("DELETE FROM removed_leases WHERE at < ?", before);
  }

  /** When the oldest record of a removal was made; null without any. */
  oldestRemoval(): Ms | null {
    return columnOf<number | null>(this.#tables, "SELECT MIN(at) FROM removed_leases")[0] ?? null;
  }

  /**
   * Notes that an attempt to revoke a secret's lease failed at `at`, and that another one follows. The column of the end
   * of a lease that was given up has this time. Nothing is noted of a lease that is not listed any more. Safe to repeat.
   */
  noteFailed(tail: string, at: Ms): void {
    this.#tables.exec("UPDATE leases SET expires_at = ? WHERE tail = ? AND error IS NULL", at, tail);
  }

  /** Returns at most `limit` leases whose last attempt failed at `from` or later, without errors, the last one first. */
  failedSince(from: Ms, limit: number): IrrevocableLease[] {
    const query = `SELECT path, tail, expires_at AS expiresAt, '' AS error FROM leases
      WHERE error IS NULL AND expires_at IS NOT NULL AND expires_at >= ? ORDER BY expires_at DESC LIMIT ?`;
    return this.#tables.exec<IrrevocableLease>(query, from, limit).toArray();
  }

  /** Notes that the revocation of a secret's lease was given up. Safe to repeat. */
  giveUp({ tail, path, expiresAt, error }: IrrevocableLease): void {
    const statement = `INSERT INTO leases (tail, path, expires_at, error) VALUES (?, ?, ?, ?)
      ON CONFLICT (tail) DO UPDATE SET expires_at = excluded.expires_at, error = excluded.error`;
    this.#tables.exec(statement, tail, path, expiresAt, error);
  }

  /** Returns a page of at most `limit` leases of one kind at or below `prefix`, after `start`, by path and id. */
  below(kind: LeaseKind, prefix: string, start: LeasePosition | null, limit: number): IndexPage {
    const leases: IndexedLease[] = [];
    const after = start?.part === "below" ? start : null;
    if (prefix !== "" && !after) leases.push(...this.#at(kind, ownPath(prefix), start?.id ?? "", limit));
    if (leases.length >= limit) return pageOf(leases, "own");
    if (after) leases.push(...this.#at(kind, after.path, after.id, limit));
    const where = `path ${after ? ">" : ">="} ? AND path < ? ORDER BY path, ${SOURCES[kind].column} LIMIT ?`;
    leases.push(...this.#select(kind, where, after?.path ?? prefix, endOf(prefix), limit - leases.length));
    return leases.length >= limit ? pageOf(leases, "below") : { leases, next: null };
  }

  /**
   * Returns the leases at `prefix` and the folders below it, at most `limit` of each kind. Their names come after
   * `after` in the order of `orderOfIndexed`.
   */
  level(prefix: string, after: string, limit: number): LeaseLevel {
    const leases: IndexedLease[] = [];
    const folders = new Set<string>();
    for (const kind of KINDS) {
      const start = startAfter(kind, after);
      if (prefix !== "" && start !== null) leases.push(...this.#at(kind, ownPath(prefix), start, limit));
      for (const folder of this.#folders(SOURCES[kind].table, prefix, after, limit)) folders.add(folder);
    }
    return { leases, folders: [...folders] };
  }

  /** Returns at most `limit` leases whose revocation was given up, ordered by expiry and id. */
  irrevocable(limit: number): IrrevocableLease[] {
    const query = `SELECT path, tail, expires_at AS expiresAt, error FROM leases
      WHERE error IS NOT NULL ORDER BY expires_at, path, tail LIMIT ?`;
    return this.#tables.exec<IrrevocableLease>(query, limit).toArray();
  }

  /** Counts the leases of secrets, up to `most`. */
  count(most: number): number {
    return columnOf<number>(this.#tables, "SELECT COUNT(*) FROM (SELECT 1 FROM leases LIMIT ?)", most)[0] ?? 0;
  }

  /** Returns which of these trees (as by `treeBeginning`) have leases of secrets in this shard. */
  treesWithLeases(beginnings: readonly string[]): string[] {
    if (this.count(1) === 0) return [];
    const query = `SELECT j.value FROM json_each(?) j
      WHERE EXISTS (SELECT 1 FROM leases WHERE tail >= j.value AND tail < j.value || ?)`;
    return columnOf(this.#tables, query, JSON.stringify(beginnings), END);
  }

  /** Counts the leases of both kinds at or below `prefix`, up to `most` of each kind. */
  countBelow(prefix: string, most: number): number {
    const counts = KINDS.flatMap((kind) => {
      const { table } = SOURCES[kind];
      const query = `SELECT COUNT(*) FROM (
        SELECT 1 FROM ${table} WHERE path = ? UNION ALL SELECT 1 FROM ${table} WHERE path >= ? AND path < ? LIMIT ?
      )`;
      const own = prefix === "" ? null : ownPath(prefix);
      return columnOf<number>(this.#tables, query, own, prefix, endOf(prefix), most);
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Counts the leases whose revocation was given up, by the first segment of their path. */
  countIrrevocable(): Record<string, number> {
    const query = `SELECT substr(path || '/', 1, instr(path || '/', '/')) AS engine, COUNT(*) AS n
      FROM leases WHERE error IS NOT NULL GROUP BY engine`;
    const counts = this.#tables.exec<{ engine: string; n: number }>(query).toArray();
    return Object.fromEntries(counts.map(({ engine, n }) => [engine, n]));
  }

  #at(kind: LeaseKind, path: string, id: string, limit: number): IndexedLease[] {
    const { column } = SOURCES[kind];
    return this.#select(kind, `path = ? AND ${column} > ? ORDER BY ${column} LIMIT ?`, path, id, limit);
  }

  #select(kind: LeaseKind, where: string, ...values: readonly (string | number)[]): IndexedLease[] {
    const { table, column } = SOURCES[kind];
    const query = `SELECT '${kind}' AS kind, path, ${column} AS id FROM ${table} WHERE ${where}`;
    return this.#tables.exec<IndexedLease>(query, ...values).toArray();
  }

  /** Returns the first folders after `after`, with their slash. Jumps from one to the next: no content is read. */
  #folders(table: string, prefix: string, after: string, limit: number): string[] {
    const folders: string[] = [];
    // A lease at `a` makes the folder `a/`. It sorts after `a-b/`, although `a` sorts before `a-b`: so it is held back.
    const isPath = (path: string) =>
      columnOf(this.#tables, `SELECT 1 FROM ${table} WHERE path = ? LIMIT 1`, path).length > 0;
    const waiting = namesWithFolderAfter(after).filter((name) => isPath(`${prefix}${name}`));
    const turnOf = (next: string) => {
      for (let name = waiting.at(-1); name !== undefined && `${name}/` <= next; name = waiting.at(-1)) {
        waiting.pop();
        if (`${name}/` !== next) folders.push(`${name}/`);
      }
    };
    let from = `${prefix}${after}`;
    // No lease has the path "".
    let inclusive = from !== "";
    while (folders.length < limit) {
      const next = this.#nextPath(table, from, inclusive, prefix);
      if (next === null) break;
      const [name = ""] = next.slice(prefix.length).split("/", 1);
      const isLease = next === prefix + name;
      turnOf(isLease ? name : `${name}/`);
      if (isLease) waiting.push(name);
      else if (`${name}/` > after) folders.push(`${name}/`);
      inclusive = !isLease;
      from = isLease ? next : endOf(`${prefix}${name}/`);
    }
    turnOf(END);
    return folders.slice(0, limit);
  }

  /** Returns the first path below `prefix` after `from`, or at `from` if `inclusive`. */
  #nextPath(table: string, from: string, inclusive: boolean, prefix: string): string | null {
    const query = `SELECT path FROM ${table} WHERE path ${inclusive ? ">=" : ">"} ? AND path < ? ORDER BY path LIMIT 1`;
    return columnOf<string>(this.#tables, query, from, endOf(prefix))[0] ?? null;
  }
}

/** Sort key of a lease in its level. A token sorts by its accessor: the index has that order, not that of lease ids. */
export function orderOfIndexed({ kind, id }: Pick<IndexedLease, "kind" | "id">): string {
  return kind === "token" ? TOKEN_ORDER + id : id;
}

/** Returns the id after which the leases of a kind begin; null when none of them sorts after `after`. */
function startAfter(kind: LeaseKind, after: string): string | null {
  if (kind === "secret") return after;
  if (after.startsWith(TOKEN_ORDER)) return after.slice(TOKEN_ORDER.length);
  return after < TOKEN_ORDER ? "" : null;
}

/** Returns the possible names that sort before `after` while their folder sorts after it, such as `a` for `a-b`. */
function namesWithFolderAfter(after: string): string[] {
  const [segment = ""] = after.slice(0, MAX_PATH_LENGTH).split("/", 1);
  const ends = Array.from(segment, (_, end) => end).filter((end) => end > 0 && (segment[end] ?? "") < "/");
  return ends.map((end) => segment.slice(0, end));
}

function pageOf(leases: IndexedLease[], part: LeasePosition["part"]): IndexPage {
  const last = leases.at(-1);
  return { leases, next: last ? { part, path: last.path, id: last.id } : null };
}

function ownPath(prefix: string): string {
  return prefix.slice(0, -1);
}

/** Returns the first text after all texts that begin with `prefix`: `0` is the character after the slash. */
function endOf(prefix: string): string {
  return prefix === "" ? END : `${ownPath(prefix)}0`;
}
