import { MountObject } from "../../auth/mount-object.ts";
import { nameKey } from "../../base/case-folding.ts";
import { currentTime } from "../../base/clock.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { objectNamed } from "../../base/object-stub.ts";
import { DENIED, err, ok, type Result, refuse, unavailable } from "../../base/result.ts";
import { mayWrite, type WriteGrants } from "../../policy/write-grants.ts";
import { SealedValues, Setting, type TableShape, valuesTable } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import type { Mount, MountTtl } from "../../system/mount.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../../system/revocation-origin.ts";
import { rolesGiving } from "../role-name.ts";
import type { AppRoleEnv } from "./env.ts";
import { type AppRole, type AppRoleFields, changeAppRole, type NewRoleIds, NO_ROLE } from "./role.ts";
import { secretIdShardsOf } from "./secret-id-shards.ts";

export const APP_ROLE_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the approle method; values are JSON",
    sql: `
      ${valuesTable("settings")}
      ${valuesTable("roles")}
      ${valuesTable("role_ids")}
      CREATE TABLE deleted_roles (role TEXT PRIMARY KEY, mount TEXT NOT NULL) WITHOUT ROWID;
    `,
  },
];

const SETTINGS: TableShape = { table: "settings", kind: "app role setting", key: ["name"], sealed: ["value"] };
const MAX_ROLES = 10_000;
/** The duty that deletes the secret-ids of deleted roles. */
const CLEAN_UP = "secret-ids of deleted roles";
const RETRY_MS = 30_000;
/** Roles of one clean-up. Each has 16 shards, and the platform lets a request call a thousand objects. */
const CLEANED_ROLES = 50;
const NOT_ENDED = unavailable("the role is deleted, and its secret-ids are not ended yet; try again");

/** A deleted role: its id, and the uuid of its mount. */
type DeletedRole = { role: string; mount: string };

/** A role with its name, as a login reads it. */
export interface NamedRole {
  readonly name: string;
  readonly role: AppRole;
}

/** A write of a role. */
export interface AppRoleWrite {
  readonly fields: Partial<AppRoleFields>;
  /** TTLs that limit those of the role. */
  readonly mount: MountTtl;
  /** The ids of a role that does not exist yet; null: it must exist. */
  readonly fresh: NewRoleIds | null;
  /** What the policies of the caller grant on the path. */
  readonly grants: WriteGrants;
}

/**
 * The roles of one mount of the approle method. Their secret-ids are in shards (`AppRoleSecretIds`). Tampered rows
 * count as absent.
 */
export class AppRoleAuth extends MountObject<AppRoleEnv> {
  readonly #roles: SealedValues<AppRole>;
  /** Names of roles by their role-ids. A row counts if the role has this role-id. */
  readonly #roleIds: SealedValues<string>;
  /** The version number of the roles (see `changeAndAnnounce`). */
  readonly #state: Setting<number>;
  /** Origins of deletions that are not complete, by the id of the role. Only in memory: a restart loses them. */
  readonly #asked = new Map<string, RevocationOrigin>();

