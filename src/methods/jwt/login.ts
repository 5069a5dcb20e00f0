import {
  addressProblem,
  answerExplanation,
  answerLogin,
  EXPLAINED_ADDRESS,
  EXPLANATION_SHAPE,
  explainedAttempt,
  issueToken,
  LAST_CHECKS,
  type LoginAttempt,
  loginAttempt,
  planToken,
  type VerifiedClient,
} from "../../auth/login-attempt.ts";
import { loginRoute, tokenRoute } from "../../auth/route.ts";
import { AUTH, dataAnswer } from "../../auth/route-description.ts";
import { bindAddress, tokenTerms } from "../../auth/token-settings.ts";
import { currentTime } from "../../base/clock.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import { anyObject, fieldSchema, text, type Values } from "../../wire/fields.ts";
import { isRoleName } from "../roles.ts";
import { serviceUnavailable } from "../send.ts";
import { CLAIM_CHECKS, checkClaims, type JwtIdentity, shown } from "./claim-checks.ts";
import type { Claims } from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { keysFor } from "./keys.ts";
import type { JwtRole } from "./role.ts";
import { MAX_JWT_LENGTH, readHead, unverifiedClaims, verifySignature } from "./verify.ts";

/** Descriptions of the checks of a login. */
const CHECKS = {
  role: "The role exists.",
  configuration: "The mount knows whose tokens it trusts.",
  address: "The client's address is in a network that the role is bound to.",
  form: "A signed token was sent, by an algorithm that the mount takes.",
  keys: "The keys of the issuer are known.",
  signature: "One of these keys has signed the token.",
  ...CLAIM_CHECKS,
  ...LAST_CHECKS,
} as const;

type Attempt = LoginAttempt<keyof typeof CHECKS>;

/** The input of a login: the role ("" for the default role) and a token. An explanation can have claims instead of a token. */
type Shown = { readonly role: string } & ({ readonly jwt: string } | { readonly claims: Claims });

/** A login that passed every check. */
interface VerifiedJwt {
  readonly roleName: string;
  readonly role: JwtRole;
  /** Networks that the token is bound to. */
  readonly boundCidrs: readonly string[];
  readonly identity: JwtIdentity;
}

/**
 * Makes the checks of a login. A login ends at the first failure, so that a client without a role causes no fetch of keys and
 * no verification. An explanation also checks the claims of an unverified token, without further effect. Writes nothing.
 */
async function verifyJwt(attempt: Attempt, token: Shown): Promise<Result<VerifiedJwt>> {
  const { env, mount, clientAddress, notes, checks } = attempt;
  const now = currentTime();
  const asked = token.role.toLowerCase();
  if (asked !== "" && !isRoleName(asked)) {
    return checks.record("role", {}, refuse("role could not be found"));
  }
  const { config: configuration, role: found, roleName } = await jwtAuthAt(env, mount).readLogin(asked);
  const config = checks.record("configuration", {}, orRefusal(configuration, "could not load configuration"));
  if (!config.ok) return config;
  const missing = roleName === "" ? "missing role" : `role "${roleName}" could not be found`;
  const role = checks.record("role", { actual: shown(roleName || null) }, orRefusal(found, missing));
  if (!role.ok) return role;
  notes.role = roleName;
  notes.roleExists = true;
  if ("jwt" in token && token.jwt === "") return checks.record("form", {}, refuse("missing token"));
  const { token: settings } = role.value;
  const address = { bound: settings.boundCidrs, actual: shown(clientAddress) };
  const boundCidrs = checks.record("address", address, bindAddress(settings, clientAddress));
  if (!boundCidrs.ok && !checks.goesOn) return boundCidrs;
  const verified = await verifyClaims(attempt, config.value, token, now);
  if (!verified.ok) {
    const unverified = checks.goesOn && "jwt" in token ? unverifiedClaims(token.jwt) : null;
    if (unverified) checkClaims(config.value, role.value, unverified, now, checks);
    return verified;
  }
  if (typeof verified.value.sub === "string") notes.principal = verified.value.sub;
  const identity = checkClaims(config.value, role.value, verified.value, now, checks);
  if (!identity.ok) return identity;
  return boundCidrs.ok
    ? ok({ roleName, role: role.value, boundCidrs: boundCidrs.value, identity: identity.value })
    : boundCidrs;
}

