import type { EndRequest } from "../system/end-request.ts";
import type { WalkMode } from "./actions.ts";

/** A mount that leaves its place. */
export interface LeavingMount {
  /** With a slash at the end. */
  readonly path: string;
  readonly uuid: string;
  /** Its auth method. */
  readonly type: string;
  /** Where it goes, under an id of that move's own; absent for one that is being disabled. */
  readonly move?: {
    readonly id: string;
    readonly to: string;
    /** The id under which it issues at the old place. */
    readonly issuer: string;
  };
}

/** A mount that goes to another place. */
export type MovingMount = LeavingMount & Required<Pick<LeavingMount, "move">>;

/** True for a mount that moves; false for one that is being disabled. */
export function isMoving(mount: LeavingMount): mount is MovingMount {
  return mount.move !== undefined;
}

/** What to do with all leases below a path prefix. */
export interface WalkJob {
  readonly mode: WalkMode;
  /** Ends with a slash and means whole segments; "" means all. */
  readonly prefix: string;
}

/** Tokens that end at once, in constant time. */
export interface EndJob extends WalkJob {
  /** ms: those that were created before; null: all that were made before now. */
  readonly createdBefore: number | null;
  /** A mount that goes, or goes elsewhere, when what it issued ends. */
  readonly mount: LeavingMount | null;
  /** Who asked. */
  readonly asked: EndRequest;
}

/** How far the clean-up after tokens were ended is. */
export interface EndProgress {
  /** Entries of the index that it has met, in all passes. */
  readonly seen: number;
  /** Entries that the index had when it began; null when they are not counted (yet). */
  readonly total: number | null;
}

/** A lease whose revocation failed, met as the `number`th. */
export interface WalkFailure {
  readonly leaseId: string;
  readonly number: number;
  readonly error: string;
}

/** How far a walk came while a request waited for it. */
export interface WalkProgress {
  readonly finished: boolean;
  /** The first failure, of as many leases as were met; null when there was none. */
  readonly failure: (WalkFailure & { readonly of: number }) | null;
}
