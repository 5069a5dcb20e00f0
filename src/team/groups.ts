/** Calls to other objects in flight at once: the platform's limit of open connections. */
const PARALLEL = 6;

/** Does `work` for all items, few at a time. */
export async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += PARALLEL) await Promise.all(items.slice(at, at + PARALLEL).map(work));
}
