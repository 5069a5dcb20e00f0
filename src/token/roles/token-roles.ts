import { DurableObject } from "cloudflare:workers";
import { DENIED, type Failure, invalid } from "../../base/errors.ts";
import { within } from "../../base/location.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { RowSeals } from "../../storage/row-seals.ts";
import { type Migration, Schema } from "../../storage/schema.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../storage/seal-check.ts";
import { SealedTable, type TableShape, type WithSeal } from "../../storage/sealed-table.ts";
import type { MountTtl } from "../../system/mount.ts";
import { ObjectKeys } from "../../system/object-keys.ts";
import type { TokenRole } from "../role.ts";
import { changeRole, newRole } from "./change.ts";
import type { RoleFields } from "./fields.ts";

/** Roles of one mount; it bounds the answer of a list. */
const MAX_ROLES = 10_000;

export const TOKEN_ROLE_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "token roles",
    sql: "CREATE TABLE roles (name TEXT PRIMARY KEY, role TEXT NOT NULL) WITHOUT ROWID",
  },
  { version: 2, description: "seals of roles", sql: "ALTER TABLE roles ADD COLUMN seal BLOB" },
];

interface RoleRow extends Record<string, SqlStorageValue> {
  name: string;
  role: string;
}

const SHAPE: TableShape = { table: "roles", kind: "token role", key: ["name"], sealed: ["role"] };

/** What the caller's policies grant on the path of a role. */
export interface WriteGrants {
  readonly create: boolean;
  readonly update: boolean;
}

/** The roles of one token mount. Names keep their case. */
export class TokenRoles extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;
  readonly #keys: ObjectKeys;
  readonly #roles: SealedTable<RoleRow>;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#keys = new ObjectKeys(env);
    this.#roles = new SealedTable(this.#sql, new RowSeals(ctx.id.toString(), () => this.#keys.get()), SHAPE);
    this.#schema = new Schema(this.#sql, TOKEN_ROLE_MIGRATIONS);
  }

  /** The role `name` as it is now, or null. One that was tampered with counts as absent. */
  async read(name: string): Promise<TokenRole | null> {
    await this.#keys.open();
    return this.#read(name);
  }

  /**
   * Makes or changes the role `name`. Whether it exists, what that asks of the caller's policies, and the write are one
   * transaction, so nobody can change a role with the right to create one.
   *
   * @returns warnings for the writer; "permission_denied", or a 400 when the role would not be a good one.
   */
  async write(
    name: string,
    sent: RoleFields,
    grants: WriteGrants,
    mount: MountTtl,
  ): Promise<Result<readonly string[], Failure>> {
    await this.#keys.open();
    const before = this.#read(name);
    if (before ? !grants.update : !grants.create) return err(DENIED);
    const changed = changeRole(before ?? newRole(name), sent, mount);
    if (!changed.ok) return changed;
    if (!before && this.#count() >= MAX_ROLES) return err(invalid(`there are ${MAX_ROLES} token roles already`));
    this.#schema.create();
    const row = { name, role: JSON.stringify(changed.value.role) };
    const seal = this.#roles.sealOf(row);
    this.#sql.exec("INSERT OR REPLACE INTO roles (name, role, seal) VALUES (?, ?, ?)", name, row.role, seal);
    return ok(changed.value.warnings);
  }

  /** Deletes the role `name`. Safe to repeat. */
  delete(name: string): void {
    if (this.#schema.exists) this.#sql.exec("DELETE FROM roles WHERE name = ?", name);
  }

  /** At most `limit` names after `after`, in order; 0 means all. */
  list(after: string, limit: number): string[] {
    if (!this.#schema.exists) return [];
    return this.#sql
      .exec<{ name: string }>(
        "SELECT name FROM roles WHERE name > ? ORDER BY name LIMIT ?",
        after,
        limit > 0 ? limit : MAX_ROLES,
      )
      .toArray()
      .map((row) => row.name);
  }

  /** Checks the seals of some roles, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.#schema.exists) return NOTHING_TO_CHECK;
    await this.#keys.open();
    return checkSeals([this.#roles], from);
  }

  #read(name: string): TokenRole | null {
    if (!this.#schema.exists) return null;
    const row = this.#sql.exec<WithSeal<RoleRow>>("SELECT * FROM roles WHERE name = ?", name).toArray()[0];
    return row && this.#roles.admits(row) ? (JSON.parse(row.role) as TokenRole) : null;
  }

  #count(): number {
    return this.#schema.exists ? this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM roles").one().n : 0;
  }
}

/** The roles of the token method at `auth/token/`. */
export function tokenRoles(env: Env): DurableObjectStub<TokenRoles> {
  return within(env, env.TOKEN_ROLES).getByName("token");
}