  constructor(ctx: DurableObjectState, env: AppRoleEnv) {
    super(ctx, env, APP_ROLE_AUTH_MIGRATIONS, SETTINGS);
    this.#roles = new SealedValues(this.tables, this.seals, "roles", "app role");
    this.#roleIds = new SealedValues(this.tables, this.seals, "role_ids", "app role id");
    this.#state = new Setting(this.settings, "state");
    this.alarms.add(CLEAN_UP, {
      dueAt: () => (this.#deleted().length > 0 ? 0 : null),
      run: () => this.#cleanUp(this.#deleted()),
      pauseMs: () => RETRY_MS,
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /** Returns the role of this name (in lower case), or null. */
  async readRole(name: string): Promise<AppRole | null> {
    await this.keys.open();
    return this.#roles.read(name);
  }

  /** Returns the role with this role-id, and the state in which it was read. */
  async readByRoleId(roleId: string): Promise<{ readonly found: NamedRole | null; readonly state: number }> {
    await this.keys.open();
    return { found: this.#withRoleId(roleId), state: this.#state.read() ?? 0 };
  }

  /** Creates or changes a role. Returns warnings for the writer; or why it is refused. */
  async writeRole(
    name: string,
    { fields, mount, fresh, grants }: AppRoleWrite,
    attempt: CallAttempt = {},
  ): Promise<Result<readonly string[]>> {
    await this.keys.open();
    return this.carriedOut.once(attempt, () => {
      const before = this.#roles.read(name);
      if (!before && !fresh) return NO_ROLE;
      if (!mayWrite(before, grants)) return err(DENIED);
      const changed = changeAppRole(before, fields, fresh ?? { id: "", roleId: "" }, mount);
      if (!changed.ok) return changed;
      const { role, warnings } = changed.value;
      const isChosen = fields.role_id !== undefined && role.roleId !== before?.roleId;
      if (isChosen && this.#isOfOther(role.roleId, name)) return refuse("role_id already in use");
      if (!before && this.#roles.count() >= MAX_ROLES) return refuse(`a mount holds at most ${MAX_ROLES} roles`);
      if (before && before.roleId !== role.roleId) this.#roleIds.delete(before.roleId);
      this.#roles.write(name, role);
      this.#roleIds.write(role.roleId, name);
      this.#noteChange();
      return ok(warnings);
    });
  }

  /**
   * Deletes a role with its secret-ids, and ends the tokens that end with them. "unavailable" while a shard does not
   * answer: then, and after a crash, the alarm does the rest. Safe to repeat.
   *
   * @param mount the uuid of the mount.
   */
  async deleteRole(
    name: string,
    mount: string,
    asked: RevocationOrigin,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    // Another role with this name may have been made since.
    const isDeleted = this.carriedOut.has(attempt, "write");
    const role = isDeleted ? null : this.#roles.read(name);
    if (!isDeleted) this.#roles.delete(name);
    if (role) {
      this.#roleIds.delete(role.roleId);
      this.tables.exec("INSERT INTO deleted_roles (role, mount) VALUES (?, ?)", role.id, mount);
      this.#asked.set(role.id, asked);
      this.#noteChange();
      this.carriedOut.add(attempt, "write");
    }
    // A repeated call can't tell the id of the deleted role, so it continues all deletions of this mount.
    const meant = role ? [{ role: role.id, mount }] : this.#deleted();
    if (meant.length === 0) return ok(null);
    const done = await this.alarms.attempt(CLEAN_UP, () => this.#cleanUp(meant));
    return done.ok ? ok(null) : err(NOT_ENDED);
  }

  /** Returns the names of the roles whose tokens get this policy. */
  async rolesGiving(policy: string): Promise<string[]> {
    await this.keys.open();
    return rolesGiving(this.#roles, policy);
  }

  /** Returns at most `limit` roles whose logins need a secret-id, and whether these are all. */
  async rolesWithSecretIds(
    limit: number,
  ): Promise<{ readonly roles: readonly { readonly name: string; readonly id: string }[]; readonly isAll: boolean }> {
    await this.keys.open();
    const names = this.#roles.names("", limit + 1);
    const roles = names.slice(0, limit).flatMap((name) => {
      const role = this.#roles.read(name);
      return role?.bindSecretId ? [{ name, id: role.id }] : [];
    });
    return { roles, isAll: names.length <= limit };
  }

  /** Returns at most `limit` names of roles after `after`, in order. */
  listRoles(after: string, limit: number): string[] {
    return this.#roles.names(after, limit);
  }

  /** The version number of the roles; 0 before the first change. */
  async configurationState(): Promise<number> {
    await this.keys.open();
    return this.#state.read() ?? 0;
  }

  /**
   * True for the role-id of another role, in whatever case: a role-id is the alias of its logins, and aliases that differ
   * only in case are of one entity. Reads all role-ids.
   */
  #isOfOther(roleId: string, name: string): boolean {
    const key = nameKey(roleId);
    const same = this.#roleIds.names("", MAX_ROLES).filter((one) => nameKey(one) === key);
    return same.some((one) => (this.#withRoleId(one)?.name ?? name) !== name);
  }

  #withRoleId(roleId: string): NamedRole | null {
    const name = this.#roleIds.read(roleId);
    const role = name === null ? null : this.#roles.read(name);
    return name !== null && role?.roleId === roleId ? { name, role } : null;
  }

  /** At most `CLEANED_ROLES` deleted roles whose secret-ids may still exist. */
  #deleted(): DeletedRole[] {
    const query = "SELECT role, mount FROM deleted_roles ORDER BY random() LIMIT ?";
    return this.tables.exec<DeletedRole>(query, CLEANED_ROLES).toArray();
  }

  /** Deletes the secret-ids of deleted roles. A failure does not stop the others. @throws at the end if one failed. */
  async #cleanUp(roles: readonly DeletedRole[]): Promise<void> {
    let failure: { readonly reason: unknown } | undefined;
    for (const { role, mount } of roles) {
      const asked = this.#asked.get(role) ?? NO_ORIGIN;
      const shards = secretIdShardsOf(this.env, { uuid: mount });
      const dropped = await Promise.allSettled(shards.map((shard) => shard.dropRole(role, asked)));
      const failed = dropped.find((one) => one.status === "rejected");
      failure ??= failed;
      if (failed) continue;
      this.tables.exec("DELETE FROM deleted_roles WHERE role = ?", role);
      this.#asked.delete(role);
    }
    if (failure) throw failure.reason;
  }

  /** Increases the version number in the transaction of a change. Isolates detect outdated copies by it. */
  #noteChange(): void {
    // The time makes the number greater also after a restore of an earlier state.
    this.#state.write(Math.max((this.#state.read() ?? 0) + 1, currentTime()));
  }
}

/** How a mount is called in a cluster. */
const RULES = {
  repeated: [
    "readByRoleId",
    "rolesWithSecretIds",
    "configurationState",
    "readRole",
    "rolesGiving",
    "listRoles",
    "refusals",
  ],
} as const;

/** Returns the object of a mount. Its name is the uuid of the mount, so that a new mount at the same path is empty. */
export function appRoleAuthAt(env: AppRoleEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<AppRoleAuth> {
  return objectNamed(env, env.APP_ROLE_AUTH, mount.uuid, RULES);
}
