import { distinctAliases, type JudgedClaims } from "../../auth/leaked-text.ts";
import type { Ms } from "../../base/clock.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { objectNamed } from "../../base/object-stub.ts";
import { ok } from "../../base/result.ts";
import { Setting, type TableShape } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import type { Mount } from "../../system/mount.ts";
import type { Claims } from "../jws.ts";
import { ROLE_MOUNT_TABLES, RoleMount } from "../role-mount.ts";
import { changeConfig, type KubernetesConfig, type KubernetesConfigChange } from "./config.ts";
import type { KubernetesEnv } from "./env.ts";
import { sealedReviewerIn } from "./reviewer-jwt.ts";
import { aliasNameOf, changeKubernetesRole, type KubernetesRole, type KubernetesRoleFields, mayTake } from "./role.ts";
import { CLOCK_SKEW_MS, claimedAccount, timesProblem } from "./service-account.ts";

export const KUBERNETES_AUTH_MIGRATIONS: readonly Migration[] = [
  { version: 1, description: "one mount of the kubernetes method; values are JSON", sql: ROLE_MOUNT_TABLES },
];

const SETTINGS: TableShape = {
  table: "settings",
  kind: "kubernetes setting",
  key: ["name"],
  sealed: ["value"],
  values: ({ value }) => sealedReviewerIn(String(value)),
};

/** One mount of the kubernetes method: its configuration and roles. It has no key for the reviewer that it stores. */
export class KubernetesAuth extends RoleMount<KubernetesEnv, KubernetesRole, KubernetesRoleFields> {
  readonly #config: Setting<KubernetesConfig>;

  constructor(ctx: DurableObjectState, env: KubernetesEnv) {
    super(ctx, env, KUBERNETES_AUTH_MIGRATIONS, SETTINGS, { kind: "kubernetes role", change: changeKubernetesRole });
    this.#config = new Setting(this.settings, "config");
  }

  /** Returns the configuration, or null. */
  async readConfig(): Promise<KubernetesConfig | null> {
    await this.keys.open();
    return this.#config.read();
  }

  /** Replaces the configuration. */
  async writeConfig(change: KubernetesConfigChange, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.carriedOut.once(attempt, () => ok(this.#config.write(changeConfig(this.#config.read(), change))));
  }

  /**
   * Says which roles may take the claims of an unverified token now: the API server decides, and for some the labels of the
   * namespace. Also how long after its end a login is not refused before the API server is asked.
   */
  async judgeClaims(claims: Claims, now: Ms): Promise<JudgedClaims> {
    await this.keys.open();
    const account = claimedAccount(claims);
    const isInTime = timesProblem(claims, now) === null;
    return {
      roles: this.takingRoles((role) => isInTime && account.ok && mayTake(role, account.value)),
      latenessMs: CLOCK_SKEW_MS,
      aliases: account.ok ? distinctAliases(this.roles.values().map((role) => aliasNameOf(role, account.value))) : [],
    };
  }

  /** Returns what a login with a role of this name (in lower case), or a renewal of its token, needs. */
  async readLogin(roleName: string) {
    await this.keys.open();
    return { config: this.#config.read(), role: this.roles.read(roleName) };
  }
}

/** How a mount is called in a cluster. */
const RULES = {
  repeated: ["readConfig", "readLogin", "judgeClaims", "readRole", "rolesGiving", "listRoles", "refusals"],
} as const;

/** Returns the object of a mount. Its name is the uuid of the mount, so that a new mount at the same path is empty. */
export function kubernetesAuthAt(env: KubernetesEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<KubernetesAuth> {
  return objectNamed(env, env.KUBERNETES_AUTH, mount.uuid, RULES);
}
