import { issueLogin } from "../../auth/login.ts";
import { mountOf } from "../../auth/mount-of.ts";
import type { LoginContext } from "../../auth/route.ts";
import { bindAddress, tokenTypeOf } from "../../auth/token-settings.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { type PrivateHosts, privateHosts } from "../../base/private-hosts.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { entityForLogin } from "../../identity/login.ts";
import { fieldSchema, text, type Values } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { audienceProblem, boundClaimsProblem, type Claims, claimAt, groupsOf, mappedMetadata } from "./claims.ts";
import type { JwtConfig } from "./config.ts";
import { jwtAuthAt } from "./jwt-auth.ts";
import { keysFor } from "./keys.ts";
import { isRoleName } from "./path.ts";
import type { JwtRole } from "./role.ts";
import { validityProblem } from "./validity.ts";
import { readHead, verifySignature } from "./verify.ts";

export const LOGIN_FIELDS = fieldSchema({
  role: text().describe("The role; the mount's default unless sent"),
  jwt: text().describe("The signed token"),
});

const MAX_ALIAS_LENGTH = 512;

/**
 * A login by a token that a trusted issuer has signed. The cheap checks come first: the role, the address and the form
 * of the token, before a key is fetched or a signature verified.
 */
export async function loginByJwt(context: LoginContext<Values<typeof LOGIN_FIELDS>>): Promise<Result<Reply, Failure>> {
  const { env, installation, request, fields } = context;
  const mount = mountOf(context);
  const asked = fields.role.toLowerCase();
  if (asked !== "" && !isRoleName(asked)) return err(invalid("role could not be found"));
  const { config, role, roleName } = await jwtAuthAt(env, mount).readLogin(asked);
  if (!config) return err(invalid("could not load configuration"));
  if (roleName === "") return err(invalid("missing role"));
  if (!role) return err(invalid(`role "${roleName}" could not be found`));
  request.notes.role = roleName;
  request.notes.roleExists = true;
  if (fields.jwt === "") return err(invalid("missing token"));
  const boundCidrs = bindAddress(role.token, request.clientAddress);
  if (!boundCidrs.ok) return boundCidrs;

  const claims = await verifiedClaims(config, fields.jwt, privateHosts(env), currentTime());
  if (!claims.ok) return claims;
  if (typeof claims.value.sub === "string") request.notes.principal = claims.value.sub;
  const holder = identityOf(config, role, claims.value, currentTime());
  if (!holder.ok) return err(invalid(holder.error));
  const metadata = { ...holder.value.metadata, role: roleName };
  const { alias: aliasName, groups } = holder.value;
  const alias = { mountAccessor: mount.accessor, aliasName, metadata, ...(groups && { groups }) };
  const entity = await entityForLogin(env, alias);
  if (!entity.ok) return entity;
  const { token } = role;
  const issued = await issueLogin(env, installation, mount, {
    policies: token.policies,
    noDefaultPolicy: token.noDefaultPolicy,
    tokenType: tokenTypeOf(token.type),
    ttl: token.ttl,
    maxTtl: token.maxTtl,
    period: token.period,
    explicitMaxTtl: token.explicitMaxTtl,
    numUses: token.numUses,
    boundCidrs: boundCidrs.value,
    displayName: holder.value.alias,
    metadata,
    entityId: entity.value.entity.id,
    internal: { role: roleName },
  });
  return issued.ok ? ok({ kind: "auth", auth: issued.value.auth, warnings: issued.value.warnings }) : issued;
}

/** The claims of a token that the mount's issuer has signed. `now` in ms. */
async function verifiedClaims(
  config: JwtConfig,
  token: string,
  listed: PrivateHosts,
  now: number,
): Promise<Result<Claims, Failure>> {
  const head = readHead(token, config.algorithms);
  if (!head.ok) return err(refused(head.error));
  const keys = await keysFor(config, head.value.kid, listed, now);
  if (!keys.ok) return err({ code: "unavailable", message: keys.error, retryAfterSeconds: 5 });
  const claims = await verifySignature(token, head.value, keys.value);
  return claims.ok ? claims : err(refused(claims.error));
}

interface JwtIdentity {
  /** The name that the mount knows the holder by. */
  readonly alias: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Names of the groups that the token says; null where the role reads none. */
  readonly groups: readonly string[] | null;
}

/**
 * The identity that the token proves, if it satisfies the role.
 *
 * @param now ms.
 * @returns a message; the words of the reference where it has the rule.
 */
export function identityOf(
  config: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">,
  role: JwtRole,
  claims: Claims,
  now: number,
): Result<JwtIdentity, string> {
  const problem =
    validityProblem(claims, role.leeways, now) ??
    issuerProblem(config, claims) ??
    (role.boundSubject !== "" && claims.sub !== role.boundSubject ? "invalid subject (sub) claim" : null) ??
    audienceProblem(claims, role.boundAudiences);
  if (problem) return err(`error validating token: ${problem}`);
  const bound = boundClaimsProblem(claims, role.boundClaims, role.boundClaimsType);
  if (bound) return err(`error validating claims: ${bound}`);
  const named = role.userClaim;
  const alias = role.userClaimJsonPointer
    ? claimAt(claims, named)
    : claimAt({ [named]: ownClaim(claims, named) }, named);
  if (alias === undefined || alias === null) return err(`claim "${named}" not found in token`);
  if (typeof alias !== "string" || alias.trim() === "" || alias.length > MAX_ALIAS_LENGTH) {
    return err(`claim "${named}" could not be converted to string`);
  }
  const metadata = mappedMetadata(claims, role.claimMappings);
  if (!metadata.ok) return metadata;
  if (role.groupsClaim === "") return ok({ alias, metadata: metadata.value, groups: null });
  const groups = groupsOf(claims, role.groupsClaim);
  return groups.ok ? ok({ alias, metadata: metadata.value, groups: groups.value }) : groups;
}

/** Keys from discovery belong to one issuer. Only tokens of that issuer count, whatever else the keys sign. */
function issuerProblem({ boundIssuer, discoveryUrl }: Pick<JwtConfig, "boundIssuer" | "discoveryUrl">, claims: Claims) {
  if (boundIssuer !== "") return claims.iss === boundIssuer ? null : "invalid issuer (iss) claim";
  if (discoveryUrl === "") return null;
  const { iss } = claims;
  return typeof iss === "string" && iss.replace(/\/$/, "") === discoveryUrl ? null : "invalid issuer (iss) claim";
}

function ownClaim(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function refused(message: string): Failure {
  return invalid(`error validating token: ${message}`);
}
