import type { Allowed, Authorization, AuthorizeRequest, Operation, Refusal, TokenAuthorityBinding } from "./types.ts";

/*
 * Authorizes requests to another Worker by asking Grove over a service binding. `grove/hono` has the same as middleware.
 */

/** How a request is read. All options have defaults. */
export interface AuthorizeOptions {
  /** The path for the policies. Default: the decoded path of the URL without its first slash. */
  readonly path?: string;
  /** Default: from the method of the request. POST and PUT are `create_or_update`. */
  readonly operation?: Operation;
  /** Fields for rules that limit parameters. A decision about fields is never cached. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The address of the client. Default: the header `CF-Connecting-IP`, which the platform sets. */
  readonly clientAddress?: string;
  /**
   * Seconds for which this isolate may cache a permission. Default 0: Grove is asked for every request.
   *
   * A revoked or expired token, or a changed policy, takes effect up to this much later. Refusals, and tokens with a limited
   * number of uses, are never cached.
   */
  readonly cacheSeconds?: number;
}

/** The caller of an allowed request, or the response that refuses it. */
export type Authorized = Allowed | { readonly allowed: false; readonly response: Response };

/**
 * Decides about a request by its token: `X-Vault-Token`, else `Authorization: Bearer`. Throws nothing.
 *
 * @returns the caller, or a response to return unchanged: 401 without a valid token, 403 when the policies refuse, 400 for an
 *   invalid path, 503 while Grove can't decide.
 */
export async function authorize(
  grove: Pick<TokenAuthorityBinding, "authorize">,
  request: Request,
  options: AuthorizeOptions = {},
): Promise<Authorized> {
  const token = tokenOf(request);
  if (token === "") return refuse(401, "missing client token", "Bearer");
  const path = options.path ?? pathOf(request);
  if (path === null) return refuse(400, "the path of the URL is relative or not valid percent encoding");
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
  const cache = cacheOf(grove);
  const known = key === null ? null : remembered(cache, key, Date.now());
  if (known) return known;
  const decision = await ask(grove, token, asked);
  if (!decision.allowed) return refusalFor(decision);
  if (key !== null) remember(cache, key, decision, Date.now(), cacheMs);
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

/** A URL with its path as it was sent. */
const URL_WITH_PATH = /^https?:\/\/[^/?#]*([^?#]*)/i;

/**
 * Decodes the path once, as Grove decodes its own paths: `%61dmin` must not avoid a rule for `admin`. null for a path that
 * can't be decoded, and for one that a parser of URLs changes. Some routers match `/admin/../public` as it was sent, others
 * as `/public`: the policies could be asked about one path, and the handler of another one answer.
 */
function pathOf(request: Request): string | null {
  const [, sent] = URL_WITH_PATH.exec(request.url) ?? [];
  try {
    const path = decodeURIComponent(sent || "/");
    const isSame = path === decodeURIComponent(new URL(request.url).pathname);
    return isSame ? path.replace(/^\/+/, "") : null;
  } catch {
    return null;
  }
}

async function ask(
  grove: Pick<TokenAuthorityBinding, "authorize">,
  token: string,
  asked: AuthorizeRequest,
): Promise<Authorization> {
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

/** @param challenge the value of `WWW-Authenticate` (RFC 6750, section 3) */
function refuse(status: number, message: string, challenge?: string): Authorized {
  const headers = new Headers({ "Content-Type": "application/json", "Cache-Control": "no-store" });
  if (challenge !== undefined) headers.set("WWW-Authenticate", challenge);
  if (status === 503) headers.set("Retry-After", "1");
  return { allowed: false, response: new Response(JSON.stringify({ errors: [message] }), { status, headers }) };
}

/** Permissions by request, each with the time for which it may be repeated. The oldest is evicted first. */
type Permissions = Map<string, { readonly decision: Allowed; readonly from: number; readonly until: number }>;

/** Cached permissions of this isolate, by the binding that gave them: a token is good at one installation only. */
const caches = new WeakMap<object, Permissions>();
/** Maximum number of permissions of a binding. */
const CACHE_ENTRIES = 2_000;

function cacheOf(grove: object): Permissions {
  const cache: Permissions = caches.get(grove) ?? new Map();
  caches.set(grove, cache);
  return cache;
}

/** Returns a digest as the key, so that no token stays in memory after its request. */
async function cacheKey(token: string, asked: AuthorizeRequest): Promise<string> {
  const text = JSON.stringify([token, asked.path, asked.operation, asked.clientAddress ?? null]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return String.fromCharCode(...new Uint8Array(digest));
}

function remembered(cache: Permissions, key: string, now: number): Allowed | null {
  const entry = cache.get(key);
  if (!entry) return null;
  // Not after the clock was set back: how old it is can't be said then.
  if (now >= entry.from && now < entry.until) return entry.decision;
  cache.delete(key);
  return null;
}

function remember(cache: Permissions, key: string, decision: Allowed, now: number, cacheMs: number): void {
  const { usesLeft, expiresAt } = decision.holder;
  if (usesLeft !== 0) return;
  cache.delete(key);
  cache.set(key, { decision, from: now, until: Math.min(now + cacheMs, expiresAt ?? Number.POSITIVE_INFINITY) });
  const oldest = cache.size > CACHE_ENTRIES ? cache.keys().next() : null;
  if (oldest && !oldest.done) cache.delete(oldest.value);
}
