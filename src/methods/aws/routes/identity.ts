import { showRoute } from "../../../auth/record-routes.ts";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { NO_CONTENT } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { changeConfiguration, cloudAuthOf } from "../mount/mount.ts";
import { IDENTITY_FIELDS, IDENTITY_VIEW, readIdentityChange } from "../rules/identity.ts";

/** `config/identity`. It is always there: what was not written reads as its default. */
export const IDENTITY_ROUTES: readonly Route[] = [
  showRoute(
    "config/identity",
    {
      summary: "Shows which properties name the holders of tokens and are shown of them.",
      operationId: "read-identity-integration-configuration",
      view: IDENTITY_VIEW,
    },
    (context) => cloudAuthOf(context).readIdentity(),
  ),

  tokenRoute(
    "update",
    "config/identity",
    {
      summary: "Sets which properties name the holders of tokens and are shown of them.",
      operationId: "configure-identity-integration",
      answers: NO_CONTENT,
    },
    IDENTITY_FIELDS,
    {
      prepare: async ({ fields }) => readIdentityChange(fields),
      async handle(context) {
        await changeConfiguration(context, (auth) => auth.writeIdentity(context.prepared));
        return ok(EMPTY);
      },
    },
  ),
];
