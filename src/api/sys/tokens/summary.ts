import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import { ok, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { timesOverShards } from "../../../listing/ask-shards.ts";
import type { GroupCount } from "../../../listing/inventory/group-sums.ts";
import {
  countByGroup,
  countByMount,
  findInInventory,
  largestTrees,
  MAX_SHOWN_GROUPS,
} from "../../../listing/inventory/queries.ts";
import type { TreeSize } from "../../../listing/inventory/shard/tree-size.ts";
import type { CountKind, GroupKind, TreeGrouping } from "../../../listing/inventory/terms.ts";
import {
  greatestTreeGroups,
  type Trees,
  treesOfGroups,
  treesOfMounts,
} from "../../../listing/inventory/tree-groups.ts";
import { FRESHNESS_MS } from "../../../listing/updates/delays.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import type { Installation } from "../../../system/installation.ts";
import { treeIdOf } from "../../../token/ids.ts";
import { strictSchema, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { readMount } from "./filter-fields.ts";
import { byMountPath, mountNames, sumOfCounts, TOKEN_VIEW } from "./token-view.ts";

const KINDS: ReadonlyMap<string, GroupKind> = new Map([
  ["mount", "mount"],
  ["role", "role"],
  ["policy", "policy"],
  ["entity", "entity"],
  ["display_name", "name"],
]);

/** What a reader can group by, in words. */
export const GROUP_NAMES = [...KINDS.keys(), "metadata.NAME"].join(", ");

/** Groups by the value of a pair of metadata. */
const METADATA = /^metadata\.(.{1,256})$/s;

/** What tokens are grouped by; null for a name that means nothing. */
export function readGroupBy(text: string): GroupKind | null {
  const name = METADATA.exec(text)?.[1];
  return name === undefined ? (KINDS.get(text) ?? null) : `metadata.${name}`;
}

/** The same where trees are grouped by what their first tokens have; null where none are. */
function treeGroupingOf(kind: GroupKind | null): TreeGrouping | null {
  return kind === "policy" || kind === "entity" ? null : kind;
}

/** A mount on the map. `count` is of the tokens that it issued, those of `largest` of all that are in the trees. */
interface MappedMount {
  readonly mount: string;
  readonly count: number;
  readonly trees: number;
  readonly largest: readonly { readonly tree: string; readonly root: object; readonly count: number }[];
  /** Trees that are not named. */
  readonly restTrees: number;
}

/**
 * Adds what is in the trees that are not named. How many tokens that are together is known. Of each mount it is known only when
 * no other mount has such trees, or when each of them is a single token, as a tree of one mount holds tokens of others: else it
 * is divided by the number of trees, and said to be an estimate.
 */
export function withRest(groups: readonly MappedMount[]): Record<string, unknown>[] {
  const named = sumOfCounts(groups.flatMap(({ largest }) => largest));
  const total = sumOfCounts(groups);
  const restTrees = groups.reduce((sum, group) => sum + group.restTrees, 0);
  const rest = Math.max(restTrees, total - named);
  const isExact = rest === restTrees || groups.filter((group) => group.restTrees > 0).length === 1;
  return groups.map(({ restTrees: trees, ...group }) => {
    const count = trees === 0 ? 0 : Math.round((rest * trees) / restTrees);
    return { ...group, rest: { trees, count, estimated: trees > 0 && !isExact } };
  });
}

/** Trees that the map names for each mount. */
const TREES_OF_MOUNT = 200;
/** Mounts that the map has, the largest first. */
const MAPPED_MOUNTS = 50;
/** Mounts whose trees are named: for each of them all shards are asked for those, and then for their first tokens. */
const mountsWithTrees = () => Math.min(MAPPED_MOUNTS, timesOverShards(2));

/** Groups of trees that the map names for each mount. */
const GROUPS_OF_MOUNT = 200;

/** What tokens are counted by besides groups. */
const HOURS: ReadonlyMap<string, CountKind> = new Map([
  ["end_hour", "end_hour"],
  ["created_hour", "created_hour"],
]);

const COUNTED_BY = `${GROUP_NAMES}, ${[...HOURS.keys()].join(", ")}, tree`;

/** `sys/tokens/summary` and `sys/tokens/map`: numbers of tokens, from counters that every change keeps. */
export const TOKEN_SUMMARY_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/tokens/summary", {
    summary:
      "Numbers of tokens by mount, role, policy, entity, display name, metadata, tree, or hour of creation or end.",
    operationId: "inventory-count-tokens",
    answers: dataAnswer({
      groups: [{ key: "string", count: "integer", "trees?": "integer", "in_trees?": "integer" }],
      total: "integer",
      "other?": "integer",
      "other_trees?": { trees: "integer", count: "integer" },
      "more?": "boolean",
      fresh_as_of: "string",
    }),
    input: strictSchema({
      group_by: text().describe(`What is counted by: one of ${COUNTED_BY}.`),
      mount: text().describe("Path of an auth mount, whose tokens alone are counted."),
    }),
    handle: async ({ env, installation, fields }) => {
      const by = fields.group_by === "" ? "mount" : fields.group_by;
      const mount = fields.mount === "" ? ok(null) : readMount(fields.mount, installation);
      if (!mount.ok) return mount;
      const group = readGroupBy(by);
      const kind = group ?? HOURS.get(by);
      if (!kind && by !== "tree") return refuse(`group_by is one of ${COUNTED_BY}`);
      const now = currentTime();
      await publishRecent(env, now);
      const counted = kind ? await countByGroup(env, kind, mount.value) : await countByTree(env, mount.value);
      const grouping = treeGroupingOf(group);
      const ofTrees = grouping && (await withTrees(env, grouping, mount.value, counted.groups));
      const groups = ofTrees?.groups ?? counted.groups;
      const named = by === "mount" ? byMountPath(groups, mountNames(installation)) : groups;
      // A token has several policies, so that of those groups there is no rest.
      const shown = sumOfCounts(counted.groups);
      const data = {
        groups: named,
        total: counted.total,
        ...(by !== "policy" && { other: Math.max(0, counted.total - shown) }),
        ...(ofTrees && { other_trees: ofTrees.other }),
        ...(grouping && !ofTrees && { more: true }),
        fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
      };
      return ok(dataReply(data));
    },
  }),

  simpleRoute("read", "sys/tokens/map", {
    summary: "Numbers of tokens and trees by mount, and the largest trees of each.",
    operationId: "inventory-read-map",
    answers: dataAnswer({
      groups: [
        {
          mount: "string",
          count: "integer",
          trees: "integer",
          largest: [{ tree: "string", root: TOKEN_VIEW.shape, count: "integer" }],
          rest: { trees: "integer", count: "integer", estimated: "boolean" },
          "by_group?": [{ key: "string", trees: "integer", count: "integer" }],
          "by_group_other?": { trees: "integer", count: "integer" },
        },
      ],
      total: "integer",
      "more?": "boolean",
      fresh_as_of: "string",
    }),
    input: strictSchema({
      group_by: text().describe(
        "What the trees of each mount are grouped by as well: display_name, role, mount or metadata.NAME of their first tokens.",
      ),
    }),
    handle: async ({ env, installation, fields }) => {
      const grouping = treeGroupingOf(readGroupBy(fields.group_by));
      if (!grouping && fields.group_by !== "")
        return refuse("group_by is one of display_name, role, mount, metadata.NAME");
      const now = currentTime();
      await publishRecent(env, now);
      const counts = await countByMount(env, "tokens");
      const trees = new Map((await countByMount(env, "trees")).map(({ key, count }) => [key, count]));
      const named = new Set(counts.slice(0, mountsWithTrees()));
      const groups = await inGroups(counts.slice(0, MAPPED_MOUNTS), async (counted) => {
        const largest = named.has(counted) ? await largestTrees(env, counted.key, TREES_OF_MOUNT) : [];
        return mapOfMount(env, installation, counted, trees.get(counted.key) ?? 0, largest);
      });
      const total = sumOfCounts(counts);
      const mapped = withRest(groups);
      const byGroup =
        grouping &&
        (await groupsOfMounts(
          env,
          grouping,
          counts.map(({ key }) => key),
        ));
      const data = {
        groups: byGroup ? mapped.map((one, at) => ({ ...one, ...byGroup[at] })) : mapped,
        total,
        // A number that does not have all trees would be taken for that of all.
        ...(grouping && !byGroup && { more: true }),
        fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
      };
      return ok(dataReply(data));
    },
  }),
];

