import { readRoute } from "../../../auth/record-routes.ts";
import {
  type Answered,
  type CallContext,
  type OpenContext,
  openRoute,
  type Route,
  simpleRoute,
} from "../../../auth/route.ts";
import { dataAnswer, plainAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, NOT_FOUND, ok, type Result, refuse, UNAUTHENTICATED } from "../../../base/result.ts";
import { loadEntity } from "../../../identity/standing.ts";
import { SIGNING_ALGORITHMS } from "../../../issuer/model.ts";
import { issuerOf } from "../../../issuer/oidc-issuer.ts";
import { type KnownIssuer, loadPublishedKeys } from "../../../issuer/published-keys.ts";
import { maySign } from "../../../issuer/rules.ts";
import { claimsFromTemplate } from "../../../issuer/template.ts";
import { issuerUrl, pluginIssuerUrl, signToken, verifyToken } from "../../../issuer/tokens.ts";
import { fieldSchema, text, type Values } from "../../../wire/fields.ts";
import { dataReply, plainReply, type Reply } from "../../../wire/reply.ts";

const ROLE_NAME = { name: "The name of the role" };
const INTROSPECT_FIELDS = fieldSchema({
  token: text().describe("The token"),
  client_id: text().describe("The audience of tokens; one is made unless sent"),
});
/** Characters of a token to introspect. */
const MAX_TOKEN_LENGTH = 32_768;

/** Issuing of identity tokens about callers, and introspection. */
export const TOKEN_ROUTES: readonly Route[] = [
  readRoute("identity/oidc/token/:name", {
    summary: "Signs an identity token about the caller.",
    operationId: "oidc-generate-token",
    parameters: ROLE_NAME,
    answers: dataAnswer({ token: "string", client_id: "string", ttl: "integer" }),
    handle: makeToken,
  }),
  simpleRoute("update", "identity/oidc/introspect", {
    summary: "Tells whether an identity token is good.",
    operationId: "oidc-introspect",
    answers: plainAnswer({ active: "boolean", "error?": "string" }),
    input: INTROSPECT_FIELDS,
    handle: introspect,
  }),
];

async function makeToken({ env, installation, request, params, caller }: CallContext) {
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
  return ok(dataReply({ token, client_id: role.clientId, ttl: content.ttl }));
}

async function introspect({ env, installation, request, fields }: CallContext<Values<typeof INTROSPECT_FIELDS>>) {
  if (fields.token.length > MAX_TOKEN_LENGTH) return inactive("error parsing token");
  const known = await loadPublishedKeys(env, installation);
  const issuer = issuerUrl(known.issuer, request.baseUrl());
  const verified = await verifyToken(known, fields.token, issuer, fields.client_id, currentTime());
  if (!verified.ok) return inactive(verified.error);
  const view = await loadEntity(env, verified.value.sub ?? "");
  if (!view) return inactive("entity was not found");
  if (view.disabled) return inactive("entity is disabled");
  return ok(plainReply({ active: true }));
}

function inactive(error: string): Result<Reply> {
  return ok(plainReply({ active: false, error }));
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

/** The discovery document and the public keys, with which anybody verifies the issuer's tokens. */
export const DISCOVERY_ROUTES: readonly Route[] = [
  openRoute("read", "identity/oidc/.well-known/openid-configuration", {
    summary: "The OpenID discovery document of the issuer.",
    operationId: "oidc-read-open-id-configuration",
    fields: {},
    answers: DISCOVERY,
    // Without a configured issuer the document names the host that the client asked for: a cache must not answer others with it.
    handle: (context) =>
      published(context, (known) =>
        discovery(issuerUrl(known.issuer, context.request.baseUrl()), known.issuer === "" ? 0 : DISCOVERY_MAX_AGE),
      ),
  }),
  openRoute("read", "identity/oidc/.well-known/keys", {
    summary: "The public keys of the issuer.",
    operationId: "oidc-read-public-keys",
    fields: {},
    answers: KEY_SET,
    handle: (context) => published(context, keySet),
  }),
  openRoute("read", "identity/oidc/plugins/.well-known/openid-configuration", {
    summary: "The discovery document of the issuer of the identity tokens that auth mounts use.",
    operationId: "oidc-read-plugins-open-id-configuration",
    fields: {},
    answers: DISCOVERY,
    handle: (context) =>
      published(context, (known) =>
        known.issuer === "" ? NOT_FOUND : discovery(pluginIssuerUrl(known.issuer), DISCOVERY_MAX_AGE),
      ),
  }),
  openRoute("read", "identity/oidc/plugins/.well-known/keys", {
    summary: "The public keys of that issuer.",
    operationId: "oidc-read-plugins-public-keys",
    fields: {},
    answers: KEY_SET,
    handle: (context) => published(context, keySet),
  }),
];

/** Answers public data, usually from this isolate's copy. */
async function published({ env, loaded }: OpenContext, answer: (known: KnownIssuer) => Result<Reply>): Answered {
  return loaded.ok ? answer(await loadPublishedKeys(env, loaded.value)) : loaded;
}

function discovery(issuer: string, maxAge: number): Result<Reply> {
  const document = {
    issuer,
    jwks_uri: `${issuer}/.well-known/keys`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
  };
  return ok(plainReply(document, maxAge));
}

function keySet({ jwks, maxAge }: KnownIssuer): Result<Reply> {
  return ok(plainReply({ keys: jwks.keys }, jwks.keys.length > 0 ? maxAge : 0));
}
