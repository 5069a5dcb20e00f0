import { ROOT_POLICY } from "../../policy/name.ts";
import type { EndRequest } from "../../system/end-request.ts";
import type { RowAndTail, TokenAddress } from "../../token/ids.ts";
import type { ListedToken } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";
import type { Tally } from "./tally.ts";

/** The tokens that a revocation means. */
export interface Selection {
  /** As the client sent it, in JSON. */
  readonly sent: string;
  /** The tokens, by a filter or by name. */
  readonly filter: TokenFilter | null;
  readonly accessors: readonly string[] | null;
  readonly includeRoot: boolean;
  /** The token that stays, with all above it; null: none. */
  readonly spare: TokenAddress | null;
  /** Who asks; the job is named by its start. */
  readonly asked: EndRequest;
}

/** The selection without tokens that are made after `now` (ms). Safe to repeat. */
export function madeUntil(selection: Selection, now: number): Selection {
  const { filter } = selection;
  if (filter === null) return selection;
  return { ...selection, filter: { ...filter, createdBefore: Math.min(filter.createdBefore ?? now + 1, now + 1) } };
}

/** True for a root token: a revocation leaves it out unless it is to take root tokens. */
export function isRoot({ policies }: Pick<ListedToken, "policies">): boolean {
  return policies.includes(ROOT_POLICY);
}

/** Tokens of one tree that are to be revoked. */
export interface MeantInTree {
  readonly tokens: readonly RowAndTail[];
  /** By which the list found them: the tree judges it by its own rows. null: they were named. */
  readonly filter: TokenFilter | null;
  /** False: root tokens stay. */
  readonly includeRoot: boolean;
  /** A token of the tree that stays, and so must all above it; null: none. */
  readonly spare: number | null;
}

/** How far the count in a tree is. */
export interface CountCursor {
  /** Position among the tokens that are meant. */
  readonly at: number;
  /** The last row that was counted below that one; null: it was not looked at yet. */
  readonly row: number | null;
}

/** What one bounded step has counted in a tree. */
export interface CountedInTree {
  readonly tally: Tally;
  /** True when the count began anew: what earlier steps counted in this tree is void. */
  readonly anew: boolean;
  /** Where to go on; null at the end. */
  readonly next: CountCursor | null;
}

export interface RevokeInTree extends MeantInTree {
  /** True: nothing is revoked, the answer says what would be. */
  readonly dry: boolean;
  /** Who asked, and the job. */
  readonly asked: EndRequest;
  /** True: the caller has the tree swept afterwards. False: its alarm does it at once. */
  readonly sweptByCaller: boolean;
}

/** What became of them. */
export interface RevokedInTree {
  /** Tokens that were meant and alive until now. */
  readonly revoked: number;
  /** Those and everything below them that was alive until now. */
  readonly total: number;
  /** Had ended before, often with another one that was revoked. */
  readonly gone: number;
  /** Root tokens, and the one to be spared with what it hangs on. */
  readonly spared: number;
  /** Are not meant by the filter, whatever the list says of them. */
  readonly mismatched: number;
}
