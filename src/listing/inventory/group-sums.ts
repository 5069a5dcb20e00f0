/** A group of tokens and how many there are. */
export interface GroupCount {
  readonly key: string;
  readonly count: number;
}

/** The groups of several shards: those with the same key as one, by `add`. */
export function addUp<T extends { readonly key: string }>(groups: readonly T[], add: (a: T, b: T) => T): T[] {
  const sums = new Map<string, T>();
  for (const group of groups) {
    const before = sums.get(group.key);
    sums.set(group.key, before ? add(before, group) : group);
  }
  return [...sums.values()];
}

/** The same of numbers of tokens. */
export function addCounts(groups: readonly GroupCount[]): GroupCount[] {
  return addUp(groups, (a, b) => ({ key: a.key, count: a.count + b.count }));
}

/** At most `limit` groups, the greatest first, and equal ones by name. Empty ones are left out. */
export function topOf<T extends GroupCount>(groups: readonly T[], limit: number): T[] {
  const named = groups.filter(({ count }) => count > 0);
  return named.sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).slice(0, limit);
}
