import { currentTime, earliest, type Ms } from "../../base/clock.ts";
import { CALLS_KEPT_MS } from "../../storage/carried-out-calls.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import { columnOf, type Migration, setColumns, storedJson, type Tables } from "../../storage/tables.ts";
import { hasEnded, hasMetadata, type SecretId } from "./secret-id.ts";

export const APP_ROLE_SECRET_ID_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "a shard of the secret-ids of a mount, by role and keyed hash; values are JSON",
    sql: `
      CREATE TABLE secret_ids (
        role TEXT NOT NULL,
        hash TEXT NOT NULL,
        accessor TEXT NOT NULL,
        value TEXT NOT NULL,
        expires_at INTEGER,
        seal BLOB,
        PRIMARY KEY (role, hash)
      ) WITHOUT ROWID;
      CREATE INDEX secret_ids_by_accessor ON secret_ids (role, accessor, expires_at);
      CREATE INDEX secret_ids_by_end ON secret_ids (expires_at) WHERE expires_at IS NOT NULL;
      CREATE TABLE dropped_roles (role TEXT PRIMARY KEY) WITHOUT ROWID;
    `,
  },
  {
    version: 2,
    description: "until when a deleted role is known after its secret-ids are gone; null: they may be there",
    sql: "ALTER TABLE dropped_roles ADD COLUMN kept_until INTEGER",
    readableFrom: 1,
  },
];

type Row = { role: string; hash: string; accessor: string; value: string; expires_at: number | null };

/** Secret-ids with some metadata. */
export interface FoundSecretIds {
  readonly found: readonly SecretId[];
  /** The accessor after which the search goes on; null at the end. */
  readonly next: string | null;
}

/** Stands in the place of a role, whose id is a UUID: a secret-id as it was before its last use, by the call. */
const SPENT = "spent";
const STEP_ROWS = 500;
/** Maximum steps of one alarm. The next alarm continues, so that requests do not wait long. */
const ALARM_STEPS = 32;
/**
 * How long a deleted role is known (ms): longer than a secret-id may take from the reading of its role to its
 * registration, so none is registered after the deletion. The difference is a margin for the clocks of two machines.
 */
const DROPPED_KEPT_MS = 600_000;
/** Rows that one call of a search reads. */
const SEARCHED_ROWS = 1_000;

const ENDED = "SELECT role, hash FROM secret_ids WHERE expires_at <= ? ORDER BY expires_at LIMIT ?";
const DROPPED =
  "SELECT role, hash FROM secret_ids WHERE role IN (SELECT role FROM dropped_roles WHERE kept_until IS NULL) LIMIT ?";

/** The secret-ids of a shard, and the deleted roles of its mount. Rows with an invalid seal count as absent. */
export class SecretIdTable {
  readonly #tables: Tables;
  readonly #rows: SealedTable<Row>;
  /** Deleted roles whose secret-ids may still have rows, or may still arrive; null before the first reading. */
  #droppedRoles: Set<string> | null = null;

