import { bindAddress } from "../../auth/token-settings.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { type PrivateHosts, privateHosts } from "../../base/private-hosts.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Mount } from "../../system/mount.ts";
import type { AuditNotes } from "../../wire/audit.ts";
import { type Check, checkClaims, type JwtIdentity, shown } from "./claim-checks.ts";
import type { Claims } from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import type { JwtEnv } from "./env.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { keysFor } from "./keys.ts";
import { isRoleName } from "./path.ts";
import type { JwtRole } from "./role.ts";
import { readHead, unverifiedClaims, verifySignature } from "./verify.ts";

/** A login under way. */
export interface JwtAttempt {
  readonly env: JwtEnv;
  readonly mount: Mount;
  /** null when the proxy in front did not send it. */
  readonly clientAddress: string | null;
  /** For the audit log: the role that is asked for, and who is proved to ask. */
  readonly notes: AuditNotes;
}

/** What is shown at a login: a signed token, or for an explanation the claims of one. */
export type Shown = { readonly jwt: string } | { readonly claims: Claims };

/** A login that passed every check. */
export interface VerifiedJwt {
  readonly roleName: string;
  readonly role: JwtRole;
  /** Networks that the token is tied to. */
  readonly boundCidrs: readonly string[];
  readonly identity: JwtIdentity;
}

/** The checks beside those of the claims, in words. */
const CHECKS = {
  role: "The role exists.",
  configuration: "The mount knows whose tokens it trusts.",
  address: "The client's address is in a network that the role is bound to.",
  form: "A signed token was sent, by an algorithm that the mount takes.",
  keys: "The keys of the issuer are known.",
  signature: "One of these keys has signed the token.",
  entity: "The entity of the holder is not disabled.",
  token: "The role and the mount can give a token.",
} as const satisfies Readonly<Record<string, string>>;

export type LoginCheck = keyof typeof CHECKS;

/**
 * Makes the checks of a login one by one. A login takes none after the first that failed, so that no key is fetched and no
 * signature verified for a client without a role; an explanation goes on while there is something to check. The claims of a token
 * that is not verified are checked as well, and lead to nothing. Writes nothing.
 *
 * @param asked the role, in lower case; "" for the default one.
 * @returns the login; null when a check failed.
 */
export async function* loginChecks(
  attempt: JwtAttempt,
  asked: string,
  token: Shown,
): AsyncGenerator<Check, VerifiedJwt | null> {
  const { env, mount, clientAddress, notes } = attempt;
  const now = currentTime();
  if (asked !== "" && !isRoleName(asked)) {
    yield checked("role", [], null, err(invalid("role could not be found")));
    return null;
  }
  const { config, role, roleName } = await jwtAuthAt(env, mount).readLogin(asked);
  yield checked("configuration", [], null, config ? ok(null) : err(invalid("could not load configuration")));
  if (!config) return null;
  const missing = roleName === "" ? "missing role" : `role "${roleName}" could not be found`;
  yield checked("role", [], roleName || null, role ? ok(null) : err(invalid(missing)));
  if (!role) return null;
  notes.role = roleName;
  notes.roleExists = true;
  if ("jwt" in token && token.jwt === "") {
    yield checked("form", [], null, err(invalid("missing token")));
    return null;
  }
  const boundCidrs = bindAddress(role.token, clientAddress);
  yield checked("address", role.token.boundCidrs, clientAddress, boundCidrs);
  const verified = yield* verifiedClaims(config, token, privateHosts(env), now);
  if (typeof verified?.sub === "string") notes.principal = verified.sub;
  const claims = verified ?? ("jwt" in token ? unverifiedClaims(token.jwt) : null);
  if (!claims) return null;
  const { checks, identity } = checkClaims(config, role, claims, now);
  yield* checks;
  return verified && boundCidrs.ok && identity ? { roleName, role, boundCidrs: boundCidrs.value, identity } : null;
}

/** A check that was made. */
export function checked(
  name: LoginCheck,
  bound: readonly string[],
  actual: string | null,
  result: Result<unknown, Failure>,
): Check {
  const failure = result.ok ? null : result.error;
  return { name, description: CHECKS[name], bound, actual: shown(actual), failure };
}

/** The claims of a token that the mount's issuer has signed, or that are taken as said; null when it is not verified. */
async function* verifiedClaims(
  config: JwtConfig,
  token: Shown,
  listed: PrivateHosts,
  now: number,
): AsyncGenerator<Check, Claims | null> {
  if ("claims" in token) {
    yield { ...checked("signature", [], null, ok(null)), unmade: "assumed" };
    return token.claims;
  }
  const { jwt } = token;
  const head = readHead(jwt, config.algorithms);
  yield checked("form", config.algorithms, head.ok ? head.value.algorithm : null, refusedToken(head));
  if (!head.ok) return null;
  const { kid } = head.value;
  const keys = await keysFor(config, kid, listed, now);
  const usable = keys.ok ? keys : err({ code: "unavailable" as const, message: keys.error, retryAfterSeconds: 5 });
  yield checked("keys", [], null, usable);
  if (!keys.ok) return null;
  const claims = await verifySignature(jwt, head.value, keys.value);
  // Keys in PEM have no ids.
  const ids = config.publicKeys.length > 0 ? [] : keys.value.flatMap((key) => shown(key.kid) ?? []);
  yield checked("signature", ids, kid ?? null, refusedToken(claims));
  return claims.ok ? claims.value : null;
}

function refusedToken<T>(result: Result<T, string>): Result<T, Failure> {
  return result.ok ? result : err(invalid(`error validating token: ${result.error}`));
}
