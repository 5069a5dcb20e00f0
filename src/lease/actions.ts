import type { EndRequest } from "../system/end-request.ts";
import type { RowAndTail } from "../token/ids.ts";
import type { LeaseView, NewLeaseIds } from "./record.ts";
import type { LeaseRequest } from "./rules.ts";

/** The token that shall hold a lease. */
export type LeaseHolder =
  | { readonly by: "token"; readonly row: number; readonly verifier: Uint8Array }
  | { readonly by: "accessor"; readonly row: number; readonly tail: Uint8Array }
  /** The parent of a batch token, which nothing stores: its leases live with the parent and end with either. */
  | { readonly by: "batch"; readonly row: number; readonly endsBy: number };

/** A lease of the tree whose id is known. */
export interface LeaseReference extends RowAndTail {
  readonly path: string;
}

/** What a tree can be asked to do about the leases of its tokens. */
export type LeaseAction =
  | {
      readonly kind: "register";
      readonly holder: LeaseHolder;
      readonly request: LeaseRequest;
      readonly ids: NewLeaseIds;
      /** Sealed for the lease; null for none. */
      readonly data: Uint8Array | null;
    }
  | { readonly kind: "lookup"; readonly lease: LeaseReference }
  | { readonly kind: "renew"; readonly lease: LeaseReference; readonly increment: number }
  /** `wait`: answers after the revocation was sent once. `force`: once is enough, whatever the target says. */
  | { readonly kind: "revoke"; readonly lease: LeaseReference; readonly wait: boolean; readonly force: boolean };

/** What came of it. */
export type LeaseOutcome =
  | { readonly kind: "lease"; readonly lease: LeaseView; readonly warnings: readonly string[] }
  /** The row is taken; try again with another. */
  | { readonly kind: "row_taken" }
  /** `error`: what the attempt failed with that the caller waited for; more follow by themselves. */
  | { readonly kind: "revoked"; readonly error: string | null };

/** Leases of one tree that a walk over a prefix found: rows with the random parts of their ids. */
export interface FoundInTree {
  readonly tokens: readonly RowAndTail[];
  readonly secrets: readonly RowAndTail[];
}

/** What a walk does with what it finds. `force` sends each revocation once and forgets the lease whatever its target
 * says. */
export type WalkMode = "revoke" | "force" | "tidy";

/** A revocation that failed. */
export interface SendFailure {
  readonly row: number;
  readonly error: string;
}

/** What a tree says to a walk. */
export interface WalkAnswer {
  /** Rows that the index knows and the tree does not. */
  readonly unknownTokens: readonly number[];
  readonly unknownSecrets: readonly number[];
  /** Of secrets. */
  readonly failures: readonly SendFailure[];
  /** True when the tree has something to sweep now. */
  readonly hasDead: boolean;
}

/** What a walk is for. */
export interface WalkPurpose {
  readonly mode: WalkMode;
  /** The number of the watermark after which it cleans up: only tokens that are ended by this or another one are revoked. null: all are. */
  readonly watermark: number | null;
  /** Who asked for the end of tokens that no watermark ends. */
  readonly asked: EndRequest;
}
