import { EXPLAINED_ADDRESS, LAST_CHECKS, type LoginAttempt, type VerifiedClient } from "../../auth/login-attempt.ts";
import type { Route } from "../../auth/route.ts";
import { bindAddress, tokenTerms } from "../../auth/token-settings.ts";
import { nameKey } from "../../base/case-folding.ts";
import { currentTime } from "../../base/clock.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { pasted, text } from "../../wire/fields.ts";
import { type Claims, type JwtAlgorithm, readJwtHead, unverifiedClaims, verifySignature } from "../jws.ts";
import { loginRoutes } from "../login-routes.ts";
import { keysInPem } from "../pem-keys.ts";
import { isRoleName } from "../role-name.ts";
import { aliasMetadataIn } from "./annotations.ts";
import { type ApiServer, readServiceAccount, reviewToken } from "./api-server.ts";
import { boundIssuer, type KubernetesConfig, serverUrl } from "./config.ts";
import { kubernetesAuthAt } from "./kubernetes-auth.ts";
import { aliasNameOf, type KubernetesRole, takesNamespace } from "./role.ts";
import { accountProblem, asReviewer, forbidden, judgeNamespace, NAMESPACE_REFUSED, unanswered } from "./role-bounds.ts";
import {
  type ClaimedAccount,
  claimedAccount,
  claimedAudiences,
  type ServiceAccount,
  timesProblem,
  WRONG_AUDIENCE,
} from "./service-account.ts";

/** Descriptions of the checks of a login. */
export const KUBERNETES_CHECKS = {
  form: "A signed token was sent.",
  role: "The role exists.",
  configuration: "The mount knows its API server.",
  address: "The client's address is in a network that the role is bound to.",
  times: "The token can be valid now, by its exp and nbf.",
  issuer: "The issuer (iss) is the one that the mount is bound to.",
  audience: "An audience (aud) is the one that the role asks for.",
  names: "The token names a service account that the role takes.",
  namespaces: "The token names a namespace that the role can take.",
  signature: "One of the mount's keys has signed the token.",
  review: "The API server says that the token is good, and whose it is.",
  namespace_selector: "The namespace has the labels that the role asks for.",
  annotations: "The annotations of the service account can be metadata.",
  ...LAST_CHECKS,
} as const;

type Attempt = LoginAttempt<keyof typeof KUBERNETES_CHECKS>;

interface LoginInput {
  readonly role: string;
  readonly jwt: string;
}

/** The contents of the token of a login, read without a call to the API server. */
interface Read {
  readonly claims: Claims;
  readonly algorithm: JwtAlgorithm;
  readonly kid: string | undefined;
}

/**
 * Makes the checks of a login. A login ends at the first failure: what needs no proof comes first, and only a token that
 * could be good is sent to the API server. Its claims alone are never trusted: the review says whose it is. An
 * explanation goes on, without further effect. Writes nothing.
 */
