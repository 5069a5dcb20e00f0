import { type OpenContext, openRoute, type Route } from "../../../auth/route.ts";
import { plainAnswer } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { SIGNING_ALGORITHMS } from "../../../issuer/model.ts";
import { type KnownIssuer, loadPublishedKeys } from "../../../issuer/published-keys.ts";
import { issuerUrl, pluginIssuerUrl } from "../../../issuer/tokens.ts";
import { plainReply, type Reply } from "../../../wire/reply.ts";

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
  openRoute(
    "read",
    "identity/oidc/.well-known/openid-configuration",
    {
      summary: "The OpenID discovery document of the issuer.",
      operationId: "oidc-read-open-id-configuration",
      fields: {},
      answers: DISCOVERY,
    },
    // Without a configured issuer the document names the host that the client asked for: a cache must not answer others with it.
    (context) =>
      published(context, (known) =>
        discovery(issuerUrl(known.issuer, context.request.baseUrl()), known.issuer === "" ? 0 : DISCOVERY_MAX_AGE),
      ),
  ),
  openRoute(
    "read",
    "identity/oidc/.well-known/keys",
    { summary: "The public keys of the issuer.", operationId: "oidc-read-public-keys", fields: {}, answers: KEY_SET },
    (context) => published(context, keySet),
  ),
  openRoute(
    "read",
    "identity/oidc/plugins/.well-known/openid-configuration",
    {
      summary: "The discovery document of the issuer of the identity tokens that auth mounts use.",
      operationId: "oidc-read-plugins-open-id-configuration",
      fields: {},
      answers: DISCOVERY,
    },
    (context) =>
      published(context, (known) =>
        known.issuer === "" ? err({ code: "not_found" }) : discovery(pluginIssuerUrl(known.issuer), DISCOVERY_MAX_AGE),
      ),
  ),
  openRoute(
    "read",
    "identity/oidc/plugins/.well-known/keys",
    {
      summary: "The public keys of that issuer.",
      operationId: "oidc-read-plugins-public-keys",
      fields: {},
      answers: KEY_SET,
    },
    (context) => published(context, keySet),
  ),
];

/** Answers public data, usually from this isolate's copy. */
async function published(
  { env, loaded }: OpenContext,
  answer: (known: KnownIssuer) => Result<Reply, Failure>,
): Promise<Result<Reply, Failure>> {
  return loaded.ok ? answer(await loadPublishedKeys(env, loaded.value)) : loaded;
}

function discovery(issuer: string, maxAge: number): Result<Reply, Failure> {
  const document = {
    issuer,
    jwks_uri: `${issuer}/.well-known/keys`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
  };
  return ok(plainReply(document, maxAge));
}

function keySet({ jwks, maxAge }: KnownIssuer): Result<Reply, Failure> {
  return ok(plainReply({ keys: jwks.keys }, jwks.keys.length > 0 ? maxAge : 0));
}
