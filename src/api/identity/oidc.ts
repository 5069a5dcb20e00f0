import { listRoute, removeRoute, showRoute } from "../../auth/record-routes.ts";
import { openRoute, type Route, simpleRoute, tokenRoute, withParameters } from "../../auth/route.ts";
import {
  type AnswerDescription,
  DONE_OR_WARNED,
  dataAnswer,
  NO_CONTENT,
  plainAnswer,
} from "../../auth/route-description.ts";
import { currentTime, type Seconds } from "../../base/clock.ts";
import { attempted, type CallAttempt, changedOnce } from "../../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok, okUnless, type Result, refuse, UNAUTHENTICATED } from "../../base/result.ts";
import { randomBase62 } from "../../crypto/base62.ts";
import { fromBase64 } from "../../crypto/bytes.ts";
import { loadEntity } from "../../identity/entity-copies.ts";
import {
  type IssuerRole,
  issuerNameProblem,
  type KeyConfig,
  keyWriteProblem,
  maySign,
  readIssuer,
  roleWriteProblem,
  SIGNING_ALGORITHMS,
} from "../../issuer/key-and-role-config.ts";
import { newKeyPair } from "../../issuer/key-pair.ts";
import { oidcIssuerOf } from "../../issuer/oidc-issuer.ts";
import {
  ensureDefaultKey,
  forgetPublishedKeys,
  issuerUrl,
  type KnownIssuer,
  loadPublishedKeys,
  pluginIssuerUrl,
  rotateSigningKey,
  signToken,
  verifyToken,
  writeSigningKey,
} from "../../issuer/published-keys.ts";
import { claimsFromTemplate, templateProblem } from "../../issuer/template.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { duration, list, pasted, sent, text } from "../../wire/fields.ts";
import { pageOf } from "../../wire/pagination.ts";
import { dataReply, doneReply, EMPTY, plainReply, type Reply, warnedReply } from "../../wire/reply.ts";
import { view } from "../../wire/view.ts";

const ISSUER_SET =
  'If "issuer" is set explicitly, all tokens must be validated against that address. Setting issuer to "" will restore the default behavior of using the address by which the service is called.';
const ISSUER_UNSET = "The issuer is not set: tokens contain the address by which the service was called.";

const KEY_VIEW = view<KeyConfig>({
  algorithm: ["string", (key) => key.algorithm],
  rotation_period: ["integer", (key) => key.rotationPeriod],
  verification_ttl: ["integer", (key) => key.verificationTtl],
  allowed_client_ids: [["string"], (key) => key.allowedClientIds],
});

const VERIFICATION_TTL = sent(duration()).describe("How long a public key stays published after its last signature");

const ROLE_VIEW = view<IssuerRole>({
  client_id: ["string", (role) => role.clientId],
  key: ["string", (role) => role.key],
  template: ["string", (role) => role.template],
  ttl: ["integer", (role) => role.ttl],
});

/** Maximum length of a token to introspect, in characters. */
const MAX_TOKEN_LENGTH = 32_768;

const DISCOVERY_VIEW = view<string>({
  issuer: ["string", (issuer) => issuer],
  jwks_uri: ["string", (issuer) => `${issuer}/.well-known/keys`],
  response_types_supported: [["string"], () => ["id_token"]],
  subject_types_supported: [["string"], () => ["public"]],
  id_token_signing_alg_values_supported: [["string"], () => SIGNING_ALGORITHMS],
});
const DISCOVERY = plainAnswer(DISCOVERY_VIEW.shape);
const KEY_SET = plainAnswer({ keys: [{ kty: "string", "*": "any" }] });
/** How long caches may keep the discovery document of a configured issuer. */
const DISCOVERY_MAX_AGE: Seconds = 3600;

