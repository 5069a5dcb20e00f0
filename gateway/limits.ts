/** Maximum size of a request line and its headers in bytes: the limit of Node and of most proxies. */
export const MAX_HEAD_BYTES = 32 * 1024;

/** Maximum number of header lines in a request: real clients send about ten. */
export const MAX_HEADER_COUNT = 100;

/** Memory for the first bytes of a body. One byte of a body on each of `maxConnections` takes half of `bodyBudgetBytes`. */
export const FIRST_KEPT_BYTES = 4 * 1024;

/** Memory of unread answers that every client may have, however many clients have some. */
export const LEAST_UNREAD_BYTES = 1024 * 1024;

/**
 * Maximum time (ms) between the last request on a connection to the service and the next one. workerd closes a connection
 * after 5 seconds without a request, and a request that is sent meanwhile is lost. So the gateway closes first.
 */
export const UPSTREAM_IDLE_MS = 1_500;

/** Bounds of what clients and the service may use of a gateway. Times are in milliseconds. */
export const LIMITS = {
  /** Maximum size of a request body, as in the service unless its MAX_BODY_BYTES is set. `--max-body` changes it. */
  maxBodyBytes: 1024 * 1024,
  /** Memory for all request bodies that do not arrive in one piece; at least four bodies of the maximum size. */
  bodyBudgetBytes: 32 * 1024 * 1024,
  /** Memory for all answers that clients have not read yet. */
  answerBudgetBytes: 64 * 1024 * 1024,
  /** Maximum number of client connections. */
  maxConnections: 4096,
  /**
   * Maximum number of requests in flight to the service, each on its own connection; more wait for their turn. workerd runs
   * one request after the other. With twice as many, waits at saturation are several times longer (docs/performance.md).
   */
  maxUpstreamConnections: 24,
  /** Additional requests in flight for all clients with unread answers together: as many as one client may have. */
  maxReaderConnections: 6,
  /**
   * Maximum number of requests in flight and waiting. More are refused at once: a client that retries after a second is
   * served sooner than one in a growing queue, and the service does no work for clients that have given up.
   */
  maxRequests: 1024,
  /** What one client address may use of each limited resource when no other client uses it, in percent. */
  clientSharePercent: 25,
  /** From the first byte of a request to the end of its headers. */
  headMs: 15_000,
  /** From the end of the headers to the end of the body, plus the time for its bytes at LEAST_BYTES_PER_SECOND. */
  bodyMs: 10_000,
  /**
   * Wait of a request for its turn, and duration of a burst: many clients behind one address that start together are all
   * served, even on a slow machine. It applies as long as requests of the client got their turn promptly within this time.
   */
  burstMs: 10_000,
  /** Wait of a request for its turn when its client has sent more than the service can do for longer than a burst. */
  turnMs: 750,
  /** From the end of the body to the start of the answer: the limit of Vault's server. */
  answerMs: 90_000,
  /** For a client to read the written part of an answer, plus the time for its bytes at LEAST_BYTES_PER_SECOND. */
  readMs: 30_000,
  /** From the end of the body to the last byte from the service, whatever the length of the answer. */
  abandonMs: 600_000,
  /** Between two requests on one connection. */
  idleMs: 75_000,
  /** For requests in flight when the gateway stops. */
  stopMs: 10_000,
};

/** The values of LIMITS, which a test can change. */
export type Limits = Readonly<typeof LIMITS>;

/** Minimum rate of a body, and of the reading of an answer. A slower client would hold memory that others need. */
const LEAST_BYTES_PER_SECOND = 16 * 1024;

/** Maximum time (ms) for the transfer of `bytes`. `graceMs` is added to the time at the minimum rate. */
export function transferDueMs(bytes: number, graceMs: number): number {
  return graceMs + (bytes / LEAST_BYTES_PER_SECOND) * 1000;
}
