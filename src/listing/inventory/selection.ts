import { ROOT_POLICY } from "../../policy/name.ts";
import type { EndRequest } from "../../system/end-request.ts";
import type { RowAndTail, TokenAddress } from "../../token/ids.ts";
import type { ListedToken } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";
import type { Tally } from "./tally.ts";

/** The tokens that are selected for a revocation. */
export interface Selection {
  /** As the client sent it, in JSON. */
  readonly sent: string;
  /** Selects tokens by a filter; null: `accessors` names them. */
  readonly filter: TokenFilter | null;
  readonly accessors: readonly string[] | null;
  readonly includeRoot: boolean;
  /** The token that is not revoked, nor any token above it; null: none. */
  readonly spare: TokenAddress | null;
  /** Origin of the request. The start of the job adds the id of the job. */
  readonly asked: EndRequest;
}

/** Returns the selection without tokens that are created after `now` (ms), for a filter. Safe to repeat. */
export function madeUntil(selection: Selection, now: number): Selection {
  const { filter } = selection;
  if (filter === null) return selection;
  return { ...selection, filter: { ...filter, createdBefore: Math.min(filter.createdBefore ?? now + 1, now + 1) } };
}

/** True for a root token. A revocation does not end it unless `includeRoot` is set. */
export function isRoot({ policies }: Pick<ListedToken, "policies">): boolean {
  return policies.includes(ROOT_POLICY);
}

/** Tokens of one tree that are selected for a revocation. */
export interface MeantInTree {
  readonly tokens: readonly RowAndTail[];
  /** The filter by which the list found them. The tree checks it against its own rows. null: they were named. */
  readonly filter: TokenFilter | null;
  /** False: root tokens are not revoked. */
  readonly includeRoot: boolean;
  /** Row of the token that is not revoked, nor any token above it; null: none. */
  readonly spare: number | null;
}

/** Position of a count in a tree. */
export interface CountCursor {
  readonly at: number;
  /** The last row that was counted below that token; null: the token is not counted yet. */
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
export interface RevokeInTree extends MeantInTree {
  /** True: nothing is revoked. The answer has the numbers of what would be. */
  readonly dry: boolean;
  readonly asked: EndRequest;
  /** True: the caller has the tree sweep afterwards. False: the alarm of the tree sweeps at once. */
  readonly sweptByCaller: boolean;
}

/** Result of a revocation of selected tokens: numbers of tokens. */
export interface RevokedInTree {
  /** Selected tokens that were alive until now. */
  readonly revoked: number;
  /** Those, and all tokens below them that were alive until now. */
  readonly total: number;
  /** Selected tokens that had ended before, often with a revoked token above them. */
  readonly gone: number;
  /** Root tokens, and the spared token with those above it. */
  readonly spared: number;
  /** Tokens that the list found but that do not match the filter by the rows of their tree. */
  readonly mismatched: number;
}

export const NOTHING_REVOKED: RevokedInTree = { revoked: 0, total: 0, gone: 0, spared: 0, mismatched: 0 };

export function addRevoked(a: RevokedInTree, b: RevokedInTree): RevokedInTree {
  return {
    revoked: a.revoked + b.revoked,
    total: a.total + b.total,
    gone: a.gone + b.gone,
    spared: a.spared + b.spared,
    mismatched: a.mismatched + b.mismatched,
  };
}
