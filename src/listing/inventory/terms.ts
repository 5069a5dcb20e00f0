import { hourKey, type InventoryEntry } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";

/** What tokens are counted by. `first`: one token of each tree, by mount. */
const COUNT_KINDS = ["mount", "role", "policy", "entity", "end_hour", "created_hour", "first"] as const;
export type CountKind = (typeof COUNT_KINDS)[number];

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
  if (entry.role !== "") terms.push(`role:${entry.role}`);
  if (entry.entityId !== "") terms.push(`entity:${entry.entityId}`);
  terms.push(`name:${entry.displayName}`);
  for (const policy of entry.policies) if (policy !== UNINDEXED_POLICY) terms.push(`policy:${policy}`);
  return terms;
}

/** The counters that a token adds one to. */
export function countsOf(entry: InventoryEntry, createdAt: number): CountKey[] {
  const { mount, expiresAt, policies, role, entityId, first } = entry;
  const counts: Omit<CountKey, "mount">[] = [
    { kind: "mount", key: mount },
    { kind: "created_hour", key: hourKey(createdAt) },
    { kind: "end_hour", key: expiresAt === null ? NEVER_KEY : hourKey(expiresAt) },
  ];
  for (const policy of policies) counts.push({ kind: "policy", key: policy });
  if (role !== "") counts.push({ kind: "role", key: role });
  if (entityId !== "") counts.push({ kind: "entity", key: entityId });
  if (first) counts.push({ kind: "first", key: mount });
  return counts.map((count) => ({ ...count, mount }));
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
  const prefix = filter.displayNamePrefix ?? "";
  return [
    ...exact("name", filter.displayName),
    ...exact("entity", filter.entityId),
    ...exact("role", filter.role),
    ...(filter.policy === UNINDEXED_POLICY ? [] : exact("policy", filter.policy)),
    ...exact("mount", filter.mount),
    ...(prefix === "" ? [] : [{ term: `name:${prefix}`, end: `name:${prefix}\u{10ffff}` }]),
  ];
}
