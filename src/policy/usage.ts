const MAX_NAMES = 100;

/** The objects of one kind, such as roles or groups, that name a policy. */
export interface PolicyUsage {
  /** Number of holders that were found. */
  readonly count: number;
  /** True when not all of the kind were searched: there may be more than `count`. */
  readonly more: boolean;
  readonly names: readonly string[];
}

/** Makes a result of these names, of which it keeps the first `MAX_NAMES`. @param more see `PolicyUsage`. */
export function usageOf(names: readonly string[], more = false): PolicyUsage {
  return { count: names.length, more, names: names.slice(0, MAX_NAMES) };
}

/** Joins the holders that were found in several places. */
export function joinedUsage(found: readonly PolicyUsage[], more = false): PolicyUsage {
  return {
    count: found.reduce((sum, { count }) => sum + count, 0),
    more: more || found.some((one) => one.more),
    names: found.flatMap(({ names }) => names).slice(0, MAX_NAMES),
  };
}
