import { EXPLAINED_ADDRESS, LAST_CHECKS, type LoginAttempt, type VerifiedClient } from "../../auth/login-attempt.ts";
import type { Route } from "../../auth/route.ts";
import { bindAddress } from "../../auth/token-settings.ts";
import { nameKey } from "../../base/case-folding.ts";
import { currentTime } from "../../base/clock.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { anyObject, pasted, text } from "../../wire/fields.ts";
import { type Claims, MAX_JWT_LENGTH, unverifiedClaims } from "../jws.ts";
import { loginRoutes } from "../login-routes.ts";
import { isRoleName } from "../role-name.ts";
import { CLAIM_CHECKS, checkClaims, clientByClaims, shown } from "./claim-checks.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { BROWSER_CHECKS, explainBrowserChecks } from "./oidc/browser-checks.ts";
import { SIGNATURE_CHECKS, verifySignedToken } from "./signed-token.ts";

/** Descriptions of the checks of a login. Each bound claim and each mapped claim has a further check. */
export const JWT_CHECKS = {
  role: "The role exists.",
  configuration: "The mount knows whose tokens it trusts.",
  address: "The client's address is in a network that the role is bound to.",
  ...SIGNATURE_CHECKS,
  ...CLAIM_CHECKS,
  ...BROWSER_CHECKS,
  ...LAST_CHECKS,
} as const;

type Attempt = LoginAttempt<keyof typeof JWT_CHECKS>;

/** Input of a login: the role ("" for the default one) and a token. An explanation can have claims instead of one. */
type LoginInput = { readonly role: string } & ({ readonly jwt: string } | { readonly claims: Claims });

/**
 * Makes the checks of a login. A login ends at the first failure, so that a client without a role causes no fetch of
 * keys and no verification. An explanation also checks the claims of an unverified token, without further effect.
 * Writes nothing.
 */
async function verifyJwt(attempt: Attempt, token: LoginInput): Promise<Result<VerifiedClient>> {
  const { env, mount, clientAddress, notes, checks } = attempt;
  const now = currentTime();
  const asked = nameKey(token.role);
  if (asked !== "" && !isRoleName(asked)) return checks.record("role", {}, refuse("role could not be found"));
  const { config: configuration, role: found, roleName } = await jwtAuthAt(env, mount).readLogin(asked);
  if (roleName !== "") notes.role = roleName;
  const config = checks.record("configuration", {}, orRefusal(configuration, "could not load configuration"));
  if (!config.ok) return config;
  const missing = roleName === "" ? "missing role" : `role "${roleName}" could not be found`;
  const role = checks.record("role", { actual: shown(roleName || null) }, orRefusal(found, missing));
  if (!role.ok) return role;
  notes.roleExists = true;
  if (role.value.browser) {
    // An explanation says how the ID token of such a login would fare.
    if (!checks.goesOn) return checks.record("role", {}, refuse("role with oidc role_type is not allowed"));
    explainBrowserChecks(role.value.browser, checks);
    if (config.value.provider === "azure") checks.assume("oidc_groups", {}, null);
  }
  if ("jwt" in token && token.jwt === "") return checks.record("form", {}, refuse("missing token"));
  const { token: settings } = role.value;
  const address = { bound: settings.boundCidrs, actual: shown(clientAddress) };
  const boundCidrs = checks.record("address", address, bindAddress(settings, clientAddress));
  if (!boundCidrs.ok && !checks.goesOn) return boundCidrs;
  const verified =
    "claims" in token
      ? checks.assume("signature", {}, token)
      : await verifySignedToken(attempt, config.value, token.jwt, now);
  if (!verified.ok) {
    const unverified = checks.goesOn && "jwt" in token ? unverifiedClaims(token.jwt) : null;
    if (unverified) checkClaims(config.value, role.value, unverified, now, checks);
    return verified;
  }
  const { claims } = verified.value;
  if (typeof claims.sub === "string") notes.principal = claims.sub;
  const identity = checkClaims(config.value, role.value, claims, now, checks);
  if (!identity.ok) return identity;
  return boundCidrs.ok ? ok(clientByClaims(roleName, settings, boundCidrs.value, identity.value)) : boundCidrs;
}

function orRefusal<T>(value: T | null, message: string): Result<T> {
  return value === null ? refuse(message) : ok(value);
}

const LOGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: pasted().describe("The signed token"),
});

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  claims: anyObject().describe("Claims, in the place of a token"),
  ...EXPLAINED_ADDRESS,
});

function readExplained(fields: Values<typeof EXPLAIN_FIELDS>): Result<LoginInput> {
  const { role, jwt, claims } = fields;
  if ((jwt === "") === (claims === undefined)) return refuse("supply a jwt, or the claims of one");
  if (claims === undefined) return ok({ role, jwt });
  const tooLarge = JSON.stringify(claims).length > MAX_JWT_LENGTH;
  return tooLarge ? refuse("the claims are too large") : ok({ role, claims });
}

export const JWT_LOGIN_ROUTES: readonly Route[] = loginRoutes({
  summary: "Gives a token for a signed token of a trusted issuer.",
  checks: JWT_CHECKS,
  fields: LOGIN_FIELDS,
  explainFields: EXPLAIN_FIELDS,
  read: (fields): LoginInput => fields,
  readExplained,
  verify: verifyJwt,
  proofs: ["signature"],
  lastChecks: ["entity", "token"],
  shownAlias: shown,
  objectAt: jwtAuthAt,
});