async function verifyToken(attempt: Attempt, { role: sentRole, jwt }: LoginInput): Promise<Result<VerifiedClient>> {
  const { env, mount, clientAddress, notes, checks } = attempt;
  const roleName = nameKey(sentRole);
  if (roleName === "") return checks.record("role", {}, refuse("missing role"));
  if (jwt === "") return checks.record("form", {}, refuse("missing jwt"));
  if (!isRoleName(roleName)) return checks.record("role", {}, refuse("invalid role name"));
  const read = checks.record("form", {}, readToken(jwt));
  if (!read.ok) return read;
  const { config: configuration, role: found } = await kubernetesAuthAt(env, mount).readLogin(roleName);
  notes.role = roleName;
  const unknown = `invalid role name "${roleName}"`;
  const role = checks.record("role", { actual: roleName }, found ? ok(found) : refuse(unknown));
  if (!role.ok) return role;
  notes.roleExists = true;
  const missing = refuse("could not load backend configuration");
  const config = checks.record("configuration", {}, configuration ? ok(configuration) : missing);
  if (!config.ok) return config;
  const { token: settings } = role.value;
  const address = { bound: settings.boundCidrs, actual: clientAddress };
  const boundCidrs = checks.record("address", address, bindAddress(settings, clientAddress));
  if (!boundCidrs.ok && !checks.goesOn) return boundCidrs;

  const claimed = checkClaims(config.value, role.value, read.value.claims, checks);
  if (!claimed.ok && !checks.goesOn) return claimed;
  const signed = await checkSignature(config.value, jwt, read.value, checks);
  if (!signed.ok) return signed;
  const tellsCause = checks.goesOn;
  const reviewer = await asReviewer(attempt, config.value, tellsCause);
  const own = {
    url: serverUrl(config.value),
    bearer: jwt,
    asker: "client",
    listed: privateHosts(env),
    tellsCause,
  } as const;
  const server = reviewer ?? own;
  const reviewed = await review(server, jwt, role.value.audience);
  const known = claimedAccount(read.value.claims);
  const same = reviewed.ok && known.ok ? sameAccount(known.value, reviewed.value) : reviewed;
  const principal = reviewed.ok ? principalOf(reviewed.value) : null;
  const account = checks.record("review", { actual: principal }, same);
  if (!claimed.ok) return claimed;
  if (!account.ok) return account;
  notes.principal = principalOf(account.value);
  if (takesNamespace(role.value, account.value) === "by labels") {
    const compared = { bound: [role.value.namespaceSelector], actual: account.value.namespace };
    const judged = checks.record(
      "namespace_selector",
      compared,
      await judgeNamespace(role.value, account.value, reviewer),
    );
    if (!judged.ok) return judged;
  }
  const annotations = await readAnnotations(config.value, server, account.value);
  if (config.value.annotationsAsMetadata) checks.record("annotations", {}, annotations);
  if (!annotations.ok) return annotations;
  if (!boundCidrs.ok) return boundCidrs;
  return ok(
    clientOf(role.value, roleName, { ...claimed.value, ...account.value }, annotations.value, boundCidrs.value),
  );
}

function clientOf(
  role: KubernetesRole,
  roleName: string,
  account: ClaimedAccount,
  annotations: Readonly<Record<string, string>>,
  boundCidrs: readonly string[],
): VerifiedClient {
  const { namespace, name, uid, secretName } = account;
  const metadata = {
    service_account_uid: uid,
    service_account_name: name,
    service_account_namespace: namespace,
    service_account_secret_name: secretName,
  };
  return {
    alias: { name: aliasNameOf(role, account), metadata: { ...annotations, ...metadata } },
    token: {
      ...tokenTerms(role.token, boundCidrs),
      displayName: `${namespace}-${name}`,
      metadata: { ...metadata, role: roleName },
      internal: { role: roleName, namespace, name, uid },
    },
  };
}

/** Three parts in base64url: also what a header can carry. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Reads the form of a token and its claims. Costs no call: a malformed token reaches no object and no API server. */
function readToken(jwt: string): Result<Read> {
  if (!COMPACT.test(jwt)) return forbidden("error parsing token: it is not a signed JWT");
  const head = readJwtHead(jwt, []);
  if (!head.ok) return forbidden(head.error);
  const claims = unverifiedClaims(jwt);
  return claims ? ok({ ...head.value, claims }) : forbidden("error parsing token: its claims are no JSON object");
}

/** Compares the claims with the mount and the role. Makes all checks; returns the first failure. Nothing is proved. */
function checkClaims(
  config: KubernetesConfig,
  role: KubernetesRole,
  claims: Claims,
  checks: Attempt["checks"],
): Result<ClaimedAccount> {
  const issuer = boundIssuer(config);
  const claimed = claimedAccount(claims);
  const account = claimed.ok ? claimed.value : null;
  const { audience } = role;
  const isWrongIssuer = issuer !== null && claims.iss !== issuer;
  // Also of a token that names no service account: a check that was not made must not count as passed.
  const audiences = claimedAudiences(claims);
  const isWrongAudience = audiences === null || (audience !== "" && !audiences.includes(audience));
  const badName = account ? accountProblem(role, account) : claimed.ok ? null : claimed.error;
  const isWrongNamespace = account !== null && takesNamespace(role, account) === false;
  const problems = [
    check("times", [], null, timesProblem(claims, currentTime())),
    check("issuer", issuer ?? [], claims.iss, isWrongIssuer ? "invalid issuer (iss) claim" : null),
    check("audience", audience || [], audiences?.join(", "), isWrongAudience ? WRONG_AUDIENCE : null),
    check("names", role.names, account?.name, badName),
    account && check("namespaces", role.namespaces, account.namespace, isWrongNamespace ? NAMESPACE_REFUSED : null),
  ];
  const problem = problems.find((one) => one !== null);
  if (problem) return forbidden(problem);
  if (!claimed.ok) throw new Error("an account that can't be read has a check that failed");
  return claimed;

  function check(
    name: keyof typeof KUBERNETES_CHECKS,
    bound: string | readonly string[],
    actual: unknown,
    problem: string | null,
  ) {
    const compared = { bound: [bound].flat(), actual: typeof actual === "string" ? actual.slice(0, MAX_SHOWN) : null };
    checks.record(name, compared, problem === null ? ok(null) : forbidden(problem));
    return problem;
  }
}

