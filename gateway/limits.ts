/** Bytes of a request line and its headers together: what Node and most proxies allow at most, far above any client. */
export const MAX_HEAD_BYTES = 32 * 1024;

/** Header lines in a request: real clients send about ten. */
export const MAX_HEADER_COUNT = 100;

/** Bytes of the fields after the last chunk of a chunked body; they are checked and dropped. */
export const MAX_TRAILER_BYTES = 8 * 1024;

/** Bytes of a request body: what the service reads of one unless its MAX_BODY_BYTES is raised. `--max-body` changes it. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** Memory for all bodies that are not complete yet. */
export const BODY_ROOM_BYTES = 32 * 1024 * 1024;

/** Bodies of the greatest size that fit in the room at least, should they be allowed to be larger than by default. */
export const MIN_BODIES_IN_ROOM = 4;

/** Client connections at a time; more are refused, so that a flood cannot use up memory. */
export const MAX_CONNECTIONS = 4096;

/** Connections to the service at a time; some further requests wait for one. */
export const MAX_UPSTREAM_CONNECTIONS = 256;

/**
 * Requests with the service and waiting for it. More are refused at once: a client that is told to come again in a second
 * is served sooner than one in a queue that only grows, and the service does no work for clients that have given up.
 */
export const MAX_REQUESTS = 768;

/** What one client address may use of the connections, of the room for bodies and of the requests, in percent. */
export const CLIENT_SHARE_PERCENT = 25;

/** Seconds after which a client that was refused comes again. */
export const RETRY_AFTER_SECONDS = 1;

/**
 * Milliseconds after its last request in which a connection to the service is used again. workerd closes one that was not used for
 * 5 seconds, and a request sent into that closing is lost: only some services let it be sent again (`repeats` of the gateway's
 * options). So the gateway closes first, early enough for a workerd that was kept from running and looks at its clock before it reads.
 */
export const UPSTREAM_IDLE_MS = 1_500;

/** How long a client or the service may take, in milliseconds. */
export interface Timeouts {
  /** From the first byte of a request to the end of its headers. */
  readonly headMs: number;
  /** From the end of the headers to the end of the body, besides a second for each BODY_BYTES_PER_SECOND of it. */
  readonly bodyMs: number;
  /** From the end of the body to the start of the answer. */
  readonly answerMs: number;
  /** From the end of the body to the end of the answer, when nobody waits for it any more. */
  readonly abandonMs: number;
  /** Without any progress of an answer, towards the client or from the service. */
  readonly stallMs: number;
  /** Between two requests on one connection. */
  readonly idleMs: number;
  /** For requests under way when the gateway is told to stop. */
  readonly stopMs: number;
}

/** 90 seconds for an answer is what Vault's server takes at most. */
export const TIMEOUTS: Timeouts = {
  headMs: 15_000,
  bodyMs: 10_000,
  answerMs: 90_000,
  abandonMs: 600_000,
  stallMs: 90_000,
  idleMs: 75_000,
  stopMs: 10_000,
};

/** Least rate of a body. A client that sends its body more slowly holds room that others need. */
const BODY_BYTES_PER_SECOND = 16 * 1024;

/** Milliseconds after the end of the headers by which more than `received` bytes of the body have to be there. */
export function bodyDueMs(received: number, bodyMs: number): number {
  return bodyMs + (received / BODY_BYTES_PER_SECOND) * 1000;
}
