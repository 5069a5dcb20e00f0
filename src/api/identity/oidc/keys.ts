import { listRoute, showRoute } from "../../../auth/record-routes.ts";
import { type CallContext, type Route, simpleRoute, withParameters } from "../../../auth/route.ts";
import { NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok } from "../../../base/result.ts";
import { newKeyPair } from "../../../issuer/key-pair.ts";
import { type KeyConfig, type KeyWrite, SIGNING_ALGORITHMS } from "../../../issuer/model.ts";
import { issuerOf } from "../../../issuer/oidc-issuer.ts";
import { forgetPublishedKeys } from "../../../issuer/published-keys.ts";
import { issuerNameProblem } from "../../../issuer/rules.ts";
import { writeSigningKey } from "../../../issuer/service.ts";
import { commaList, fieldSchema, NO_FIELDS, sent, sentDuration, text, type Values } from "../../../wire/fields.ts";
import { pageOf } from "../../../wire/page.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

const KEY_FIELDS = fieldSchema({
  algorithm: sent(text()).describe("The algorithm that it signs with"),
  rotation_period: sentDuration().describe("How long a key signs"),
  verification_ttl: sentDuration().describe("How long a key is published after it signed last"),
  allowed_client_ids: commaList().describe("The audiences that it may sign for; `*` for all"),
});
const ROTATE_FIELDS = fieldSchema({
  verification_ttl: sentDuration().describe("How long a key is published after it signed last"),
});

const KEY_VIEW = view<KeyConfig>({
  algorithm: ["string", (key) => key.algorithm],
  rotation_period: ["integer", (key) => key.rotationPeriod],
  verification_ttl: ["integer", (key) => key.verificationTtl],
  allowed_client_ids: [["string"], (key) => key.allowedClientIds],
});

/** The signing keys of the issuer. */
export const KEY_ROUTES: readonly Route[] = withParameters({ name: "The name of the key" }, [
  listRoute(
    "identity/oidc/key",
    { summary: "Lists the signing keys.", operationId: "oidc-list-keys" },
    async ({ env }, after, limit) => pageOf(await issuerOf(env).listKeys(), { after, limit }),
  ),
  showRoute(
    "identity/oidc/key/:name",
    {
      summary: "Shows a signing key.",
      operationId: "oidc-read-key",
      view: KEY_VIEW,
    },
    ({ env, params }) => issuerOf(env).readKey(params.name ?? ""),
  ),
  simpleRoute(
    "update",
    "identity/oidc/key/:name",
    {
      summary: "Makes or changes a signing key.",
      operationId: "oidc-write-key",
      answers: NO_CONTENT,
    },
    KEY_FIELDS,
    writeKey,
  ),
  simpleRoute(
    "delete",
    "identity/oidc/key/:name",
    { summary: "Deletes a signing key.", operationId: "oidc-delete-key", answers: NO_CONTENT },
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
    { summary: "Rotates a signing key.", operationId: "oidc-rotate-key", answers: NO_CONTENT },
    ROTATE_FIELDS,
    rotateKey,
  ),
]);

type Call<F> = CallContext<F, null>;

async function writeKey({ env, installation, params, fields }: Call<Values<typeof KEY_FIELDS>>) {
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

async function rotateKey({ env, installation, params, fields }: Call<Values<typeof ROTATE_FIELDS>>) {
  const name = params.name ?? "";
  const key = await issuerOf(env).readKey(name);
  if (!key) return err(invalid("no named key found at this name"));
  const next = await newKeyPair(installation.keys, key.algorithm);
  const rotated = await issuerOf(env).rotateKey(name, next, fields.verification_ttl ?? null, currentTime());
  forgetPublishedKeys();
  return rotated.ok ? ok(EMPTY) : rotated;
}
