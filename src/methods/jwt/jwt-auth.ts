import { within } from "../../base/location.ts";
import { Setting, type TableShape } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import type { Mount } from "../../system/mount.ts";
import { ROLE_MOUNT_TABLES, RoleMount } from "../role-mount.ts";
import type { JwtConfig } from "./config.ts";
import type { JwtEnv } from "./env.ts";
import { changeJwtRole, type JwtRole, type JwtRoleFields } from "./role.ts";

export const JWT_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the jwt method; values are JSON",
    sql: ROLE_MOUNT_TABLES,
  },
];

const SETTINGS: TableShape = { table: "settings", kind: "jwt setting", key: ["name"], sealed: ["value"] };

/** One mount of the jwt method: its configuration and roles. Tampered rows count as absent. */
export class JwtAuth extends RoleMount<JwtEnv, JwtRole, JwtRoleFields> {
  readonly #config: Setting<JwtConfig>;

  constructor(ctx: DurableObjectState, env: JwtEnv) {
    super(ctx, env, JWT_AUTH_MIGRATIONS, SETTINGS, { kind: "jwt role", change: changeJwtRole });
    this.#config = new Setting(this.settings, "config");
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
    return { config, roleName, role: roleName === "" ? null : this.roles.read(roleName) };
  }
}

/** Returns the object of a mount. Its name is the uuid of the mount, so that a new mount at the same path is empty. */
export function jwtAuthAt(env: JwtEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<JwtAuth> {
  return within(env, env.JWT_AUTH).getByName(mount.uuid);
}
