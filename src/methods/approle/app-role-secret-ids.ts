import { currentTime, earliest, type Ms } from "../../base/clock.ts";
import { logInfo } from "../../base/log.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok, type Result, refuse, unavailable } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { CALLS_KEPT_MS } from "../../storage/carried-out-calls.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import { columnOf, type Migration, setColumns, storedJson } from "../../storage/tables.ts";
import { GroveObject } from "../../system/grove-object.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../../system/revocation-origin.ts";
import { type ParentName, waitsAgain } from "./ending-parents.ts";
import { hasEnded, hasMetadata, type SecretId } from "./secret-id.ts";
import { type excludingList, type SecretIdClient, useOf } from "./secret-id-use.ts";
import { OF_ROLE, type TokenOfUse, TokenParents, type WantedParent } from "./token-parents.ts";

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

/** What a login with a secret-id found. `excludedBy` is the list of networks that refuses the client. */
interface UsedSecretId {
  /** null: it does not exist or has ended. */
  readonly secretId: SecretId | null;
  readonly excludedBy: ReturnType<typeof excludingList>;
  /** Accessor of the parent of the secret-id's tokens (`TokenParents`); null while there is none. */
  readonly parent: string | null;
  /** Set when no attempt of this call has used the secret-id. An object of 1.0.0-rc.1 does not know that. */
  readonly isUnused?: true;
}

/** Secret-ids with some metadata. */
interface FoundSecretIds {
  readonly found: readonly SecretId[];
  /** The accessor after which the search goes on; null at the end. */
  readonly next: string | null;
}

const NO_SECRET_ID: UsedSecretId = { secretId: null, excludedBy: null, parent: null };
/** Stands in the place of a role, whose id is a UUID: a secret-id as it was before its last use, by the call. */
const SPENT = "spent";
const TIDY = "tidy";
/** The duty that ends tokens of destroyed secret-ids. */
const END_TOKENS = "tokens of destroyed secret-ids";
const NOT_ENDED = unavailable("the secret-ids are destroyed, and their tokens are not ended yet; try again");
const STEP_ROWS = 500;
/** Maximum steps of one alarm. The next alarm continues, so that requests do not wait long. */
const ALARM_STEPS = 32;
const RETRY_MS = 30_000;
/** Ended rows are removed on the hour: one run removes all that ended within it. */
const PERIOD_MS = 3_600_000;
/**
 * A secret-id is registered within this time after its role was read. A deleted role is known for longer, so no secret-id
 * is registered after the deletion of its role. The difference is a margin for the clocks of two machines.
 */
const MAX_REGISTRATION_MS = 60_000;
const DROPPED_KEPT_MS = 600_000;
const LATE = unavailable("the secret-id was not stored in time; try again");
/** Rows that one call of a search reads. */
const SEARCHED_ROWS = 1_000;

const ENDED = "SELECT role, hash FROM secret_ids WHERE expires_at <= ? ORDER BY expires_at LIMIT ?";
const DROPPED =
  "SELECT role, hash FROM secret_ids WHERE role IN (SELECT role FROM dropped_roles WHERE kept_until IS NULL) LIMIT ?";

/**
 * A shard of the secret-ids of a mount. A login counts its use here, in one transaction, before its token is issued: so
 * a secret-id gives no more tokens than it has uses, whatever fails. Each use checks by the sealed row whether the
 * secret-id has ended; tidy only frees storage. Rows with an invalid seal count as absent.
 */
