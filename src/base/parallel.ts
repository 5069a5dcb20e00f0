/** Calls to other objects in flight at once: the platform's limit of open connections. */
export const MAX_PARALLEL_CALLS = 6;

/** Does `work` for all items, few at a time. Returns the results in the order of the items. */
export async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += MAX_PARALLEL_CALLS) {
    results.push(...(await Promise.all(items.slice(at, at + MAX_PARALLEL_CALLS).map(work))));
  }
  return results;
}
