import { type BlockList, createServer, type Socket } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";
import { ClientConnection } from "./connection.ts";
import { BodyRoom } from "./held-body.ts";
import { BODY_ROOM_BYTES, MAX_BODY_BYTES, MAX_CONNECTIONS, MAX_REQUESTS, TIMEOUTS, type Timeouts } from "./limits.ts";
import { Upstream, type UpstreamAddress } from "./upstream.ts";

// Why this reads HTTP itself and does not use node:http towards the client: Node's parser refuses LIST, and the hook that
// hands over what it refused ("clientError") gives only the packet in which the refusal happened. A LIST cut into two
// packets, or one behind requests that are still being answered, would have to be put together from parts around a
// parser that has given up on the connection. A reader of exact lines and lengths is smaller than that repair, can be
// stricter than Node's, and knows where each request ends, which is the one thing a gateway must never be wrong about.
// Towards the service node:http is used as it is.

/** Where to listen: a host (name or address) and a port, 0 for any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** What a gateway needs to know. */
export interface GatewayOptions {
  readonly listen: ListenAddress;
  readonly upstream: UpstreamAddress;
  /** Proxies whose X-Forwarded-For is believed; none unless given. */
  readonly trustedProxies: BlockList;
  readonly maxBodyBytes?: number;
  /** With the service and waiting for it. */
  readonly maxRequests?: number;
  readonly timeouts?: Timeouts;
  /** Gets one line for the operator at a time; nothing secret is in it. */
  readonly log: (line: string) => void;
}

/** A gateway that listens. */
export interface Gateway {
  /** The port in use. */
  readonly port: number;
  /** Takes no more requests, lets those under way finish for a while, and ends. */
  stop(): Promise<void>;
}

/** Starts a gateway; the error is a system error code such as EADDRINUSE. */
export async function startGateway(options: GatewayOptions): Promise<Result<Gateway, string>> {
  const timeouts = options.timeouts ?? TIMEOUTS;
  const upstream = new Upstream(options.upstream, options.maxRequests ?? MAX_REQUESTS, options.log);
  const settings = {
    upstream,
    trustedProxies: options.trustedProxies,
    maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
    bodyRoom: new BodyRoom(BODY_ROOM_BYTES),
    timeouts,
  };
  const connections = new Set<ClientConnection>();

  const accept = (socket: Socket): void => {
    const connection = new ClientConnection(socket, settings);
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
    // A mistake in the handling of one client must not end the service of all others.
    connection.run().catch((error: unknown) => {
      options.log(`a connection was given up: ${error instanceof Error ? error.stack : String(error)}`);
      connection.destroy();
    });
  };
  // Half-open, so that a client that ends its side after the request still gets the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
  server.maxConnections = MAX_CONNECTIONS;

  const failure = await new Promise<string | undefined>((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(options.listen.port, options.listen.host, () => resolve(undefined));
  });
  if (failure !== undefined) return err(failure);
  server.on("error", (error) => options.log(`a connection could not be accepted: ${error.message}`));

  const bound = server.address();
  return ok({
    port: typeof bound === "object" && bound !== null ? bound.port : options.listen.port,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.stop();
      const giveUp = setTimeout(() => {
        for (const connection of connections) connection.destroy();
      }, timeouts.stopMs);
      await closed;
      clearTimeout(giveUp);
      upstream.close();
    },
  });
}
