import type { Seconds } from "./clock.ts";

/**
 * The result of an operation that can fail in an expected way. The error is a `Failure`, unless a rule has its own type
 * of error. Exceptions are for bugs.
 */
export type Result<T, E = Failure> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/** What only the operator can mend, for programs: it is sent as the header `X-Grove-Fault` of the 503. */
export type Fault = "sealed" | "disk_full" | "database_damaged" | "installation_lost";

/**
 * Every expected failure of Grove, in one union. Handlers, rules and objects return these as values;
 * `src/wire/failure.ts` is the only place that turns them into a status and a body. A message is written for the
 * client: it may name a field or a setting, never a value that the client sent.
 */
export type Failure =
  /** The request is wrong in itself: 400. */
  | {
      readonly code: "invalid_request";
      readonly message: string;
      /** The message for the log, where `message` quotes a party other than the client. */
      readonly logged?: string;
    }
  /** Fields that the endpoint does not know, where ignoring one would change the meaning of the request: 400. */
  | { readonly code: "unknown_fields"; readonly names: readonly string[] }
  /** No token, an unknown, expired, revoked or spent one, or a wrong address: 403, or 401 in JSON:API. */
  | { readonly code: "unauthenticated" }
  /** Refused by the policies: 403 with the message of `unauthenticated`, or 404 in JSON:API. */
  | { readonly code: "permission_denied" }
  /** The token named in a body is unknown: 403. */
  | { readonly code: "bad_token" }
  /** Refused with a reason that may be disclosed to the caller: 403. */
  | { readonly code: "forbidden"; readonly message: string }
  /** Nothing is stored there: 404, without a message unless it says what is missing. */
  | { readonly code: "not_found"; readonly message?: string }
  /** No mount serves the path: 404. */
  | { readonly code: "no_route"; readonly path: string }
  /** There is one namespace, the root: 404. */
  | { readonly code: "unknown_namespace" }
  /** The mount serves no such path: 404. */
  | { readonly code: "unsupported_path" }
  /** The path exists but not with this operation: 405. */
  | { readonly code: "unsupported_operation" }
  /** An HTTP method that the interface does not have: 405 without a message. */
  | { readonly code: "unknown_method" }
  /** The body is larger than the limit: 413. */
  | { readonly code: "body_too_large" }
  /** The body is in a format that the endpoint does not read: 415. */
  | { readonly code: "unsupported_media_type"; readonly message: string }
  /** A part of a JSON:API document that can't be taken; `pointer` is the JSON pointer to it: 422. */
  | { readonly code: "invalid_document"; readonly message: string; readonly pointer: string; readonly title?: string }
  /** A query parameter of a JSON:API request that can't be taken: 400. */
  | { readonly code: "invalid_parameter"; readonly message: string; readonly parameter: string }
  /** The service can't work until an operator acts: 503. */
  | { readonly code: "sealed"; readonly message: string }
  /**
   * The service is not initialised: 503. `begun`: its declared start is not complete. `lost`: tokens of an installation
   * are stored, whose keys are gone.
   */
  | { readonly code: "uninitialized"; readonly begun?: true; readonly lost?: true }
  /** The login waits for a person; `message` is the code of the device flow (RFC 8628) for that: 400. */
  | { readonly code: "pending"; readonly message: string }
  /** A part that the request needs does not answer now; the same request may succeed later: 503 with Retry-After. */
  | {
      readonly code: "unavailable";
      readonly message: string;
      readonly retryAfterSeconds: Seconds;
      readonly fault?: Fault;
    }
  /** The client exceeded a quota: 429 with Retry-After. */
  | {
      readonly code: "rate_limited";
      readonly path: string;
      readonly retryAfterSeconds: Seconds;
      /** True when this refusal gets an audit line. By default only the first of a client under a limit does. */
      readonly onRecord: boolean;
    }
  /** A bug: 500. */
  | { readonly code: "internal" };

/** A 400 with `message`. */
export function invalid(message: string): Failure {
  return { code: "invalid_request", message };
}

/** The failed `Result` of a request that is wrong in itself, with `message`: 400. @param logged as in `Failure`. */
export function refuse(message: string, logged?: string): { readonly ok: false; readonly error: Failure } {
  return err({ ...invalid(message), ...(logged !== undefined && { logged }) });
}

/** Returns the value, or a 400 with the problem if there is one. */
export function okUnless<T>(problem: string | null, value: T): Result<T> {
  return problem === null ? ok(value) : refuse(problem);
}

/** A 503 with `message`. The same request may succeed after `retryAfterSeconds`. */
export function unavailable(message: string, retryAfterSeconds = 1, fault?: Fault): Failure {
  return { code: "unavailable", message, retryAfterSeconds, ...(fault && { fault }) };
}

/** A 422 with `message` about the part of a JSON:API document at `pointer`. */
export function invalidDocument(message: string, pointer: string, title?: string): Failure {
  return { code: "invalid_document", message, pointer, ...(title !== undefined && { title }) };
}

/** The one refusal for all cases that a caller without rights must not distinguish. */
export const DENIED: Failure = { code: "permission_denied" };

/** The failed `Result` of a request for something that is not stored. */
export const NOT_FOUND = err<Failure>({ code: "not_found" });

/** The refusal of a token that can't be used. */
export const UNAUTHENTICATED: Failure = { code: "unauthenticated" };

/**
 * Prefixes the message of a failure with the step in which it happened. "unavailable" stays; any other failure with a
 * message becomes a 400; one without a message is returned as it is.
 */
export function inContext(step: string, failure: Failure): Failure {
  if (failure.code === "unavailable") return { ...failure, message: `${step}: ${failure.message}` };
  if (!("message" in failure)) return failure;
  const inner = "logged" in failure && failure.logged !== undefined && { logged: `${step}: ${failure.logged}` };
  return { ...invalid(`${step}: ${failure.message}`), ...inner };
}
