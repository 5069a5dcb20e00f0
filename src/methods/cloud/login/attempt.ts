import { DENIED, type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import { addressAllowed, parseCidr } from "../../../token/rules/address.ts";
import type { CloudAccount, CloudClient } from "../clients/client.ts";
import { openClient } from "../clients/open-client.ts";
import type { CloudAccess } from "../cloud-api.ts";
import type { IdentityConfig } from "../config/identity.ts";
import { isPlainWord } from "../fields.ts";
import { cloudAuthAt } from "../mount.ts";
import { isName } from "../path.ts";
import { MAX_ROLE_NAME } from "../roles/limits.ts";
import type { AuthType, CloudRole } from "../roles/role.ts";
import type { TokenSettings } from "../roles/token-settings.ts";

/** A login under way. */
export interface Attempt extends CloudAccess {
  readonly installation: Installation;
  /** null when whatever stands in front did not say. */
  readonly clientAddress: string | null;
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
  const roleName = name.toLowerCase();
  if (!isName(roleName) || roleName.length > MAX_ROLE_NAME) return err(notFound(roleName));
  const view = await cloudAuthAt(attempt.env, attempt.mount).readLogin(roleName, accountId);
  if (!view.role) return err(notFound(roleName));
  const boundCidrs = bindAddress(view.role.token, attempt.clientAddress);
  if (!boundCidrs.ok) return boundCidrs;
  if (view.role.authType !== kind) return err(invalid(`auth method ${kind} not allowed for role ${roleName}`));
  return ok({
    roleName,
    role: view.role,
    identity: view.identity,
    account: { accountId, stsRole: view.stsRole },
    client: await openClient(attempt, view.client),
    boundCidrs: boundCidrs.value,
  });
}

/** The networks that a token is tied to, if the role takes a login from this address. */
function bindAddress(token: TokenSettings, clientAddress: string | null): Result<readonly string[], Failure> {
  if (!addressAllowed(token.boundCidrs, clientAddress)) return err(DENIED);
  if (!token.strictlyBindIp) return ok(token.boundCidrs);
  const own = parseCidr(clientAddress ?? "");
  return own.ok && !own.value.includes("/") ? ok([own.value]) : err(DENIED);
}

function notFound(roleName: string): Failure {
  return invalid(isPlainWord(roleName) ? `entry for role "${roleName}" not found` : "entry for role not found");
}
