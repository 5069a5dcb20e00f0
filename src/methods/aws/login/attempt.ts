import { bindAddress } from "../../../auth/token-settings.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import type { AuditNotes } from "../../../wire/audit.ts";
import { isName } from "../../../wire/path-name.ts";
import type { CloudAccount, CloudClient } from "../clients/client.ts";
import { type CloudAccess, openClient } from "../clients/open-client.ts";
import { isPlainWord } from "../fields.ts";
import type { LoginSettings } from "../mount/copies.ts";
import { configurationForLogin, rolesForLogin } from "../mount/for-login.ts";
import type { IdentityConfig } from "../rules/identity.ts";
import type { AuthType, CloudRole } from "../rules/role.ts";
import { MAX_ROLE_NAME } from "../rules/role-fields.ts";
import type { LoginSteps } from "../rules/steps.ts";

/** A login under way. */
export interface Attempt extends CloudAccess {
  readonly installation: Installation;
  /** null when the proxy in front did not send it. */
  readonly clientAddress: string | null;
  /** For the audit log: the role that is asked for, and who is proved to ask. */
  readonly notes: AuditNotes;
  /** Records each check. */
  readonly steps: LoginSteps;
}

/** The role that a holder logs in to, or renews by, and what the mount's configuration says for it. */
export interface Target {
  /** In lower case. */
  readonly roleName: string;
  readonly role: CloudRole;
  readonly identity: IdentityConfig;
  readonly account: CloudAccount;
  readonly client: CloudClient;
}

/** A role that exists, takes this kind of login, and takes it from this address. */
interface JudgedRole {
  /** In lower case. */
  readonly roleName: string;
  readonly role: CloudRole;
  /** Networks that the token is tied to. */
  readonly boundCidrs: readonly string[];
}

/** What is known of a login before its proof. */
export interface LoginStart {
  readonly settings: LoginSettings;
  /** null when the proof names the role. */
  readonly named: JudgedRole | null;
}

/** The target of a login from an address that the role takes. */
export type LoginTarget = Target & JudgedRole;

/**
 * The checks that need no proof: the role exists, allows this kind of login, and allows this address. They come first,
 * since any client can send a proof, and to verify one costs more than everything else here.
 *
 * @param name as the client sent it; "" or undefined when the proof names the role.
 */
export async function startLogin(
  attempt: Attempt,
  kind: AuthType,
  name: string | undefined,
): Promise<Result<LoginStart, Failure>> {
  const read = readRoleName(name ?? "");
  if (!read.ok) return attempt.steps.record("role", {}, read);
  const roleName = read.value;
  if (roleName === "") {
    const { settings } = await configurationForLogin(attempt, null, null);
    const mayLead = (kind === "vm" ? settings.hasImageRoles : settings.hasRoles) && !settings.tampered;
    const start = { settings, named: null };
    return mayLead ? ok(start) : attempt.steps.record("role", {}, err(invalid("entry for role not found")));
  }
  attempt.notes.role = roleName;
  const { settings, role } = await configurationForLogin(attempt, roleName, null);
  const named = judgeRole(attempt, role, roleName, kind);
  return named.ok ? ok({ settings, named: named.value }) : named;
}

/**
 * Finds what a login needs after its proof: the role, where only the proof names it, and the account's client.
 *
 * @param name the role by the proof, as the cloud names the holder. Names of IAM can be `..`, those of roles can't.
 */
export async function findTarget(
  attempt: Attempt,
  kind: AuthType,
  { settings, named }: LoginStart,
  name: string,
  accountId: string,
): Promise<Result<LoginTarget, Failure>> {
  if (named) {
    const { stsRole } = await rolesForLogin(attempt, null, accountId);
    return ok(await targetOf(attempt, settings, named, { accountId, stsRole }));
  }
  const read = readRoleName(name);
  if (!read.ok) return attempt.steps.record("role", {}, read);
  attempt.notes.role = read.value;
  const { role, stsRole } = await rolesForLogin(attempt, read.value, accountId);
  const judged = judgeRole(attempt, role, read.value, kind);
  return judged.ok ? ok(await targetOf(attempt, settings, judged.value, { accountId, stsRole })) : judged;
}

async function targetOf(
  attempt: Attempt,
  { identity, client }: LoginSettings,
  judged: JudgedRole,
  account: CloudAccount,
): Promise<LoginTarget> {
  return { ...judged, identity, account, client: await openClient(attempt, client) };
}

/** A role's name in lower case, "" for none; a failure for what no role can be called. */
function readRoleName(name: string): Result<string, Failure> {
  const roleName = name.toLowerCase();
  const possible = roleName === "" || (isName(roleName) && roleName.length <= MAX_ROLE_NAME);
  return possible ? ok(roleName) : err(notFound(roleName));
}

/** The role of a login, if there is one and it takes this kind of login from this address. */
function judgeRole(
  { clientAddress, steps, notes }: Attempt,
  role: CloudRole | null,
  roleName: string,
  kind: AuthType,
): Result<JudgedRole, Failure> {
  const found = steps.record("role", { actual: roleName }, role ? ok(role) : err(notFound(roleName)));
  if (!found.ok) return found;
  notes.roleExists = true;
  const { token, authType } = found.value;
  const addresses = { bound: token.boundCidrs, actual: clientAddress };
  const boundCidrs = steps.record("address", addresses, bindAddress(token, clientAddress));
  if (!boundCidrs.ok) return boundCidrs;
  const taken = { roleName, role: found.value, boundCidrs: boundCidrs.value };
  const other = err(invalid(`auth method ${kind} not allowed for role ${roleName}`));
  return steps.record("auth_type", { bound: [authType], actual: kind }, authType === kind ? ok(taken) : other);
}

function notFound(roleName: string): Failure {
  return invalid(isPlainWord(roleName) ? `entry for role "${roleName}" not found` : "entry for role not found");
}
