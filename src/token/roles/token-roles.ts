import { Copies } from "../../base/copies.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { objectNamed } from "../../base/object-stub.ts";
import { DENIED, err, ok, type Result, refuse } from "../../base/result.ts";
import { type PolicyUsage, usageOf } from "../../policy/usage.ts";
import { mayWrite, type WriteGrants } from "../../policy/write-grants.ts";
import { SealedValues, valuesTable } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import { freshCopies } from "../../system/copy-age.ts";
import { GroveObject } from "../../system/grove-object.ts";
import type { MountTtl } from "../../system/mount.ts";
import type { TokenEnv } from "../env.ts";
import type { TokenRole, TokenRoleFields } from "../role.ts";
import { changeTokenRole, newRole } from "./change-role.ts";

/** Maximum number of token roles. Bounds the answer of a list. */
const MAX_ROLES = 10_000;

export const TOKEN_ROLE_MIGRATIONS: readonly Migration[] = [
  { version: 1, description: "token roles", sql: valuesTable("roles") },
];

/** The roles of one token mount. Names keep their case. */
export class TokenRoles extends GroveObject<TokenEnv> {
  readonly #roles: SealedValues<TokenRole>;

  constructor(ctx: DurableObjectState, env: TokenEnv) {
    super(ctx, env, TOKEN_ROLE_MIGRATIONS);
    this.#roles = new SealedValues(this.tables, this.seals, "roles", "token role");
  }

  /** The role `name` as it is now, or null. One that was tampered with counts as absent. */
  async read(name: string): Promise<TokenRole | null> {
    await this.keys.open();
    return this.#roles.read(name);
  }

  /**
   * Creates or changes the role `name`, and returns warnings for the caller. The check whether it exists, the check of
   * `grants` and the write are one transaction, so a caller with `create` but without `update` can never change a role.
   */
  async write(
    name: string,
    sent: TokenRoleFields,
    grants: WriteGrants,
    mount: MountTtl,
    attempt: CallAttempt = {},
  ): Promise<Result<readonly string[]>> {
    await this.keys.open();
    return this.carriedOut.once(attempt, () => {
      const before = this.#roles.read(name);
      if (!mayWrite(before, grants)) return err(DENIED);
      const changed = changeTokenRole(before ?? newRole(name), sent, mount);
      if (!changed.ok) return changed;
      if (!before && this.#roles.count() >= MAX_ROLES) return refuse(`there are ${MAX_ROLES} token roles already`);
      this.#roles.write(name, changed.value.role);
      return ok(changed.value.warnings);
    });
  }

  /** Deletes the role `name`. Safe to repeat. */
  delete(name: string, attempt: CallAttempt = {}): void {
    this.deleteOnce(attempt, () => this.#roles.delete(name));
  }

  /** Paths of the roles that list `name` in their allowed policies; globs do not count. */
  async allowing(name: string): Promise<PolicyUsage> {
    await this.keys.open();
    const roles = this.#roles.holding(name).filter(([, role]) => role.allowedPolicies.includes(name));
    return usageOf(roles.map(([role]) => `auth/token/roles/${role}`));
  }

  /** At most `limit` names after `after`, in order. */
  list(after: string, limit: number): string[] {
    return this.#roles.names(after, limit);
  }
}

/** How the object is called in a cluster. */
const RULES = {
  repeated: ["read", "allowing", "list"],
} as const;

/** The roles of the token method at `auth/token/`. */
export function tokenRoles(env: TokenEnv): DurableObjectStub<TokenRoles> {
  return objectNamed(env, env.TOKEN_ROLES, "token", RULES);
}

/** Characters of the roles in one generation of the copies of an isolate, as JSON. */
const MAX_ROLE_CHARACTERS = 2 ** 19;

const copies = new Copies<string, TokenRole | undefined>(MAX_ROLE_CHARACTERS, {
  sizeOf: (role) => JSON.stringify(role).length,
});

/**
 * Returns the token role from this isolate's copies, no older than POLICY_CACHE_SECONDS; null when there is none. The
 * absence of a role is not cached, because a client can choose any name.
 */
export async function loadRole(env: TokenEnv, name: string): Promise<TokenRole | null> {
  const role = await copies.load(name, freshCopies(env), async () => {
    return (await tokenRoles(env).read(name)) ?? undefined;
  });
  return role ?? null;
}

/** Drops this isolate's copy of a role. Called after each write of a role here, so that the writer sees it at once. */
export function forgetRole(name: string): void {
  copies.forget(name);
}
