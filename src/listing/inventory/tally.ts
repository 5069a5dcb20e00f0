import type { InventoryEntry } from "./entry.ts";
import { addCounts, type GroupCount } from "./index-terms.ts";

/** Properties by which the tokens of a revocation are counted. */
export const GROUPINGS = ["mount", "role", "owner"] as const;
type Grouping = (typeof GROUPINGS)[number];

/** Maximum number of groups of each kind: clients choose their names, and could make a count as large as the list. */
export const MAX_GROUPS = 300;
/** Name of the metadata whose value is the owner of a token. */
const OWNER_KEY = "owner";
const MAX_NAME = 100;

export interface GroupTally {
  readonly named: readonly GroupCount[];
  /** Number of tokens in groups beyond the first `MAX_GROUPS`, or with names that are too long. */
  readonly other: number;
}

/** Numbers of what a revocation would end, or of a part of it. Parts can be added. */
export interface Tally {
  /** Selected tokens, each counted once. */
  readonly matched: number;
  /** Selected tokens and all tokens below them, each counted once. */
  readonly total: number;
  /** Leases of secrets that all of them hold. `more`: a tree had more in one call than it counts. */
  readonly leases: { readonly count: number; readonly more: boolean };
  readonly by: Readonly<Record<Grouping, GroupTally>>;
  /** Selected root tokens, which the revocation leaves alive. */
  readonly root: number;
  /** The caller's token and those above it, if selected: the revocation leaves them alive too. */
  readonly self: number;
}

const NO_GROUPS: GroupTally = { named: [], other: 0 };

export const NO_TALLY: Tally = {
  matched: 0,
  total: 0,
  leases: { count: 0, more: false },
  by: { mount: NO_GROUPS, role: NO_GROUPS, owner: NO_GROUPS },
  root: 0,
  self: 0,
};

export type GroupedToken = Pick<InventoryEntry, "mount" | "role" | "entityId" | "metadata">;

/** Counts tokens by mount, by role, and by owner: the metadata field `owner`, else the entity. */
export function tallyGroups(tokens: readonly GroupedToken[]): Tally["by"] {
  const of = (keyOf: (token: GroupedToken) => string): GroupTally =>
    bounded(addCounts(tokens.map((token) => ({ key: keyOf(token), count: 1 }))));
  return {
    mount: of(({ mount }) => mount),
    role: of(({ role }) => role),
    owner: of(({ metadata, entityId }) => metadata?.[OWNER_KEY] ?? entityId),
  };
}

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

/** Adds groups. A group that is named in `a` stays named, so that its number is exact. */
function addGroups(a: GroupTally, b: GroupTally): GroupTally {
  const kept = bounded(addCounts([...a.named, ...b.named]));
  return { named: kept.named, other: a.other + b.other + kept.other };
}

function bounded(groups: readonly GroupCount[]): GroupTally {
  const named = groups.filter(({ key }) => key.length <= MAX_NAME).slice(0, MAX_GROUPS);
  const sum = (of: readonly GroupCount[]) => of.reduce((total, { count }) => total + count, 0);
  return { named, other: sum(groups) - sum(named) };
}
