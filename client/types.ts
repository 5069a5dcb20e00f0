/*
 * Types of requests and answers over service bindings to Grove. This file imports nothing, so that any project can use it with
 * any TypeScript configuration.
 */

/** An operation of policies. `create_or_update`: a write whose target may or may not exist. */
export type Operation = "read" | "list" | "scan" | "create" | "update" | "create_or_update" | "patch" | "delete";

/** The holder of a token. Contains no secret. Times in ms since 1970. */
export interface TokenHolder {
  /** "service", "batch", or another kind of credential, such as "team". */
  readonly type: string;
  /** Public identifier of the token; "" for a batch token, the id of a team token. */
  readonly accessor: string;
  readonly displayName: string;
  /** Policies of the token itself. */
  readonly policies: readonly string[];
  /** Policies of the entity and its groups. */
  readonly identityPolicies: readonly string[];
  /** "" without an entity. */
  readonly entityId: string;
  readonly meta: Readonly<Record<string, string>> | null;
  /** The path that created the token. */
  readonly path: string;
  readonly createdAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
  /** Uses after this request; 0: no limit; -1: this was the last one. */
  readonly usesLeft: number;
}

/** A request to a Worker, in the terms of policies. */
export interface AuthorizeRequest {
  /** Without a slash at the beginning. The path of a list or scan has none at the end. */
  readonly path: string;
  readonly operation: Operation;
  /** The fields of the request, for rules that limit parameters. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Wrap TTL in seconds if the client asks for a wrapped answer, for rules that require one. */
  readonly wrapTtlSeconds?: number;
  /** The address of the client. Without it, a token that is bound to networks is refused. */
  readonly clientAddress?: string;
}

/** The reason of a refusal. */
export interface Refusal {
  /**
   * `unauthenticated`: the token is not valid. `denied`: the policies refuse. `invalid`: the request is invalid, or names
   * something that does not exist. `unavailable`: no decision is possible now; the same request may succeed later.
   */
  readonly reason: "unauthenticated" | "denied" | "invalid" | "unavailable";
  /** For the logs of the calling Worker. Never contains a value of the request. */
  readonly message: string;
}

/** A request that the policies of its token allow. */
export interface Allowed {
  readonly allowed: true;
  readonly holder: TokenHolder;
  /** The deciding rule has `sudo`. */
  readonly sudo: boolean;
  /** True when a write may create the target. */
  readonly create: boolean;
  /** True when a write may change an existing target. */
  readonly update: boolean;
  /** Size of the page of a list or scan, in place of the requested size; 0: no limit; null: as requested. */
  readonly limit: number | null;
}

/** The decision about a request. */
export type Authorization = Allowed | ({ readonly allowed: false } & Refusal);

/** The holder of a token, or a refusal. */
export type Lookup = { readonly found: true; readonly holder: TokenHolder } | ({ readonly found: false } & Refusal);

/** A lease, or a refusal. */
export type LeaseAnswer =
  | { readonly done: true; readonly lease: Lease; readonly warnings: readonly string[] }
  | ({ readonly done: false } & Refusal);

/** The result of a revocation. A lease that does not exist counts as revoked. */
export type LeaseRevocation = { readonly done: true } | ({ readonly done: false } & Refusal);

/** The lease of a secret or of a token. Times in ms since 1970. */
export interface Lease {
  readonly id: string;
  /** The path that created the secret or the token. */
  readonly path: string;
  readonly issuedAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
  readonly renewable: boolean;
}

/** A lease to register for a secret. Durations in seconds; 0 or absent: not set. */
export interface NewLease {
  /** The token that holds the lease, which ends with it. Either this or `accessor` is required. */
  readonly token?: string;
  readonly accessor?: string;
  /** The path that created the secret. */
  readonly path: string;
  readonly ttl?: number;
  readonly maxTtl?: number;
  readonly renewable?: boolean;
  /** Target of the revocation: an https URL, or `service://BINDING/path`. */
  readonly target: string;
  /** Data that are sent with the revocation. Stored sealed. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A service binding to Grove's entrypoint `TokenAuthority`. */
export interface TokenAuthorityBinding {
  /** Decides about a request by a token and its policies. Counts one use of the token, even if the policies refuse. */
  authorize(token: string, request: AuthorizeRequest): Promise<Authorization>;
  /** Returns the holder of a token. Counts no use and evaluates no policy, so it must not be used to grant access. */
  lookup(token: string): Promise<Lookup>;
}

/** A service binding to Grove's entrypoint `LeaseAuthority`. */
export interface LeaseAuthorityBinding {
  /** Registers a lease for a token. When the token or the lease ends, Grove calls the target to revoke the secret. */
  register(lease: NewLease): Promise<LeaseAnswer>;
  lookup(leaseId: string): Promise<LeaseAnswer>;
  /** `increment` in seconds; 0 or absent: the TTL that was granted last. */
  renew(leaseId: string, increment?: number): Promise<LeaseAnswer>;
  /** Revokes a lease and waits for its target. */
  revoke(leaseId: string): Promise<LeaseRevocation>;
}
