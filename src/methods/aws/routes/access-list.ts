import { type AtMount, mountOf } from "../../../auth/mount-of.ts";
import { listRoute, removeRoute, showRoute } from "../../../auth/record-routes.ts";
import type { RequestContext, Route } from "../../../auth/route.ts";
import { namedSegment } from "../../../wire/path-name.ts";
import { accessShardFor, accessShardsOf } from "../mount/access-shards.ts";
import { ENTRY_VIEW } from "../rules/access.ts";

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
      async (context, after, limit) => {
        const shards = accessShardsOf(context.env, mountOf(context));
        const lists = await Promise.all(shards.map(({ list }) => list.list(after, limit)));
        return lists.flat().sort().slice(0, limit);
      },
    ),

    showRoute(
      entryPath,
      {
        summary: "Shows what is remembered of the logins of an instance.",
        operationId: `read-${name}`,
        view: ENTRY_VIEW,
      },
      (context) => {
        const { instanceId, list } = entryOf(context);
        return list.read(instanceId);
      },
    ),

    removeRoute(
      entryPath,
      { summary: "Forgets the logins of an instance.", operationId: `delete-${name}` },
      (context) => {
        const { instanceId, list } = entryOf(context);
        return list.delete(instanceId);
      },
    ),
  ];
}

/** The instance of a path, and the shard that has its entry. */
function entryOf(context: RequestContext & AtMount) {
  const instanceId = context.params.instance_id ?? "";
  return { instanceId, ...accessShardFor(context.env, mountOf(context), instanceId) };
}
