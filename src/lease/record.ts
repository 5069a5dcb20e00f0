/** What is fixed when a lease is registered. Times in ms since 1970, durations in seconds. */
export interface LeaseRecord {
  readonly issuedAt: number;
  /** The longest life from `issuedAt` on; 0: the system's. */
  readonly maxTtl: number;
  readonly renewable: boolean;
  /** Where the revocation is sent, as `readRevocationEndpoint` writes it. */
  readonly target: string;
  /** When the batch token that holds the lease ends; null for a service token, which the tree itself watches. */
  readonly endsBy: number | null;
}

/** A lease as its tree shows it to the Worker. */
export interface LeaseView extends LeaseRecord {
  readonly path: string;
  /** The part of the lease id after the path. */
  readonly tail: string;
  /** Seconds of the last grant. */
  readonly grantedTtl: number;
  readonly expiresAt: number;
  /** null: never renewed. */
  readonly renewedAt: number | null;
  /** Why its revocation was given up; null while it was not. */
  readonly error: string | null;
}

/** The id of a lease as clients see it. */
export function leaseIdOf(lease: Pick<LeaseView, "path" | "tail">): string {
  return `${lease.path}/${lease.tail}`;
}

/** What a new lease needs before its tree writes it. */
export interface NewLeaseIds {
  readonly row: number;
  /** The part of the lease id after the path: tree, row, random part and tag. */
  readonly text: string;
  /** Random part and tag: 24 bytes. */
  readonly tail: Uint8Array;
}
