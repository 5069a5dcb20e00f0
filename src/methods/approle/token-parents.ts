import { issue } from "../../auth/issue.ts";
import { currentTime, earliest, type Ms } from "../../base/clock.ts";
import type { LocationHint } from "../../base/location.ts";
import { err, ok, type Result, unavailable } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { RowSeals } from "../../storage/row-seals.ts";
import { SealedTable } from "../../storage/sealed-table.ts";
import { columnOf, type Migration, Tables } from "../../storage/tables.ts";
import { mustLoadInstallation } from "../../system/installation.ts";
import type { Mount } from "../../system/mount.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../../system/revocation-origin.ts";
import { decodeStoredId, type TokenAddress } from "../../token/ids.ts";
import { PLAIN_RECORD, type TokenSpec, withWatermark } from "../../token/record.ts";
import { treeAt } from "../../token/tree-stub.ts";
import { EndingParents, type ParentName, revokeParent, STEP_TREES } from "./ending-parents.ts";
import { hasEnded, type SecretId } from "./secret-id.ts";

export const TOKEN_PARENT_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "parent tokens of a shard's roles and secret-ids, and those that are to be revoked",
    sql: `
      CREATE TABLE token_parents (
        role TEXT NOT NULL,
        accessor TEXT NOT NULL,
        hash TEXT NOT NULL,
        parent TEXT NOT NULL,
        expires_at INTEGER,
        kept_until INTEGER,
        longest INTEGER NOT NULL,
        seal BLOB,
        PRIMARY KEY (role, accessor)
      ) WITHOUT ROWID;
      CREATE INDEX token_parents_by_hash ON token_parents (role, hash);
      CREATE INDEX token_parents_by_end ON token_parents (COALESCE(expires_at, kept_until))
        WHERE COALESCE(expires_at, kept_until) IS NOT NULL;
      CREATE TABLE ending_parents (
        parent TEXT PRIMARY KEY,
        role TEXT NOT NULL,
        accessor TEXT NOT NULL,
        hash TEXT NOT NULL,
        asked TEXT NOT NULL,
        revoked_at INTEGER
      ) WITHOUT ROWID;
      CREATE INDEX ending_parents_waiting ON ending_parents (role) WHERE revoked_at IS NULL;
      CREATE INDEX ending_parents_by_end ON ending_parents (revoked_at) WHERE revoked_at IS NOT NULL;
    `,
  },
];

/**
 * `parent`: the accessor of the parent token, "" before it is made. `accessor` and `hash`: "" for that of the role.
 * `longest`: maximum lifetime (ms) of the tokens of all logins so far, because no tree knows of batch tokens.
 */
type Row = {
  role: string;
  accessor: string;
  hash: string;
  parent: string;
  expires_at: number | null;
  kept_until: number | null;
  longest: number;
};

/** The accessor of a parent token; null when there is no need for one. */
type Made = Result<string | null>;
type Metadata = Readonly<Record<string, string>>;
type Above = TokenAddress | null;

/** The token of a login: whether it ends with the secret-id, and how long it can last (ms), unless it is periodic. */
export interface TokenOfUse {
  readonly endsWithSecretId: boolean;
  readonly lasts: Ms;
}

/** What a parent token is made for. */
export interface WantedParent {
  readonly mount: Pick<Mount, "path" | "uuid">;
  /** The name of the role. */
  readonly name: string;
  readonly location: LocationHint | undefined;
  /** Number of the newest watermark that the isolate of the login knows. */
  readonly watermark: number;
}

/** The accessor in the row of the parent token of a role. */
export const OF_ROLE = "";
const END = "COALESCE(expires_at, kept_until)";
const STEP_ROWS = 500;
const DAY_MS = 86_400_000;
const NOT_MADE = unavailable("the parent of the token could not be made; try again");

/**
 * The parent tokens of the secret-ids of a shard. Where a role says so, the tokens of logins with a secret-id are
 * children of one token, whose own parent is a token of the role: so a destroyed secret-id and a deleted role end any
 * number of tokens by one revocation. The text of a parent token is given to no client, and it has no policy.
 *
 * The order of the steps makes a crash between two of them safe. A parent token is stored here after it was made and
 * before it has children, so a parent that a crash leaves behind has no children. A destruction moves the row to
 * `EndingParents` in its own transaction, and is answered after the revocation.
 */
export class TokenParents {
  /** The parent tokens that are to be revoked. */
  readonly ending: EndingParents;
  readonly #env: Env;
  readonly #tables: Tables;
  readonly #rows: SealedTable<Row>;
  readonly #isDropped: (role: string) => boolean;
  /**
   * Parent tokens that are being found or made: concurrent logins wait for the same one. That includes the question
   * whether the stored parent is alive. A login that asked by itself could get the answer late, and replace a parent
   * that was made meanwhile. Nothing would then end the children of that parent.
   */
  readonly #finding = new Map<string, Promise<Made>>();

