import type { Failure } from "../base/errors.ts";

/** A failure on the wire. */
export interface WireFailure {
  readonly status: number;
  readonly errors: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why a quota refuses. */
export const QUOTA_EXCEEDED = "rate limit quota exceeded";

/**
 * The one place where a failure becomes a status and messages.
 * Messages that say nothing of the request are the reference's.
 */
export function toWire(failure: Failure): WireFailure {
  switch (failure.code) {
    case "invalid_request":
      return { status: 400, errors: [failure.message] };
    // Whether a token is bad or only not allowed is not told apart.
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
