/** Bytes of a request line and its headers together: what Node and most proxies allow at most, far above any client. */
export const MAX_HEAD_BYTES = 32 * 1024;

/** Header lines in a request: real clients send about ten. */
export const MAX_HEADER_COUNT = 100;

/** Where the parts of a backup come in, which may be larger. The service takes them only while it is being restored. */
export const RESTORE_TARGET = "/v1/sys/restore/part";

/** Memory for the first bytes of a body. With one byte of a body on each of `maxConnections`, half of `bodyRoomBytes` is left. */
export const FIRST_KEPT_BYTES = 4 * 1024;

/** Longest answer that is read from the service at once, so that its connection is free while the client reads. */
export const MAX_KEPT_ANSWER_BYTES = 1024 * 1024;

/** Seconds after which a client that was refused comes again. */
export const RETRY_AFTER_SECONDS = 1;

/**
 * Milliseconds after its last request in which a connection to the service is used again. workerd closes one that was not used for
 * 5 seconds, and a request sent into that closing is lost. So the gateway closes first.
 */
export const UPSTREAM_IDLE_MS = 1_500;

/** What clients and the service may take of a gateway, and for how long. */
export const LIMITS = {
  /** Of a request body: what the service reads of one unless its MAX_BODY_BYTES is raised. `--max-body` changes it. */
  maxBodyBytes: 1024 * 1024,
  /** Memory for all request bodies that did not come in one piece. */
  bodyRoomBytes: 32 * 1024 * 1024,
  /** Bodies of the greatest size that fit in the room at least, should they be allowed to be larger than by default. */
  minBodiesInRoom: 4,
  /** Bodies with a part of a backup that fit at once in a room of their own. Each client may use the room of one while there is so much. */
  partsInRoom: 2,
  /** Memory for all answers that clients have not read yet. */
  answerRoomBytes: 64 * 1024 * 1024,
  /** Client connections at a time; more are refused, so that a flood cannot use up memory. */
  maxConnections: 4096,
  /**
   * Requests with the service at a time, each on its own connection; more wait for their turn. workerd runs one request after the other,
   * so what is there already is what the request of another client has to wait for.
   */
  maxUpstreamConnections: 32,
  /**
   * Requests with the service and waiting for their turn. More are refused at once: a client that comes again in a second is served
   * sooner than one in a queue that only grows, and the service does no work for clients that have given up.
   */
  maxRequests: 1024,
  /** What one client address may use of each limited resource when no other client uses it, in percent. */
  clientSharePercent: 25,
  /** From the first byte of a request to the end of its headers, in milliseconds. */
  headMs: 15_000,
  /** From the end of the headers to the end of the body, besides a second for each LEAST_BYTES_PER_SECOND of it. */
  bodyMs: 10_000,
  /**
   * For the turn of a request, and for a burst as a whole: many clients behind one address that come at once are all served, on a slow
   * machine too. It counts while requests of the client get their turns promptly, or did so lately.
   */
  burstMs: 10_000,
  /**
   * For the turn of a request when its client has asked for more than can be done for longer than a burst. One that is served is
   * answered within a second then, unless the answer itself takes longer.
   */
  turnMs: 750,
  /** From the end of the body to the start of the answer: what Vault's server takes at most. */
  answerMs: 90_000,
  /** For what was written last of an answer to be read, besides a second for each LEAST_BYTES_PER_SECOND of it. */
  readMs: 30_000,
  /** From the end of the body to the last byte from the service, however long the answer is. */
  abandonMs: 600_000,
  /** Between two requests on one connection. */
  idleMs: 75_000,
  /** For requests under way when the gateway stops. */
  stopMs: 10_000,
};

/** Numbers by name, as in LIMITS. */
export type Limits = Readonly<typeof LIMITS>;

/** Least rate of a body and of the reading of an answer. A slower client holds memory and connections that others need. */
const LEAST_BYTES_PER_SECOND = 16 * 1024;

/**
 * How long a client may take for so many bytes, in milliseconds.
 *
 * @param bytes to transfer
 * @param graceMs milliseconds besides those that the least rate allows
 */
export function transferDueMs(bytes: number, graceMs: number): number {
  return graceMs + (bytes / LEAST_BYTES_PER_SECOND) * 1000;
}