/** The groups with the trees that begin with one of their tokens, and what is in the trees of the others. null: too many trees. */
async function withTrees(env: Env, grouping: TreeGrouping, mount: string | null, groups: readonly GroupCount[]) {
  const mounts = (await countByMount(env, "tokens")).map(({ key }) => key).filter((key) => (mount ?? key) === key);
  const keys = groups.map(({ key }) => key);
  const found = await treesOfGroups(env, grouping, mounts, keys);
  const ofMounts = found && (await treesOfMounts(env, mounts));
  if (!ofMounts) return null;
  const all = sumOfTrees([...ofMounts.values()]);
  const named = sumOfTrees([...found.values()]);
  return {
    groups: groups.map((group) => {
      const { trees, count: inTrees } = found.get(group.key) ?? NO_TREES;
      return { ...group, trees, in_trees: inTrees };
    }),
    other: { trees: Math.max(0, all.trees - named.trees), count: Math.max(0, all.count - named.count) },
  };
}

/** The groups of the trees of each mount, in the order of the mounts. null: too many trees. */
async function groupsOfMounts(env: Env, grouping: TreeGrouping, all: readonly string[]) {
  const mounts = all.slice(0, MAPPED_MOUNTS);
  const groups = await greatestTreeGroups(env, grouping, mounts, GROUPS_OF_MOUNT);
  const trees = groups && (await treesOfMounts(env, mounts));
  if (!trees) return null;
  return mounts.map((mount) => {
    const named = groups.get(mount) ?? [];
    const all = trees.get(mount) ?? NO_TREES;
    const { trees: few, count } = sumOfTrees(named);
    const other = { trees: Math.max(0, all.trees - few), count: Math.max(0, all.count - count) };
    return { by_group: named, by_group_other: other };
  });
}

