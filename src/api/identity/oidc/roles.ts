import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type CallContext, type Route, simpleRoute, withParameters } from "../../../auth/route.ts";
import { NO_CONTENT } from "../../../auth/route-description.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok } from "../../../base/result.ts";
import { randomBase62 } from "../../../crypto/base62.ts";
import { fromBase64 } from "../../../crypto/bytes.ts";
import { DEFAULT_KEY, type IssuerRole } from "../../../issuer/model.ts";
import { issuerOf } from "../../../issuer/oidc-issuer.ts";
import { issuerNameProblem } from "../../../issuer/rules.ts";
import { ensureDefaultKey } from "../../../issuer/service.ts";
import { templateProblem } from "../../../issuer/template.ts";
import { fieldSchema, optionalText, sentDuration, type Values } from "../../../wire/fields.ts";
import { pageOf } from "../../../wire/page.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

const ROLE_FIELDS = fieldSchema({
  key: optionalText().describe("The name of the signing key"),
  template: optionalText().describe("Claims to add, as JSON or as base64 of it"),
  ttl: sentDuration().describe("How long tokens are good"),
  client_id: optionalText().describe("The audience of tokens; one is made unless sent"),
});

const ROLE_VIEW = view<IssuerRole>({
  client_id: ["string", (role) => role.clientId],
  key: ["string", (role) => role.key],
  template: ["string", (role) => role.template],
  ttl: ["integer", (role) => role.ttl],
});

/** The roles of the issuer: the claims and the audience of tokens. */
export const ROLE_ROUTES: readonly Route[] = withParameters({ name: "The name of the role" }, [
  listRoute(
    "identity/oidc/role",
    { summary: "Lists the roles of the issuer.", operationId: "oidc-list-roles" },
    async ({ env }, after, limit) => pageOf(await issuerOf(env).listRoles(), { after, limit }),
  ),
  showRoute(
    "identity/oidc/role/:name",
    {
      summary: "Shows a role of the issuer.",
      operationId: "oidc-read-role",
      view: ROLE_VIEW,
    },
    ({ env, params }) => issuerOf(env).readRole(params.name ?? ""),
  ),
  simpleRoute(
    "update",
    "identity/oidc/role/:name",
    {
      summary: "Makes or changes a role of the issuer.",
      operationId: "oidc-write-role",
      answers: NO_CONTENT,
    },
    ROLE_FIELDS,
    writeRole,
  ),
  removeRoute(
    "identity/oidc/role/:name",
    { summary: "Deletes a role of the issuer.", operationId: "oidc-delete-role" },
    ({ env, params }) => issuerOf(env).deleteRole(params.name ?? ""),
  ),
]);

type Call<F> = CallContext<F, null>;

async function writeRole({ env, installation, params, fields }: Call<Values<typeof ROLE_FIELDS>>) {
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
