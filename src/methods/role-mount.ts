import type { TakingRoles } from "../auth/leaked-text.ts";
import { MountObject } from "../auth/mount-object.ts";
import type { TokenSettings } from "../auth/token-settings.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { DENIED, err, ok, type Result, refuse } from "../base/result.ts";
import type { SealedKind } from "../crypto/row-keys.ts";
import { mayWrite, type WriteGrants } from "../policy/write-grants.ts";
import { SealedValues, type TableShape, valuesTable } from "../storage/sealed-table.ts";
import type { Migration } from "../storage/tables.ts";
import type { SystemEnv } from "../system/env.ts";
import type { MountTtl } from "../system/mount.ts";
import { rolesGiving } from "./role-name.ts";

/** The SQL of the tables of a `RoleMount`. */
export const ROLE_MOUNT_TABLES = `${valuesTable("settings")} ${valuesTable("roles")}`;

const MAX_ROLES = 10_000;
/** Names of roles in one answer about a text that may have leaked. */
const MAX_TAKING = 20;

/** Applies a write to a role, null for a new one. Returns the role and warnings, or a refusal. */
type ChangeRole<Role, Fields> = (
  before: Role | null,
  fields: Fields,
  mount: MountTtl,
) => Result<{ readonly role: Role; readonly warnings: readonly string[] }>;

/** The object of a mount with settings and roles. Tampered rows count as absent. */
export abstract class RoleMount<
  Env extends SystemEnv,
  Role extends { readonly token: TokenSettings },
  Fields,
> extends MountObject<Env> {
  /** By their names in lower case. */
  protected readonly roles: SealedValues<Role>;
  readonly #changeRole: ChangeRole<Role, Fields>;

  constructor(
    ctx: DurableObjectState,
    env: Env,
    migrations: readonly Migration[],
    settings: TableShape,
    { kind, change }: { readonly kind: SealedKind; readonly change: ChangeRole<Role, Fields> },
  ) {
    super(ctx, env, migrations, settings);
    this.roles = new SealedValues(this.tables, this.seals, "roles", kind);
    this.#changeRole = change;
  }

  /** Returns the role of this name (in lower case), or null. */
  async readRole(name: string): Promise<Role | null> {
    await this.keys.open();
    return this.roles.read(name);
  }

  /** Creates or changes a role. Returns warnings for the writer. @param mount TTLs that limit those of the role. */
  async writeRole(
    name: string,
    fields: Fields,
    grants: WriteGrants,
    mount: MountTtl,
    attempt: CallAttempt = {},
  ): Promise<Result<readonly string[]>> {
    await this.keys.open();
    return this.carriedOut.once(attempt, () => {
      const before = this.roles.read(name);
      if (!mayWrite(before, grants)) return err(DENIED);
      const changed = this.#changeRole(before, fields, mount);
      if (!changed.ok) return changed;
      if (!before && this.roles.count() >= MAX_ROLES) return refuse(`a mount holds at most ${MAX_ROLES} roles`);
      this.roles.write(name, changed.value.role);
      return ok(changed.value.warnings);
    });
  }

  /** Returns the names of the roles whose tokens get this policy. */
  async rolesGiving(policy: string): Promise<string[]> {
    await this.keys.open();
    return rolesGiving(this.roles, policy);
  }

  /** Returns the names of the first roles for which `takes` is true. */
  protected takingRoles(takes: (role: Role) => boolean): TakingRoles {
    const taking = this.roles.entries().filter(([, role]) => takes(role));
    return { names: taking.slice(0, MAX_TAKING).map(([name]) => name), more: taking.length > MAX_TAKING };
  }

  /** Deletes a role. Safe to repeat. */
  deleteRole(name: string, attempt: CallAttempt = {}): void {
    this.deleteOnce(attempt, () => this.roles.delete(name));
  }

  /** Returns at most `limit` names of roles after `after`, in order. */
  listRoles(after: string, limit: number): string[] {
    return this.roles.names(after, limit);
  }
}
