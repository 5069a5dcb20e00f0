/** A group of tokens and the number of its tokens. */
export interface GroupCount {
  readonly key: string;
  readonly count: number;
}

/** Merges the groups of several shards. `add` merges two groups with the same key. */
export function addUp<T extends { readonly key: string }>(groups: readonly T[], add: (a: T, b: T) => T): T[] {
  const sums = new Map<string, T>();
  for (const group of groups) {
    const before = sums.get(group.key);
    sums.set(group.key, before ? add(before, group) : group);
  }
  return [...sums.values()];
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