/** Identity tokens: their issuer with its keys and roles, the tokens, and the public documents that verify them. */
export const OIDC_ROUTES: readonly Route[] = [
  simpleRoute("read", "identity/oidc/config", {
    summary: "Shows the issuer of identity tokens.",
    operationId: "oidc-read-configuration",
    answers: dataAnswer({ issuer: "string" }),
    handle: async ({ env }) => {
      const issuer = await oidcIssuerOf(env).readIssuer();
      return dataReply({ issuer }, issuer === "" ? [ISSUER_UNSET] : []);
    },
  }),
  tokenRoute("update", "identity/oidc/config", {
    summary: "Sets the issuer of identity tokens.",
    operationId: "oidc-configure",
    answers: DONE_OR_WARNED,
    input: fieldSchema({
      issuer: sent(text()).describe('URL of the issuer; "": the address by which the service is called'),
    }),
    prepare: async ({ fields }): Promise<Result<string | null>> =>
      fields.issuer === undefined ? ok(null) : readIssuer(fields.issuer),
    handle: async ({ env, prepared: issuer }) => {
      if (issuer === null) return ok(EMPTY);
      await attempted(env, (attempt) => oidcIssuerOf(env).writeIssuer(issuer, attempt));
      forgetPublishedKeys();
      return ok(warnedReply(issuer === "" ? [] : [ISSUER_SET]));
    },
  }),

  ...withParameters({ name: "The name of the key" }, [
    listRoute("identity/oidc/key", {
      summary: "Lists the signing keys.",
      operationId: "oidc-list-keys",
      names: async ({ env }, after, limit) => pageOf(await oidcIssuerOf(env).listKeys(), { after, limit }),
    }),
    showRoute("identity/oidc/key/:name", {
      summary: "Shows a signing key.",
      operationId: "oidc-read-key",
      view: KEY_VIEW,
      read: ({ env, params }) => oidcIssuerOf(env).readKey(params.name ?? ""),
    }),
    tokenRoute("update", "identity/oidc/key/:name", {
      summary: "Creates or changes a signing key.",
      operationId: "oidc-write-key",
      answers: NO_CONTENT,
      createsOrUpdates: true,
      input: fieldSchema({
        algorithm: sent(text()).describe("The algorithm of signatures"),
        rotation_period: sent(duration()).describe("How long a key signs"),
        verification_ttl: VERIFICATION_TTL,
        allowed_client_ids: sent(list()).describe("The audiences for which it may sign; `*` for all"),
      }),
      prepare: async ({ params: { name = "" }, fields }) => {
        const algorithm = SIGNING_ALGORITHMS.find((known) => known === fields.algorithm);
        if (fields.algorithm !== undefined && algorithm === undefined) return refuse("unknown signing algorithm");
        const write = {
          algorithm,
          rotationPeriod: fields.rotation_period,
          verificationTtl: fields.verification_ttl,
          allowedClientIds: fields.allowed_client_ids,
        };
        const problem = issuerNameProblem(name) ?? keyWriteProblem(write);
        return okUnless(problem, write);
      },
      handle: async ({ env, installation, params: { name = "" }, prepared, verdict }) =>
        doneReply(await writeSigningKey(env, installation.keys, name, prepared, verdict)),
    }),
    simpleRoute("delete", "identity/oidc/key/:name", {
      summary: "Deletes a signing key.",
      operationId: "oidc-delete-key",
      answers: NO_CONTENT,
      handle: async ({ env, params }) => {
        const deleted = await changedOnce(env, (attempt) => oidcIssuerOf(env).deleteKey(params.name ?? "", attempt));
        forgetPublishedKeys();
        return doneReply(deleted);
      },
    }),
    tokenRoute("update", "identity/oidc/key/:name/rotate", {
      summary: "Rotates a signing key.",
      operationId: "oidc-rotate-key",
      answers: NO_CONTENT,
      input: fieldSchema({ verification_ttl: VERIFICATION_TTL }),
      prepare: async ({ fields }) => {
        return okUnless(keyWriteProblem({ verificationTtl: fields.verification_ttl }), null);
      },
      handle: async ({ env, installation, params: { name = "" }, fields }) => {
        const key = await oidcIssuerOf(env).readKey(name);
        if (!key) return refuse("no named key found at this name");
        const next = await newKeyPair(installation.keys, key.algorithm);
        return doneReply(await rotateSigningKey(env, name, next, fields.verification_ttl ?? null));
      },
    }),
  ]),

  ...withParameters({ name: "The name of the role" }, [
    listRoute("identity/oidc/role", {
      summary: "Lists the roles of the issuer.",
      operationId: "oidc-list-roles",
      names: async ({ env }, after, limit) => pageOf(await oidcIssuerOf(env).listRoles(), { after, limit }),
    }),
    showRoute("identity/oidc/role/:name", {
      summary: "Shows a role of the issuer.",
      operationId: "oidc-read-role",
      view: ROLE_VIEW,
      read: ({ env, params }) => oidcIssuerOf(env).readRole(params.name ?? ""),
    }),
    tokenRoute("update", "identity/oidc/role/:name", {
      summary: "Creates or changes a role of the issuer.",
      operationId: "oidc-write-role",
      answers: NO_CONTENT,
      createsOrUpdates: true,
      input: fieldSchema({
        key: sent(text()).describe("The name of the signing key"),
        template: sent(text()).describe("Claims to add, as JSON or as its base64"),
        ttl: sent(duration()).describe("The lifetime of tokens"),
        client_id: sent(text()).describe("The audience of tokens; generated by default"),
      }),
      prepare: async ({ params: { name = "" }, fields }) => {
        const template = fields.template === undefined ? undefined : decodedTemplate(fields.template);
        const write = { key: fields.key, template, ttl: fields.ttl, clientId: fields.client_id };
        const problem = issuerNameProblem(name) ?? templateProblem(template ?? "") ?? roleWriteProblem(write);
        return okUnless(problem, write);
      },
      handle: async ({ env, installation, params: { name = "" }, prepared, verdict }) => {
        const made = await ensureDefaultKey(env, installation.keys, prepared.key);
        if (!made.ok) return made;
        const newClientId = randomBase62(26);
        const write = (attempt?: CallAttempt) =>
          oidcIssuerOf(env).writeRole(name, prepared, verdict, newClientId, attempt);
        return doneReply(await changedOnce(env, write));
      },
    }),
    removeRoute("identity/oidc/role/:name", {
      summary: "Deletes a role of the issuer.",
      operationId: "oidc-delete-role",
      remove: ({ env, params }) =>
        attempted(env, (attempt) => oidcIssuerOf(env).deleteRole(params.name ?? "", attempt)),
    }),
  ]),

  simpleRoute("read", "identity/oidc/token/:name", {
    summary: "Signs an identity token about the caller.",
    operationId: "oidc-generate-token",
    parameters: { name: "The name of the role" },
    answers: dataAnswer({ token: "string", client_id: "string", ttl: "integer" }),
    handle: async ({ env, installation, request, params, caller }) => {
      const found = await oidcIssuerOf(env).signerOfRole(params.name ?? "");
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
        subject: view.entity.id,
        audience: role.clientId,
        ttl: Math.min(role.ttl, signer.key.verificationTtl),
        claims: claims.value,
      };
      const token = await signToken(installation.keys, signer, content, now);
      return dataReply({ token, client_id: role.clientId, ttl: content.ttl });
    },
  }),
  simpleRoute("update", "identity/oidc/introspect", {
    summary: "Tells whether an identity token is valid.",
    operationId: "oidc-introspect",
    answers: plainAnswer({ active: "boolean", "error?": "string" }),
    input: fieldSchema({
      token: pasted().describe("The token"),
      client_id: text().describe("The audience that the token must have; any audience by default"),
    }),
    handle: async ({ env, installation, request, fields }) => {
      if (fields.token.length > MAX_TOKEN_LENGTH) return inactive("error parsing token");
      const known = await loadPublishedKeys(env, installation);
      const issuer = issuerUrl(known.issuer, request.baseUrl());
      const verified = await verifyToken(known, fields.token, issuer, fields.client_id, currentTime());
      if (!verified.ok) return inactive(verified.error);
      const subject = verified.value.sub ?? "";
      const view = await loadEntity(env, subject);
      // When the subject was merged into another entity, the token does not identify that entity.
      if (view?.entity.id !== subject) return inactive("entity was not found");
      return view.disabled ? inactive("entity is disabled") : plainReply({ active: true });
    },
  }),

  publicRoute(
    ".well-known/openid-configuration",
    "The OpenID discovery document of the issuer.",
    "oidc-read-open-id-configuration",
    DISCOVERY,
    // An issuer that is not configured is the host that the client called: caches must not give it to other clients.
    ({ issuer }, baseUrl) =>
      plainReply(DISCOVERY_VIEW.show(issuerUrl(issuer, baseUrl)), issuer === "" ? 0 : DISCOVERY_MAX_AGE),
  ),
  publicRoute(".well-known/keys", "The public keys of the issuer.", "oidc-read-public-keys", KEY_SET, keySet),
  publicRoute(
    "plugins/.well-known/openid-configuration",
    "The discovery document of the issuer of auth mounts.",
    "oidc-read-plugins-open-id-configuration",
    DISCOVERY,
    ({ issuer }) =>
      issuer === "" ? NOT_FOUND : plainReply(DISCOVERY_VIEW.show(pluginIssuerUrl(issuer)), DISCOVERY_MAX_AGE),
  ),
  publicRoute(
    "plugins/.well-known/keys",
    "The public keys of that issuer.",
    "oidc-read-plugins-public-keys",
    KEY_SET,
    keySet,
  ),
];

function decodedTemplate(sent: string): string {
  const bytes = fromBase64(sent);
  return bytes ? new TextDecoder().decode(bytes) : sent;
}

function inactive(error: string): Result<Reply> {
  return plainReply({ active: false, error });
}

function publicRoute(
  path: string,
  summary: string,
  operationId: string,
  answers: AnswerDescription,
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

function keySet({ jwks, maxAge }: KnownIssuer): Result<Reply> {
  return plainReply({ keys: jwks.keys }, jwks.keys.length > 0 ? maxAge : 0);
}
