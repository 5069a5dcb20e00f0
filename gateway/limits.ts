/** Bytes of a request line and its headers together: what Node and most proxies allow at most, far above any client. */
export const MAX_HEAD_BYTES = 32 * 1024;

/** Header lines in a request: real clients send about ten. */
export const MAX_HEADER_COUNT = 100;

/** Bytes of the fields after the last chunk of a chunked body; they are checked and dropped. */
export const MAX_TRAILER_BYTES = 8 * 1024;

/** Bytes of a request body, the limit that Vault's clients know. `--max-body` changes it. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * How much of a body the gateway waits for before it takes a connection to the service: more than the service reads of one
 * unless MAX_BODY_BYTES is raised, so that it answers a longer one at once.
 */
export const MAX_HELD_BODY_BYTES = 1024 * 1024 + 64 * 1024;

/** Memory for all bodies that wait. */
export const BODY_ROOM_BYTES = 256 * 1024 * 1024;

/** Client connections at a time; more are refused, so that a flood cannot use up memory. */
export const MAX_CONNECTIONS = 4096;

/** Connections to the service at a time; some further requests wait for one. */
export const MAX_UPSTREAM_CONNECTIONS = 256;

/**
 * Requests with the service and waiting for it. More are refused at once: a client that is told to come again in a second
 * is served sooner than one in a queue that only grows, and the service does no work for clients that have given up.
 */
export const MAX_REQUESTS = 768;

/** Seconds after which a client that was refused comes again. */
export const RETRY_AFTER_SECONDS = 1;

/**
 * Milliseconds that an unused connection to the service is kept. workerd closes one after 5 seconds, and a request sent
 * into that closing is lost: it cannot be sent again, because a token's use may have been counted already. So the
 * gateway closes first.
 */
export const UPSTREAM_IDLE_MS = 3_500;

/** How long a client or the service may take, in milliseconds. */
export interface Timeouts {
  /** From the first byte of a request to the end of its headers. */
  readonly headMs: number;
  /** From the end of the headers to the start of the answer, the upload of the body included. */
  readonly exchangeMs: number;
  /** Without any progress of an answer, towards the client or from the service. */
  readonly stallMs: number;
  /** Between two requests on one connection. */
  readonly idleMs: number;
  /** For requests under way when the gateway is told to stop. */
  readonly stopMs: number;
}

/** 90 seconds for a request is what Vault's server gives it. */
export const TIMEOUTS: Timeouts = {
  headMs: 15_000,
  exchangeMs: 90_000,
  stallMs: 90_000,
  idleMs: 75_000,
  stopMs: 10_000,
};