const MAX_SHOWN = 256;

/** Checks the signature where the mount has keys: a forged token then costs the API server nothing. */
async function checkSignature(
  { publicKeys }: KubernetesConfig,
  jwt: string,
  { algorithm, kid }: Read,
  checks: Attempt["checks"],
) {
  if (publicKeys.length === 0) return ok(null);
  const verified = await verifySignature(jwt, algorithm, keysInPem(publicKeys.join(), publicKeys, kid));
  return checks.record("signature", {}, verified.ok ? ok(null) : forbidden(verified.error));
}

/** Has the token reviewed. A token that may not ask for its own review is refused: it has no other proof. */
async function review(server: ApiServer, jwt: string, audience: string): Promise<Result<ServiceAccount>> {
  const answer = await reviewToken(server, jwt, audience);
  if (answer.ok) return answer.value ? ok(answer.value) : forbidden(notGood(audience));
  const { kind, why } = answer.error;
  const isOwnFault = server.asker === "client" && (kind === "unauthenticated" || kind === "forbidden");
  return isOwnFault ? forbidden(`${ASKED_BY_ITSELF}: ${why}`) : err(unanswered("review the token", answer.error));
}

const ASKED_BY_ITSELF = "lookup failed: without token_reviewer_jwt the API server is asked with the token itself";

function notGood(audience: string): string {
  const hint = audience === "" ? "; a token for another audience than its own needs a role with this audience" : "";
  return `lookup failed: the API server does not accept the token${hint}`;
}

/** The review and the checked claims must be of one account: else the role was compared with another account. */
function sameAccount(claimed: ClaimedAccount, reviewed: ServiceAccount): Result<ServiceAccount> {
  const { namespace, name, uid } = reviewed;
  const isSame = claimed.namespace === namespace && claimed.name === name && claimed.uid === uid;
  return isSame ? ok(reviewed) : forbidden("lookup failed: the review is of another service account");
}

async function readAnnotations(
  { annotationsAsMetadata }: KubernetesConfig,
  server: ApiServer,
  account: ServiceAccount,
): Promise<Result<Readonly<Record<string, string>>>> {
  if (!annotationsAsMetadata) return ok({});
  const found = await readServiceAccount(server, account);
  if (!found.ok) return err(unanswered("show the service account", found.error));
  if (found.value === null) return forbidden("the service account does not exist any more");
  const metadata = aliasMetadataIn(found.value);
  return metadata.ok ? metadata : refuse(metadata.error);
}

function principalOf({ namespace, name }: ServiceAccount): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

const LOGIN_FIELDS = fieldSchema({
  role: text().describe("The role"),
  jwt: pasted().describe("The token of a service account"),
});

const EXPLAIN_FIELDS = fieldSchema({ ...LOGIN_FIELDS.shape, ...EXPLAINED_ADDRESS });

function readExplained(fields: Values<typeof EXPLAIN_FIELDS>): Result<LoginInput> {
  return fields.jwt === "" ? refuse("missing jwt") : ok(fields);
}

export const KUBERNETES_LOGIN_ROUTES: readonly Route[] = loginRoutes({
  summary: "Gives a token for that of a service account, which the API server reviews.",
  checks: KUBERNETES_CHECKS,
  fields: LOGIN_FIELDS,
  explainFields: EXPLAIN_FIELDS,
  read: (fields): LoginInput => fields,
  readExplained,
  verify: verifyToken,
  proofs: ["review"],
  lastChecks: ["review", "entity", "token"],
  objectAt: kubernetesAuthAt,
});
