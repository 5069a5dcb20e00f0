import * as z from "zod";
import { callerRecord } from "../../auth/caller.ts";
import { type CallContext, openRoute, type RequestContext, type Route, simpleRoute } from "../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer, KEYS, NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid, UNAUTHENTICATED } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { randomBase62 } from "../../crypto/base62.ts";
import { fromBase64 } from "../../crypto/bytes.ts";
import { loadEntity } from "../../identity/standing.ts";
import { newKeyPair } from "../../issuer/key-pair.ts";
import { DEFAULT_KEY, type KeyWrite, SIGNING_ALGORITHMS } from "../../issuer/model.ts";
import { issuerOf } from "../../issuer/oidc-issuer.ts";
import { forgetPublishedKeys, type KnownIssuer, loadPublishedKeys } from "../../issuer/published-keys.ts";
import { issuerNameProblem, maySign, readIssuer } from "../../issuer/rules.ts";
import { ensureDefaultKey, writeSigningKey } from "../../issuer/service.ts";
import { claimsFromTemplate, templateProblem } from "../../issuer/template.ts";
import { issuerUrl, pluginIssuerUrl, signToken, verifyToken } from "../../issuer/tokens.ts";
import { loadInstallation } from "../../system/installation.ts";
import { commaList, optionalText, sent, sentDuration, text } from "../../wire/fields.ts";
import { PAGE, pageOf } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply } from "../../wire/reply.ts";

const KEY_NAME = { name: "The name of the key" };
const ROLE_NAME = { name: "The name of the role" };
const DISCOVERY = plainAnswer({
  issuer: "string",
  jwks_uri: "string",
  response_types_supported: ["string"],
  subject_types_supported: ["string"],
  id_token_signing_alg_values_supported: ["string"],
});
const KEY_SET = plainAnswer({ keys: [{ kty: "string", "*": "any" }] });
const NO_FIELDS = z.object({});
const CONFIG_FIELDS = z.object({
  issuer: optionalText().describe('The URL that tokens name; "" for the address by which the service was called'),
});
const KEY_FIELDS = z.object({
  algorithm: sent(text()).describe("The algorithm that it signs with"),
  rotation_period: sentDuration().describe("How long a key signs"),
  verification_ttl: sentDuration().describe("How long a key is published after it signed last"),
  allowed_client_ids: commaList().describe("The audiences that it may sign for; `*` for all"),
});
const ROTATE_FIELDS = z.object({
  verification_ttl: sentDuration().describe("How long a key is published after it signed last"),
});
const ROLE_FIELDS = z.object({
  key: optionalText().describe("The name of the signing key"),
  template: optionalText().describe("Claims to add, as JSON or as base64 of it"),
  ttl: sentDuration().describe("How long tokens are good"),
  client_id: optionalText().describe("The audience of tokens; one is made unless sent"),
});
const INTROSPECT_FIELDS = z.object({
  token: text().describe("The token"),
  client_id: text().describe("The audience of tokens; one is made unless sent"),
});

/** Characters of a token to introspect. */
const MAX_TOKEN_LENGTH = 32_768;
/** Seconds that others may keep the discovery document. */
const DISCOVERY_MAX_AGE = 3600;

const ISSUER_SET =
  'If "issuer" is set explicitly, all tokens must be validated against that address. Setting issuer to "" will restore the default behavior of using the address by which the service is called.';
const ISSUER_UNSET = "The issuer is not set: tokens name the address by which the service was called.";

