import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute, withParameters } from "../../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { ok, refuse } from "../../../base/result.ts";
import { randomBase62 } from "../../../crypto/base62.ts";
import { fromBase64 } from "../../../crypto/bytes.ts";
import { newKeyPair } from "../../../issuer/key-pair.ts";
import { DEFAULT_KEY, type IssuerRole, type KeyConfig, SIGNING_ALGORITHMS } from "../../../issuer/model.ts";
import { issuerOf } from "../../../issuer/oidc-issuer.ts";
import { forgetPublishedKeys } from "../../../issuer/published-keys.ts";
import { issuerNameProblem, readIssuer } from "../../../issuer/rules.ts";
import { ensureDefaultKey, writeSigningKey } from "../../../issuer/service.ts";
import { templateProblem } from "../../../issuer/template.ts";
import { fieldSchema, list, sent, sentDuration, text } from "../../../wire/fields.ts";
import { pageOf } from "../../../wire/page.ts";
import { dataReply, doneReply, EMPTY } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

const ISSUER_SET =
  'If "issuer" is set explicitly, all tokens must be validated against that address. Setting issuer to "" will restore the default behavior of using the address by which the service is called.';
const ISSUER_UNSET = "The issuer is not set: tokens contain the address by which the service was called.";

const KEY_VIEW = view<KeyConfig>({
  algorithm: ["string", (key) => key.algorithm],
  rotation_period: ["integer", (key) => key.rotationPeriod],
  verification_ttl: ["integer", (key) => key.verificationTtl],
  allowed_client_ids: [["string"], (key) => key.allowedClientIds],
});

const VERIFICATION_TTL = sentDuration().describe("How long the public key is published after its last signature");

const ROLE_VIEW = view<IssuerRole>({
  client_id: ["string", (role) => role.clientId],
  key: ["string", (role) => role.key],
  template: ["string", (role) => role.template],
  ttl: ["integer", (role) => role.ttl],
});

