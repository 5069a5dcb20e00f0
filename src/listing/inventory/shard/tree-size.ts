/** How many tokens a tree has. One that has none is not published. */
export interface TreeSize {
  /** Accessor of its oldest token. */
  readonly root: string;
  readonly count: number;
}

/** Trees that one shard names for each mount. */
export const MAX_TREES = 200;

/** Up to here every number is a class of its own. */
const EXACT = 8;
/** Classes from a number to twice that number, above. */
const CLASSES = 8;

/**
 * The class that trees of this size are indexed by; null for a tree of one token, of which there may be as many as tokens. Sizes that
 * differ by less than a tenth can have one class, so that a tree that grows does not change the index with every token.
 */
export function classOfSize(count: number): number | null {
  if (count <= 1) return null;
  return count <= EXACT ? count : EXACT + Math.floor(CLASSES * Math.log2(count / EXACT));
}
