import type { MadeToken } from "./event.ts";

/** A token that hangs below another one; those that it made itself have the depth 1. */
export type BelowToken = MadeToken & { readonly depth: number };

/** Tokens below a token as a tree is read: each one after its maker, with all below it before the next. */
export function inOrder(of: string, below: readonly BelowToken[]): readonly BelowToken[] {
  const made = Map.groupBy(below, (token) => token.made_by ?? "");
  const under = (maker: string): readonly BelowToken[] =>
    (made.get(maker) ?? []).flatMap((token) => [token, ...under(token.accessor)]);
  return under(of);
}
