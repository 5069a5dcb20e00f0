import { type BlockList, createServer, type Server } from "node:net";
import { MAX_RESTORED_BYTES } from "../src/base/limits.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import { type BodyBound, ClientConnection, type ConnectionSettings } from "./connection.ts";
import { LIMITS, type Limits, RESTORE_TARGET } from "./limits.ts";
import { refusalLine } from "./refusal.ts";
import { Shares } from "./shares.ts";
import { Upstream, type UpstreamSettings } from "./upstream.ts";

// Why this reads HTTP itself: the parser of node:http refuses LIST, before and apart from any setting (docs/decisions/0014).

/**
 * Connections that wait for accept(). The default of 511 would drop those of a burst, and their clients try again only after a
 * second.
 */
const BACKLOG = 4096;

/** Where to listen: a host (name or address) and a port, 0 for any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Has a server listen, and returns its port. The error is a system error code such as EADDRINUSE. */
export function listenAt(
  server: Server,
  at: ListenAddress & { readonly backlog?: number },
): Promise<Result<number, string>> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(err(error.code ?? error.message)));
    server.listen(at, () => {
      const bound = server.address();
      resolve(ok(typeof bound === "object" && bound !== null ? bound.port : at.port));
    });
  });
}

/** What a gateway needs to know. */
export interface GatewayOptions extends UpstreamSettings, Partial<Limits> {
  readonly listen: ListenAddress;
  /** Proxies whose X-Forwarded-For is believed; none unless given. */
  readonly trustedProxies: BlockList;
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
  /** Refuses all requests, also those that the service has not answered yet, with a reason; from a call without one on it sends them. */
  suspend(reason: string | undefined): void;
  /** Takes no more requests, lets those under way finish for a while, and ends. */
  stop(): Promise<void>;
}

/** Starts a gateway; the error is a system error code such as EADDRINUSE. */
export async function startGateway(options: GatewayOptions): Promise<Result<Gateway, string>> {
  const limits: Limits = { ...LIMITS, ...options };
  const percent = limits.clientSharePercent;
  const refusals = new Map<number, number>();
  const requests = new Shares(limits.maxRequests, percent);
  /** Room for bodies of the greatest size. Each client may use that of one while there is so much. */
  const bodyBound = (maxBytes: number, roomBytes: number): BodyBound => {
    return { maxBytes, room: new Shares(roomBytes, percent, maxBytes) };
  };
  const { maxBodyBytes } = limits;
  const maxPartBytes = Math.max(MAX_RESTORED_BYTES, maxBodyBytes);
  const bodies = bodyBound(maxBodyBytes, Math.max(limits.bodyRoomBytes, limits.minBodiesInRoom * maxBodyBytes));
  const parts = bodyBound(maxPartBytes, limits.partsInRoom * maxPartBytes);
  const settings: ConnectionSettings = {
    upstream: new Upstream(options, new Shares(limits.maxUpstreamConnections, percent), requests, limits),
    trustedProxies: options.trustedProxies,
    bodyBound: (target) => (target === RESTORE_TARGET ? parts : bodies),
    answerRoom: new Shares(limits.answerRoomBytes, percent),
    limits,
    onRefusal: (refusal, head, address) => {
      refusals.set(refusal.status, (refusals.get(refusal.status) ?? 0) + 1);
      options.audit(JSON.stringify(refusalLine(refusal, head, address, Date.now())));
    },
  };
  const places = new Shares(limits.maxConnections, percent);
  const open = new Set<ClientConnection>();
  // Half-open, so that a client that ends its side after the request still gets the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    // Without an address the client has disconnected already.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    const connection = new ClientConnection(socket, socket.remoteAddress, settings);
    if (!takePlace(places, open, connection)) return connection.turnAway();
    socket.on("close", () => leavePlace(places, open, connection));
    // A mistake in the handling of one client must not end the service of all others.
    connection.run().catch((error: unknown) => {
      options.log(`a connection was given up: ${error instanceof Error ? error.stack : String(error)}`);
      connection.destroy();
    });
  });

  const bound = await listenAt(server, { ...options.listen, backlog: BACKLOG });
  if (!bound.ok) return bound;
  server.on("error", (error) => options.log(`a connection could not be accepted: ${error.message}`));
  return ok({
    port: bound.value,
    figures: () => ({
      connections: places.used,
      requests: requests.used,
      bodyBytes: bodies.room.used + parts.room.used,
      answerBytes: settings.answerRoom.used,
      refusals,
    }),
    suspend: (reason) => settings.upstream.suspend(reason),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of open) connection.stop();
      const giveUp = setTimeout(() => {
        for (const connection of open) connection.destroy();
      }, limits.stopMs);
      await closed;
      clearTimeout(giveUp);
      settings.upstream.close();
    },
  });
}

/**
 * Takes a place for a new connection, and returns whether there is one. If need be the one that is unused longest is closed: of the same
 * client when that has used up its share, else any.
 */
function takePlace(places: Shares, open: Set<ClientConnection>, connection: ClientConnection): boolean {
  const { shareKey } = connection.peer;
  if (!places.take(shareKey, 1)) {
    const ofAll = places.isWithinShare(shareKey, 1);
    let longest: ClientConnection | undefined;
    for (const other of open) {
      if (!ofAll && other.peer.shareKey !== shareKey) continue;
      if ((other.idleSince ?? Number.POSITIVE_INFINITY) < (longest?.idleSince ?? Number.POSITIVE_INFINITY))
        longest = other;
    }
    longest?.destroy();
    // At once: the system reports the end of the connection later.
    if (longest !== undefined) leavePlace(places, open, longest);
    if (!places.take(shareKey, 1)) return false;
  }
  open.add(connection);
  return true;
}

/** To be called when a connection has ended; again does nothing. */
function leavePlace(places: Shares, open: Set<ClientConnection>, connection: ClientConnection): void {
  if (open.delete(connection)) places.giveBack(connection.peer.shareKey, 1);
}
