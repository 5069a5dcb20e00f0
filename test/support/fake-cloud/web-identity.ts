import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, jwtVerify } from "jose";
import { type CloudReply, refusal } from "./request.ts";
import { assumed } from "./services.ts";
import { roleArn, type World } from "./world.ts";

/** Fetches a JSON document of an issuer, as the cloud does over https. */
export type FetchDocument = (url: string) => Promise<unknown>;

/**
 * AssumeRoleWithWebIdentity as the cloud does it: the issuer must be a registered provider of the role's account, its keys
 * come from its discovery document, and the role says which audience and subject it trusts.
 */
export async function assumeRoleWithWebIdentity(
  world: World,
  form: URLSearchParams,
  now: number,
  fetchDocument: FetchDocument,
): Promise<CloudReply> {
  const token = form.get("WebIdentityToken") ?? "";
  const role = world.roles.find((one) => roleArn(one) === form.get("RoleArn"));
  const issuer = issuerOf(token);
  const provider = world.identityProviders.find((one) => one.url === issuer && one.accountId === role?.accountId);
  if (!role || !provider) return refusal(400, "InvalidIdentityToken");
  let keys: JSONWebKeySet;
  try {
    const discovery = (await fetchDocument(`${issuer}/.well-known/openid-configuration`)) as Record<string, string>;
    if (discovery.issuer !== issuer) return refusal(400, "InvalidIdentityToken");
    keys = (await fetchDocument(discovery.jwks_uri ?? "")) as JSONWebKeySet;
  } catch {
    return refusal(400, "IDPCommunicationError");
  }
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      issuer,
      algorithms: ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512"],
      requiredClaims: ["exp", "iat", "sub", "aud"],
      currentDate: new Date(now),
    });
    if (!provider.audiences.includes(String(payload.aud))) return refusal(400, "InvalidIdentityToken");
    const trusted = role.webIdentity;
    const trusts = trusted?.issuer === issuer && trusted.audience === payload.aud && trusted.subject === payload.sub;
    if (!trusts) return refusal(403, "AccessDenied");
  } catch (error) {
    return refusal(400, error instanceof errors.JWTExpired ? "ExpiredTokenException" : "InvalidIdentityToken");
  }
  return assumed("AssumeRoleWithWebIdentity", world, role, form, now);
}

function issuerOf(token: string): string {
  try {
    return decodeJwt(token).iss ?? "";
  } catch {
    return "";
  }
}