const NO_TREES: Trees = { trees: 0, count: 0 };

function sumOfTrees(all: readonly Trees[]): Trees {
  return all.reduce((sum, { trees, count }) => ({ trees: sum.trees + trees, count: sum.count + count }), NO_TREES);
}

async function mapOfMount(
  env: Env,
  installation: Installation,
  { key: mount, count }: GroupCount,
  trees: number,
  largest: readonly TreeSize[],
): Promise<MappedMount> {
  const mounts = mountNames(installation);
  const roots = await findInInventory(
    env,
    largest.map(({ root }) => root),
  );
  // A first token can have ended since the largest trees were asked for: then its tree is one of the rest.
  const named = largest.flatMap(({ root, count }) => {
    const token = roots.get(root);
    return token ? [{ tree: treeIdOf(root), root: TOKEN_VIEW.show({ token, mounts }), count }] : [];
  });
  return {
    mount: mounts.get(mount)?.path ?? mount,
    count,
    trees,
    largest: named,
    restTrees: Math.max(0, trees - named.length),
  };
}

/** The largest trees. A tree of one token is not named: there may be as many as tokens. */
async function countByTree(env: Env, mount: string | null): Promise<{ groups: GroupCount[]; total: number }> {
  const counts = (await countByMount(env, "tokens")).filter(({ key }) => mount === null || key === mount);
  const lists = await inGroups(counts.slice(0, mountsWithTrees()), ({ key }) =>
    largestTrees(env, key, MAX_SHOWN_GROUPS),
  );
  const groups = lists
    .flat()
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_SHOWN_GROUPS)
    .map(({ root, count }) => ({ key: treeIdOf(root), count }));
  return { groups, total: sumOfCounts(counts) };
}
