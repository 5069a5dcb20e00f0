import { bindAddress } from "../../../auth/token-settings.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import type { AuditNotes } from "../../../wire/audit.ts";
import { isName } from "../../path-name.ts";
import type { CloudAccount, CloudClient } from "../clients/client.ts";
import { type CloudAccess, openClient } from "../clients/open-client.ts";
import type { LoginSettings } from "../config/copies.ts";
import { configurationForLogin } from "../config/for-login.ts";
import type { IdentityConfig } from "../config/identity.ts";
import { isPlainWord } from "../fields.ts";
import { MAX_ROLE_NAME } from "../roles/limits.ts";
import type { AuthType, CloudRole } from "../roles/role.ts";
import type { LoginSteps } from "./steps.ts";

/** A login under way. */
export interface Attempt extends CloudAccess {
  readonly installation: Installation;
  /** null when whatever stands in front did not say. */
  readonly clientAddress: string | null;
  /** For the audit log: the role that is asked for, and who is proved to ask. */
  readonly notes: AuditNotes;
  /** Is told each check. */
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

/** The same, for a login from an address that the role takes. */
export interface LoginTarget extends Target {
  /** Networks that the token is tied to. */
  readonly boundCidrs: readonly string[];
}

/**
 * The checks that need no proof: the role exists, allows this kind of login, and allows this address. They come first,
 * since anybody can send a proof, and to verify one costs more than everything else here.
 *
 * @param name as the client sent it; "" or undefined when the proof names the role.
 */
export async function startLogin(
  attempt: Attempt,
  kind: AuthType,
  name: string | undefined,
): Promise<Result<LoginSettings, Failure>> {
  const read = readRoleName(name ?? "");
  if (!read.ok) return attempt.steps.judge("role", {}, read);
  const roleName = read.value;
  const { settings, role } = await configurationForLogin(attempt, roleName === "" ? null : roleName, null);
  if (roleName === "") {
    const mayLead = (kind === "vm" ? settings.hasImageRoles : settings.hasRoles) && !settings.tampered;
    return mayLead ? ok(settings) : attempt.steps.judge("role", {}, err(invalid("entry for role not found")));
  }
  attempt.notes.role = roleName;
  const allowed = judgeRole(attempt, role, roleName, kind);
  return allowed.ok ? ok(settings) : allowed;
}

/**
 * Finds the role of a login and checks what needs no call to the cloud: that it exists, takes this kind of login, and
 * takes it from this address.
 *
 * @param name as the client sent it, or as the cloud names the holder. Names of IAM can be `..`, those of roles can't.
 */
export async function findTarget(
  attempt: Attempt,
  kind: AuthType,
  name: string,
  accountId: string,
): Promise<Result<LoginTarget, Failure>> {
  const read = readRoleName(name);
  if (!read.ok) return attempt.steps.judge("role", {}, read);
  const roleName = read.value;
  attempt.notes.role = roleName;
  const { settings, role, stsRole } = await configurationForLogin(attempt, roleName, accountId);
  const allowed = judgeRole(attempt, role, roleName, kind);
  if (!allowed.ok) return allowed;
  return ok({
    roleName,
    role: allowed.value.role,
    identity: settings.identity,
    account: { accountId, stsRole },
    client: await openClient(attempt, settings.client),
    boundCidrs: allowed.value.boundCidrs,
  });
}

/** A role's name in lower case, "" for none; a failure for what no role can be called. */
function readRoleName(name: string): Result<string, Failure> {
  const roleName = name.toLowerCase();
  const possible = roleName === "" || (isName(roleName) && roleName.length <= MAX_ROLE_NAME);
  return possible ? ok(roleName) : err(notFound(roleName));
}

/** The role and the networks that its token is tied to, if there is the role and it takes this kind of login from this address. */
function judgeRole(
  { clientAddress, steps }: Attempt,
  role: CloudRole | null,
  roleName: string,
  kind: AuthType,
): Result<{ readonly role: CloudRole; readonly boundCidrs: readonly string[] }, Failure> {
  const found = steps.judge("role", { actual: roleName }, role ? ok(role) : err(notFound(roleName)));
  if (!found.ok) return found;
  const { token, authType } = found.value;
  const addresses = { bound: token.boundCidrs, actual: clientAddress };
  const boundCidrs = steps.judge("address", addresses, bindAddress(token, clientAddress));
  if (!boundCidrs.ok) return boundCidrs;
  const taken = { role: found.value, boundCidrs: boundCidrs.value };
  const other = err(invalid(`auth method ${kind} not allowed for role ${roleName}`));
  return steps.judge("auth_type", { bound: [authType], actual: kind }, authType === kind ? ok(taken) : other);
}

function notFound(roleName: string): Failure {
  return invalid(isPlainWord(roleName) ? `entry for role "${roleName}" not found` : "entry for role not found");
}
