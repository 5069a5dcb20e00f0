import * as z from "zod";
import { mountOf } from "../../../auth/mount-of.ts";
import { type CallContext, type PresentedContext, type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { TO_DESCRIBE } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { listRoute } from "../list-route.ts";
import { cloudAuthOf } from "../mount.ts";
import { readTagValue, tagValueOfPath, type UnverifiedTag, verifyRoleTag } from "../role-tag/tag-value.ts";
import { tagKeyPurpose } from "../roles/role.ts";
import { openSecret } from "../secrets.ts";
import { renderDenyEntry } from "./entry.ts";

/** The deny list of role tags, under its present and its deprecated name. */
export const DENY_LIST_ROUTES: readonly Route[] = [
  ...denyListRoutes("roletag-denylist"),
  ...denyListRoutes("roletag-blacklist"),
];

function denyListRoutes(path: string): Route[] {
  // The value of a tag holds slashes.
  const entryPath = `${path}/:role_tag{.+}`;
  return [
    listRoute(path, (auth, after, limit) => auth.listDenied(after, limit)),

    simpleRoute("read", entryPath, TO_DESCRIBE, z.object({}), async (context) => {
      const entry = await cloudAuthOf(context).readDenied(tagOf(context));
      return entry ? ok(dataReply(renderDenyEntry(entry))) : err({ code: "not_found" });
    }),

    tokenRoute("update", entryPath, TO_DESCRIBE, z.object({ role_tag: z.unknown().optional() }), {
      prepare: async (context) => readTagValue(tagOf(context)),
      handle: denyTag,
    }),

    simpleRoute("delete", entryPath, TO_DESCRIBE, z.object({}), async (context) => {
      await cloudAuthOf(context).deleteDenied(tagOf(context));
      return ok(EMPTY);
    }),
  ];
}

/** The tag of a path, as it is or as base64. A tag that is not in its one spelling is on no list. */
function tagOf({ params }: Pick<PresentedContext<unknown>, "params">): string {
  return tagValueOfPath(params.role_tag ?? "");
}

/** Only a genuine tag is denied: the list holds nothing that no login could show. */
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
