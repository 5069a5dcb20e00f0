import type { Ms } from "../../base/clock.ts";
import { ROOT_POLICY } from "../../policy/policy-names.ts";
import type { RevocationOrigin } from "../../system/revocation-origin.ts";
import { decodeStoredId, type RowAndTail, type TokenAddress, treeIdOf } from "../../token/ids.ts";
import type { ListingEnv } from "../env.ts";
import type { ListedToken } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";
import type { OrderPosition } from "./page-cursor.ts";
import { findInInventory, pageOfInventory } from "./queries.ts";
import type { Tally } from "./tally.ts";

/** The tokens that are selected for a revocation. */
export interface Selection {
  /** As the client sent it, in JSON. */
  readonly sent: string;
  /** Selects tokens by a filter; null: `accessors` names them. */
  readonly filter: TokenFilter | null;
  readonly accessors: readonly string[] | null;
  readonly includeRoot: boolean;
  /** This token and its ancestors are not revoked; null: all selected tokens are. */
  readonly spare: TokenAddress | null;
  /** Origin of the request. The start of the job adds the id of the job. */
  readonly asked: RevocationOrigin;
}

/** Returns the selection without tokens that are created after `now`, for a filter. Named tokens exist already. */
export function createdUpTo(selection: Selection, now: Ms): Selection {
  const { filter } = selection;
  if (filter === null) return selection;
  return { ...selection, filter: { ...filter, createdBefore: Math.min(filter.createdBefore ?? now + 1, now + 1) } };
}

/** True for a root token. A revocation does not end it unless `includeRoot` is set. */
export function isRoot({ policies }: Pick<ListedToken, "policies">): boolean {
  return policies.includes(ROOT_POLICY);
}

/** Tokens of one tree that are selected for a revocation. */
export interface SelectedInTree {
  readonly tokens: readonly RowAndTail[];
  /** The filter by which the list found them. The tree checks it against its own rows. null: they were named. */
  readonly filter: TokenFilter | null;
  readonly includeRoot: boolean;
  /** Row of the token that is not revoked, as its ancestors are not; null: none is in this tree. */
  readonly spare: number | null;
}

/** Position of a count in a tree. `at`: index of the current token in `SelectedInTree.tokens`. */
export interface CountCursor {
  readonly at: number;
  /** The last row that was counted below the current token; null: the token is not counted yet. */
  readonly row: number | null;
}

export interface CountedInTree {
  readonly tally: Tally;
  /** True when the count was restarted: the results of earlier steps in this tree are discarded. */
  readonly anew: boolean;
  /** Where to go on; null at the end. */
  readonly next: CountCursor | null;
}

/** Request to a tree to revoke selected tokens. */
export interface RevokeInTree extends SelectedInTree {
  /** True: nothing is revoked. The answer has the numbers of what would be. */
  readonly dry: boolean;
  readonly asked: RevocationOrigin;
  /** True: the caller has the tree sweep afterwards. False: the alarm of the tree sweeps at once. */
  readonly sweptByCaller: boolean;
}

/** Result of a revocation of selected tokens: numbers of tokens. */
export interface RevokedInTree {
  /** Selected tokens that were alive until now. */
  readonly revoked: number;
  /** These tokens, and all tokens below them that were alive until now. */
  readonly total: number;
  /** Selected tokens that had ended before, often with a revoked token above them. */
  readonly gone: number;
  /** Selected tokens that are not revoked: root tokens, and the caller (`spare`) with its ancestors. */
  readonly spared: number;
  /** Tokens that the list found but that do not match the filter by the rows of their tree. */
  readonly mismatched: number;
}

export const NOTHING_REVOKED: RevokedInTree = { revoked: 0, total: 0, gone: 0, spared: 0, mismatched: 0 };

/** Where a page of a selection begins: after a position in the order of creation, or at an index of its accessors. */
export type SelectionPosition = OrderPosition | number;

/** Reads a page of the accessors of a selection (`from` null: the first), with the entries of those that are alive. */
export async function selectedTokens(
  env: ListingEnv,
  { filter, accessors }: Selection,
  from: SelectionPosition | null,
  limit: number,
  now: Ms,
) {
  if (filter !== null) {
    const after = typeof from === "number" ? null : from;
    const order = { by: "created", descending: false } as const;
    const { tokens, next } = await pageOfInventory(env, { filter, order, after, limit, now });
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
export function isSingleSelected({ parent, children, accessor }: ListedToken, { spare }: Selection): boolean {
  return parent === null && children === 0 && treeIdOf(accessor) !== spare?.treeId;
}

/** Groups accessors by the id of their tree, without those of `known` tokens. */
export function byTree(
  accessors: readonly string[],
  known: readonly ListedToken[] = [],
): [treeId: string, accessors: string[]][] {
  const isKnown = new Set(known.map(({ accessor }) => accessor));
  const others = accessors.filter((accessor) => !isKnown.has(accessor));
  return [...Map.groupBy(others, treeIdOf)].filter(([treeId]) => treeId !== "");
}

/** Returns the part of a selection for one tree, with these of its tokens. */
export function selectedInTree(from: Selection, treeId: string, accessors: readonly string[]): SelectedInTree {
  const { filter, includeRoot, spare } = from;
  const places = accessors.flatMap((accessor) => decodeStoredId(accessor) ?? []);
  const tokens = places.map(({ row, tail }) => ({ row, tail }));
  return { tokens, filter, includeRoot, spare: spare?.treeId === treeId ? spare.row : null };
}
