import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type CallContext, mountOf, type Route, tokenRoute } from "../../../auth/route.ts";
import { BEGUN, ENVELOPE, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { attempted, changedOnce } from "../../../base/lost-call-retry.ts";
import { ok, refuse } from "../../../base/result.ts";
import { mountTtl } from "../../../system/mount.ts";
import { fieldSchema } from "../../../wire/field-schema.ts";
import { unread } from "../../../wire/fields.ts";
import { namedSegment } from "../../../wire/path-segment.ts";
import { doneReply, EMPTY, tidyReply } from "../../../wire/reply.ts";
import { openCloudSecret } from "../cloud-secrets.ts";
import {
  DEFAULT_TIDY,
  readSafetyBuffer,
  readTidyChange,
  TIDY_FIELDS,
  TIDY_VIEW,
  type TidyList,
} from "../mount/expiring-list.ts";
import { accessShardFor, accessShardsOf, cloudAuthOf } from "../mount/mount-config.ts";
import { ENTRY_VIEW } from "../rules/reauthentication.ts";
import { tagKeyPurpose } from "../rules/role.ts";
import { memorySeconds } from "../rules/role-grant.ts";
import { DENY_VIEW, readTagValue, tagValueOfPath, type UnverifiedTag, verifyRoleTag } from "../rules/role-tag.ts";

/** Each list with its current and its deprecated path, and its name in the ids of operations. */
const LISTS: readonly (readonly [path: string, name: string, list: TidyList])[] = [
  ["identity-accesslist", "identity-access-list", "access"],
  ["identity-whitelist", "identity-whitelist", "access"],
  ["roletag-denylist", "role-tag-deny-list", "deny"],
  ["roletag-blacklist", "role-tag-blacklist", "deny"],
];

export const LIST_ROUTES: readonly Route[] = LISTS.flatMap(([path, name, list]) => [
  ...(list === "access" ? accessListRoutes(path, name) : denyListRoutes(path, name)),
  ...settingsRoutes(`config/tidy/${path}`, name, list),
  tidyRoute(`tidy/${path}`, `tidy-${name}`, list),
]);

/** Only logins write the access list. */
function accessListRoutes(path: string, name: string): Route[] {
  const entryPath = `${path}/${namedSegment("instance_id")}`;
  return [
    listRoute(path, {
      summary: "Lists the instances that logged in.",
      operationId: `list-${name}`,
      names: async (context, after, limit) => {
        const shards = accessShardsOf(context.env, mountOf(context));
        const lists = await Promise.all(shards.map((shard) => shard.list(after, limit)));
        return lists.flat().sort().slice(0, limit);
      },
    }),

    showRoute(entryPath, {
      summary: "Shows the entry of an instance.",
      operationId: `read-${name}`,
      view: ENTRY_VIEW,
      read: (context) => shardOf(context).read(instanceOf(context)),
    }),

    removeRoute(entryPath, {
      summary: "Deletes the entry of an instance.",
      operationId: `delete-${name}`,
      remove: (context) => attempted(context.env, (attempt) => shardOf(context).delete(instanceOf(context), attempt)),
    }),
  ];
}

function instanceOf({ params }: Pick<CallContext, "params">): string {
  return params.instance_id ?? "";
}

function shardOf(context: CallContext) {
  return accessShardFor(context.env, mountOf(context), instanceOf(context)).list;
}

function denyListRoutes(path: string, name: string): Route[] {
  // The value of a tag holds slashes.
  const entryPath = `${path}/:role_tag{.+}`;
  return [
    listRoute(path, {
      summary: "Lists the denied role tags.",
      operationId: `list-${name}s`,
      names: (context, after, limit) => cloudAuthOf(context).names("denyList", after, limit),
    }),

    showRoute(entryPath, {
      summary: "Shows an entry of the deny list.",
      operationId: `read-${name}`,
      view: DENY_VIEW,
      read: (context) => cloudAuthOf(context).readDenied(tagOf(context)),
    }),

    tokenRoute("update", entryPath, {
      summary: "Denies a role tag.",
      operationId: `write-${name}`,
      answers: NO_CONTENT,
      input: fieldSchema({ role_tag: unread("string").describe("The tag, plain or in base64") }),
      prepare: async (context) => readTagValue(tagOf(context)),
      handle: denyTag,
    }),

    removeRoute(entryPath, {
      summary: "Removes a role tag from the deny list.",
      operationId: `delete-${name}`,
      remove: (context) =>
        attempted(context.env, (attempt) => cloudAuthOf(context).remove("denyList", tagOf(context), attempt)),
    }),
  ];
}

function tagOf({ params }: Pick<CallContext, "params">): string {
  return tagValueOfPath(params.role_tag ?? "");
}

/** Denies a tag with a valid signature. Others need no entry, as a login refuses them anyway. */
async function denyTag(context: CallContext<unknown, UnverifiedTag>) {
  const { env, installation, prepared } = context;
  const auth = cloudAuthOf(context);
  const mount = mountOf(context);
  const role = await auth.readRole(prepared.tag.role);
  if (!role) return refuse(`entry not found for "${prepared.tag.role}"`);
  const key = await openCloudSecret(installation.keys, mount, tagKeyPurpose(role.roleId), role.sealedTagKey);
  const tag = await verifyRoleTag(prepared, key);
  if (!tag.ok) return tag;
  const now = currentTime();
  const longest = memorySeconds(role, tag.value.maxTtlSeconds, mountTtl(mount));
  const until = now + longest * 1000;
  await attempted(env, (attempt) => auth.deny(prepared.value, role.roleId, until, now, attempt));
  return ok(EMPTY);
}

/** `config/tidy/...`: the periodic removal of ended entries. */
function settingsRoutes(path: string, name: string, list: TidyList): Route[] {
  return [
    showRoute(path, {
      summary: "Shows the tidy settings of a list.",
      operationId: `read-${name}-tidy-settings`,
      view: TIDY_VIEW,
      read: (context) => cloudAuthOf(context).readTidy(list),
    }),

    tokenRoute("update", path, {
      summary: "Sets the tidy settings of a list.",
      operationId: `configure-${name}-tidy-operation`,
      answers: NO_CONTENT,
      input: TIDY_FIELDS,
      createsOrUpdates: true,
      prepare: async ({ fields }) => readTidyChange(fields),
      handle: async (context) =>
        doneReply(
          await changedOnce(context.env, (attempt) =>
            cloudAuthOf(context).writeTidy(list, context.prepared, context.verdict, attempt),
          ),
        ),
    }),

    removeRoute(path, {
      summary: "Deletes the tidy settings of a list.",
      operationId: `delete-${name}-tidy-settings`,
      remove: (context) => attempted(context.env, (attempt) => cloudAuthOf(context).deleteTidy(list, attempt)),
    }),
  ];
}

/** `tidy/...`: removes ended entries now. The settings of the periodic removal do not matter. */
function tidyRoute(path: string, operationId: string, list: TidyList): Route {
  return tokenRoute("update", path, {
    summary: "Removes ended entries of a list now.",
    operationId,
    answers: [BEGUN, ENVELOPE],
    input: fieldSchema({ safety_buffer: TIDY_FIELDS.shape.safety_buffer }),
    prepare: async ({ fields }) => readSafetyBuffer(fields.safety_buffer),
    async handle(context) {
      const safetyBuffer = context.prepared ?? DEFAULT_TIDY.safetyBuffer;
      const now = currentTime();
      const objects = list === "deny" ? [cloudAuthOf(context)] : accessShardsOf(context.env, mountOf(context));
      const started = await Promise.all(objects.map((object) => object.startTidy(safetyBuffer, now)));
      return tidyReply(started.every((one) => one));
    },
  });
}
