import { type CallContext, openRoute, type Route, simpleRoute } from "../../../auth/route.ts";
import { type Answer, dataAnswer, plainAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, NOT_FOUND, ok, type Result, refuse, UNAUTHENTICATED } from "../../../base/result.ts";
import { loadEntity } from "../../../identity/standing.ts";
import { SIGNING_ALGORITHMS } from "../../../issuer/model.ts";
import { issuerOf } from "../../../issuer/oidc-issuer.ts";
import { type KnownIssuer, loadPublishedKeys } from "../../../issuer/published-keys.ts";
import { maySign } from "../../../issuer/rules.ts";
import { claimsFromTemplate } from "../../../issuer/template.ts";
import { issuerUrl, pluginIssuerUrl, signToken, verifyToken } from "../../../issuer/tokens.ts";
import { fieldSchema, text } from "../../../wire/fields.ts";
import { dataReply, plainReply, type Reply } from "../../../wire/reply.ts";

/** Maximum length of a token to introspect, in characters. */
const MAX_TOKEN_LENGTH = 32_768;

/** Identity tokens about callers, and their introspection. */
export const TOKEN_ROUTES: readonly Route[] = [
  simpleRoute("read", "identity/oidc/token/:name", {
    summary: "Signs an identity token about the caller.",
    operationId: "oidc-generate-token",
    parameters: { name: "The name of the role" },
    answers: dataAnswer({ token: "string", client_id: "string", ttl: "integer" }),
    handle: signIdentityToken,
  }),
  simpleRoute("update", "identity/oidc/introspect", {
    summary: "Tells whether an identity token is valid.",
    operationId: "oidc-introspect",
    answers: plainAnswer({ active: "boolean", "error?": "string" }),
    input: fieldSchema({
      token: text().describe("The token"),
      client_id: text().describe("The audience that the token must have; any audience by default"),
    }),
    handle: async ({ env, installation, request, fields }) => {
      if (fields.token.length > MAX_TOKEN_LENGTH) return inactive("error parsing token");
      const known = await loadPublishedKeys(env, installation);
      const issuer = issuerUrl(known.issuer, request.baseUrl());
      const verified = await verifyToken(known, fields.token, issuer, fields.client_id, currentTime());
      if (!verified.ok) return inactive(verified.error);
      const view = await loadEntity(env, verified.value.sub ?? "");
      if (!view) return inactive("entity was not found");
      return view.disabled ? inactive("entity is disabled") : plainReply({ active: true });
    },
  }),
];

async function signIdentityToken({ env, installation, request, params, caller }: CallContext) {
  const found = await issuerOf(env).signerOfRole(params.name ?? "");
  if (!found) return refuse("role not found");
  const { role, signer } = found;
  if (!maySign(signer.key, role.clientId)) {
    return refuse("the key does not list the client ID of the role as an allowed client ID");
  }
  const { entityId } = caller.record;
  if (entityId === "") return refuse("no entity associated with the request's token");
  const view = await loadEntity(env, entityId);
  if (!view || view.disabled) return err(UNAUTHENTICATED);
  const now = currentTime();
  const claims = role.template === "" ? ok({}) : claimsFromTemplate(role.template, view, now);
  if (!claims.ok) return refuse(claims.error);
  const content = {
    issuer: issuerUrl(signer.issuer, request.baseUrl()),
    subject: entityId,
    audience: role.clientId,
    ttl: Math.min(role.ttl, signer.key.verificationTtl),
    claims: claims.value,
  };
  const token = await signToken(installation.keys, signer, content, now);
  return dataReply({ token, client_id: role.clientId, ttl: content.ttl });
}

function inactive(error: string): Result<Reply> {
  return plainReply({ active: false, error });
}

const DISCOVERY = plainAnswer({
  issuer: "string",
  jwks_uri: "string",
  response_types_supported: ["string"],
  subject_types_supported: ["string"],
  id_token_signing_alg_values_supported: ["string"],
});
const KEY_SET = plainAnswer({ keys: [{ kty: "string", "*": "any" }] });
/** Seconds for which caches may keep the discovery document of a configured issuer. */
const DISCOVERY_MAX_AGE = 3600;

/** The discovery documents and the public keys, with which other services verify identity tokens. */
export const DISCOVERY_ROUTES: readonly Route[] = [
  publicRoute(
    ".well-known/openid-configuration",
    "The OpenID discovery document of the issuer.",
    "oidc-read-open-id-configuration",
    DISCOVERY,
    // An issuer that is not configured is the host that the client called: caches must not give it to other clients.
    (known, baseUrl) => discovery(issuerUrl(known.issuer, baseUrl), known.issuer === "" ? 0 : DISCOVERY_MAX_AGE),
  ),
  publicRoute(".well-known/keys", "The public keys of the issuer.", "oidc-read-public-keys", KEY_SET, keySet),
  publicRoute(
    "plugins/.well-known/openid-configuration",
    "The discovery document of the issuer of the identity tokens that auth mounts use.",
    "oidc-read-plugins-open-id-configuration",
    DISCOVERY,
    ({ issuer }) => (issuer === "" ? NOT_FOUND : discovery(pluginIssuerUrl(issuer), DISCOVERY_MAX_AGE)),
  ),
  publicRoute(
    "plugins/.well-known/keys",
    "The public keys of that issuer.",
    "oidc-read-plugins-public-keys",
    KEY_SET,
    keySet,
  ),
];

/** Defines an endpoint that answers with public data, usually from this isolate's copy. */
function publicRoute(
  path: string,
  summary: string,
  operationId: string,
  answers: Answer,
  answer: (known: KnownIssuer, baseUrl: string) => Result<Reply>,
): Route {
  return openRoute("read", `identity/oidc/${path}`, {
    summary,
    operationId,
    answers,
    handle: async ({ env, request, loaded }) =>
      loaded.ok ? answer(await loadPublishedKeys(env, loaded.value), request.baseUrl()) : loaded,
  });
}

function discovery(issuer: string, maxAge: number): Result<Reply> {
  const document = {
    issuer,
    jwks_uri: `${issuer}/.well-known/keys`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
  };
  return plainReply(document, maxAge);
}

function keySet({ jwks, maxAge }: KnownIssuer): Result<Reply> {
  return plainReply({ keys: jwks.keys }, jwks.keys.length > 0 ? maxAge : 0);
}
