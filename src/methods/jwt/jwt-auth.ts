import { distinctAliases, type JudgedClaims } from "../../auth/leaked-text.ts";
import { unshownChecks } from "../../auth/login-attempt.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import type { CallAttempt } from "../../base/lost-call-retry.ts";
import { objectNamed } from "../../base/object-stub.ts";
import { ok, type Result } from "../../base/result.ts";
import { equalTexts } from "../../crypto/bytes.ts";
import { CALLS_KEPT_MS } from "../../storage/carried-out-calls.ts";
import { Setting, type TableShape } from "../../storage/sealed-table.ts";
import type { Migration } from "../../storage/tables.ts";
import type { Mount } from "../../system/mount.ts";
import type { Claims } from "../jws.ts";
import { ROLE_MOUNT_TABLES, RoleMount } from "../role-mount.ts";
import { CLAIM_CHECKS, checkClaims } from "./claim-checks.ts";
import { userClaimOf } from "./claims.ts";
import { changeJwtConfig, type JwtConfig } from "./config.ts";
import type { JwtEnv } from "./env.ts";
import { clientSecretIn } from "./oidc/client-secret.ts";
import { PENDING_LOGINS_TABLE, PendingLogins, type PendingRow } from "./oidc/pending-login-table.ts";
import { changeJwtRole, type JwtRole, type JwtRoleFields } from "./role.ts";
import { lateness } from "./validity-times.ts";

export const JWT_AUTH_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "one mount of the jwt method; values are JSON",
    sql: ROLE_MOUNT_TABLES,
  },
  {
    version: 2,
    description: "logins through a browser that have begun",
    sql: PENDING_LOGINS_TABLE,
    readableFrom: 1,
  },
];

const SETTINGS: TableShape = {
  table: "settings",
  kind: "jwt setting",
  key: ["name"],
  sealed: ["value"],
  values: ({ value }) => clientSecretIn(String(value)),
};

const TIDY = "ended logins";
/** Ended logins are deleted on full quarters of an hour, so that not every login sets the alarm. */
const TIDY_MS = 900_000;
const RETRY_MS = 60_000;

/** The data of a login: what its role and the configuration of the mount are now. */
interface JwtLoginSettings {
  readonly config: JwtConfig | null;
  /** In lower case; "" for none. */
  readonly roleName: string;
  readonly role: JwtRole | null;
}

/** A pending login as it is found. `row` is null when there is none, and when another client began it. */
export interface FoundLogin extends JwtLoginSettings {
  readonly row: PendingRow | null;
  readonly isOfOther: boolean;
}

/** One mount of the jwt method: configuration, roles, pending logins. It has no key for the secrets that it stores. */
export class JwtAuth extends RoleMount<JwtEnv, JwtRole, JwtRoleFields> {
  readonly #config: Setting<JwtConfig>;
  readonly #pending: PendingLogins;

  constructor(ctx: DurableObjectState, env: JwtEnv) {
    super(ctx, env, JWT_AUTH_MIGRATIONS, SETTINGS, { kind: "jwt role", change: changeJwtRole });
    this.#config = new Setting(this.settings, "config");
    this.#pending = new PendingLogins(this.tables, this.seals);
    const dueAt = () => {
      const end = this.#pending.firstEnd();
      return end === null ? null : onTheQuarter(end);
    };
    this.alarms.add(TIDY, {
      dueAt,
      run: () => this.#pending.deleteEnded(currentTime()),
      pauseMs: () => RETRY_MS,
    });
    if (this.tables.exist) ctx.blockConcurrencyWhile(() => this.alarms.restore());
  }

  /** Returns the configuration, or null. */
  async readConfig(): Promise<JwtConfig | null> {
    await this.keys.open();
    return this.#config.read();
  }

