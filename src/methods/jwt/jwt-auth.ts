import { MountObject } from "../../auth/mount-object.ts";
import { within } from "../../base/location.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { SealedValues, Setting, type TableShape, valuesTable } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import type { Mount, MountTtl } from "../../system/mount.ts";
import { rolesGiving } from "../roles.ts";
import type { JwtConfig } from "./config.ts";
import type { JwtEnv } from "./env.ts";
import { changeJwtRole, type JwtRole, type JwtRoleFields } from "./role.ts";

export const JWT_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the jwt method; values are JSON",
    sql: `${valuesTable("settings")} ${valuesTable("roles")}`,
  },
];

const SETTINGS: TableShape = { table: "settings", kind: "jwt setting", key: ["name"], sealed: ["value"] };
const MAX_ROLES = 10_000;

/** One mount of the jwt method: its configuration and roles. Tampered rows count as absent. */
export class JwtAuth extends MountObject<JwtEnv> {
  readonly #config: Setting<JwtConfig>;
  readonly #roles: SealedValues<JwtRole>;

  constructor(ctx: DurableObjectState, env: JwtEnv) {
    super(ctx, env, JWT_AUTH_MIGRATIONS, SETTINGS);
    this.#config = new Setting(this.settings, "config");
    this.#roles = new SealedValues(this.tables, this.seals, "roles", "jwt role");
  }

  /** Returns the configuration, or null. */
  async readConfig(): Promise<JwtConfig | null> {
    await this.keys.open();
    return this.#config.read();
  }

  /** Replaces the configuration. */
  async writeConfig(config: JwtConfig): Promise<void> {
    await this.keys.open();
    this.#config.write(config);
  }

  /**
   * Returns the data for a login with a role (in lower case; "" for the default role). The returned name is that of the
   * role that counts, "" for none.
   */
  async readLogin(name: string) {
    await this.keys.open();
    const config = this.#config.read();
    const roleName = name || (config?.defaultRole ?? "");
    return { config, roleName, role: roleName === "" ? null : this.#roles.read(roleName) };
  }

  /** Returns the role of this name (in lower case), or null. */
  async readRole(name: string): Promise<JwtRole | null> {
    await this.keys.open();
    return this.#roles.read(name);
  }

  /** Creates or changes a role. Returns warnings for the writer. @param mount TTLs that limit those of the role. */
  async writeRole(name: string, fields: JwtRoleFields, mount: MountTtl): Promise<Result<readonly string[]>> {
    await this.keys.open();
    const before = this.#roles.read(name);
    const changed = changeJwtRole(before, fields, mount);
    if (!changed.ok) return changed;
    if (!before && this.#roles.count() >= MAX_ROLES) return refuse(`a mount holds at most ${MAX_ROLES} roles`);
    this.#roles.write(name, changed.value.role);
    return ok(changed.value.warnings);
  }

  /** Returns the names of the roles whose tokens get this policy. */
  async rolesGiving(policy: string): Promise<string[]> {
    await this.keys.open();
    return rolesGiving(this.#roles, policy);
  }

  /** Deletes a role. Safe to repeat. */
  deleteRole(name: string): void {
    this.#roles.delete(name);
  }

  /** Returns at most `limit` names of roles after `after`, in order. */
  listRoles(after: string, limit: number): string[] {
    return this.#roles.names(after, limit);
  }
}

/** Returns the object of a mount. Its name is the uuid of the mount, so that a new mount at the same path is empty. */
export function jwtAuthAt(env: JwtEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<JwtAuth> {
  return within(env, env.JWT_AUTH).getByName(mount.uuid);
}
