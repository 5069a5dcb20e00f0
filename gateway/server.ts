import { type BlockList, createServer } from "node:net";
import { MAX_RESTORED_BYTES } from "../src/base/limits.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import type { BodyBound, ConnectionSettings } from "./connection.ts";
import { Connections } from "./connections.ts";
import {
  ANSWER_ROOM_BYTES,
  BODY_ROOM_BYTES,
  CLIENT_SHARE_PERCENT,
  MAX_BODY_BYTES,
  MAX_CONNECTIONS,
  MAX_REQUESTS,
  MAX_UPSTREAM_CONNECTIONS,
  MIN_BODIES_IN_ROOM,
  RESTORE_TARGET,
  RESTORED_AT_ONCE,
  TIMEOUTS,
  type Timeouts,
} from "./limits.ts";
import { refusalLine } from "./refusal.ts";
import { Shares } from "./shares.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamAddress } from "./upstream-connection.ts";

// Why this reads HTTP itself: the parser of node:http refuses LIST, before and apart from any setting (docs/decisions/0014).

/** Where to listen: a host (name or address) and a port, 0 for any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** What a gateway needs to know. */
export interface GatewayOptions {
  readonly listen: ListenAddress;
  readonly upstream: UpstreamAddress;
  /**
   * True when the service remembers which requests it has begun, as the Worker of `npm run serve` does: then a request that it lost is
   * sent once more. Never true of another service.
   */
  readonly repeats?: boolean;
  /** Proxies whose X-Forwarded-For is believed; none unless given. */
  readonly trustedProxies: BlockList;
  readonly maxBodyBytes?: number;
  readonly maxConnections?: number;
  /** With the service and waiting for it. */
  readonly maxRequests?: number;
  /** What one client address may use alone of connections, requests, and the room for bodies and answers, in percent of each. */
  readonly clientSharePercent?: number;
  readonly timeouts?: Timeouts;
  /** Why the service can't answer at the moment: requests are refused with it (503) and not passed on. Asked for each request. */
  readonly unavailable?: () => string | undefined;
  /** Gets one line for the operator at a time; nothing secret is in it. */
  readonly log: (line: string) => void;
  /** Gets one line of the audit log for every request that the gateway answers itself. */
  readonly audit: (line: string) => void;
}

/** What a gateway does at the moment, and what it refused since it began. */
export interface GatewayFigures {
  readonly connections: number;
  /** Requests with the service and waiting for it. */
  readonly requests: number;
  /** Room for bodies in use. */
  readonly bodyBytes: number;
  /** Room for answers in use, which clients have not read yet. */
  readonly answerBytes: number;
  /** Requests that it answered itself, by status. */
  readonly refusals: ReadonlyMap<number, number>;
}

/** A gateway that listens. */
export interface Gateway {
  /** The port in use. */
  readonly port: number;
  figures(): GatewayFigures;
  /** Answers the requests that the service has not answered yet, as it can't any more: with the reason of `unavailable`. */
  dropRequests(): void;
  /** Takes no more requests, lets those under way finish for a while, and ends. */
  stop(): Promise<void>;
}

/** Starts a gateway; the error is a system error code such as EADDRINUSE. */
export async function startGateway(options: GatewayOptions): Promise<Result<Gateway, string>> {
  const percent = options.clientSharePercent ?? CLIENT_SHARE_PERCENT;
  const maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES;
  const timeouts = options.timeouts ?? TIMEOUTS;
  const refusals = new Map<number, number>();
  const places = new Shares(options.maxConnections ?? MAX_CONNECTIONS, percent);
  const requests = new Shares(options.maxRequests ?? MAX_REQUESTS, percent);
  const bodyRoomBytes = Math.max(BODY_ROOM_BYTES, MIN_BODIES_IN_ROOM * maxBodyBytes);
  const bodies: BodyBound = { maxBytes: maxBodyBytes, room: new Shares(bodyRoomBytes, percent, maxBodyBytes) };
  const maxPartBytes = Math.max(MAX_RESTORED_BYTES, maxBodyBytes);
  const parts: BodyBound = {
    maxBytes: maxPartBytes,
    room: new Shares(RESTORED_AT_ONCE * maxPartBytes, 100 / RESTORED_AT_ONCE, maxPartBytes),
  };
  const settings: ConnectionSettings = {
    upstream: new Upstream(
      options.upstream,
      options.log,
      new Shares(MAX_UPSTREAM_CONNECTIONS, percent),
      options.repeats ?? false,
    ),
    trustedProxies: options.trustedProxies,
    bodyBound: (target) => (target === RESTORE_TARGET ? parts : bodies),
    requests,
    answerRoom: new Shares(ANSWER_ROOM_BYTES, percent),
    timeouts,
    unavailable: options.unavailable ?? (() => undefined),
    onRefusal: (refusal, head, address) => {
      refusals.set(refusal.status, (refusals.get(refusal.status) ?? 0) + 1);
      options.audit(JSON.stringify(refusalLine(refusal, head, address, Date.now())));
    },
  };
  const connections = new Connections(places, settings, options.log);
  // Half-open, so that a client that ends its side after the request still gets the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => connections.accept(socket));

  const failure = await new Promise<string | undefined>((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    const { port, host } = options.listen;
    // The default of 511 would drop connections of a burst, and their clients try again only after a second.
    server.listen({ port, host, backlog: MAX_CONNECTIONS }, () => resolve(undefined));
  });
  if (failure !== undefined) return err(failure);
  server.on("error", (error) => options.log(`a connection could not be accepted: ${error.message}`));

  const bound = server.address();
  return ok({
    port: typeof bound === "object" && bound !== null ? bound.port : options.listen.port,
    figures: () => ({
      connections: places.used,
      requests: requests.used,
      bodyBytes: bodies.room.used + parts.room.used,
      answerBytes: settings.answerRoom.used,
      refusals,
    }),
    dropRequests: () => settings.upstream.drop(),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.stop();
      const giveUp = setTimeout(() => connections.destroy(), timeouts.stopMs);
      await closed;
      clearTimeout(giveUp);
      settings.upstream.close();
    },
  });
}
