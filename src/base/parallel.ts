/** Calls to other objects in flight at once: the platform's limit of open connections. */
export const MAX_PARALLEL_CALLS = 6;

/** Does `work` for all items in groups of `MAX_PARALLEL_CALLS`. Returns the results in the order of the items. */
export async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += MAX_PARALLEL_CALLS) {
    results.push(...(await Promise.all(items.slice(at, at + MAX_PARALLEL_CALLS).map(work))));
  }
  return results;
}

/** Does `work` for all items with at most `limit` workers. Returns the results in the order of the items. */
export async function inPool<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
