import type { EndRequest } from "../system/end-request.ts";
import type { WalkMode } from "./actions.ts";

/** A mount that is being disabled or moved. */
export interface LeavingMount {
  /** The path that it leaves, with a trailing slash. */
  readonly path: string;
  readonly uuid: string;
  readonly type: string;
  /** Id and new path of the move; absent when the mount is being disabled. */
  readonly move?: {
    readonly id: string;
    readonly to: string;
    /** The id under which it issues tokens at the old path. */
    readonly issuer: string;
  };
}

/** A job on all leases below a path prefix. */
export interface WalkJob {
  readonly mode: WalkMode;
  /** Ends with a slash, so it matches whole segments; "" matches every path. */
  readonly prefix: string;
}

/** A job that ends tokens by a watermark: at once, in constant time. */
export interface EndJob extends WalkJob {
  /** Only tokens created before this time (ms) end; null: all that were created before now. */
  readonly createdBefore: number | null;
  /** The mount that is disabled or moved together with the end of its tokens; null for none. */
  readonly mount: LeavingMount | null;
  /** Origin of the request, stored with the end of the tokens. */
  readonly asked: EndRequest;
}

/** Progress of the clean-up after a watermark. */
export interface EndProgress {
  /** Number of entries of the index that were processed, in all passes. */
  readonly seen: number;
  /** Number of entries that the index had at the start; null when it is not known, or not yet. */
  readonly total: number | null;
}

/** A lease whose revocation failed. `number` is its position among the leases of the walk, from 1. */
export interface WalkFailure {
  readonly leaseId: string;
  readonly number: number;
  readonly error: string;
}

/** State of a walk at the end of the time that a request waited for it. */
export interface WalkProgress {
  readonly finished: boolean;
  /** The first failure, and `of`, the number of leases that the walk has processed; null without a failure. */
  readonly failure: (WalkFailure & { readonly of: number }) | null;
}
