import type { Ms } from "../../base/clock.ts";
import { hourKey, type InventoryEntry } from "./entry.ts";
import { pairText, searchedTexts, type TokenFilter } from "./filter.ts";

/** Properties of the first token by which trees can be grouped. */
export type TreeGrouping = "mount" | "name" | "role" | `metadata.${string}`;

/**
 * Kinds of counters. `first`: the first token of each tree, by mount. `trees`: the same by another property. `ended`:
 * ended tokens, by jobs and others.
 */
export type CountKind = GroupKind | "end_hour" | "created_hour" | "first" | "ended" | `trees.${TreeGrouping}`;

export type GroupKind = TreeGrouping | "entity" | "policy";

/** Length (characters) to which values of metadata are cut off as keys of counters. */
const MAX_KEY = 256;

/** Key of a counter: it counts the tokens of one mount that have a property in common. */
export interface CountKey {
  readonly kind: CountKind;
  readonly mount: string;
  readonly key: string;
}

export const NEVER_KEY = "never";

/** The policy without postings. Nearly every token has it, so its postings would name nearly all tokens. */
const UNINDEXED_POLICY = "default";

/** Returns the terms of a token in the postings. The tree is not among them, because the accessor contains it. */
export function termsOf(entry: InventoryEntry): string[] {
  const terms = [`mount:${entry.mount}`];
  if (entry.entityId !== "") terms.push(`entity:${entry.entityId}`);
  for (const [kind, text] of searchedTexts(entry)) if (text !== "") terms.push(`${kind}:${text}`);
  for (const policy of entry.policies) if (policy !== UNINDEXED_POLICY) terms.push(`policy:${policy}`);
  return terms;
}

/** Returns the counters that count a token. */
export function countsOf(entry: InventoryEntry, createdAt: Ms): CountKey[] {
  const { mount, expiresAt, first, metadata = {} } = entry;
  const groupings: TreeGrouping[] = ["mount", "name", "role"];
  for (const name of Object.keys(metadata)) groupings.push(`metadata.${name}`);
  const kinds: GroupKind[] = [...groupings, "entity", "policy"];
  const counts: CountKey[] = [
    { kind: "created_hour", mount, key: hourKey(createdAt) },
    { kind: "end_hour", mount, key: expiresAt === null ? NEVER_KEY : hourKey(expiresAt) },
  ];
  for (const kind of kinds) for (const key of groupKeysOf(entry, kind)) counts.push({ kind, mount, key });
  // The first token also counts its tree.
  for (const kind of first ? groupings : []) {
    for (const key of groupKeysOf(entry, kind)) counts.push({ kind: treesKind(kind), mount, key });
  }
  return counts;
}

/** Returns the kind of the counters of trees by `grouping`. */
export function treesKind(grouping: TreeGrouping): CountKind {
  return grouping === "mount" ? "first" : `trees.${grouping}`;
}

/** Returns the keys of the groups of one kind that a token is in: several for policies, else one or none. */
export function groupKeysOf(entry: Omit<InventoryEntry, "accessor">, kind: GroupKind): readonly string[] {
  switch (kind) {
    case "mount":
      return [entry.mount];
    case "name":
      return [entry.displayName];
    case "role":
      return entry.role === "" ? [] : [entry.role];
    case "entity":
      return entry.entityId === "" ? [] : [entry.entityId];
    case "policy":
      return entry.policies;
    default: {
      const name = kind.slice("metadata.".length);
      const { metadata = {} } = entry;
      return Object.hasOwn(metadata, name) ? [(metadata[name] ?? "").slice(0, MAX_KEY).toWellFormed()] : [];
    }
  }
}

/** A term, or a range of terms, of which every token that matches a filter has one. */
export interface TermRange {
  readonly term: string;
  /** Exclusive end of the range; absent: the range is the one term. */
  readonly end?: string;
}

/** Returns the terms and ranges of terms by each of which the tokens of a filter can be found. */
export function rangesOf(filter: TokenFilter): TermRange[] {
  const exact = (name: string, value = ""): TermRange[] => (value === "" ? [] : [{ term: `${name}:${value}` }]);
  const beginning = (name: string, value = ""): TermRange[] =>
    value === "" ? [] : [{ term: `${name}:${value}`, end: `${name}:${value}\u{10ffff}` }];
  return [
    ...exact("name", filter.displayName),
    ...exact("entity", filter.entityId),
    ...exact("role", filter.role),
    ...(filter.policy === UNINDEXED_POLICY ? [] : exact("policy", filter.policy)),
    ...Object.entries(filter.metadata ?? {}).flatMap(([name, value]) => exact("meta", pairText(name, value))),
    ...exact("mount", filter.mount),
    ...beginning("name", filter.displayNamePrefix),
    ...beginning("path", filter.pathPrefix),
  ];
}

/** A group of tokens and the number of its tokens. */
export interface GroupCount {
  readonly key: string;
  readonly count: number;
}

/** Merges the groups of several shards. `add` merges two groups with the same key. */
export function addUp<T extends { readonly key: string }>(groups: readonly T[], add: (a: T, b: T) => T): T[] {
  const byKey = Map.groupBy(groups, ({ key }) => key);
  return [...byKey.values()].map((same) => same.reduce((sum, group) => add(sum, group)));
}

/** Merges the groups of several shards by adding their numbers of tokens. */
export function addCounts(groups: readonly GroupCount[]): GroupCount[] {
  return addUp(groups, (a, b) => ({ key: a.key, count: a.count + b.count }));
}

/** Returns at most `limit` groups, the largest first, and equal ones by key. Empty groups are left out. */
export function topOf<T extends GroupCount>(groups: readonly T[], limit: number): T[] {
  const named = groups.filter(({ count }) => count > 0);
  return named.sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).slice(0, limit);
}
