import type { Socket } from "node:net";
import { ClientConnection, type ConnectionSettings } from "./connection.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** The client connections of a gateway: so many at a time, and so many of one client. */
export class ConnectionSet {
  readonly #places: Shares;
  readonly #settings: ConnectionSettings;
  readonly #log: (line: string) => void;
  readonly #byKey = new Map<ShareKey, Set<ClientConnection>>();

  constructor(places: Shares, settings: ConnectionSettings, log: (line: string) => void) {
    this.#places = places;
    this.#settings = settings;
    this.#log = log;
  }

  /** Serves a new connection. When there is no place, one that nobody uses has to go; else the new one is turned away. */
  accept(socket: Socket): void {
    const peer = socket.remoteAddress;
    if (peer === undefined) {
      // The client has disconnected already.
      socket.destroy();
      return;
    }
    const connection = new ClientConnection(socket, peer, this.#settings);
    if (!this.#takePlace(connection)) {
      connection.turnAway();
      return;
    }
    socket.on("close", () => this.#leave(connection));
    // A mistake in the handling of one client must not end the service of all others.
    connection.run().catch((error: unknown) => {
      this.#log(`a connection was given up: ${error instanceof Error ? error.stack : String(error)}`);
      connection.destroy();
    });
  }

  /** Lets requests under way finish. */
  stop(): void {
    for (const connection of this.#all()) connection.stop();
  }

  /** Ends all connections now. */
  destroy(): void {
    for (const connection of this.#all()) connection.destroy();
  }

  #takePlace(connection: ClientConnection): boolean {
    const { shareKey } = connection;
    if (!this.#places.take(shareKey, 1)) {
      const unused = this.#places.hasShareLeft(shareKey, 1)
        ? (longestIdle(this.#largest()) ?? longestIdle(this.#all()))
        : longestIdle(this.#of(shareKey));
      if (unused === undefined) return false;
      unused.destroy();
      // At once: the system reports the end of the connection later.
      this.#leave(unused);
      if (!this.#places.take(shareKey, 1)) return false;
    }
    const others = this.#byKey.get(shareKey);
    if (others === undefined) this.#byKey.set(shareKey, new Set([connection]));
    else others.add(connection);
    return true;
  }

  /** To be called when a connection has ended; again does nothing. */
  #leave(connection: ClientConnection): void {
    const { shareKey } = connection;
    const others = this.#byKey.get(shareKey);
    if (!others?.delete(connection)) return;
    if (others.size === 0) this.#byKey.delete(shareKey);
    this.#places.giveBack(shareKey, 1);
  }

  #of(key: ShareKey): Iterable<ClientConnection> {
    return this.#byKey.get(key) ?? [];
  }

  /** The connections of the client that has most of them. */
  #largest(): Iterable<ClientConnection> {
    let largest: Set<ClientConnection> | undefined;
    for (const connections of this.#byKey.values()) {
      if (connections.size > (largest?.size ?? 0)) largest = connections;
    }
    return largest ?? [];
  }

  *#all(): Iterable<ClientConnection> {
    for (const connections of this.#byKey.values()) yield* connections;
  }
}

/** The connection that has waited longest for a request; undefined when all are in use. */
function longestIdle(connections: Iterable<ClientConnection>): ClientConnection | undefined {
  let found: ClientConnection | undefined;
  for (const connection of connections) {
    const { idleSince } = connection;
    if (idleSince !== undefined && idleSince < (found?.idleSince ?? Number.POSITIVE_INFINITY)) found = connection;
  }
  return found;
}
