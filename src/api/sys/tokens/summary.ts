import { type Answered, type CallContext, type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import { ok, okUnless, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { timesOverShards } from "../../../listing/accessor-shards.ts";
import { judged } from "../../../listing/inventory/entry.ts";
import type { GroupCount, GroupKind, TreeGrouping } from "../../../listing/inventory/index-terms.ts";
import {
  countByGroup,
  countByMount,
  findInInventory,
  largestTrees,
  MAX_SHOWN_GROUPS,
} from "../../../listing/inventory/queries.ts";
import {
  endsOfGroups,
  greatestTreeGroups,
  MAX_ENDING,
  type Trees,
  treesOfGroups,
  treesOfMounts,
} from "../../../listing/inventory/tree-groups.ts";
import { FRESHNESS_MS, publishRecent } from "../../../listing/updates/publish.ts";
import { isEnded } from "../../../system/watermarks.ts";
import { treeIdOf } from "../../../token/ids.ts";
import { strictSchema, type Values } from "../../../wire/field-schema.ts";
import { count, duration, sent, text, time } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { readMount } from "./filter-fields.ts";
import { byMountPath, mountPaths, sumOfCounts, TOKEN_SHAPE, tokenRenderer } from "./token-view.ts";

const GROUP_KINDS: ReadonlyMap<string, GroupKind> = new Map([
  ["mount", "mount"],
  ["role", "role"],
  ["policy", "policy"],
  ["entity", "entity"],
  ["display_name", "name"],
]);
const GROUP_NAMES = [...GROUP_KINDS.keys(), "metadata.NAME"].join(", ");
const HOURS = ["end_hour", "created_hour"] as const;
const SUMMARY_NAMES = `${GROUP_NAMES}, ${HOURS.join(", ")}, tree`;

function readGroupBy(value: string): GroupKind | null {
  const metadata = /^metadata\.(.{1,256})$/s.exec(value)?.[1];
  return metadata === undefined ? (GROUP_KINDS.get(value) ?? null) : `metadata.${metadata}`;
}

/** Returns how trees are grouped by the same property of their first tokens; null: they are not. */
function treeGroupingOf(kind: GroupKind | null): TreeGrouping | null {
  return kind === "policy" || kind === "entity" ? null : kind;
}

const MOUNT = text().describe("Only tokens of this auth mount.");

const MAP_FIELDS = strictSchema({
  group_by: text().describe("Also display_name, role, mount or metadata.NAME of the first token of each tree."),
});

const DEFAULT_PARTS = 24;
const MAX_PARTS = 100;
const DEFAULT_ENDS_LIMIT = 20;
const MAX_ENDS_LIMIT = 100;
const MAX_STEP_SECONDS = 31 * 86_400;
const HOUR_SECONDS = 3600;

/** Numbers of tokens by group, by tree and by the time of their end. Counters and indexes of the shards give them. */
export const TOKEN_SUMMARY_ROUTES: readonly Route[] = [
  tokenRoute("read", "sys/tokens/summary", {
    summary: "Counts tokens by group.",
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
      group_by: text().describe(`What tokens are grouped by: one of ${SUMMARY_NAMES}.`),
      mount: MOUNT,
    }),
    prepare: async ({ installation, fields }) => {
      const by = fields.group_by || "mount";
      const mount = readMount(fields.mount, installation);
      if (!mount.ok) return mount;
      const group = readGroupBy(by);
      const kind = group ?? HOURS.find((hour) => hour === by);
      const isKnown = kind !== undefined || by === "tree";
      return okUnless(isKnown ? null : `group_by is one of ${SUMMARY_NAMES}`, { by, mount: mount.value, group, kind });
    },
    handle: async ({ env, installation, prepared: { by, mount, group, kind } }) => {
      const now = currentTime();
      await publishRecent(env, now);
      const counted = kind ? await countByGroup(env, kind, mount) : await countByTree(env, mount);
      const grouping = treeGroupingOf(group);
      const withTrees = grouping && (await countTrees(env, grouping, mount, counted.groups));
      const groups = withTrees?.groups ?? counted.groups;
      return dataReply({
        groups: by === "mount" ? byMountPath(groups, installation) : groups,
        total: counted.total,
        // A token is in the groups of all its policies: the difference would not be the number of other tokens.
        ...(by !== "policy" && { other: Math.max(0, counted.total - sumOfCounts(counted.groups)) }),
        ...(withTrees && { other_trees: withTrees.other }),
        ...(grouping && !withTrees && { more: true }),
        fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
      });
    },
  }),
  tokenRoute("read", "sys/tokens/map", {
    summary: "Counts tokens and trees by mount, with the largest trees.",
    operationId: "inventory-read-map",
    answers: dataAnswer({
      groups: [
        {
          mount: "string",
          count: "integer",
          trees: "integer",
          largest: [{ tree: "string", root: TOKEN_SHAPE, count: "integer", ended: "boolean" }],
          rest: { trees: "integer", count: "integer", estimated: "boolean" },
          "by_group?": [{ key: "string", trees: "integer", count: "integer" }],
          "by_group_other?": { trees: "integer", count: "integer" },
        },
      ],
      total: "integer",
      "more?": "boolean",
      fresh_as_of: "string",
    }),
    input: MAP_FIELDS,
    prepare: async ({ fields: { group_by: by } }) => {
      const grouping = treeGroupingOf(readGroupBy(by));
      const isKnown = by === "" || grouping !== null;
      return okUnless(isKnown ? null : "group_by is one of display_name, role, mount, metadata.NAME", grouping);
    },
    handle: mapMounts,
  }),
  tokenRoute("read", "sys/tokens/ends", {
    summary: "Counts the tokens that end in each interval, by group.",
    operationId: "inventory-count-ends",
    answers: dataAnswer({
      from: "string",
      step: "integer",
      total: "integer",
      parts: ["integer"],
      groups: [{ key: "string", count: "integer", parts: ["integer"] }],
      other: { count: "integer", parts: ["integer"] },
      fresh_as_of: "string",
    }),
    input: strictSchema({
      group_by: text().describe(`What tokens are grouped by: ${GROUP_NAMES}; display_name when absent.`),
      mount: MOUNT,
      from: time().describe("Start of the first interval; by default of the current hour."),
      step: duration().describe("Length of each interval, at most 31 days; by default an hour."),
      parts: sent(count()).describe(`Number of intervals: 1 to ${MAX_PARTS}, ${DEFAULT_PARTS} when absent.`),
      limit: sent(count()).describe(`Number of groups: 1 to ${MAX_ENDS_LIMIT}, ${DEFAULT_ENDS_LIMIT} when absent.`),
    }),
    prepare: async ({ installation, fields }) => {
      const kind = readGroupBy(fields.group_by || "display_name");
      if (!kind) return refuse(`group_by is one of ${GROUP_NAMES}`);
      const mount = readMount(fields.mount, installation);
      if (!mount.ok) return mount;
      const { step, parts = 0, limit = 0 } = fields;
      if (step < 0 || step > MAX_STEP_SECONDS) return refuse("step is at most 31 days");
      if (parts > MAX_PARTS) return refuse(`parts is at most ${MAX_PARTS}`);
      if (limit > MAX_ENDS_LIMIT) return refuse(`limit is at most ${MAX_ENDS_LIMIT}`);
      return ok({ kind, mount: mount.value, parts: parts || DEFAULT_PARTS, limit: limit || DEFAULT_ENDS_LIMIT });
    },
    handle: async ({ env, installation, fields, prepared: { kind, mount, parts, limit } }) => {
      const now = currentTime();
      const from = fields.from ?? now - (now % (HOUR_SECONDS * 1000));
      const step = fields.step || HOUR_SECONDS;
      await publishRecent(env, now);
      const query = { kind, mount, from, step: step * 1000, parts, now };
      const ends = await endsOfGroups(env, query, limit);
      if (!ends) return refuse(`more than ${MAX_ENDING} tokens of a shard end in this time: ask for a shorter one`);
      return dataReply({
        from: formatRfc3339(from),
        step,
        total: sumOf(ends.all),
        parts: ends.all,
        groups: kind === "mount" ? byMountPath(ends.groups, installation) : ends.groups,
        other: { count: sumOf(ends.other), parts: ends.other },
        fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
      });
    },
  }),
];

