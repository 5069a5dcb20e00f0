import type { MadeToken } from "./event.ts";

/** A descendant of a token. The depth of a direct child is 1. */
export type BelowToken = MadeToken & { readonly depth: number };

/** The descendants of a token in the order of a tree: each token after its maker, followed by its own descendants. */
export function inOrder(of: string, below: readonly BelowToken[]): readonly BelowToken[] {
  const made = Map.groupBy(below, (token) => token.made_by ?? "");
  const under = (maker: string): readonly BelowToken[] =>
    (made.get(maker) ?? []).flatMap((token) => [token, ...under(token.accessor)]);
  return under(of);
}