  /** Replaces the configuration; see `changeJwtConfig`. */
  async writeConfig(
    change: Omit<JwtConfig, "sealedClientSecret">,
    sealedSecret: string | undefined,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    return this.carriedOut.once(attempt, () => {
      const config = changeJwtConfig(this.#config.read(), change, sealedSecret);
      if (!config.ok) return config;
      this.#config.write(config.value);
      return ok(null);
    });
  }

  /**
   * Returns the data for a login with a role (in lower case; "" for the default role). The returned name is that of the
   * role that counts, "" for none.
   */
  async readLogin(name: string): Promise<JwtLoginSettings> {
    await this.keys.open();
    return this.#settingsFor(name);
  }

  /**
   * Says which roles take the claims of an unverified token now, and how long after its end the role takes a token that
   * takes it the latest; 0 without roles. A role for logins through a browser takes no token that a client sends.
   */
  async judgeClaims(claims: Claims, now: Ms): Promise<JudgedClaims> {
    await this.keys.open();
    const config = this.#config.read();
    const roles = this.takingRoles(
      (role) =>
        config !== null && !role.browser && checkClaims(config, role, claims, now, unshownChecks(CLAIM_CHECKS)).ok,
    );
    const longest = this.roles.values().reduce((late, { leeways }) => Math.max(late, lateness(leeways)), 0);
    const names = this.roles.values().map(({ userClaim, userClaimJsonPointer }) => {
      return userClaimOf(claims, userClaim, userClaimJsonPointer);
    });
    const aliases = distinctAliases(names.flatMap((name) => (name.ok ? [name.value] : [])));
    return { roles, latenessMs: longest * 1000, aliases };
  }

  /** Stores a login that begins. Safe to repeat. */
  async beginLogin(row: PendingRow, now: Ms): Promise<void> {
    await this.keys.open();
    // A mount without settings has no login, and must not get tables by one.
    if (!this.tables.exist) return;
    this.#pending.add(row, now);
    await this.alarms.atLatest(onTheQuarter(row.expiresAt));
  }

  /** Finds a pending login for the client that began it. @param client as in `PendingRow`; null: any client. */
  async findLogin(hash: string, client: string | null, now: Ms): Promise<FoundLogin> {
    await this.keys.open();
    return this.#findLogin(hash, client, now);
  }

  /** As `findLogin`, and ends the login that is found: only one of all calls with the same state gets it. */
  async takeLogin(hash: string, client: string | null, now: Ms, { callId }: CallAttempt = {}): Promise<FoundLogin> {
    await this.keys.open();
    // For another attempt of the call the login stays a sealed row, at a place that no state leads to.
    const place = callId === undefined ? null : `taken by ${callId}`;
    const taken = place === null ? null : this.#pending.find(place, now);
    if (taken) return { row: { ...taken, hash }, isOfOther: false, ...this.#settingsFor(taken.role) };
    const found = this.#findLogin(hash, client, now);
    if (found.row) {
      this.#pending.delete(hash);
      if (place !== null) this.#pending.add({ ...found.row, hash: place, expiresAt: now + CALLS_KEPT_MS }, now);
    }
    return found;
  }

  /** As `PendingLogins.replace`. Safe to repeat. */
  async replaceLogin(hash: string, before: Uint8Array, value: Uint8Array<ArrayBuffer>, now: Ms): Promise<boolean> {
    await this.keys.open();
    return this.#pending.replace(hash, before, value, now);
  }

  /** Deletes everything when the mount is removed. Safe to repeat. */
  override erase(): Promise<void> {
    this.#pending.forget();
    return super.erase();
  }

  #findLogin(hash: string, client: string | null, now: Ms): FoundLogin {
    const row = this.#pending.find(hash, now);
    const isOfOther = row !== null && client !== null && row.client !== "" && !equalTexts(row.client, client);
    if (!row || isOfOther) return { row: null, isOfOther, config: this.#config.read(), roleName: "", role: null };
    return { row, isOfOther, ...this.#settingsFor(row.role) };
  }

  #settingsFor(name: string): JwtLoginSettings {
    const config = this.#config.read();
    const roleName = name || (config?.defaultRole ?? "");
    return { config, roleName, role: roleName === "" ? null : this.roles.read(roleName) };
  }
}

function onTheQuarter(time: Ms): Ms {
  return Math.ceil(time / TIDY_MS) * TIDY_MS;
}

/** How a mount is called in a cluster. */
const RULES = {
  repeated: [
    "readConfig",
    "readLogin",
    "judgeClaims",
    "beginLogin",
    "findLogin",
    "replaceLogin",
    "readRole",
    "rolesGiving",
    "listRoles",
    "refusals",
  ],
} as const;

/** Returns the object of a mount. Its name is the uuid of the mount, so that a new mount at the same path is empty. */
export function jwtAuthAt(env: JwtEnv, mount: Pick<Mount, "uuid">): DurableObjectStub<JwtAuth> {
  return objectNamed(env, env.JWT_AUTH, mount.uuid, RULES);
}