/**
 * Adds to each group the trees whose first token is in it (`trees`) and the tokens of these trees (`in_trees`), and
 * counts the other trees. null: there are too many trees to read.
 */
async function countTrees(env: Env, grouping: TreeGrouping, mount: string | null, groups: readonly GroupCount[]) {
  const mounts = (await countByMount(env, "tokens")).map(({ key }) => key).filter((key) => (mount ?? key) === key);
  const keys = groups.map(({ key }) => key);
  const wanted = mounts.map((one) => ({ mount: one, keys }));
  const found = await treesOfGroups(env, grouping, wanted);
  const ofMounts = found && (await treesOfMounts(env, mounts));
  if (!ofMounts) return null;
  return {
    groups: groups.map((group) => {
      const { trees, count: inTrees } = found.get(group.key) ?? NO_TREES;
      return { ...group, trees, in_trees: inTrees };
    }),
    other: treesBeside(sumOfTrees([...ofMounts.values()]), [...found.values()]),
  };
}

/** Counts the tokens of the largest trees. Trees of one token are left out: there may be as many as tokens. */
async function countByTree(env: Env, mount: string | null): Promise<{ groups: GroupCount[]; total: number }> {
  const counts = (await countByMount(env, "tokens")).filter(({ key }) => mount === null || key === mount);
  const trees = await inGroups(counts.slice(0, mountsWithTrees()), ({ key }) =>
    largestTrees(env, key, MAX_SHOWN_GROUPS),
  );
  const largest = trees.flat().sort((a, b) => b.count - a.count);
  const groups = largest.slice(0, MAX_SHOWN_GROUPS).map(({ root, count }) => ({ key: treeIdOf(root), count }));
  return { groups, total: sumOfCounts(counts) };
}

