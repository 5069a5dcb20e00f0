import type { InventoryEntry } from "./entry.ts";
import { addCounts, type GroupCount } from "./group-sums.ts";

/** What the tokens of a revocation are counted by. */
export const GROUPINGS = ["mount", "role", "owner"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Groups that a count keeps of each kind: who names tokens could otherwise make it as large as the list. */
export const MAX_GROUPS = 300;
/** The key of the metadata that names whose a token is. */
const OWNER_KEY = "owner";
/** Characters of the name of a group. */
const MAX_NAME = 100;

/** Numbers of tokens by one of their properties. */
export interface Groups {
  readonly named: readonly GroupCount[];
  /** Tokens of groups that were met when enough were kept, or whose names are too long. */
  readonly other: number;
}

/** What a revocation would end, or a part of it. Parts add up. */
export interface Tally {
  /** Tokens that are meant, each once. */
  readonly matched: number;
  /** They and everything below them, each once. */
  readonly total: number;
  /** Leases of secrets that those have; `more` when one call of a tree met more than it counts. */
  readonly leases: { readonly count: number; readonly more: boolean };
  /** Of the total. */
  readonly by: Readonly<Record<Grouping, Groups>>;
  /** Root tokens that stay. */
  readonly root: number;
  /** The caller's token and those above it, which stay. */
  readonly self: number;
}

const NO_GROUPS: Groups = { named: [], other: 0 };

/** Nothing counted yet. */
export const NO_TALLY: Tally = {
  matched: 0,
  total: 0,
  leases: { count: 0, more: false },
  by: { mount: NO_GROUPS, role: NO_GROUPS, owner: NO_GROUPS },
  root: 0,
  self: 0,
};

/** What tokens are grouped by. */
export type GroupedToken = Pick<InventoryEntry, "mount" | "role" | "entityId" | "metadata">;

/** The groups of some tokens. */
export function groupsOf(tokens: readonly GroupedToken[]): Tally["by"] {
  const of = (keyOf: (token: GroupedToken) => string): Groups =>
    bounded(addCounts(tokens.map((token) => ({ key: keyOf(token), count: 1 }))));
  return {
    mount: of(({ mount }) => mount),
    role: of(({ role }) => role),
    owner: of(({ metadata, entityId }) => metadata?.[OWNER_KEY] ?? entityId),
  };
}

/** Two parts as one. */
export function addTally(a: Tally, b: Tally): Tally {
  return {
    matched: a.matched + b.matched,
    total: a.total + b.total,
    leases: { count: a.leases.count + b.leases.count, more: a.leases.more || b.leases.more },
    by: {
      mount: addGroups(a.by.mount, b.by.mount),
      role: addGroups(a.by.role, b.by.role),
      owner: addGroups(a.by.owner, b.by.owner),
    },
    root: a.root + b.root,
    self: a.self + b.self,
  };
}

/** A group that is kept once stays, so that its number is exact. */
function addGroups(a: Groups, b: Groups): Groups {
  const kept = bounded(addCounts([...a.named, ...b.named]));
  return { named: kept.named, other: a.other + b.other + kept.other };
}

function bounded(groups: readonly GroupCount[]): Groups {
  const named = groups.filter(({ key }) => key.length <= MAX_NAME).slice(0, MAX_GROUPS);
  const sum = (of: readonly GroupCount[]) => of.reduce((total, { count }) => total + count, 0);
  return { named, other: sum(groups) - sum(named) };
}
