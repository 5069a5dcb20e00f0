import type { Ms, Seconds } from "../base/clock.ts";
import type { RevocationOrigin } from "../system/revocation-origin.ts";
import type { TokenTarget } from "../token/actions.ts";
import type { RowAndTail } from "../token/ids.ts";

/** Fields of a lease that are fixed at registration. */
export interface LeaseRecord {
  readonly issuedAt: Ms;
  /** Max TTL, counted from `issuedAt`; 0: the max TTL of the system. */
  readonly maxTtl: Seconds;
  readonly renewable: boolean;
  /** Target of the revocation, normalized by `readRevocationEndpoint`. */
  readonly target: string;
  /** Expiry of the batch token that holds the lease; null for a service token, whose end the tree itself notices. */
  readonly endsBy: Ms | null;
  /** Accessor of the token that holds it; absent in leases of earlier releases. */
  readonly holder?: string;
}

/** An engine's request to register a lease. 0: not set. */
export interface LeaseRequest extends Pick<LeaseRecord, "maxTtl" | "renewable" | "target"> {
  /** The path that made the secret, without slashes at its ends. */
  readonly path: string;
  readonly ttl: Seconds;
}

/** A lease as its tree shows it to the Worker. */
export interface LeaseView extends LeaseRecord {
  readonly path: string;
  /** The part of the lease id after the path. */
  readonly tail: string;
  /** TTL of the last grant. */
  readonly grantedTtl: Seconds;
  readonly expiresAt: Ms;
  /** null: never renewed. */
  readonly renewedAt: Ms | null;
  /** Error of the last attempt to revoke it; null before one has failed. */
  readonly error: string | null;
  /** When its revocation is sent again; null when it was given up. Absent as long as the lease is held. */
  readonly nextAttemptAt?: Ms | null;
}

/** The id of a lease as clients see it. */
export function leaseIdOf(lease: Pick<LeaseView, "path" | "tail">): string {
  return `${lease.path}/${lease.tail}`;
}

export interface NewLeaseIds extends RowAndTail {
  /** The part of the lease id after the path: tree, row, random part and tag. */
  readonly text: string;
}

/** The token that will hold a new lease. */
export type LeaseHolder =
  | Extract<TokenTarget, { by: "token" | "accessor" }>
  /** The parent of a batch token holds its leases. They end with the parent, or at `endsBy`, its own expiry. */
  | { readonly by: "batch"; readonly row: number; readonly endsBy: Ms };

/** A lease of the tree, named by the parts of its id. */
export type LeaseReference = RowAndTail & Pick<LeaseView, "path">;

/** A request to a tree about the leases of its tokens. */
export type LeaseAction =
  | {
      readonly kind: "register";
      readonly holder: LeaseHolder;
      readonly request: LeaseRequest;
      readonly ids: NewLeaseIds;
      /** Data that the target receives with the revocation, sealed for the lease; null for none. */
      readonly data: Uint8Array | null;
    }
  | { readonly kind: "lookup"; readonly lease: LeaseReference }
  /** Whether the lease has ended, whatever its path. `path_differs`: the lease has another path than the id. */
  | { readonly kind: "verify"; readonly lease: LeaseReference }
  | { readonly kind: "renew"; readonly lease: LeaseReference; readonly increment: Seconds }
  /** `wait`: the answer follows the first attempt. `force`: the lease is deleted even if that attempt fails. */
  | { readonly kind: "revoke"; readonly lease: LeaseReference; readonly wait: boolean; readonly force: boolean };

/** What is left of a lease. "waiting": it has ended, and its target has not accepted that yet. "ended": nothing is left. */
export type LeaseStanding = "held" | "waiting" | "path_differs" | "ended" | FailedRevocation;

export type LeaseOutcome =
  | { readonly kind: "standing"; readonly standing: LeaseStanding }
  | { readonly kind: "lease"; readonly lease: LeaseView; readonly warnings: readonly string[] }
  /** The row number is in use. The caller retries with another one. */
  | { readonly kind: "row_taken" }
  /**
   * `error`: why the first attempt failed, if the caller waited for it; else null. The tree tries again by itself.
   * `holder`: as in `LeaseRecord`; a tree of an earlier release does not return it.
   */
  | { readonly kind: "revoked"; readonly error: string | null; readonly holder?: string | undefined };

/** Leases of one tree that a walk over a prefix found, named by row and by the random part and tag of the id. */
export interface FoundInTree {
  readonly tokens: readonly RowAndTail[];
  readonly secrets: readonly RowAndTail[];
}

/**
 * `force`: a secret's lease is deleted even if the attempt fails. `tidy`: only removes index entries without a lease.
 */
export type WalkMode = "revoke" | "force" | "tidy";

export interface SendFailure {
  readonly row: number;
  readonly error: string;
}

export interface WalkAnswer {
  /** Rows that the index lists and the tree does not have. */
  readonly unknownTokens: readonly number[];
  readonly unknownSecrets: readonly number[];
  /** Failed revocations of secrets. */
  readonly failures: readonly SendFailure[];
  /** True when the tree has something to sweep now. */
  readonly hasDead: boolean;
}

/** Purpose of a walk, as it is sent to the trees. */
export interface WalkPurpose {
  readonly mode: WalkMode;
  /** The watermark of the walk: only tokens that a watermark has ended are revoked. null: all tokens are. */
  readonly watermark: number | null;
  /** Origin of the revocation, stored with tokens that no watermark has ended. */
  readonly asked: RevocationOrigin;
}

/** A lease whose target has not accepted its revocation, and why the last attempt failed. */
export interface FailedRevocation {
  readonly path: string;
  readonly tail: string;
  /** Row of the token that held it, in the tree. */
  readonly token: number;
  readonly error: string;
  /** null: it was given up, and the lease is irrevocable. */
  readonly nextAttemptAt: Ms | null;
}

/** Leases of ended tokens that are not revoked yet. */
export interface Unrevoked {
  /** Leases whose revocation was not sent yet, or is being sent. */
  readonly waiting: number;
  /** Leases whose last attempt failed, irrevocable leases included. */
  readonly failing: number;
  /** True when there are more leases, which were not counted. */
  readonly more: boolean;
  /** The first failing leases, at most `MAX_SHOWN_FAILURES`. */
  readonly failures: readonly FailedRevocation[];
}

/** Maximum number of failed revocations in the answer of a tree, and in an answer to a client. */
export const MAX_SHOWN_FAILURES = 100;
