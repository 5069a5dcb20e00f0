/** Number of tokens of a tree. The size of an empty tree is not published. */
export interface TreeSize {
  /** Accessor of its oldest token. */
  readonly root: string;
  readonly count: number;
}

/** Maximum number of trees that one shard returns for each mount. */
export const MAX_TREES = 200;

/** Up to this size every size is a class of its own. */
const EXACT = 8;
/** Above `EXACT`: number of classes between a size and twice that size. */
const CLASSES = 8;

/**
 * Returns the class by which trees of this size are indexed. Trees of one token are not indexed (null), because there
 * may be as many as tokens. Sizes that differ by less than a tenth can have one class, so that a growing tree does not
 * change the index with every token.
 */
export function classOfSize(count: number): number | null {
  if (count <= 1) return null;
  return count <= EXACT ? count : EXACT + Math.floor(CLASSES * Math.log2(count / EXACT));
}
