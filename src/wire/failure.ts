import { failureOfPlatform, isLostCall } from "../base/platform-errors.ts";
import type { Failure, Fault } from "../base/result.ts";
import { auditMessage, auditPath } from "./audit-masking.ts";

/** Names what only the operator can mend. */
const FAULT_HEADER = "X-Grove-Fault";

export interface WireFailure {
  readonly status: number;
  readonly errors: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export const QUOTA_EXCEEDED = "rate limit quota exceeded";

export const UNKNOWN_FIELDS = "this endpoint does not know these parameters";

const UNINITIALIZED =
  "Grove is not initialized: send PUT /v1/sys/init once to get the root token, with the secret GROVE_INIT_TOKEN as its token where the deployment has one";

const SETUP_UNFINISHED =
  "Grove is not initialized: its start from a file has begun and is not complete; grove init FILE, or serve --init FILE, completes it";

const INSTALLATION_LOST =
  "Grove is not initialized, and tokens of an earlier installation are stored here, whose keys are gone: do not initialize it, bring a backup back (docs/runbook.md, Installation lost)";

/** Maximum number of unknown fields that a message names, and maximum length of each name. */
const MAX_SHOWN = 10;
const MAX_SHOWN_LENGTH = 64;

/** Codes of failures with a message of their own, see `messageOf`. */
type OwnMessage =
  | "unknown_fields"
  | "no_route"
  | "rate_limited"
  | "uninitialized"
  | Extract<Failure, { readonly message: string }>["code"];

/** The status of each failure, and the messages of all without one of their own. These messages are the reference's. */
const ANSWERS: {
  readonly [Code in Failure["code"]]: Code extends OwnMessage
    ? readonly [status: number, errors?: undefined]
    : readonly [status: number, errors: readonly string[]];
} = {
  invalid_request: [400],
  invalid_parameter: [400],
  pending: [400],
  unknown_fields: [400],
  // A caller can't distinguish an invalid token from one without the rights.
  unauthenticated: [403, ["permission denied"]],
  permission_denied: [403, ["permission denied"]],
  bad_token: [403, ["bad token"]],
  forbidden: [403],
  not_found: [404, []],
  no_route: [404],
  unknown_namespace: [404, ["namespace not found"]],
  unsupported_path: [404, ["unsupported path"]],
  unsupported_operation: [405, ["unsupported operation"]],
  unknown_method: [405, []],
  body_too_large: [413, ["http: request body too large"]],
  unsupported_media_type: [415],
  invalid_document: [422],
  rate_limited: [429],
  internal: [500, ["internal error"]],
  sealed: [503],
  uninitialized: [503],
  unavailable: [503],
};

/** Returns status and messages of a failure. Another dialect may change them; no other code does. */
export function toWire(failure: Failure): WireFailure {
  const [status, fixed = [messageOf(failure)]] = ANSWERS[failure.code];
  const errors = failure.code === "not_found" && failure.message !== undefined ? [failure.message] : fixed;
  const fault = faultOf(failure);
  const headers = {
    ...("retryAfterSeconds" in failure && { "Retry-After": String(failure.retryAfterSeconds) }),
    ...(fault && { [FAULT_HEADER]: fault }),
  };
  return Object.keys(headers).length === 0 ? { status, errors } : { status, errors, headers };
}

function faultOf(failure: Failure): Fault | undefined {
  if (failure.code === "sealed") return "sealed";
  if (failure.code === "uninitialized" && failure.lost) return "installation_lost";
  return failure.code === "unavailable" ? failure.fault : undefined;
}

function messageOf(failure: Failure): string {
  switch (failure.code) {
    case "unknown_fields":
      return `${UNKNOWN_FIELDS}: [${failure.names.slice(0, MAX_SHOWN).map(shownName).join(" ")}]`;
    case "no_route":
      return `no handler for route "${failure.path}". route entry not found.`;
    case "uninitialized":
      if (failure.lost) return INSTALLATION_LOST;
      return failure.begun ? SETUP_UNFINISHED : UNINITIALIZED;
    case "rate_limited":
      return `request path "${failure.path}": ${QUOTA_EXCEEDED}`;
    default:
      return "message" in failure ? failure.message : "";
  }
}

/** Also masks a token that was sent as a name. */
function shownName(name: string): string {
  return auditPath(name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name);
}

/**
 * Logs a thrown error, and returns the failure for the client. Temporary errors of the platform (an object that is
 * overloaded or was reset, a full disk) answer 503; everything else is a bug and answers 500 without details. A lost call
 * is logged with a type of its own and without a stack: it is no bug, and there are many while an object moves.
 */
export function failureOfException(error: unknown, requestId: string): Failure {
  const places = error instanceof Error ? (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)) : [];
  // The message is cut, because the message of a library can end with a value.
  const message = error instanceof Error ? auditMessage(error.message.slice(0, 200), {}) : "";
  const text = error instanceof Error ? `${error.name}: ${message}` : "not an Error";
  const line = isLostCall(error)
    ? { type: "lost_call", error: text }
    : { type: "exception", error: [text, ...places].join("\n") };
  console.error(JSON.stringify({ ...line, request_id: requestId }));
  return failureOfPlatform(error) ?? { code: "internal" };
}
