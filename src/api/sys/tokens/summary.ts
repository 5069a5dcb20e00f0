import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { invalid } from "../../../base/errors.ts";
import { inGroups } from "../../../base/parallel.ts";
import { err, ok } from "../../../base/result.ts";
import { formatRfc3339 } from "../../../base/rfc3339.ts";
import type { Env } from "../../../env.ts";
import {
  countByGroup,
  countByMount,
  findInInventory,
  largestTrees,
  MAX_SHOWN_GROUPS,
} from "../../../listing/inventory/queries.ts";
import type { GroupCount } from "../../../listing/inventory/shard/counts.ts";
import type { CountKind } from "../../../listing/inventory/terms.ts";
import { FRESHNESS_MS } from "../../../listing/updates/delays.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import type { Installation } from "../../../system/installation.ts";
import { decodeStoredId } from "../../../token/ids.ts";
import { NO_FIELDS, strictSchema, text } from "../../../wire/fields.ts";
import { readMount } from "./filter-fields.ts";
import { type MappedMount, withRest } from "./map-rest.ts";
import { mountNames, TOKEN_SHAPE, tokenObject } from "./token-view.ts";

/** Trees that the map names for each mount. */
const TREES_OF_MOUNT = 200;
/** Mounts that the map names trees of. */
const MAPPED_MOUNTS = 50;

const KINDS: Readonly<Record<string, CountKind>> = {
  mount: "mount",
  role: "role",
  policy: "policy",
  end_hour: "end_hour",
  created_hour: "created_hour",
  entity: "entity",
};

/** `sys/tokens/summary` and `sys/tokens/map`: numbers of tokens, from counters that every change keeps. */
export const TOKEN_SUMMARY_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    "sys/tokens/summary",
    {
      summary: "Numbers of tokens by mount, role, policy, entity, tree, or hour of creation or end.",
      operationId: "inventory-count-tokens",
      answers: dataAnswer({
        groups: [{ key: "string", count: "integer" }],
        total: "integer",
        "other?": "integer",
        fresh_as_of: "string",
      }),
    },
    strictSchema({
      group_by: text().describe("What is counted by: mount, role, policy, end_hour, created_hour, entity or tree."),
      mount: text().describe("Path of an auth mount, whose tokens alone are counted."),
    }),
    async ({ env, installation, fields }) => {
      const by = fields.group_by === "" ? "mount" : fields.group_by;
      const mount = fields.mount === "" ? ok(null) : readMount(fields.mount, installation);
      if (!mount.ok) return mount;
      const kind = KINDS[by];
      if (!kind && by !== "tree") {
        return err(invalid("group_by is one of mount, role, policy, end_hour, created_hour, entity and tree"));
      }
      const now = currentTime();
      await publishRecent(env, now);
      const counted = kind ? await countByGroup(env, kind, mount.value) : await countByTree(env, mount.value);
      const named = by === "mount" ? withMountNames(counted.groups, installation) : counted.groups;
      // A token has several policies, so that of those groups there is no rest.
      const shown = counted.groups.reduce((sum, { count }) => sum + count, 0);
      const data = {
        groups: named,
        total: counted.total,
        ...(by !== "policy" && { other: Math.max(0, counted.total - shown) }),
        fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
      };
      return ok({ kind: "data", data });
    },
  ),

  simpleRoute(
    "read",
    "sys/tokens/map",
    {
      summary: "Numbers of tokens and trees by mount, and the largest trees of each.",
      operationId: "inventory-read-map",
      answers: dataAnswer({
        groups: [
          {
            mount: "string",
            count: "integer",
            trees: "integer",
            largest: [{ tree: "string", root: TOKEN_SHAPE, count: "integer" }],
            rest: { trees: "integer", count: "integer", estimated: "boolean" },
          },
        ],
        total: "integer",
        fresh_as_of: "string",
      }),
    },
    NO_FIELDS,
    async ({ env, installation }) => {
      const now = currentTime();
      await publishRecent(env, now);
      const counts = await countByMount(env, "tokens");
      const trees = new Map((await countByMount(env, "trees")).map(({ key, count }) => [key, count]));
      const groups = await inGroups(counts.slice(0, MAPPED_MOUNTS), ({ key, count }) =>
        mapOfMount(env, installation, key, count, trees.get(key) ?? 0),
      );
      const total = counts.reduce((sum, { count }) => sum + count, 0);
      const data = { groups: withRest(groups), total, fresh_as_of: formatRfc3339(now - FRESHNESS_MS) };
      return ok({ kind: "data", data });
    },
  ),
];

async function mapOfMount(
  env: Env,
  installation: Installation,
  mount: string,
  count: number,
  trees: number,
): Promise<MappedMount> {
  const mounts = mountNames(installation);
  const largest = await largestTrees(env, mount, TREES_OF_MOUNT);
  const roots = await findInInventory(
    env,
    largest.map(({ root }) => root),
  );
  return {
    mount: mounts.get(mount)?.path ?? mount,
    count,
    trees,
    largest: largest.map(({ root, count }) => {
      const token = roots.get(root);
      return { tree: treeIdOf(root), root: token ? tokenObject(token, mounts) : null, count };
    }),
    restTrees: Math.max(0, trees - largest.length),
  };
}

/** The largest trees. A tree of one token is not named: there may be as many as tokens. */
async function countByTree(env: Env, mount: string | null): Promise<{ groups: GroupCount[]; total: number }> {
  const counts = (await countByMount(env, "tokens")).filter(({ key }) => mount === null || key === mount);
  const lists = await inGroups(counts.slice(0, MAPPED_MOUNTS), ({ key }) => largestTrees(env, key, MAX_SHOWN_GROUPS));
  const groups = lists
    .flat()
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_SHOWN_GROUPS)
    .map(({ root, count }) => ({ key: treeIdOf(root), count }));
  return { groups, total: counts.reduce((sum, { count }) => sum + count, 0) };
}

/** The id of the tree that an accessor leads to. */
function treeIdOf(accessor: string): string {
  return decodeStoredId(accessor)?.treeId ?? "";
}

function withMountNames(groups: readonly GroupCount[], installation: Installation): GroupCount[] {
  const mounts = mountNames(installation);
  return groups.map(({ key, count }) => ({ key: mounts.get(key)?.path ?? key, count }));
}
