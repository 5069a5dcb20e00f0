import { mountOf } from "../../../auth/mount-of.ts";
import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import {
  type CallContext,
  type PresentedContext,
  type RequestContext,
  type Route,
  tokenRoute,
} from "../../../auth/route.ts";
import { DONE_OR_WARNED } from "../../../auth/route-description.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import { namedSegment } from "../../../wire/path-name.ts";
import type { Reply } from "../../../wire/reply.ts";
import { changeConfiguration, cloudAuthOf } from "../mount/mount.ts";
import { resolvePrincipals } from "../operator/resolve.ts";
import { tagKeyPurpose } from "../rules/role.ts";
import type { RoleChange } from "../rules/role-change.ts";
import { MAX_ROLE_NAME, ROLE_FIELDS, ROLE_VIEW, type RoleFields } from "../rules/role-fields.ts";
import { newTagKey } from "../rules/tag-value.ts";
import { sealSecret } from "../secrets.ts";

const PATH = `role/${namedSegment("role")}`;

/** How often a write begins again because another one changed the role while principals were looked up. */
const MAX_ROUNDS = 3;

/** Roles: `role/:role`, and the list under both of its names. */
export const ROLE_ROUTES: readonly Route[] = [
  rolesRoute("roles", "list-auth-roles2"),
  rolesRoute("role", "list-auth-roles"),

  showRoute(PATH, { summary: "Shows a role.", operationId: "read-auth-role", view: ROLE_VIEW }, (context) =>
    cloudAuthOf(context).readRole(nameOf(context)),
  ),

  tokenRoute(
    "update",
    PATH,
    {
      summary: "Makes or changes a role; fields that are not sent stay as they are.",
      operationId: "write-auth-role",
      answers: DONE_OR_WARNED,
    },
    ROLE_FIELDS,
    {
      createsOrUpdates: true,
      prepare: readWrite,
      handle: writeRole,
    },
  ),

  removeRoute(PATH, { summary: "Deletes a role.", operationId: "delete-auth-role" }, (context) =>
    changeConfiguration(context, (auth) => auth.remove("roles", nameOf(context))),
  ),
];

function rolesRoute(path: string, operationId: string): Route {
  return listRoute(path, { summary: "Lists the roles.", operationId }, (context, after, limit) =>
    cloudAuthOf(context).names("roles", after, limit),
  );
}

function nameOf({ params }: Pick<RequestContext, "params">): string {
  return (params.role ?? "").toLowerCase();
}

async function readWrite(
  context: PresentedContext<RoleFields & { readonly role?: unknown; readonly bound_iam_principal_id?: unknown }>,
): Promise<Result<RoleFields, Failure>> {
  const { role: _, bound_iam_principal_id: __, ...sent } = context.fields;
  if (nameOf(context).length <= MAX_ROLE_NAME) return ok(sent);
  return err(invalid(`role name must not be longer than ${MAX_ROLE_NAME} characters`));
}

async function writeRole(context: CallContext<unknown, RoleFields>): Promise<Result<Reply, Failure>> {
  const { env, installation, verdict } = context;
  const mount = mountOf(context);
  const roleId = crypto.randomUUID();
  const fresh = {
    roleId,
    sealedTagKey: await sealSecret(installation.keys, mount, tagKeyPurpose(roleId), newTagKey()),
  };
  let resolved: Readonly<Record<string, string>> = {};
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const write = { sent: context.prepared, mount: mountTtl(mount), fresh, resolved };
    const written = await changeConfiguration<Result<RoleChange, Failure>>(context, (auth) =>
      auth.writeRole(nameOf(context), write, verdict),
    );
    if (!written.ok) return written;
    if (written.value.kind === "changed") return ok({ kind: "empty", warnings: written.value.warnings });
    const answer = await resolvePrincipals({ env, installation, mount }, written.value.arns);
    if (!answer.ok) return answer;
    resolved = answer.value;
  }
  return err({ code: "unavailable", message: "the role is being changed by others; try again", retryAfterSeconds: 1 });
}