/** The OpenID issuer (identity/oidc): keys, roles, tokens, and what verifies them. */
export const OIDC_ROUTES: readonly Route[] = [
  openRoute(
    "read",
    "identity/oidc/.well-known/openid-configuration",
    {
      summary: "The OpenID discovery document of the issuer.",
      operationId: "oidc-read-open-id-configuration",
      fields: {},
      answers: DISCOVERY,
    },
    (context) => published(context, (known) => discovery(issuerUrl(known.issuer, context.request.baseUrl))),
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
        known.issuer === "" ? err({ code: "not_found" }) : discovery(pluginIssuerUrl(known.issuer)),
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

  simpleRoute(
    "read",
    "identity/oidc/config",
    {
      summary: "Shows the issuer that tokens name.",
      operationId: "oidc-read-configuration",
      answers: dataAnswer({ issuer: "string" }),
    },
    NO_FIELDS,
    async ({ env }) => {
      const issuer = await issuerOf(env).readIssuer();
      return ok(dataReply({ issuer }, issuer === "" ? [ISSUER_UNSET] : undefined));
    },
  ),
  simpleRoute(
    "update",
    "identity/oidc/config",
    { summary: "Sets the issuer that tokens name.", operationId: "oidc-configure", answers: DONE_OR_WARNED },
    CONFIG_FIELDS,
    async ({ env, fields }) => {
      if (fields.issuer === null) return ok(EMPTY);
      const issuer = readIssuer(fields.issuer);
      if (!issuer.ok) return issuer;
      await issuerOf(env).writeIssuer(issuer.value);
      forgetPublishedKeys();
      return ok(issuer.value === "" ? EMPTY : { kind: "empty", warnings: [ISSUER_SET] });
    },
  ),

  simpleRoute(
    "list",
    "identity/oidc/key",
    { summary: "Lists the signing keys.", operationId: "oidc-list-keys", answers: KEYS },
    z.object(PAGE),
    async ({ env, fields }) => ok(keysReply(pageOf(await issuerOf(env).listKeys(), fields))),
  ),
  simpleRoute(
    "read",
    "identity/oidc/key/:name",
    {
      summary: "Shows a signing key.",
      operationId: "oidc-read-key",
      parameters: KEY_NAME,
      answers: dataAnswer({
        algorithm: "string",
        rotation_period: "integer",
        verification_ttl: "integer",
        allowed_client_ids: ["string"],
      }),
    },
    NO_FIELDS,
    async ({ env, params }) => {
      const key = await issuerOf(env).readKey(params.name ?? "");
      if (!key) return err({ code: "not_found" });
      return ok(
        dataReply({
          algorithm: key.algorithm,
          rotation_period: key.rotationPeriod,
          verification_ttl: key.verificationTtl,
          allowed_client_ids: key.allowedClientIds,
        }),
      );
    },
  ),
  simpleRoute(
    "update",
    "identity/oidc/key/:name",
    {
      summary: "Makes or changes a signing key.",
      operationId: "oidc-write-key",
      parameters: KEY_NAME,
      answers: NO_CONTENT,
    },
    KEY_FIELDS,
    writeKey,
  ),
  simpleRoute(
    "delete",
    "identity/oidc/key/:name",
    { summary: "Deletes a signing key.", operationId: "oidc-delete-key", parameters: KEY_NAME, answers: NO_CONTENT },
    NO_FIELDS,
    async ({ env, params }) => {
      const deleted = await issuerOf(env).deleteKey(params.name ?? "");
      forgetPublishedKeys();
      return deleted.ok ? ok(EMPTY) : deleted;
    },
  ),
  simpleRoute(
    "update",
    "identity/oidc/key/:name/rotate",
    { summary: "Rotates a signing key.", operationId: "oidc-rotate-key", parameters: KEY_NAME, answers: NO_CONTENT },
    ROTATE_FIELDS,
    rotateKey,
  ),

  simpleRoute(
    "list",
    "identity/oidc/role",
    { summary: "Lists the roles of the issuer.", operationId: "oidc-list-roles", answers: KEYS },
    z.object(PAGE),
    async ({ env, fields }) => ok(keysReply(pageOf(await issuerOf(env).listRoles(), fields))),
  ),
  simpleRoute(
    "read",
    "identity/oidc/role/:name",
    {
      summary: "Shows a role of the issuer.",
      operationId: "oidc-read-role",
      parameters: ROLE_NAME,
      answers: dataAnswer({ client_id: "string", key: "string", template: "string", ttl: "integer" }),
    },
    NO_FIELDS,
    async ({ env, params }) => {
      const role = await issuerOf(env).readRole(params.name ?? "");
      if (!role) return err({ code: "not_found" });
      return ok(dataReply({ client_id: role.clientId, key: role.key, template: role.template, ttl: role.ttl }));
    },
  ),
  simpleRoute(
    "update",
    "identity/oidc/role/:name",
    {
      summary: "Makes or changes a role of the issuer.",
      operationId: "oidc-write-role",
      parameters: ROLE_NAME,
      answers: NO_CONTENT,
    },
    ROLE_FIELDS,
    writeRole,
  ),
  simpleRoute(
    "delete",
    "identity/oidc/role/:name",
    {
      summary: "Deletes a role of the issuer.",
      operationId: "oidc-delete-role",
      parameters: ROLE_NAME,
      answers: NO_CONTENT,
    },
    NO_FIELDS,
    async ({ env, params }) => {
      await issuerOf(env).deleteRole(params.name ?? "");
      return ok(EMPTY);
    },
  ),

  simpleRoute(
    "read",
    "identity/oidc/token/:name",
    {
      summary: "Signs an identity token about the caller.",
      operationId: "oidc-generate-token",
      parameters: ROLE_NAME,
      answers: dataAnswer({ token: "string", client_id: "string", ttl: "integer" }),
    },
    NO_FIELDS,
    makeToken,
  ),
  simpleRoute(
    "update",
    "identity/oidc/introspect",
    {
      summary: "Tells whether an identity token is good.",
      operationId: "oidc-introspect",
      answers: plainAnswer({ active: "boolean", "error?": "string" }),
    },
    INTROSPECT_FIELDS,
    introspect,
  ),
];

type Call<F> = CallContext<F, null>;

/** Answers what everybody may know, from this isolate's copy in the usual case. */
async function published(
  { env }: RequestContext,
  answer: (known: KnownIssuer) => Result<Reply, Failure>,
): Promise<Result<Reply, Failure>> {
  const loaded = await loadInstallation(env);
  return loaded.ok ? answer(await loadPublishedKeys(env, loaded.value)) : loaded;
}

function discovery(issuer: string): Result<Reply, Failure> {
  return document(
    {
      issuer,
      jwks_uri: `${issuer}/.well-known/keys`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: SIGNING_ALGORITHMS,
    },
    DISCOVERY_MAX_AGE,
  );
}

function keySet({ jwks, maxAge }: KnownIssuer): Result<Reply, Failure> {
  return document({ keys: jwks.keys }, jwks.keys.length > 0 ? maxAge : 0);
}

function document(body: Record<string, unknown>, maxAge: number): Result<Reply, Failure> {
  return ok({ kind: "plain", status: 200, body, ...(maxAge > 0 && { maxAge }) });
}

async function writeKey({ env, installation, params, fields }: Call<z.infer<typeof KEY_FIELDS>>) {
  const name = params.name ?? "";
  const problem = issuerNameProblem(name);
  if (problem) return err(invalid(problem));
  const algorithm = SIGNING_ALGORITHMS.find((known) => known === fields.algorithm) ?? null;
  if (fields.algorithm !== undefined && algorithm === null) return err(invalid("unknown signing algorithm"));
  const write: KeyWrite = {
    algorithm,
    rotationPeriod: fields.rotation_period ?? null,
    verificationTtl: fields.verification_ttl ?? null,
    allowedClientIds: fields.allowed_client_ids,
  };
  const written = await writeSigningKey(env, installation.keys, name, write);
  return written.ok ? ok(EMPTY) : written;
}

async function rotateKey({ env, installation, params, fields }: Call<z.infer<typeof ROTATE_FIELDS>>) {
  const name = params.name ?? "";
  const key = await issuerOf(env).readKey(name);
  if (!key) return err(invalid("no named key found at this name"));
  const next = await newKeyPair(installation.keys, key.algorithm);
  const rotated = await issuerOf(env).rotateKey(name, next, fields.verification_ttl ?? null, currentTime());
  forgetPublishedKeys();
  return rotated.ok ? ok(EMPTY) : rotated;
}

async function writeRole({ env, installation, params, fields }: Call<z.infer<typeof ROLE_FIELDS>>) {
  const name = params.name ?? "";
  const template = fields.template === null ? null : decodedTemplate(fields.template);
  const problem = issuerNameProblem(name) ?? templateProblem(template ?? "");
  if (problem) return err(invalid(problem));
  if (fields.key === DEFAULT_KEY) {
    const made = await ensureDefaultKey(env, installation.keys);
    if (!made.ok) return made;
  }
  const write = { key: fields.key, template, ttl: fields.ttl ?? null, clientId: fields.client_id };
  const written = await issuerOf(env).writeRole(name, write, randomBase62(26));
  return written.ok ? ok(EMPTY) : written;
}

/** Clients send templates as JSON, or in base64 where quotes are a nuisance. */
function decodedTemplate(sent: string): string {
  const bytes = fromBase64(sent);
  return bytes ? new TextDecoder().decode(bytes) : sent;
}

async function makeToken({ env, installation, request, params, caller }: Call<unknown>) {
  const found = await issuerOf(env).signerOfRole(params.name ?? "");
  if (!found) return err(invalid("role not found"));
  const { role, signer } = found;
  if (!maySign(signer.key, role.clientId)) {
    return err(invalid("the key does not list the client ID of the role as an allowed client ID"));
  }
  const { entityId } = callerRecord(caller);
  if (entityId === "") return err(invalid("no entity associated with the request's token"));
  const view = await loadEntity(env, entityId);
  if (!view || view.disabled) return err(UNAUTHENTICATED);
  const now = currentTime();
  const claims = role.template === "" ? ok({}) : claimsFromTemplate(role.template, view, now);
  if (!claims.ok) return err(invalid(claims.error));
  const content = {
    issuer: issuerUrl(signer.issuer, request.baseUrl),
    subject: entityId,
    audience: role.clientId,
    ttl: Math.min(role.ttl, signer.key.verificationTtl),
    claims: claims.value,
  };
  const token = await signToken(installation.keys, signer, content, now);
  return ok(dataReply({ token, client_id: role.clientId, ttl: content.ttl }));
}

async function introspect({ env, installation, request, fields }: Call<z.infer<typeof INTROSPECT_FIELDS>>) {
  if (fields.token.length > MAX_TOKEN_LENGTH) return inactive("error parsing token");
  const known = await loadPublishedKeys(env, installation);
  const issuer = issuerUrl(known.issuer, request.baseUrl);
  const verified = await verifyToken(known, fields.token, issuer, fields.client_id, currentTime());
  if (!verified.ok) return inactive(verified.error);
  const view = await loadEntity(env, verified.value.sub ?? "");
  if (!view) return inactive("entity was not found");
  if (view.disabled) return inactive("entity is disabled");
  return document({ active: true }, 0);
}

function inactive(error: string): Result<Reply, Failure> {
  return document({ active: false, error }, 0);
}
