import type { RowAndTail } from "../../token/ids.ts";
import type { TokenFilter } from "./filter.ts";

/** Tokens of one tree that are to be revoked. */
export interface RevokeInTree {
  readonly tokens: readonly RowAndTail[];
  /** By which the list found them: the tree judges it by its own rows. null: they were named. */
  readonly filter: TokenFilter | null;
  /** False: root tokens stay. */
  readonly includeRoot: boolean;
  /** A token of the tree that stays, and so must all above it; null: none. */
  readonly spare: number | null;
  /** True: the caller has the tree swept afterwards. False: its alarm does it at once. */
  readonly sweptByCaller: boolean;
}

/** What became of them. */
export interface RevokedInTree {
  /** Alive until now. */
  readonly revoked: number;
  /** Had ended before. */
  readonly gone: number;
  /** Root tokens, and the one to be spared with what it hangs on. */
  readonly spared: number;
  /** Are not meant by the filter, whatever the list says of them. */
  readonly mismatched: number;
}
