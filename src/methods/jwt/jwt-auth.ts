import { DurableObject } from "cloudflare:workers";
import { type Failure, invalid } from "../../base/errors.ts";
import { within } from "../../base/location.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { RowSeals } from "../../storage/row-seals.ts";
import { type Migration, Schema } from "../../storage/schema.ts";
import { checkSeals, NOTHING_TO_CHECK, type SealPosition, type SealStep } from "../../storage/seal-check.ts";
import { SealedTable, type WithSeal } from "../../storage/sealed-table.ts";
import type { Mount, MountTtl } from "../../system/mount.ts";
import { ObjectKeys } from "../../system/object-keys.ts";
import type { JwtConfig } from "./config.ts";
import { changeRole, type JwtRole, type RoleFields } from "./role.ts";

const MAX_ROLES = 10_000;

export const JWT_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the jwt method; values are JSON",
    sql: `
      CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB) WITHOUT ROWID;
      CREATE TABLE roles (name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB) WITHOUT ROWID;
    `,
  },
];

interface ValueRow extends Record<string, SqlStorageValue> {
  name: string;
  value: string;
}

type Table = "settings" | "roles";

/** What a login has to know of its mount. */
export interface JwtLoginView {
  /** null while the mount is not configured. */
  readonly config: JwtConfig | null;
  /** The name of the role that was asked for, or the default one, in lower case; "" for none. */
  readonly roleName: string;
  readonly role: JwtRole | null;
}

/** One mount of the jwt method: the one writer of its configuration and roles. What was tampered with counts as absent. */
export class JwtAuth extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #schema: Schema;
  readonly #keys: ObjectKeys;
  readonly #sealed: Readonly<Record<Table, SealedTable<ValueRow>>>;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#keys = new ObjectKeys(env);
    const seals = new RowSeals(ctx.id.toString(), () => this.#keys.get());
    const columns = { key: ["name"], sealed: ["value"] };
    this.#sealed = {
      settings: new SealedTable(this.#sql, seals, { table: "settings", kind: "jwt setting", ...columns }),
      roles: new SealedTable(this.#sql, seals, { table: "roles", kind: "jwt role", ...columns }),
    };
    this.#schema = new Schema(this.#sql, JWT_AUTH_MIGRATIONS);
  }

  /** The configuration; null while there is none. */
  async readConfig(): Promise<JwtConfig | null> {
    await this.#keys.open();
    return this.#read<JwtConfig>("settings", "config");
  }

  /** Replaces the configuration. */
  async writeConfig(config: JwtConfig): Promise<void> {
    await this.#keys.open();
    this.#write("settings", "config", config);
  }

  /** What a login by the role `name` (in lower case; "" for the default one) has to know. */
  async readLogin(name: string): Promise<JwtLoginView> {
    await this.#keys.open();
    const config = this.#read<JwtConfig>("settings", "config");
    const roleName = name || (config?.defaultRole ?? "");
    return { config, roleName, role: roleName === "" ? null : this.#read<JwtRole>("roles", roleName) };
  }

  /** The role of this name (in lower case), or null. */
  async readRole(name: string): Promise<JwtRole | null> {
    await this.#keys.open();
    return this.#read<JwtRole>("roles", name);
  }

  /**
   * Makes or changes a role.
   *
   * @param mount lifetimes that its settings are compared with.
   * @returns warnings for the writer.
   */
  async writeRole(name: string, fields: RoleFields, mount: MountTtl): Promise<Result<readonly string[], Failure>> {
    await this.#keys.open();
    const before = this.#read<JwtRole>("roles", name);
    const changed = changeRole(before, fields, mount);
    if (!changed.ok) return err(invalid(changed.error));
    if (!before && this.#count() >= MAX_ROLES) return err(invalid(`a mount holds at most ${MAX_ROLES} roles`));
    this.#write("roles", name, changed.value.role);
    return ok(changed.value.warnings);
  }

  /** Deletes a role. Safe to repeat. */
  deleteRole(name: string): void {
    if (this.#schema.exists) this.#sql.exec("DELETE FROM roles WHERE name = ?", name);
  }

  /** At most `limit` names of roles after `after`, in order. */
  listRoles(after: string, limit: number): string[] {
    if (!this.#schema.exists) return [];
    return this.#sql
      .exec<{ name: string }>("SELECT name FROM roles WHERE name > ? ORDER BY name LIMIT ?", after, limit)
      .toArray()
      .map(({ name }) => name);
  }

  /** Deletes everything, when the mount is gone. Safe to repeat. */
  async erase(): Promise<void> {
    this.#schema.forget();
    await this.ctx.storage.deleteAll();
  }

  /** Checks the seals of some rows, for tidy. */
  async checkSeals(from: SealPosition | null): Promise<SealStep> {
    if (!this.#schema.exists) return NOTHING_TO_CHECK;
    await this.#keys.open();
    return checkSeals([this.#sealed.settings, this.#sealed.roles], from);
  }

  #read<T>(table: Table, name: string): T | null {
    if (!this.#schema.exists) return null;
    const row = this.#sql.exec<WithSeal<ValueRow>>(`SELECT * FROM ${table} WHERE name = ?`, name).toArray()[0];
    return row && this.#sealed[table].admits(row) ? (JSON.parse(row.value) as T) : null;
  }

  #write(table: Table, name: string, content: unknown): void {
    this.#schema.create();
    const value = JSON.stringify(content);
    const seal = this.#sealed[table].sealOf({ name, value });
    this.#sql.exec(`INSERT OR REPLACE INTO ${table} (name, value, seal) VALUES (?, ?, ?)`, name, value, seal);
  }

  #count(): number {
    if (!this.#schema.exists) return 0;
    return this.#sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM roles").one().n;
  }
}

/**
 * The object of a mount. Its name is the uuid of the mount, so that a method mounted anew at the same path begins
 * empty.
 */
export function jwtAuthAt(env: Env, mount: Pick<Mount, "uuid">): DurableObjectStub<JwtAuth> {
  return within(env, env.JWT_AUTH).getByName(mount.uuid);
}