export class AppRoleSecretIds extends GroveObject<Env> {
  readonly #rows: SealedTable<Row>;
  /** Parents of the tokens that end with their secret-id. */
  readonly #parents: TokenParents;
  protected override readonly restoredRow = waitsAgain;
  /** Deleted roles whose secret-ids may still have rows, or may still arrive; null before the first reading. */
  #droppedRoles: Set<string> | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, APP_ROLE_SECRET_ID_MIGRATIONS);
    this.#rows = new SealedTable<Row>(this.tables, this.seals, {
      table: "secret_ids",
      kind: "secret id",
      key: ["role", "hash"],
      sealed: ["accessor", "value"],
    });
    this.#parents = new TokenParents(env, ctx.storage.sql, this.seals, (role) => this.#dropped().has(role));
    this.alarms.add(END_TOKENS, {
      dueAt: () => (this.#parents.ending.has() ? 0 : null),
      run: () => this.#parents.ending.revoke(),
      pauseMs: () => RETRY_MS,
    });
    this.alarms.add(TIDY, { dueAt: () => this.#dueAt(), run: () => this.#tidy(), pauseMs: () => RETRY_MS });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /**
   * Stores a new secret-id; a 400 when the role has one with this text, "not_found" when the role was deleted.
   *
   * @param now a time before the role was read.
   */
  async register(
    role: string,
    hash: string,
    secretId: SecretId,
    now: Ms,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    this.env.deployment.moves?.accept();
    await this.keys.open();
    // What another attempt has stored can be destroyed or used up by now.
    if (this.carriedOut.has(attempt, "write")) return ok(null);
    if (this.#dropped().has(role)) return NOT_FOUND;
    if (currentTime() - now > MAX_REGISTRATION_MS) return err(LATE);
    const row = this.#rows.find(role, hash);
    const taken = row ? this.#good(row, now) !== null : this.#rows.count("WHERE role = ? AND hash = ?", role, hash) > 0;
    if (taken) return refuse("SecretID is already registered");
    const { accessor, expiresAt } = secretId;
    this.#rows.put({ role, hash, accessor, value: JSON.stringify(secretId), expires_at: expiresAt });
    this.carriedOut.add(attempt, "write");
    if (expiresAt !== null) await this.alarms.atLatest(onTheHour(expiresAt));
    return ok(null);
  }

  /**
   * Uses a secret-id for a login, and counts that once for all attempts of a call, unless the client's network refuses it.
   *
   * @param token the token of this login.
   */
  async use(
    role: string,
    hash: string,
    client: SecretIdClient,
    now: Ms,
    token: TokenOfUse = { endsWithSecretId: false, lasts: 0 },
    attempt: CallAttempt = {},
  ): Promise<UsedSecretId> {
    this.env.deployment.moves?.accept();
    await this.keys.open();
    if (this.carriedOut.has(attempt, "use")) return this.#usedBefore(role, hash, attempt, now);
    const row = this.#rows.find(role, hash);
    const secretId = row && this.#good(row, now);
    if (!row || !secretId) return { ...NO_SECRET_ID, isUnused: true };
    const { excludedBy, after } = useOf(secretId, client, now);
    if (excludedBy !== null) return { secretId, excludedBy, parent: null };
    if (after !== secretId) {
      this.#store(row, after);
      this.carriedOut.add(attempt, "use");
    }
    const keptUntil = after === null ? this.#keepSpent(row, attempt) : null;
    const parent = this.#parents.noteUse(role, hash, secretId, { ...token, isLast: after === null }, now);
    const due = earliest(keptUntil, token.endsWithSecretId || after === null ? this.#parents.nextEnd() : null);
    if (due !== null) await this.alarms.atLatest(onTheHour(due));
    return { secretId, excludedBy, parent };
  }

  /**
   * Returns the accessor of the parent of a secret-id's tokens, which is made if none is alive. null when the secret-id
   * was destroyed or has expired.
   */
  async parentOf(role: string, accessor: string, wanted: WantedParent): Promise<Result<string | null>> {
    await this.keys.open();
    return this.#parents.of(role, accessor, wanted);
  }

  /** Returns a secret-id that has not ended, or null. */
  async find(role: string, hash: string, now: Ms): Promise<SecretId | null> {
    await this.keys.open();
    const row = this.#rows.find(role, hash);
    return row && this.#good(row, now);
  }

  /** Returns the first of these secret-ids that has not ended, with the id of its role, or null. */
  async findOfRoles(
    places: readonly { readonly role: string; readonly hash: string }[],
    now: Ms,
  ): Promise<{ readonly role: string; readonly secretId: SecretId } | null> {
    // An object without tables has no secret-id.
    if (!this.tables.exist) return null;
    await this.keys.open();
    for (const { role, hash } of places) {
      const row = this.#rows.find(role, hash);
      const secretId = row && this.#good(row, now);
      if (secretId) return { role, secretId };
    }
    return null;
  }

  /** Returns the secret-id with this accessor, or null. null also when it has ended. */
  async findByAccessor(role: string, accessor: string, now: Ms): Promise<SecretId | null> {
    await this.keys.open();
    const [row] = this.#rows.list("WHERE role = ? AND accessor = ?", role, accessor);
    return row ? this.#good(row, now) : null;
  }

  /** Destroys a secret-id, also one with an invalid seal, and ends the tokens that end with it. Safe to repeat. */
  async destroy(
    role: string,
    hash: string,
    asked: RevocationOrigin = NO_ORIGIN,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    // Another one with this text may have been made since.
    if (!this.carriedOut.has(attempt, "write")) this.#rows.delete(role, hash);
    if (this.tables.exist) this.carriedOut.add(attempt, "write");
    return this.#endTokens({ role, by: "hash", value: hash }, asked);
  }

  /** `destroy`, for the secret-id with this accessor; "not_found" when there is none. */
  async destroyByAccessor(
    role: string,
    accessor: string,
    asked: RevocationOrigin,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    const query = "DELETE FROM secret_ids WHERE role = ? AND accessor = ?";
    const isDestroyed = this.tables.exec(query, role, accessor).rowsWritten > 0;
    const isFound = isDestroyed || this.carriedOut.has(attempt, "write");
    if (isDestroyed) this.carriedOut.add(attempt, "write");
    const name = { role, by: "accessor", value: accessor } as const;
    const isSpent = this.#parents.has(name);
    const ended = await this.#endTokens(name, asked);
    return ended.ok && !isFound && !isSpent ? NOT_FOUND : ended;
  }

  /** Returns at most `limit` accessors after `after`, in order, of secret-ids of a role that have not ended. */
  list(role: string, after: string, limit: number, now: Ms): string[] {
    const where = "role = ? AND accessor > ? AND (expires_at IS NULL OR expires_at > ?)";
    const query = `SELECT accessor FROM secret_ids WHERE ${where} ORDER BY accessor LIMIT ?`;
    return columnOf(this.tables, query, role, after, now, limit);
  }

  /** Searches the secret-ids of a role after `after` for some metadata. Reads a bounded number of rows. */
  async search(
    role: string,
    metadata: Readonly<Record<string, string>>,
    after: string,
    limit: number,
    now: Ms,
  ): Promise<FoundSecretIds> {
    await this.keys.open();
    const where = "WHERE role = ? AND accessor > ? ORDER BY accessor LIMIT ?";
    const { good, tampered } = this.#rows.judged(where, role, after, SEARCHED_ROWS);
    const matching = good.flatMap((row) => this.#good(row, now) ?? []).filter((one) => hasMetadata(one, metadata));
    const found = matching.slice(0, limit);
    if (matching.length > limit) return { found, next: found.at(-1)?.accessor ?? null };
    const last = [good, tampered]
      .flatMap((rows) => rows.at(-1)?.accessor ?? [])
      .sort()
      .at(-1);
    return { found, next: good.length + tampered.length < SEARCHED_ROWS ? null : (last ?? null) };
  }

  /**
   * Ends all secret-ids of a deleted role at once, also those that are being registered, and the tokens that end with
   * them. The alarm deletes their rows. Safe to repeat. @throws when the tokens could not be ended.
   */
  async dropRole(role: string, asked: RevocationOrigin = NO_ORIGIN): Promise<void> {
    await this.keys.open();
    this.tables.exec("INSERT OR IGNORE INTO dropped_roles (role) VALUES (?)", role);
    this.#dropped().add(role);
    const ended = await this.#endTokens({ role, by: "accessor", value: OF_ROLE }, asked);
    await this.alarms.atLatest(currentTime());
    if (!ended.ok) throw new Error("tokens of a deleted role were not ended");
  }

  /** Removes secret-ids that have ended at `now`. The alarm removes what one call leaves. */
  removeEnded(now: Ms): void {
    this.#removeInSteps(ENDED, now);
  }

  /** Deletes everything when the mount is removed. Safe to repeat. */
  erase(): Promise<void> {
    this.#droppedRoles = null;
    this.#parents.forget();
    return this.wipe();
  }

  /** The secret-id of a row; null if it has ended at `now`, or its role is deleted. */
  #good(row: Row, now: Ms): SecretId | null {
    const secretId = storedJson<SecretId>(row.value);
    return hasEnded(secretId, now) || this.#dropped().has(row.role) ? null : secretId;
  }

  /** Stores a secret-id as it is after a use; null: that was the last one. */
  #store({ role, hash, accessor, expires_at }: WithSeal<Row>, after: SecretId | null): void {
    if (!after) {
      this.#rows.delete(role, hash);
      return;
    }
    const changed = { role, hash, accessor, expires_at, value: JSON.stringify(after) };
    const seal = this.#rows.sealOf(changed).buffer;
    // Sets no indexed column, so that one row is written.
    setColumns(this.tables, "secret_ids", { value: changed.value, seal }, "role = ? AND hash = ?", role, hash);
  }

  /** What another attempt of a call has found, which has counted the use; nothing when the secret-id ended since. */
  #usedBefore(role: string, hash: string, attempt: CallAttempt, now: Ms): UsedSecretId {
    const row = this.#rows.find(SPENT, nameOfUse(role, hash, attempt)) ?? this.#rows.find(role, hash);
    const secretId = row && !this.#dropped().has(role) ? this.#good(row, now) : null;
    return secretId ? { secretId, excludedBy: null, parent: null } : NO_SECRET_ID;
  }

  /** Keeps a secret-id after its last use, for another attempt of the call. Returns until when; null: it is not kept. */
  #keepSpent({ role, hash, accessor, value }: Row, attempt: CallAttempt): Ms | null {
    if (attempt.callId === undefined) return null;
    const until = currentTime() + CALLS_KEPT_MS;
    this.#rows.put({ role: SPENT, hash: nameOfUse(role, hash, attempt), accessor, value, expires_at: until });
    return until;
  }

  /**
   * Ends the tokens of a destroyed secret-id, or of a deleted role. What is to be ended is stored in the transaction of the
   * destruction, so that the alarm ends them if this call does not.
   */
  async #endTokens(name: ParentName, asked: RevocationOrigin): Promise<Result<null>> {
    this.#parents.noteEnd(name, asked);
    const { ending } = this.#parents;
    if (!ending.has(name)) return ok(null);
    await this.alarms.attempt(END_TOKENS, () => ending.revoke(name));
    return ending.has(name) ? err(NOT_ENDED) : ok(null);
  }

  #dropped(): Set<string> {
    this.#droppedRoles ??= new Set(columnOf<string>(this.tables, "SELECT role FROM dropped_roles"));
    return this.#droppedRoles;
  }

  #dueAt(): Ms | null {
    const first = (query: string) => columnOf<number | null>(this.tables, query)[0] ?? null;
    const end = earliest(
      first("SELECT MIN(COALESCE(kept_until, 0)) FROM dropped_roles"),
      first("SELECT MIN(expires_at) FROM secret_ids WHERE expires_at IS NOT NULL"),
      this.#parents.nextEnd(),
    );
    return end === null ? null : onTheHour(end);
  }

  async #tidy(): Promise<void> {
    const removed = this.#removeInSteps(ENDED, currentTime());
    await this.#parents.removeEnded(currentTime());
    if (removed > 0) logInfo(this.env, { type: "tidy", list: "secret-ids", removed });
    this.#tidyDropped(currentTime());
  }

  /** Deletes the rows of deleted roles, a bounded number of them, and forgets the roles that no request can name. */
  #tidyDropped(now: Ms): void {
    this.tables.exec("DELETE FROM dropped_roles WHERE kept_until <= ?", now);
    this.#droppedRoles = null;
    const roles = columnOf<string>(this.tables, "SELECT role FROM dropped_roles WHERE kept_until IS NULL");
    if (roles.length === 0 || this.#removeInSteps(DROPPED) === STEP_ROWS * ALARM_STEPS) return;
    if (roles.some((role) => this.#parents.removeRole(role))) return;
    this.tables.exec("UPDATE dropped_roles SET kept_until = ? WHERE kept_until IS NULL", now + DROPPED_KEPT_MS);
  }

  /** Deletes the rows that a query returns, in at most `ALARM_STEPS` steps. Returns their number. */
  #removeInSteps(which: string, ...values: number[]): number {
    let removed = 0;
    for (let step = 0; step < ALARM_STEPS; step++) {
      const rows = this.tables.exec<{ role: string; hash: string }>(which, ...values, STEP_ROWS).toArray();
      for (const { role, hash } of rows) this.#rows.delete(role, hash);
      removed += rows.length;
      if (rows.length < STEP_ROWS) break;
    }
    return removed;
  }
}

/** The hash in the row of a secret-id that a call has used last. */
function nameOfUse(role: string, hash: string, { callId = "" }: CallAttempt): string {
  return `${callId} ${role} ${hash}`;
}

/** The first full hour at or after a time. */
function onTheHour(time: Ms): Ms {
  return Math.ceil(time / PERIOD_MS) * PERIOD_MS;
}
