/** Names that an answer has of one kind. */
const MAX_NAMES = 100;

/** Who names a policy, of one kind. */
export interface PolicyHolders {
  /** How many were found. */
  readonly count: number;
  /** True when not all of the kind were looked at: there may be more than `count`. */
  readonly more: boolean;
  /** The first of them. */
  readonly names: readonly string[];
}

/** The holders with these names, of which some are kept. @param more see `PolicyHolders`. */
export function holdersOf(names: readonly string[], more = false): PolicyHolders {
  return { count: names.length, more, names: names.slice(0, MAX_NAMES) };
}

/** Holders that were found in several places. */
export function joinedHolders(found: readonly PolicyHolders[], more = false): PolicyHolders {
  return {
    count: found.reduce((sum, { count }) => sum + count, 0),
    more: more || found.some((one) => one.more),
    names: found.flatMap(({ names }) => names).slice(0, MAX_NAMES),
  };
}
