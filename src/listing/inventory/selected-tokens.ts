import { decodeStoredId, treeIdOf } from "../../token/ids.ts";
import type { ListingEnv } from "../env.ts";
import type { ListedToken } from "./entry.ts";
import type { Position } from "./order.ts";
import { findInInventory, pageOfInventory } from "./queries.ts";
import type { MeantInTree, Selection } from "./selection.ts";

/** Where a page of a selection begins: after a position in the order of creation, or at an index of its accessors. */
export type SelectionPosition = Position | number;

interface SelectionPage {
  readonly accessors: readonly string[];
  /** The entries of those that are listed and have not expired. */
  readonly listed: readonly ListedToken[];
  readonly next: SelectionPosition | null;
}

/** Reads a page of at most `limit` tokens of a selection. `from` is null for the first page, `now` in ms. */
export async function selectedTokens(
  env: ListingEnv,
  { filter, accessors }: Selection,
  from: SelectionPosition | null,
  limit: number,
  now: number,
): Promise<SelectionPage> {
  if (filter !== null) {
    const after = typeof from === "number" ? null : from;
    const order = { by: "created", descending: false } as const;
    const { tokens, next } = await pageOfInventory(env, filter, order, after, limit, now);
    return { accessors: tokens.map(({ accessor }) => accessor), listed: tokens, next };
  }
  const all = accessors ?? [];
  const begin = typeof from === "number" ? from : 0;
  const named = all.slice(begin, begin + limit);
  const found = await findInInventory(env, named);
  const listed = [...found.values()].filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  return { accessors: named, listed, next: begin + limit < all.length ? begin + limit : null };
}

/** True when a token has no parent and no children by the list, and no token of its tree is spared. */
export function isSingle({ parent, children, accessor }: ListedToken, { spare }: Selection): boolean {
  return parent === null && children === 0 && treeIdOf(accessor) !== spare?.treeId;
}

/** Groups accessors by the id of their tree. */
export function byTree(accessors: readonly string[]): [treeId: string, accessors: string[]][] {
  return [...Map.groupBy(accessors, treeIdOf)].filter(([treeId]) => treeId !== "");
}

/** Returns the part of a selection for one tree, with these of its tokens. */
export function meantInTree(
  { filter, includeRoot, spare }: Selection,
  treeId: string,
  accessors: readonly string[],
): MeantInTree {
  const places = accessors.flatMap((accessor) => decodeStoredId(accessor) ?? []);
  const tokens = places.map(({ row, tail }) => ({ row, tail }));
  return { tokens, filter, includeRoot, spare: spare?.treeId === treeId ? spare.row : null };
}
