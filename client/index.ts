/**
 * What another Worker needs to trust Grove's tokens: the types of the answers over the service binding, and one function
 * that turns a request into the caller's identity or a ready refusal.
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
   * what it names does not exist. `unavailable`: nobody can tell now; the same request may succeed later.
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

/** A service binding to Grove's entrypoint `TokenAuthority`, as far as it is used here. */
export interface TokenAuthorityBinding {
  authorize(token: string, request: AuthorizeRequest): Promise<Authorization>;
}

/** How a request is read. Everything has a default. */
export interface AuthorizeOptions {
  /** The path in the policies. Default: the path of the URL, decoded, without its first slash. */
  readonly path?: string;
  /** Default: by the method of the request; POST and PUT are `create_or_update`. */
  readonly operation?: Operation;
  /** Fields for rules that limit parameters. A decision about fields is never cached. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The address of the end client. Default: the header `CF-Connecting-IP`, which the platform sets. */
  readonly clientAddress?: string;
  /**
   * Seconds that this isolate may repeat a permission without asking Grove. Default 0: every request asks.
   *
   * A revoked or expired token, and a changed policy, are noticed at most this much later. Refusals and tokens with a
   * limited number of uses are never cached.
   */
  readonly cacheSeconds?: number;
}

/** The caller of a request that may go on, or the answer for one that may not. */
export type Authorized = Allowed | { readonly allowed: false; readonly response: Response };

/**
 * Decides about `request` by its token: `X-Vault-Token`, else `Authorization: Bearer`.
 *
 * @returns the caller, or a response to send back as it is: 401 without a good token, 403 when the policies refuse, 400
 *   for a path that no policy can name, 503 while Grove can't tell. Nothing is thrown: whoever forgets to catch must not
 *   let anybody in.
 */
export async function authorize(
  grove: TokenAuthorityBinding,
  request: Request,
  options: AuthorizeOptions = {},
): Promise<Authorized> {
  const token = tokenOf(request);
  if (token === "") return refuse(401, "missing client token", "Bearer");
  const path = options.path ?? pathOf(request);
  if (path === null) return refuse(400, "the path of the URL is not valid percent encoding");
  const operation = options.operation ?? OPERATION_BY_METHOD[request.method];
  if (operation === undefined) return refuse(405, "method not allowed");
  const clientAddress = options.clientAddress ?? request.headers.get("CF-Connecting-IP");
  const asked: AuthorizeRequest = {
    path,
    operation,
    ...(options.data !== undefined && { data: options.data }),
    ...(clientAddress !== null && { clientAddress }),
  };
  const cacheMs = (options.cacheSeconds ?? 0) * 1000;
  const key = cacheMs > 0 && options.data === undefined ? await cacheKey(token, asked) : null;
  const known = key === null ? null : remembered(key, Date.now());
  if (known) return known;
  const decision = await ask(grove, token, asked);
  if (!decision.allowed) return refusalFor(decision);
  if (key !== null) remember(key, decision, Date.now(), cacheMs);
  return decision;
}

const OPERATION_BY_METHOD: Readonly<Record<string, Operation>> = {
  GET: "read",
  HEAD: "read",
  POST: "create_or_update",
  PUT: "create_or_update",
  PATCH: "patch",
  DELETE: "delete",
};

function tokenOf(request: Request): string {
  const own = request.headers.get("X-Vault-Token")?.trim();
  if (own) return own;
  const bearer = /^Bearer +([^ ]+)$/i.exec(request.headers.get("Authorization")?.trim() ?? "");
  return bearer?.[1] ?? "";
}

/** Decoded once, as Grove decodes the paths of its own interface: `%61dmin` must not escape a rule for `admin`. */
function pathOf(request: Request): string | null {
  try {
    return decodeURIComponent(new URL(request.url).pathname).replace(/^\/+/, "");
  } catch {
    return null;
  }
}

async function ask(grove: TokenAuthorityBinding, token: string, asked: AuthorizeRequest): Promise<Authorization> {
  try {
    return await grove.authorize(token, asked);
  } catch {
    return { allowed: false, reason: "unavailable", message: "the token authority does not answer" };
  }
}

function refusalFor({ reason, message }: Refusal): Authorized {
  switch (reason) {
    case "unauthenticated":
      return refuse(401, "invalid token", 'Bearer error="invalid_token"');
    case "denied":
      return refuse(403, message, 'Bearer error="insufficient_scope"');
    case "invalid":
      return refuse(400, message);
    default:
      return refuse(503, message);
  }
}

/** @param challenge the value of `WWW-Authenticate` (RFC 6750, section 3), if any */
function refuse(status: number, message: string, challenge?: string): Authorized {
  const headers = new Headers({ "Content-Type": "application/json", "Cache-Control": "no-store" });
  if (challenge !== undefined) headers.set("WWW-Authenticate", challenge);
  if (status === 503) headers.set("Retry-After", "1");
  return { allowed: false, response: new Response(JSON.stringify({ errors: [message] }), { status, headers }) };
}

/** Permissions of this isolate by what was asked. The oldest goes first when it is full. */
const cache = new Map<string, { readonly decision: Allowed; readonly until: number }>();
const CACHE_ENTRIES = 2_000;

/** A digest, so that no token lies in memory longer than its request. */
async function cacheKey(token: string, asked: AuthorizeRequest): Promise<string> {
  const text = JSON.stringify([token, asked.path, asked.operation, asked.clientAddress ?? null]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return String.fromCharCode(...new Uint8Array(digest));
}

function remembered(key: string, now: number): Allowed | null {
  const entry = cache.get(key);
  if (!entry) return null;
  if (now < entry.until) return entry.decision;
  cache.delete(key);
  return null;
}

function remember(key: string, decision: Allowed, now: number, cacheMs: number): void {
  const { usesLeft, expiresAt } = decision.holder;
  if (usesLeft !== 0) return;
  cache.delete(key);
  cache.set(key, { decision, until: Math.min(now + cacheMs, expiresAt ?? Number.POSITIVE_INFINITY) });
  const oldest = cache.size > CACHE_ENTRIES ? cache.keys().next() : null;
  if (oldest && !oldest.done) cache.delete(oldest.value);
}