/** Returns the claims of a token after verification, or the claims of an explanation as sent. */
async function verifyClaims(
  { env, checks }: Attempt,
  config: JwtConfig,
  token: Shown,
  now: number,
): Promise<Result<Claims>> {
  if ("claims" in token) return checks.assume("signature", null, token.claims);
  const { jwt } = token;
  const read = readHead(jwt, config.algorithms);
  const algorithm = read.ok ? read.value.algorithm : null;
  const head = checks.record("form", { bound: config.algorithms, actual: algorithm }, orInvalid(read));
  if (!head.ok) return head;
  const { kid } = head.value;
  const known = await keysFor(config, kid, privateHosts(env), now);
  const keys = checks.record("keys", {}, known.ok ? known : err(serviceUnavailable(known.error)));
  if (!keys.ok) return keys;
  const claims = await verifySignature(jwt, head.value, keys.value);
  // Keys in PEM have no ids.
  const ids = config.publicKeys.length > 0 ? [] : keys.value.flatMap((key) => shown(key.kid) ?? []);
  return checks.record("signature", { bound: ids, actual: shown(kid) }, orInvalid(claims));
}

/** Returns the alias of a verified client, and its token. */
function clientOf({ roleName, role, boundCidrs, identity }: VerifiedJwt): VerifiedClient {
  const { alias: aliasName, groups } = identity;
  const metadata = { ...identity.metadata, role: roleName };
  return {
    // Without a groups claim the holder is in no group. Otherwise it would stay in groups that it has left at the issuer.
    alias: { aliasName, metadata, groups: groups ?? [] },
    token: { ...tokenTerms(role.token, boundCidrs), displayName: aliasName, metadata, internal: { role: roleName } },
  };
}

function orRefusal<T>(value: T | null, message: string): Result<T> {
  return value === null ? refuse(message) : ok(value);
}

function orInvalid<T>(result: Result<T, string>): Result<T> {
  return result.ok ? result : refuse(`error validating token: ${result.error}`);
}

const LOGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: text().describe("The signed token"),
});

export const LOGIN_ROUTE = loginRoute("login", {
  summary: "Gives a token in exchange for a signed token of a trusted issuer.",
  operationId: "login",
  answers: AUTH,
  input: LOGIN_FIELDS,
  handle: async (context) => {
    const attempt = loginAttempt(context, CHECKS);
    const verified = await verifyJwt(attempt, context.fields);
    const issued = verified.ok ? await issueToken(attempt, clientOf(verified.value)) : verified;
    return answerLogin(attempt, ["signature"], jwtAuthAt(context.env, attempt.mount), issued);
  },
});

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  claims: anyObject().describe("The claims of a token, in the place of one: taken as said"),
  ...EXPLAINED_ADDRESS,
});

/** Reports the checks of a login. Creates neither a token nor an entity. */
export const EXPLAIN_LOGIN = tokenRoute("update", "explain/login", {
  summary: "Makes the checks of a login and reports each of them, without giving a token or storing anything.",
  operationId: "explain-login",
  answers: dataAnswer(EXPLANATION_SHAPE),
  input: EXPLAIN_FIELDS,
  countsAs: "login",
  prepare: async ({ fields }) => readShown(fields),
  async handle(context) {
    const attempt = explainedAttempt(context, CHECKS);
    const verified = await verifyJwt(attempt, context.prepared);
    const planned = verified.ok
      ? await planToken(attempt, clientOf(verified.value), {
          alias: shown(verified.value.identity.alias),
          policies: verified.value.role.token.policies,
        })
      : verified;
    return answerExplanation(attempt.checks.list(["entity", "token"]), planned);
  },
});

function readShown(fields: Values<typeof EXPLAIN_FIELDS>): Result<Shown> {
  const { role, jwt, claims } = fields;
  const problem = addressProblem(fields);
  if (problem) return refuse(problem);
  if ((jwt === "") === (claims === undefined)) return refuse("supply a jwt, or the claims of one");
  if (claims === undefined) return ok({ role, jwt });
  const tooLarge = JSON.stringify(claims).length > MAX_JWT_LENGTH;
  return tooLarge ? refuse("the claims are too large") : ok({ role, claims });
}
