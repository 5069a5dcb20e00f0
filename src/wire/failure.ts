import { failureOfPlatform } from "../base/platform-errors.ts";
import type { Failure } from "../base/result.ts";
import { auditPath } from "./audit.ts";

/** A failure on the wire. */
export interface WireFailure {
  readonly status: number;
  readonly errors: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Message of a refusal by a quota. */
export const QUOTA_EXCEEDED = "rate limit quota exceeded";

/** Message of a refusal of unknown fields. */
export const UNKNOWN_FIELDS = "this endpoint does not know these parameters";

/** Maximum number of unknown fields that a message names, and maximum length of each name. */
const MAX_SHOWN = 10;
const MAX_SHOWN_LENGTH = 64;

/** Returns the name of an unknown field for a message: shortened, and without a token that was sent as a name. */
function shownName(name: string): string {
  return auditPath(name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name);
}

/**
 * Returns the status and messages of a failure in Vault's API. `toJsonApi` does the same for JSON:API; no other code does.
 * Fixed messages are the reference's.
 */
export function toWire(failure: Failure): WireFailure {
  switch (failure.code) {
    case "invalid_request":
    case "invalid_parameter":
      return { status: 400, errors: [failure.message] };
    case "unknown_fields":
      return {
        status: 400,
        errors: [`${UNKNOWN_FIELDS}: [${failure.names.slice(0, MAX_SHOWN).map(shownName).join(" ")}]`],
      };
    // A caller can't distinguish an invalid token from one without the rights.
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
 * Returns the status and messages of a failure in JSON:API. A refusal by the policies and a missing resource have the same
 * answer, so that a caller does not learn what exists. 401 is only about the token.
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

/**
 * Logs a thrown error, and returns the failure for the client. Temporary errors of the platform (an object that is
 * overloaded or was reset, a full disk) answer 503; everything else is a bug and answers 500 without details.
 *
 * @param requestId "" when no request was read.
 */
export function failureOfException(error: unknown, requestId: string): Failure {
  const places = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [];
  // The message is cut: that of a library can end with a value.
  const text = error instanceof Error ? `${error.name}: ${error.message.slice(0, 200)}` : "not an Error";
  console.error(JSON.stringify({ type: "exception", request_id: requestId, error: [text, ...places].join("\n") }));
  return failureOfPlatform(error) ?? { code: "internal" };
}
