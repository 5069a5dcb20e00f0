import { mountOf } from "../../../auth/mount-of.ts";
import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type CallContext, type RequestContext, type Route, tokenRoute } from "../../../auth/route.ts";
import { NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import { fieldSchema, unread } from "../../../wire/fields.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { cloudAuthOf } from "../mount/mount.ts";
import { DENY_VIEW } from "../rules/deny-entry.ts";
import { tagKeyPurpose } from "../rules/role.ts";
import { readTagValue, tagValueOfPath, type UnverifiedTag, verifyRoleTag } from "../rules/tag-value.ts";
import { openSecret } from "../secrets.ts";

/** The deny list of role tags, under its present and its deprecated name. */
export const DENY_LIST_ROUTES: readonly Route[] = [
  ...denyListRoutes("roletag-denylist", "role-tag-deny-list"),
  ...denyListRoutes("roletag-blacklist", "role-tag-blacklist"),
];

function denyListRoutes(path: string, name: string): Route[] {
  // The value of a tag holds slashes.
  const entryPath = `${path}/:role_tag{.+}`;
  return [
    listRoute(path, { summary: "Lists the denied role tags.", operationId: `list-${name}s` }, (context, after, limit) =>
      cloudAuthOf(context).names("denyList", after, limit),
    ),

    showRoute(
      entryPath,
      {
        summary: "Shows an entry of the deny list.",
        operationId: `read-${name}`,
        view: DENY_VIEW,
      },
      (context) => cloudAuthOf(context).readDenied(tagOf(context)),
    ),

    tokenRoute(
      "update",
      entryPath,
      { summary: "Denies a role tag.", operationId: `write-${name}`, answers: NO_CONTENT },
      fieldSchema({ role_tag: unread("string").describe("The tag, as it is or as base64") }),
      {
        prepare: async (context) => readTagValue(tagOf(context)),
        handle: denyTag,
      },
    ),

    removeRoute(
      entryPath,
      { summary: "Takes a role tag off the deny list.", operationId: `delete-${name}` },
      (context) => cloudAuthOf(context).remove("denyList", tagOf(context)),
    ),
  ];
}

/** The tag of a path, plain or in base64. A tag that is not in canonical form is on no list. */
function tagOf({ params }: Pick<RequestContext, "params">): string {
  return tagValueOfPath(params.role_tag ?? "");
}

/** Only a tag with a valid signature is denied: the list holds no tag that a login would refuse anyway. */
async function denyTag(context: CallContext<unknown, UnverifiedTag>) {
  const { installation, prepared } = context;
  const auth = cloudAuthOf(context);
  const mount = mountOf(context);
  const role = await auth.readRole(prepared.tag.role);
  if (!role) return err(invalid(`entry not found for "${prepared.tag.role}"`));
  const key = await openSecret(installation.keys, mount, tagKeyPurpose(role.roleId), role.sealedTagKey);
  const tag = await verifyRoleTag(prepared, key);
  if (!tag.ok) return tag;
  const now = currentTime();
  const longest = Math.max(tag.value.maxTtlSeconds, role.token.maxTtl, mountTtl(mount).maxSeconds);
  await auth.deny(prepared.value, role.roleId, now + longest * 1000, now);
  return ok(EMPTY);
}
