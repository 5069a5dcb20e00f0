/** Fields of a lease that are fixed at registration. Times in ms since 1970, durations in seconds. */
export interface LeaseRecord {
  readonly issuedAt: number;
  /** Max TTL, counted from `issuedAt`; 0: the max TTL of the system. */
  readonly maxTtl: number;
  readonly renewable: boolean;
  /** Target of the revocation, normalized by `readRevocationEndpoint`. */
  readonly target: string;
  /** Expiry of the batch token that holds the lease; null for a service token, whose end the tree itself notices. */
  readonly endsBy: number | null;
}

/** A lease as its tree shows it to the Worker. */
export interface LeaseView extends LeaseRecord {
  readonly path: string;
  /** The part of the lease id after the path. */
  readonly tail: string;
  /** TTL of the last grant, in seconds. */
  readonly grantedTtl: number;
  readonly expiresAt: number;
  /** null: never renewed. */
  readonly renewedAt: number | null;
  /** Error of the last attempt, once the revocation was given up; until then null. */
  readonly error: string | null;
}

/** The id of a lease as clients see it. */
export function leaseIdOf(lease: Pick<LeaseView, "path" | "tail">): string {
  return `${lease.path}/${lease.tail}`;
}

export interface NewLeaseIds {
  readonly row: number;
  /** The part of the lease id after the path: tree, row, random part and tag. */
  readonly text: string;
  /** Random part and tag: 24 bytes. */
  readonly tail: Uint8Array;
}
