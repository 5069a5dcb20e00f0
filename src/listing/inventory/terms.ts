import { hourKey, type InventoryEntry } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";
import { pairText, searchedTexts } from "./search.ts";

/** What tokens are counted by. `first`: one token of each tree, by mount. `ended`: those that have ended, of jobs and others. */
const COUNT_KINDS = [
  "mount",
  "role",
  "policy",
  "entity",
  "name",
  "end_hour",
  "created_hour",
  "first",
  "ended",
] as const;

/** What trees can be grouped by: what their first tokens have. */
export type TreeGrouping = "mount" | "name" | "role" | `metadata.${string}`;

/** `trees`: one token of each tree, by something else than the mount. */
export type CountKind = (typeof COUNT_KINDS)[number] | `metadata.${string}` | `trees.${TreeGrouping}`;

/** Groups of tokens that a reader can choose. */
export type GroupKind = TreeGrouping | "entity" | "policy";

/** Characters by which values of metadata are counted. */
const MAX_KEY = 256;

/** A counter: of the tokens of one mount that have something in common. */
export interface CountKey {
  readonly kind: CountKind;
  readonly mount: string;
  readonly key: string;
}

/** The hour of end of a token that never ends. */
export const NEVER_KEY = "never";

/** Nearly every token has this policy: an index of those that do would be the list of all. */
const UNINDEXED_POLICY = "default";

/** The texts that a token is found by, besides its tree: that is in its accessor. */
export function termsOf(entry: InventoryEntry): string[] {
  const terms = [`mount:${entry.mount}`];
  if (entry.entityId !== "") terms.push(`entity:${entry.entityId}`);
  for (const [kind, text] of searchedTexts(entry)) if (text !== "") terms.push(`${kind}:${text}`);
  for (const policy of entry.policies) if (policy !== UNINDEXED_POLICY) terms.push(`policy:${policy}`);
  return terms;
}

/** The counters that a token adds one to. */
export function countsOf(entry: InventoryEntry, createdAt: number): CountKey[] {
  const { mount, expiresAt, first, metadata = {} } = entry;
  const groupings: TreeGrouping[] = ["mount", "name", "role"];
  for (const name of Object.keys(metadata)) groupings.push(`metadata.${name}`);
  const kinds: GroupKind[] = [...groupings, "entity", "policy"];
  const counts: CountKey[] = [
    { kind: "created_hour", mount, key: hourKey(createdAt) },
    { kind: "end_hour", mount, key: expiresAt === null ? NEVER_KEY : hourKey(expiresAt) },
  ];
  for (const kind of kinds) for (const key of groupKeysOf(entry, kind)) counts.push({ kind, mount, key });
  // Of a tree too, by its first token.
  for (const kind of first ? groupings : []) {
    for (const key of groupKeysOf(entry, kind)) counts.push({ kind: treesKind(kind), mount, key });
  }
  return counts;
}

/** The kind of the counters of trees by `grouping`. */
export function treesKind(grouping: TreeGrouping): CountKind {
  return grouping === "mount" ? "first" : `trees.${grouping}`;
}

/** What a token is counted by under a kind of group; a token has several policies. */
export function groupKeysOf(entry: InventoryEntry, kind: GroupKind): readonly string[] {
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

/** Terms that every token meant by a filter has: `end` is set for a range of terms. */
export interface TermRange {
  readonly term: string;
  /** The range goes up to this term; absent: the one term alone. */
  readonly end?: string;
}

/** Ways to find the tokens of a filter by their terms. */
export function rangesOf(filter: TokenFilter): TermRange[] {
  const exact = (name: string, value: string | undefined): TermRange[] =>
    value === undefined || value === "" ? [] : [{ term: `${name}:${value}` }];
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