  constructor(tables: Tables, seals: RowSeals) {
    this.#tables = tables;
    this.#rows = new SealedTable<Row>(tables, seals, {
      table: "secret_ids",
      kind: "secret id",
      key: ["role", "hash"],
      sealed: ["accessor", "value"],
    });
  }

  /** Returns a secret-id that has not ended, or null. */
  find(role: string, hash: string, now: Ms): SecretId | null {
    const row = this.#rows.find(role, hash);
    return row && this.#present(row, now);
  }

  /** `find`, for the secret-id with this accessor. */
  findByAccessor(role: string, accessor: string, now: Ms): SecretId | null {
    const [row] = this.#rows.list("WHERE role = ? AND accessor = ?", role, accessor);
    return row ? this.#present(row, now) : null;
  }

  /** True when the role has a secret-id with this text; also when its seal is invalid. */
  isTaken(role: string, hash: string, now: Ms): boolean {
    const row = this.#rows.find(role, hash);
    return row ? this.#present(row, now) !== null : this.#rows.count("WHERE role = ? AND hash = ?", role, hash) > 0;
  }

  add(role: string, hash: string, secretId: SecretId): void {
    this.#rows.put(rowOf(role, hash, secretId));
  }

  /** Stores a secret-id as it is after a use; null: that was the last one. */
  change(role: string, hash: string, before: SecretId, after: SecretId | null): void {
    if (!after) {
      this.delete(role, hash);
      return;
    }
    const changed = { ...rowOf(role, hash, before), value: JSON.stringify(after) };
    const seal = this.#rows.sealOf(changed).buffer;
    // Sets no indexed column, so that one row is written.
    setColumns(this.#tables, "secret_ids", { value: changed.value, seal }, "role = ? AND hash = ?", role, hash);
  }

  /** Keeps a secret-id after its last use, for another attempt of the call. Returns until when; null: it is not kept. */
  keepSpent(role: string, hash: string, secretId: SecretId, callId: string | undefined): Ms | null {
    if (callId === undefined) return null;
    const until = currentTime() + CALLS_KEPT_MS;
    this.#rows.put({ ...rowOf(SPENT, nameOfUse(role, hash, callId), secretId), expires_at: until });
    return until;
  }

  /** The secret-id that another attempt of the call has used, or null when it has ended since. */
  findUsed(role: string, hash: string, callId: string | undefined, now: Ms): SecretId | null {
    if (this.isDropped(role)) return null;
    const row = this.#rows.find(SPENT, nameOfUse(role, hash, callId)) ?? this.#rows.find(role, hash);
    return row && this.#present(row, now);
  }

  /** Deletes a secret-id, also one with an invalid seal. Safe to repeat. */
  delete(role: string, hash: string): void {
    this.#rows.delete(role, hash);
  }

  /** `delete`, for the secret-id with this accessor. False when there is none. */
  deleteByAccessor(role: string, accessor: string): boolean {
    const query = "DELETE FROM secret_ids WHERE role = ? AND accessor = ?";
    return this.#tables.exec(query, role, accessor).rowsWritten > 0;
  }

  /** Returns at most `limit` accessors after `after`, in order, of secret-ids of a role that have not ended. */
  list(role: string, after: string, limit: number, now: Ms): string[] {
    const where = "role = ? AND accessor > ? AND (expires_at IS NULL OR expires_at > ?)";
    const query = `SELECT accessor FROM secret_ids WHERE ${where} ORDER BY accessor LIMIT ?`;
    return columnOf(this.#tables, query, role, after, now, limit);
  }

  /** Searches the secret-ids of a role after `after` for some metadata. Reads a bounded number of rows. */
  search(
    role: string,
    metadata: Readonly<Record<string, string>>,
    after: string,
    limit: number,
    now: Ms,
  ): FoundSecretIds {
    const where = "WHERE role = ? AND accessor > ? ORDER BY accessor LIMIT ?";
    const { good, tampered } = this.#rows.judged(where, role, after, SEARCHED_ROWS);
    const matching = good.flatMap((row) => this.#present(row, now) ?? []).filter((one) => hasMetadata(one, metadata));
    const found = matching.slice(0, limit);
    if (matching.length > limit) return { found, next: found.at(-1)?.accessor ?? null };
    const last = [good, tampered]
      .flatMap((rows) => rows.at(-1)?.accessor ?? [])
      .sort()
      .at(-1);
    return { found, next: good.length + tampered.length < SEARCHED_ROWS ? null : (last ?? null) };
  }

  /** Ends all secret-ids of a role at once, also those that are being registered. Safe to repeat. */
  dropRole(role: string): void {
    this.#tables.exec("INSERT OR IGNORE INTO dropped_roles (role) VALUES (?)", role);
    this.#dropped().add(role);
  }

  /** True for a deleted role. */
  isDropped(role: string): boolean {
    return this.#dropped().has(role);
  }

  /** When the next secret-id ends, or a deleted role need not be known any more; null for never. */
  nextEnd(): Ms | null {
    const first = (query: string) => columnOf<number | null>(this.#tables, query)[0] ?? null;
    return earliest(
      first("SELECT MIN(COALESCE(kept_until, 0)) FROM dropped_roles"),
      first("SELECT MIN(expires_at) FROM secret_ids WHERE expires_at IS NOT NULL"),
    );
  }

  /** Deletes the rows of secret-ids that have ended at `now`, a bounded number of them. Returns the number. */
  removeEnded(now: Ms): number {
    return this.#removeInSteps(ENDED, now);
  }

  /**
   * Deletes the rows of deleted roles, a bounded number of them, and forgets the roles that no request can name.
   *
   * @param removeOther deletes what else is stored for a role. Returns true while there is more.
   */
  tidyDropped(removeOther: (role: string) => boolean, now: Ms): void {
    this.#tables.exec("DELETE FROM dropped_roles WHERE kept_until <= ?", now);
    this.#droppedRoles = null;
    const roles = columnOf<string>(this.#tables, "SELECT role FROM dropped_roles WHERE kept_until IS NULL");
    if (roles.length === 0 || this.#removeInSteps(DROPPED) === STEP_ROWS * ALARM_STEPS) return;
    if (roles.some(removeOther)) return;
    this.#tables.exec("UPDATE dropped_roles SET kept_until = ? WHERE kept_until IS NULL", now + DROPPED_KEPT_MS);
  }

  /** Called before the tables are deleted. */
  forget(): void {
    this.#droppedRoles = null;
  }

  /** The secret-id of a row; null if it has ended at `now`, or its role is deleted. */
  #present(row: Row, now: Ms): SecretId | null {
    const secretId = storedJson<SecretId>(row.value);
    return hasEnded(secretId, now) || this.isDropped(row.role) ? null : secretId;
  }

  #dropped(): Set<string> {
    this.#droppedRoles ??= new Set(columnOf<string>(this.#tables, "SELECT role FROM dropped_roles"));
    return this.#droppedRoles;
  }

  /** Deletes the rows that a query returns, in at most `ALARM_STEPS` steps. Returns their number. */
  #removeInSteps(which: string, ...values: number[]): number {
    let removed = 0;
    for (let step = 0; step < ALARM_STEPS; step++) {
      const rows = this.#tables.exec<{ role: string; hash: string }>(which, ...values, STEP_ROWS).toArray();
      for (const { role, hash } of rows) this.#rows.delete(role, hash);
      removed += rows.length;
      if (rows.length < STEP_ROWS) break;
    }
    return removed;
  }
}

function rowOf(role: string, hash: string, secretId: SecretId): Row {
  return { role, hash, accessor: secretId.accessor, value: JSON.stringify(secretId), expires_at: secretId.expiresAt };
}

/** The hash in the row of a secret-id that a call has used last. */
function nameOfUse(role: string, hash: string, callId = ""): string {
  return `${callId} ${role} ${hash}`;
}
