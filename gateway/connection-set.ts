import type { Socket } from "node:net";
import { ClientConnection, type ConnectionSettings } from "./connection.ts";
import type { Shares } from "./shares.ts";

/** The client connections of a gateway: so many at a time, and so many of one client. */
export class ConnectionSet {
  readonly #places: Shares;
  readonly #settings: ConnectionSettings;
  readonly #log: (line: string) => void;
  /** Each connection with what gives its place back, once. */
  readonly #connections = new Map<ClientConnection, () => void>();

  constructor(places: Shares, settings: ConnectionSettings, log: (line: string) => void) {
    this.#places = places;
    this.#settings = settings;
    this.#log = log;
  }

  /** Serves a new connection. When there is no place, one that nobody uses has to go; else the new one is turned away. */
  accept(socket: Socket): void {
    const peer = socket.remoteAddress;
    if (peer === undefined) {
      // Gone again already.
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
    for (const connection of this.#connections.keys()) connection.stop();
  }

  /** Ends all connections now. */
  destroy(): void {
    for (const connection of this.#connections.keys()) connection.destroy();
  }

  #takePlace(connection: ClientConnection): boolean {
    const { shareKey } = connection;
    if (!this.#places.take(shareKey, 1)) {
      const { idle } = this.#settings;
      const unused = this.#places.hasShareLeft(shareKey, 1) ? idle.oldestOfLargest() : idle.oldestOf(shareKey);
      if (unused === undefined) return false;
      unused.destroy();
      // At once: the system reports the end of the connection later.
      this.#leave(unused);
      if (!this.#places.take(shareKey, 1)) return false;
    }
    this.#connections.set(connection, () => this.#places.giveBack(shareKey, 1));
    return true;
  }

  #leave(connection: ClientConnection): void {
    const giveBack = this.#connections.get(connection);
    this.#connections.delete(connection);
    giveBack?.();
  }
}
