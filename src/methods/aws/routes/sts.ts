import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED } from "../../../auth/route-description.ts";
import type { Failure } from "../../../base/errors.ts";
import { ok, type Result } from "../../../base/result.ts";
import { fieldSchema, sent, text, unread } from "../../../wire/fields.ts";
import { namedSegment } from "../../../wire/path-name.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { readStsRole, type StsRole, type StsRoleFields, stsRoleWarning } from "../clients/sts-role.ts";
import { changeConfiguration, cloudAuthOf } from "../mount/mount.ts";

const PATH = `config/sts/${namedSegment("account_id")}`;
const FIELDS = fieldSchema({
  account_id: unread("string").describe("The id of the account"),
  sts_role: sent(text()).describe("The ARN of the role"),
  external_id: sent(text()).describe("The external ID that the role's trust policy asks for; empty: none"),
});

const STS_ROLE_VIEW = view<StsRole>({
  sts_role: ["string", (role) => role.arn],
  "external_id?": ["string", (role) => role.externalId || undefined],
});

/** `config/sts`: the roles to assume for the instances of other accounts. */
export const STS_ROUTES: readonly Route[] = [
  listRoute(
    "config/sts",
    { summary: "Lists the accounts with a role to assume.", operationId: "list-sts-role-relationships" },
    (context, after, limit) => cloudAuthOf(context).names("stsRoles", after, limit),
  ),

  showRoute(
    PATH,
    {
      summary: "Shows the role that is assumed for the instances of an account.",
      operationId: "read-sts-role",
      view: STS_ROLE_VIEW,
    },
    (context) => cloudAuthOf(context).readStsRole(context.params.account_id ?? ""),
  ),

  tokenRoute(
    "update",
    PATH,
    {
      summary: "Sets the role that is assumed for the instances of an account.",
      operationId: "configure-sts-role",
      answers: DONE_OR_WARNED,
    },
    FIELDS,
    {
      createsOrUpdates: true,
      prepare: async ({ fields }): Promise<Result<StsRoleFields, Failure>> =>
        readStsRole({ arn: fields.sts_role, externalId: fields.external_id }),
      async handle(context) {
        const { params, prepared, verdict } = context;
        const accountId = params.account_id ?? "";
        const written = await changeConfiguration<Result<null, Failure>>(context, (auth) =>
          auth.writeStsRole(accountId, prepared, verdict),
        );
        if (!written.ok) return written;
        const warning = prepared.arn === undefined ? null : stsRoleWarning(accountId, prepared.arn);
        return ok(warning ? { kind: "empty", warnings: [warning] } : EMPTY);
      },
    },
  ),

  removeRoute(
    PATH,
    {
      summary: "Deletes the role that is assumed for the instances of an account.",
      operationId: "delete-sts-role",
    },
    (context) => changeConfiguration(context, (auth) => auth.remove("stsRoles", context.params.account_id ?? "")),
  ),
];
