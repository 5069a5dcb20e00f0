/** A mount on the map. `count` is of the tokens that it issued, those of `largest` of all that are in the trees. */
export interface MappedMount {
  readonly mount: string;
  readonly count: number;
  readonly trees: number;
  readonly largest: readonly { readonly tree: string; readonly root: object; readonly count: number }[];
  /** Trees that are not named. */
  readonly restTrees: number;
}

/**
 * Adds what is in the trees that are not named. How many tokens that are together is known. Of each mount it is known only when
 * no other mount has such trees, or when each of them is a single token, as a tree of one mount holds tokens of others: else it
 * is divided by the number of trees, and said to be an estimate.
 */
export function withRest(groups: readonly MappedMount[]): Record<string, unknown>[] {
  const named = groups.flatMap(({ largest }) => largest).reduce((sum, { count }) => sum + count, 0);
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const restTrees = groups.reduce((sum, group) => sum + group.restTrees, 0);
  const rest = Math.max(restTrees, total - named);
  const isExact = rest === restTrees || groups.filter((group) => group.restTrees > 0).length === 1;
  return groups.map(({ restTrees: trees, ...group }) => {
    const count = trees === 0 ? 0 : Math.round((rest * trees) / restTrees);
    return { ...group, rest: { trees, count, estimated: trees > 0 && !isExact } };
  });
}