/** The issuer of identity tokens: its configuration, signing keys and roles. */
export const ISSUER_ROUTES: readonly Route[] = [
  simpleRoute("read", "identity/oidc/config", {
    summary: "Shows the issuer of identity tokens.",
    operationId: "oidc-read-configuration",
    answers: dataAnswer({ issuer: "string" }),
    handle: async ({ env }) => {
      const issuer = await issuerOf(env).readIssuer();
      return dataReply({ issuer }, issuer === "" ? [ISSUER_UNSET] : undefined);
    },
  }),
  simpleRoute("update", "identity/oidc/config", {
    summary: "Sets the issuer of identity tokens.",
    operationId: "oidc-configure",
    answers: DONE_OR_WARNED,
    input: fieldSchema({
      issuer: sent(text()).describe('The URL of the issuer; "" for the address by which the service is called'),
    }),
    handle: async ({ env, fields }) => {
      if (fields.issuer === undefined) return ok(EMPTY);
      const issuer = readIssuer(fields.issuer);
      if (!issuer.ok) return issuer;
      await issuerOf(env).writeIssuer(issuer.value);
      forgetPublishedKeys();
      return ok(issuer.value === "" ? EMPTY : { kind: "empty", warnings: [ISSUER_SET] });
    },
  }),

  ...withParameters({ name: "The name of the key" }, [
    listRoute("identity/oidc/key", {
      summary: "Lists the signing keys.",
      operationId: "oidc-list-keys",
      names: async ({ env }, after, limit) => pageOf(await issuerOf(env).listKeys(), { after, limit }),
    }),
    showRoute("identity/oidc/key/:name", {
      summary: "Shows a signing key.",
      operationId: "oidc-read-key",
      view: KEY_VIEW,
      read: ({ env, params }) => issuerOf(env).readKey(params.name ?? ""),
    }),
    simpleRoute("update", "identity/oidc/key/:name", {
      summary: "Creates or changes a signing key.",
      operationId: "oidc-write-key",
      answers: NO_CONTENT,
      input: fieldSchema({
        algorithm: sent(text()).describe("The algorithm of signatures"),
        rotation_period: sentDuration().describe("How long a key signs"),
        verification_ttl: VERIFICATION_TTL,
        allowed_client_ids: sent(list()).describe("The audiences for which it may sign; `*` for all"),
      }),
      handle: async ({ env, installation, params: { name = "" }, fields }) => {
        const problem = issuerNameProblem(name);
        if (problem) return refuse(problem);
        const algorithm = SIGNING_ALGORITHMS.find((known) => known === fields.algorithm);
        if (fields.algorithm !== undefined && algorithm === undefined) return refuse("unknown signing algorithm");
        const write = {
          algorithm,
          rotationPeriod: fields.rotation_period,
          verificationTtl: fields.verification_ttl,
          allowedClientIds: fields.allowed_client_ids,
        };
        return doneReply(await writeSigningKey(env, installation.keys, name, write));
      },
    }),
    simpleRoute("delete", "identity/oidc/key/:name", {
      summary: "Deletes a signing key.",
      operationId: "oidc-delete-key",
      answers: NO_CONTENT,
      handle: async ({ env, params }) => {
        const deleted = await issuerOf(env).deleteKey(params.name ?? "");
        forgetPublishedKeys();
        return doneReply(deleted);
      },
    }),
    simpleRoute("update", "identity/oidc/key/:name/rotate", {
      summary: "Rotates a signing key.",
      operationId: "oidc-rotate-key",
      answers: NO_CONTENT,
      input: fieldSchema({ verification_ttl: VERIFICATION_TTL }),
      handle: async ({ env, installation, params: { name = "" }, fields }) => {
        const key = await issuerOf(env).readKey(name);
        if (!key) return refuse("no named key found at this name");
        const next = await newKeyPair(installation.keys, key.algorithm);
        const rotated = await issuerOf(env).rotateKey(name, next, fields.verification_ttl ?? null, currentTime());
        forgetPublishedKeys();
        return doneReply(rotated);
      },
    }),
  ]),

  ...withParameters({ name: "The name of the role" }, [
    listRoute("identity/oidc/role", {
      summary: "Lists the roles of the issuer.",
      operationId: "oidc-list-roles",
      names: async ({ env }, after, limit) => pageOf(await issuerOf(env).listRoles(), { after, limit }),
    }),
    showRoute("identity/oidc/role/:name", {
      summary: "Shows a role of the issuer.",
      operationId: "oidc-read-role",
      view: ROLE_VIEW,
      read: ({ env, params }) => issuerOf(env).readRole(params.name ?? ""),
    }),
    simpleRoute("update", "identity/oidc/role/:name", {
      summary: "Creates or changes a role of the issuer.",
      operationId: "oidc-write-role",
      answers: NO_CONTENT,
      input: fieldSchema({
        key: sent(text()).describe("The name of the signing key"),
        template: sent(text()).describe("Claims to add, as JSON or as its base64"),
        ttl: sentDuration().describe("The lifetime of tokens"),
        client_id: sent(text()).describe("The audience of tokens; generated by default"),
      }),
      handle: async ({ env, installation, params: { name = "" }, fields }) => {
        const template = fields.template === undefined ? undefined : decodedTemplate(fields.template);
        const problem = issuerNameProblem(name) ?? templateProblem(template ?? "");
        if (problem) return refuse(problem);
        if (fields.key === DEFAULT_KEY) {
          const made = await ensureDefaultKey(env, installation.keys);
          if (!made.ok) return made;
        }
        const write = { key: fields.key, template, ttl: fields.ttl, clientId: fields.client_id };
        return doneReply(await issuerOf(env).writeRole(name, write, randomBase62(26)));
      },
    }),
    removeRoute("identity/oidc/role/:name", {
      summary: "Deletes a role of the issuer.",
      operationId: "oidc-delete-role",
      remove: ({ env, params }) => issuerOf(env).deleteRole(params.name ?? ""),
    }),
  ]),
];

/** Decodes a template that was sent in base64; returns any other template as it is. */
function decodedTemplate(sent: string): string {
  const bytes = fromBase64(sent);
  return bytes ? new TextDecoder().decode(bytes) : sent;
}
