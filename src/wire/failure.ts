import type { Failure } from "../base/result.ts";
import { auditPath } from "./audit.ts";

/** A failure on the wire. */
export interface WireFailure {
  readonly status: number;
  readonly errors: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a quota refuses. */
export const QUOTA_EXCEEDED = "rate limit quota exceeded";

/** Why fields are refused that an endpoint does not know. */
export const UNKNOWN_FIELDS = "this endpoint does not know these parameters";

/** Names of unknown fields that a message has at most, and characters of each. */
const MAX_SHOWN = 10;
const MAX_SHOWN_LENGTH = 64;

/** The name of an unknown field: not more of it than a name has, and no token that was sent in its place. */
function shownName(name: string): string {
  return auditPath(name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name);
}

/**
 * The one place where a failure becomes a status and messages, of Vault's API here and of JSON:API below.
 * Messages that say nothing of the request are the reference's.
 */
export function toWire(failure: Failure): WireFailure {
  switch (failure.code) {
    case "invalid_request":
      return { status: 400, errors: [failure.message] };
    case "unknown_fields":
      return {
        status: 400,
        errors: [`${UNKNOWN_FIELDS}: [${failure.names.slice(0, MAX_SHOWN).map(shownName).join(" ")}]`],
      };
    // Whether a token is bad or only not allowed is not distinguished.
    case "unauthenticated":
    case "permission_denied":
      return { status: 403, errors: ["permission denied"] };
    case "bad_token":
      return { status: 403, errors: ["bad token"] };
    case "forbidden":
      return { status: 403, errors: [failure.message] };
    case "not_found":
      return { status: 404, errors: [] };
    case "no_route":
      return { status: 404, errors: [`no handler for route "${failure.path}". route entry not found.`] };
    case "unknown_namespace":
      return { status: 404, errors: ["namespace not found"] };
    case "unsupported_path":
      return { status: 404, errors: ["unsupported path"] };
    case "unsupported_operation":
      return { status: 405, errors: ["unsupported operation"] };
    case "unknown_method":
      return { status: 405, errors: [] };
    case "body_too_large":
      return { status: 413, errors: ["http: request body too large"] };
    case "unsupported_media_type":
      return { status: 415, errors: [failure.message] };
    case "invalid_document":
      return { status: 422, errors: [failure.message] };
    case "invalid_parameter":
      return { status: 400, errors: [failure.message] };
    case "sealed":
      return { status: 503, errors: [failure.message] };
    case "uninitialized":
      return { status: 503, errors: ["Grove is not initialized: send PUT /v1/sys/init once to get the root token"] };
    case "internal":
      return { status: 500, errors: ["internal error"] };
    case "rate_limited":
      return {
        status: 429,
        errors: [`request path "${failure.path}": ${QUOTA_EXCEEDED}`],
        headers: { "Retry-After": String(failure.retryAfterSeconds) },
      };
    case "unavailable":
      return {
        status: 503,
        errors: [failure.message],
        headers: { "Retry-After": String(failure.retryAfterSeconds) },
      };
  }
}

/**
 * The same for JSON:API, as its clients know it. What the caller may not see does not exist for it: a refusal by the policies
 * and a missing resource are the same answer. 401 is about the token alone.
 */
export function toJsonApi(failure: Failure): WireFailure {
  if (failure.code === "unauthenticated") {
    const errors = ["the token is missing, unknown or expired"];
    return { status: 401, errors, headers: { "WWW-Authenticate": "Bearer" } };
  }
  const wire = toWire(failure);
  const isHidden = failure.code === "permission_denied" || wire.status === 404;
  return isHidden ? { status: 404, errors: ["there is no such resource, or you may not see it"] } : wire;
}