/** Maximum number of mounts on the map. The largest are shown. */
const MAPPED_MOUNTS = 50;
/** Maximum number of trees, and of groups of trees, that the map shows of each mount. */
const SHOWN_OF_MOUNT = 200;

/** Number of mounts whose largest trees are shown. For each, all shards are asked for the trees and for their first tokens. */
function mountsWithTrees(): number {
  return Math.min(MAPPED_MOUNTS, timesOverShards(2));
}

async function mapMounts({
  env,
  installation,
  prepared: grouping,
}: CallContext<Values<typeof MAP_FIELDS>, TreeGrouping | null>): Answered {
  const now = currentTime();
  await publishRecent(env, now);
  const counts = await countByMount(env, "tokens");
  const treesByMount = new Map((await countByMount(env, "trees")).map(({ key, count }) => [key, count]));
  const shownMounts = counts.slice(0, MAPPED_MOUNTS);
  const withTrees = new Set(counts.slice(0, mountsWithTrees()));
  const show = tokenRenderer(installation);
  const pathOf = mountPaths(installation);
  const groups = await inGroups(shownMounts, async (counted) => {
    const { key: mount, count } = counted;
    const trees = withTrees.has(counted) ? await largestTrees(env, mount, SHOWN_OF_MOUNT) : [];
    const roots = trees.map(({ root }) => root);
    const tokens = await findInInventory(env, roots);
    // The first token of a tree may have ended meanwhile. The tree is then counted in `rest`.
    const largest = trees.flatMap(({ root, count }) => {
      const token = tokens.get(root);
      if (!token) return [];
      // The counters include a tree that a watermark has ended, until it is cleaned up.
      const ended = isEnded(installation.watermarks, "all", judged(token));
      return [{ tree: treeIdOf(root), root: show(token), count, ended }];
    });
    const all = treesByMount.get(mount) ?? 0;
    return { mount: pathOf(mount), count, trees: all, largest, restTrees: Math.max(0, all - largest.length) };
  });
  const mapped = addRemainder(groups);
  const mounts = shownMounts.map(({ key }) => key);
  const byGroup = grouping && (await groupsOfMounts(env, grouping, mounts));
  return dataReply({
    groups: byGroup ? mapped.map((one, at) => ({ ...one, ...byGroup[at] })) : mapped,
    total: sumOfCounts(counts),
    // Groups of only some of the trees would be mistaken for those of all trees.
    ...(grouping && !byGroup && { more: true }),
    fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
  });
}

/** A mount on the map: its tokens, its largest trees (with tokens of other mounts), and the number of its other trees. */
interface MappedMount {
  readonly count: number;
  readonly largest: readonly { readonly count: number }[];
  readonly restTrees: number;
}

/**
 * Adds the number of tokens in the trees that are not listed in `largest`. The sum over all mounts is exact. The number
 * for a mount is exact when no other mount has such trees, or when each of these trees is a single token. Otherwise the
 * sum is divided by the numbers of trees, and marked as an estimate: a tree of one mount can hold tokens of others.
 */
export function addRemainder(groups: readonly MappedMount[]): Record<string, unknown>[] {
  const inLargest = sumOfCounts(groups.flatMap(({ largest }) => largest));
  const restTrees = groups.reduce((sum, group) => sum + group.restTrees, 0);
  const rest = Math.max(restTrees, sumOfCounts(groups) - inLargest);
  const isExact = rest === restTrees || groups.filter((group) => group.restTrees > 0).length === 1;
  return groups.map(({ restTrees: trees, ...group }) => {
    const count = trees === 0 ? 0 : Math.round((rest * trees) / restTrees);
    return { ...group, rest: { trees, count, estimated: trees > 0 && !isExact } };
  });
}

/** Returns the groups of the trees of each mount, in the order of the mounts. null: there are too many trees to read. */
async function groupsOfMounts(env: Env, grouping: TreeGrouping, mounts: readonly string[]) {
  const groups = await greatestTreeGroups(env, grouping, mounts, SHOWN_OF_MOUNT);
  const trees = groups && (await treesOfMounts(env, mounts));
  if (!trees) return null;
  return mounts.map((mount) => {
    const shown = groups.get(mount) ?? [];
    return { by_group: shown, by_group_other: treesBeside(trees.get(mount) ?? NO_TREES, shown) };
  });
}

const NO_TREES: Trees = { trees: 0, count: 0 };

function sumOfTrees(all: readonly Trees[]): Trees {
  return all.reduce((sum, { trees, count }) => ({ trees: sum.trees + trees, count: sum.count + count }), NO_TREES);
}

function treesBeside(all: Trees, shown: readonly Trees[]): Trees {
  const { trees, count } = sumOfTrees(shown);
  return { trees: Math.max(0, all.trees - trees), count: Math.max(0, all.count - count) };
}

function sumOf(parts: readonly number[]): number {
  return parts.reduce((sum, one) => sum + one, 0);
}
