import { mountOf } from "../../../auth/mount-of.ts";
import { type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { err, ok } from "../../../base/result.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { namedSegment } from "../../../wire/path-name.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { accessShardFor, accessShardsOf } from "../mount/access-shards.ts";
import { ENTRY_SHAPE, renderAccessEntry } from "../rules/access-entry.ts";
import { listRoute } from "./list-route.ts";

const INSTANCE = { instance_id: "The id of the instance" };

/** The access list, under its present and its deprecated name. Only logins write it. */
export const ACCESS_LIST_ROUTES: readonly Route[] = [
  ...accessListRoutes("identity-accesslist", "identity-access-list"),
  ...accessListRoutes("identity-whitelist", "identity-whitelist"),
];

function accessListRoutes(path: string, name: string): Route[] {
  const entryPath = `${path}/${namedSegment("instance_id")}`;
  return [
    listRoute(
      path,
      { summary: "Lists the instances that logged in.", operationId: `list-${name}` },
      async (_auth, after, limit, { env, mount }) => {
        const lists = await Promise.all(accessShardsOf(env, mount).map(({ list }) => list.list(after, limit)));
        return lists.flat().sort().slice(0, limit);
      },
    ),

    simpleRoute(
      "read",
      entryPath,
      {
        summary: "Shows what is remembered of the logins of an instance.",
        operationId: `read-${name}`,
        parameters: INSTANCE,
        answers: dataAnswer(ENTRY_SHAPE),
      },
      NO_FIELDS,
      async (context) => {
        const { instanceId, list } = entryOf(context);
        const entry = await list.read(instanceId);
        return entry ? ok(dataReply(renderAccessEntry(entry))) : err({ code: "not_found" });
      },
    ),

    simpleRoute(
      "delete",
      entryPath,
      {
        summary: "Forgets the logins of an instance.",
        operationId: `delete-${name}`,
        parameters: INSTANCE,
        answers: NO_CONTENT,
      },
      NO_FIELDS,
      async (context) => {
        const { instanceId, list } = entryOf(context);
        await list.delete(instanceId);
        return ok(EMPTY);
      },
    ),
  ];
}

/** The instance of a path, and the shard that has its entry. */
function entryOf(context: CallContext<unknown, unknown>) {
  const instanceId = context.params.instance_id ?? "";
  return { instanceId, ...accessShardFor(context.env, mountOf(context), instanceId) };
}
