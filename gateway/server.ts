import { type BlockList, createServer, type Server } from "node:net";
import { MAX_RESTORED_BYTES } from "../src/base/limits.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import { Shares } from "./client-shares.ts";
import { ClientConnection, type ConnectionSettings } from "./connection.ts";
import { LEAST_UNREAD_BYTES, LIMITS, type Limits } from "./limits.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { refusalLine } from "./refusal.ts";
import { Upstream, type UpstreamSettings } from "./upstream.ts";

// The gateway reads HTTP itself because the parser of node:http refuses LIST, whatever its settings (docs/decisions/0014).

/** The backlog. With the default of 511, clients in a burst would retry only after a second. */
const BACKLOG = 4096;

/** The target of a restore, whose parts may be larger than other bodies. The service accepts them only during a restore. */
const RESTORE_TARGET = "/v1/sys/restore/part";

/** Where to listen: a host (name or address) and a port, 0 for any free one. `backlog`: connections that wait for accept(). */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly backlog?: number;
}

/** Makes a server listen, and returns its port. The error is a system error code such as EADDRINUSE. */
export function listenAt(server: Server, at: ListenAddress): Promise<Result<number, string>> {
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(err(error.code ?? error.message)));
    server.listen(at, () => {
      const bound = server.address();
      resolve(ok(typeof bound === "object" && bound !== null ? bound.port : at.port));
    });
  });
}

/** Options of a gateway. */
export interface GatewayOptions extends UpstreamSettings, Partial<Limits> {
  readonly listen: ListenAddress;
  /** Proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: BlockList;
  /** Answers `GET /ready`, which balancers ask; absent for a gateway without them. */
  readonly readiness?: () => Promise<boolean>;
  /** Writes an audit line for a request that the gateway answers itself. */
  readonly audit: (line: string) => void;
}

/** Figures of a gateway. */
export interface GatewayFigures {
  readonly connections: number;
  /** Requests in flight to the service and waiting. */
  readonly requests: number;
  /** Memory in use for bodies. */
  readonly bodyBytes: number;
  /** Memory in use for answers that clients have not read. */
  readonly answerBytes: number;
  /** Number of requests since the start that the gateway answered itself, by status. */
  readonly refusals: ReadonlyMap<number, number>;
}

/** A running gateway. */
export interface Gateway {
  readonly port: number;
  figures(): GatewayFigures;
  /**
   * Refuses all requests with a reason, including those in flight. Without a reason, sends requests again.
   *
   * @param retryAfterSeconds when clients should try again; absent when only the operator can help
   */
  suspend(reason: string | undefined, retryAfterSeconds?: number): void;
  /** Accepts no more requests, lets those in flight finish for a while, and ends. */
  stop(): Promise<void>;
}

/** Starts a gateway. The error is a system error code such as EADDRINUSE. */
export async function startGateway(options: GatewayOptions): Promise<Result<Gateway, string>> {
  const limits: Limits = { ...LIMITS, ...options };
  const { clientSharePercent: percent, maxBodyBytes } = limits;
  const refusals = new Map<number, number>();
  /** Each client may use the memory of one body of the maximum size while that much is free. */
  const budgetOf = (totalBytes: number, maxBytes: number) => {
    return { maxBytes, budget: new MemoryBudget({ totalBytes, percent, leastBytes: maxBytes, owedMs: 0 }) };
  };
  const bodies = budgetOf(Math.max(limits.bodyBudgetBytes, 4 * maxBodyBytes), maxBodyBytes);
  const maxPartBytes = Math.max(MAX_RESTORED_BYTES, maxBodyBytes);
  const parts = budgetOf(2 * maxPartBytes, maxPartBytes);
  const settings: ConnectionSettings = {
    upstream: new Upstream(options, limits),
    trustedProxies: options.trustedProxies,
    bodyBound: (target) => (target === RESTORE_TARGET ? parts : bodies),
    answerBudget: new MemoryBudget({
      totalBytes: limits.answerBudgetBytes,
      percent,
      leastBytes: LEAST_UNREAD_BYTES,
      owedMs: limits.readMs,
    }),
    limits,
    ...(options.readiness && { readiness: options.readiness }),
    onRefusal: (refusal, head, address) => {
      refusals.set(refusal.status, (refusals.get(refusal.status) ?? 0) + 1);
      options.audit(JSON.stringify(refusalLine(refusal, head, address, Date.now())));
    },
  };
  const connections = new Connections(new Shares(limits.maxConnections, percent));
  // Half-open, so that a client that closes its side after the request still gets the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    // Without an address, the client has disconnected already.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    const connection = new ClientConnection(socket, socket.remoteAddress, settings);
    if (!connections.add(connection)) return connection.turnAway();
    socket.on("close", () => connections.remove(connection));
    // A bug in the handling of one client must not end the gateway.
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
      connections: connections.open.size,
      requests: settings.upstream.requests,
      bodyBytes: bodies.budget.used + parts.budget.used,
      answerBytes: settings.answerBudget.used,
      refusals,
    }),
    suspend: (reason, retryAfterSeconds) => settings.upstream.suspend(reason, retryAfterSeconds),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections.open) connection.stop();
      const giveUp = setTimeout(() => {
        for (const connection of connections.open) connection.destroy();
      }, limits.stopMs);
      await closed;
      clearTimeout(giveUp);
      settings.upstream.close();
    },
  });
}

/** The open client connections. */
class Connections {
  readonly open = new Set<ClientConnection>();
  readonly #places: Shares;

  constructor(places: Shares) {
    this.#places = places;
  }

  /**
   * Adds a connection; false when there is no place for it. If necessary, closes the connection that has waited longest for
   * its client: one in the same network if its share is used up, else any.
   */
  add(connection: ClientConnection): boolean {
    const { networks } = connection.peer;
    if (!this.#places.take(networks, 1)) {
      const exceeded = this.#places.exceeded(networks, 1);
      const isCandidate = ({ peer }: ClientConnection) =>
        exceeded === undefined || peer.networks.some((network) => network === exceeded);
      const longest = longestWaiting([...this.open].filter(isCandidate));
      longest?.destroy();
      // Removed at once, because its "close" comes later.
      if (longest) this.remove(longest);
      if (!this.#places.take(networks, 1)) return false;
    }
    this.open.add(connection);
    return true;
  }

  /** Removes a connection that has ended. Safe to repeat. */
  remove(connection: ClientConnection): void {
    if (this.open.delete(connection)) this.#places.giveBack(connection.peer.networks, 1);
  }
}

function longestWaiting(connections: readonly ClientConnection[]): ClientConnection | undefined {
  const since = ({ waitsSince = Number.POSITIVE_INFINITY }: ClientConnection) => waitsSince;
  const first = Math.min(...connections.map(since));
  return connections.find((connection) => connection.waitsSince === first);
}
