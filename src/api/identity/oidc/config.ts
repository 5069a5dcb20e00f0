import { readRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { issuerOf } from "../../../issuer/oidc-issuer.ts";
import { forgetPublishedKeys } from "../../../issuer/published-keys.ts";
import { readIssuer } from "../../../issuer/rules.ts";
import { fieldSchema, optionalText } from "../../../wire/fields.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";

const CONFIG_FIELDS = fieldSchema({
  issuer: optionalText().describe('The URL that tokens name; "" for the address by which the service was called'),
});
const ISSUER_SET =
  'If "issuer" is set explicitly, all tokens must be validated against that address. Setting issuer to "" will restore the default behavior of using the address by which the service is called.';
const ISSUER_UNSET = "The issuer is not set: tokens name the address by which the service was called.";

/** The configuration of the issuer that tokens name. */
export const CONFIG_ROUTES: readonly Route[] = [
  readRoute(
    "identity/oidc/config",
    {
      summary: "Shows the issuer that tokens name.",
      operationId: "oidc-read-configuration",
      answers: dataAnswer({ issuer: "string" }),
    },
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
];
