/**
 * What other Workers send and get over service bindings to Grove. An answer is a refusal unless it says otherwise.
 *
 * This file imports nothing, so that it can be used from any project and any TypeScript configuration.
 */

/** What is asked of a path, in the terms of policies. `create_or_update`: a write whose target may or may not exist. */
export type Operation = "read" | "list" | "scan" | "create" | "update" | "create_or_update" | "patch" | "delete";

/** Who holds a token. Times in ms since 1970. Nothing here is secret. */
export interface TokenHolder {
  readonly type: "service" | "batch" | "team";
  /** Names the token without being it; "" for a batch token, the id of the token for a team. */
  readonly accessor: string;
  readonly displayName: string;
  /** Of the token itself. */
  readonly policies: readonly string[];
  /** Of the entity and its groups. */
  readonly identityPolicies: readonly string[];
  /** "" without an entity. */
  readonly entityId: string;
  readonly meta: Readonly<Record<string, string>> | null;
  /** The path that made the token. */
  readonly path: string;
  readonly createdAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
  /** Uses after this request; 0: no limit; -1: this was the last one. */
  readonly usesLeft: number;
}

/** A request that a Worker has received, in the terms of policies. */
export interface AuthorizeRequest {
  /** Without a slash at its beginning; a list or scan without one at its end. */
  readonly path: string;
  readonly operation: Operation;
  /** The fields of the request, for rules that limit parameters. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Seconds, when the answer is asked for wrapped: for rules that demand it. */
  readonly wrapTtlSeconds?: number;
  /** The address of the end client. Without it a token that is bound to networks is refused. */
  readonly clientAddress?: string;
}

/** Why something was refused. */
export interface Refusal {
  /**
   * `unauthenticated`: the token is no good. `denied`: the policies refuse. `invalid`: the request is wrong in itself, or
   * what it names does not exist. `unavailable`: no decision is possible now; the same request may succeed later.
   */
  readonly reason: "unauthenticated" | "denied" | "invalid" | "unavailable";
  /** For the logs of the calling Worker; never holds a value that was sent. */
  readonly message: string;
}

/** A request that the policies of its token allow. */
export interface Allowed {
  readonly allowed: true;
  readonly holder: TokenHolder;
  /** The deciding rule has `sudo`. */
  readonly sudo: boolean;
  /** Of a write: may it create? */
  readonly create: boolean;
  /** Of a write: may it change what is there? */
  readonly update: boolean;
  /** Of a list or scan: the largest page to give in place of what was asked for, 0 for no limit; null: as asked. */
  readonly limit: number | null;
}

/** The decision about a request. */
export type Authorization = Allowed | ({ readonly allowed: false } & Refusal);

/** The holder of a token, or why there is none. */
export type Lookup = { readonly found: true; readonly holder: TokenHolder } | ({ readonly found: false } & Refusal);

/** A lease, or why there is none. */
export type LeaseAnswer =
  | { readonly done: true; readonly lease: Lease; readonly warnings: readonly string[] }
  | ({ readonly done: false } & Refusal);

/** Whether a lease was revoked; one that was not there counts as revoked. */
export type LeaseRevocation = { readonly done: true } | ({ readonly done: false } & Refusal);

/** The lease of a secret or of a token. Times in ms since 1970. */
export interface Lease {
  readonly id: string;
  /** The path that made the secret or the token. */
  readonly path: string;
  readonly issuedAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
  readonly renewable: boolean;
}

/** A secret that another Worker hands out and wants a lease for. Durations in seconds, 0 or absent: not set. */
export interface NewLease {
  /** The token that holds the lease: it ends with the token. Give this or `accessor`. */
  readonly token?: string;
  readonly accessor?: string;
  /** The path that made the secret. */
  readonly path: string;
  readonly ttl?: number;
  readonly maxTtl?: number;
  readonly renewable?: boolean;
  /** Where Grove sends the revocation: an https URL, or `service://BINDING/path`. */
  readonly target: string;
  /** Sent with the revocation. Kept sealed. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A service binding to Grove's entrypoint `TokenAuthority`. */
export interface TokenAuthorityBinding {
  /** Lets a token and its policies decide about a request. Counts one use of the token, also when they refuse. */
  authorize(token: string, request: AuthorizeRequest): Promise<Authorization>;
  /** Who holds a token. Counts no use and asks no policy, so it must not be used to let anybody in. */
  lookup(token: string): Promise<Lookup>;
}

/** A service binding to Grove's entrypoint `LeaseAuthority`. */
export interface LeaseAuthorityBinding {
  /** Gives a lease on a secret to a token. When either ends, Grove asks the target to revoke the secret. */
  register(lease: NewLease): Promise<LeaseAnswer>;
  lookup(leaseId: string): Promise<LeaseAnswer>;
  /** `increment` in seconds; 0 or absent repeats the last grant. */
  renew(leaseId: string, increment?: number): Promise<LeaseAnswer>;
  /** Revokes a lease and waits for its target. */
  revoke(leaseId: string): Promise<LeaseRevocation>;
}