  /** @param isDropped true for a deleted role, whose rows may still be there. */
  constructor(env: Env, sql: SqlStorage, seals: RowSeals, isDropped: (role: string) => boolean) {
    this.#env = env;
    this.#tables = new Tables(sql, TOKEN_PARENT_MIGRATIONS, "token_parents");
    this.ending = new EndingParents(env, this.#tables);
    this.#rows = new SealedTable<Row>(this.#tables, seals, {
      table: "token_parents",
      kind: "token parent",
      key: ["role", "accessor"],
      sealed: ["hash", "parent", "expires_at", "kept_until", "longest"],
    });
    this.#isDropped = isDropped;
  }

  /**
   * Notes a login with a secret-id, in the transaction that counts its use. After its last use the secret-id is found here
   * alone.
   *
   * @returns the accessor of the parent token; null while there is none.
   */
  noteUse(
    role: string,
    hash: string,
    secretId: SecretId,
    { endsWithSecretId, lasts, isLast }: TokenOfUse & { readonly isLast: boolean },
    now: Ms,
  ): string | null {
    if (!endsWithSecretId && !isLast) return null;
    const { accessor, expiresAt } = secretId;
    const row = this.#rows.find(role, accessor);
    if (!row && !endsWithSecretId) return null;
    const longest = Math.max(row?.longest ?? 0, lasts);
    if (row && !isLast && longest === row.longest) return row.parent || null;
    const noted = row ?? { role, accessor, hash, parent: "", expires_at: expiresAt };
    this.#rows.put({ ...noted, longest, kept_until: isLast ? now + longest : null });
    return noted.parent || null;
  }

  /**
   * Returns the accessor of the parent token of a secret-id, which is made if none is alive; null when the secret-id
   * was destroyed or has expired, or the mount is gone.
   */
  of(role: string, accessor: string, wanted: WantedParent): Promise<Made> {
    return this.#once(role, accessor, async () => {
      const row = this.#standing(role, accessor);
      if (!row) return ok(null);
      return (await this.#isAlive(row.parent)) ? ok(row.parent) : this.#make(role, accessor, wanted);
    });
  }

  /**
   * Notes that the parent token of a destroyed secret-id, or of a deleted role and so of all its secret-ids, is to be
   * revoked, by the request `asked`.
   */
  noteEnd({ role, by, value }: ParentName, asked: RevocationOrigin): void {
    // Rows with an invalid seal go too, but end no token: an attacker can write the accessor of any token into them.
    const { good, tampered } = this.#rows.judged(`WHERE role = ? AND ${by} = ?`, role, value);
    for (const row of good) if (row.parent !== "") this.ending.add(row, asked);
    for (const { accessor } of [...good, ...tampered]) this.#rows.delete(role, accessor);
  }

  /** True for a secret-id with a row, or whose parent token is to be revoked. */
  has(name: ParentName): boolean {
    const query = `SELECT 1 FROM token_parents WHERE role = ? AND ${name.by} = ?`;
    return columnOf(this.#tables, query, name.role, name.value).length > 0 || this.ending.has(name);
  }

  /** When the next row may be removed; null: none. */
  nextEnd(): Ms | null {
    const query = `SELECT MIN(${END}) FROM token_parents WHERE ${END} IS NOT NULL`;
    const [first = null] = columnOf<number | null>(this.#tables, query);
    return earliest(first, this.ending.nextRemoval());
  }

  /** Removes rows that are no longer needed, in one bounded step. */
  async removeEnded(now: Ms): Promise<void> {
    this.ending.removeOld(now);
    const due = `WHERE ${END} <= ? ORDER BY ${END} LIMIT ?`;
    const { good, tampered } = this.#rows.judged(due, now, STEP_ROWS);
    for (const { role, accessor } of tampered) this.#rows.delete(role, accessor);
    const expired = good.filter((row) => hasEnded({ expiresAt: row.expires_at }, now));
    // The parent token has expired with the secret-id.
    for (const { role, accessor } of expired) this.#rows.delete(role, accessor);
    const spent = good.filter((row) => row.expires_at === null).slice(0, STEP_TREES);
    await Promise.all(spent.map((row) => this.#removeUnlessInUse(row, now)));
  }

  /** Deletes at most `STEP_ROWS` rows of a deleted role. Returns true when there may be more. */
  removeRole(role: string): boolean {
    const query = "SELECT accessor FROM token_parents WHERE role = ? LIMIT ?";
    const accessors = columnOf<string>(this.#tables, query, role, STEP_ROWS);
    for (const accessor of accessors) this.#rows.delete(role, accessor);
    return accessors.length === STEP_ROWS;
  }

  /** Notes that the storage of the object is deleted. */
  forget(): void {
    this.#tables.forget();
  }

  /** The row of a secret-id that was not destroyed and has not expired, or of a role; else null. */
  #standing(role: string, accessor: string): Row | null {
    const row = this.#isDropped(role) ? null : this.#rows.find(role, accessor);
    return row && !hasEnded({ expiresAt: row.expires_at }, currentTime()) ? row : null;
  }

  async #make(role: string, accessor: string, wanted: WantedParent): Promise<Made> {
    const row = this.#standing(role, accessor);
    if (!row) return ok(null);
    const above = await this.#ofRole(role, wanted);
    if (!above.ok || above.value === null) return above;
    const meta = { role_name: wanted.name, secret_id_accessor: accessor };
    const spec = { meta, expiresAt: row.expires_at, above: decodeStoredId(above.value) };
    return this.#issue(wanted, spec, (parent) => {
      const standing = this.#standing(role, accessor);
      if (standing) this.#replace(standing, parent);
      return standing !== null;
    });
  }

  /** `of`, for the parent token of a role. */
  #ofRole(role: string, wanted: WantedParent): Promise<Made> {
    return this.#once(role, OF_ROLE, async () => {
      const row = this.#standing(role, OF_ROLE);
      if (row && (await this.#isAlive(row.parent))) return ok(row.parent);
      return this.#issue(wanted, { meta: { role_name: wanted.name }, expiresAt: null, above: null }, (parent) => {
        const query = "SELECT 1 FROM token_parents WHERE role = ? AND accessor <> ? LIMIT 1";
        const isWanted = !this.#isDropped(role) && columnOf(this.#tables, query, role, OF_ROLE).length > 0;
        const fresh = { role, accessor: OF_ROLE, hash: "", parent: "", expires_at: null, kept_until: null, longest: 0 };
        if (isWanted) this.#replace(this.#standing(role, OF_ROLE) ?? fresh, parent);
        return isWanted;
      });
    });
  }

  /**
   * Makes a parent token. `store` stores it, or returns false when it is not wanted any more: the secret-id may have been
   * destroyed meanwhile, or the role deleted.
   */
  async #issue(
    { mount, name, location, watermark }: WantedParent,
    { meta, expiresAt, above }: Pick<TokenSpec, "expiresAt"> & { readonly meta: Metadata; readonly above: Above },
    store: (parent: string) => boolean,
  ): Promise<Made> {
    const installation = await mustLoadInstallation(this.#env, watermark);
    // Nothing would end a parent token that is made after the mount was disabled.
    if (installation.mountAt(mount.path)?.uuid !== mount.uuid) return ok(null);
    const now = currentTime();
    const spec: TokenSpec = {
      type: "service",
      orphan: above === null,
      expiresAt,
      ...(location && { location }),
      record: {
        ...PLAIN_RECORD,
        policies: [],
        meta,
        displayName: mount.path.slice(0, -1).replaceAll("/", "-"),
        path: `auth/${mount.path}role/${name}`,
        createdAt: now,
        creationTtl: expiresAt === null ? 0 : Math.ceil((expiresAt - now) / 1000),
        ...withWatermark(installation.watermarks.newest),
      },
    };
    const issued = await issue(this.#env, installation, spec, above, "");
    // The token above may have ended meanwhile: the same login can succeed later.
    if (!issued.ok) return err(NOT_MADE);
    const { accessor } = issued.value;
    if (store(accessor)) return ok(accessor);
    await revokeParent(this.#env, accessor, NO_ORIGIN);
    return ok(null);
  }

  /** Stores a parent token in place of the one in `row`, which has ended. */
  #replace(row: Row, parent: string): void {
    if (row.parent !== "") this.ending.noteEnded(row);
    this.#rows.put({ ...row, parent });
  }

  /** Runs `find`, or waits for a run for the same parent that is in progress. */
  #once(role: string, accessor: string, find: () => Promise<Made>): Promise<Made> {
    const key = `${role} ${accessor}`;
    const running = this.#finding.get(key);
    if (running) return running;
    const found = find().finally(() => this.#finding.delete(key));
    this.#finding.set(key, found);
    return found;
  }

  /** True while a parent token can get children. */
  async #isAlive(parent: string): Promise<boolean> {
    const at = decodeStoredId(parent);
    return at !== null && (await treeAt(this.#env, at.treeId).rowStatus(at.row)) === "alive";
  }

  /** Removes the row of a secret-id whose uses are spent, with its parent token, unless that has tokens below it. */
  async #removeUnlessInUse({ role, accessor, parent }: Row, now: Ms): Promise<void> {
    const at = decodeStoredId(parent);
    const lineage = at && (await treeAt(this.#env, at.treeId).lineage(at.row, at.tail, 1, 0));
    const row = this.#rows.find(role, accessor);
    if (!row) return;
    if (lineage && lineage.descendants.count > 0) this.#rows.put({ ...row, kept_until: now + DAY_MS });
    else this.noteEnd({ role, by: "accessor", value: accessor }, NO_ORIGIN);
  }
}
