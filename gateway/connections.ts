import type { Socket } from "node:net";
import { ClientConnection, type ConnectionSettings } from "./connection.ts";
import type { ShareKey, Shares } from "./shares.ts";

/** The client connections of a gateway: so many at a time, and so many of one client. */
export class Connections {
  readonly #places: Shares;
  readonly #settings: ConnectionSettings;
  readonly #log: (line: string) => void;
  readonly #open = new Set<ClientConnection>();

  constructor(places: Shares, settings: ConnectionSettings, log: (line: string) => void) {
    this.#places = places;
    this.#settings = settings;
    this.#log = log;
  }

  /** Serves a new connection. When there is no place, the one that is unused longest is closed; else the new one is turned away. */
  accept(socket: Socket): void {
    const peer = socket.remoteAddress;
    if (peer === undefined) {
      // The client has disconnected already.
      socket.destroy();
      return;
    }
    const connection = new ClientConnection(socket, peer, this.#settings);
    const { shareKey } = connection.peer;
    if (!this.#places.take(shareKey, 1)) {
      this.#closeUnused(shareKey);
      if (!this.#places.take(shareKey, 1)) {
        connection.turnAway();
        return;
      }
    }
    this.#open.add(connection);
    socket.on("close", () => this.#leave(connection));
    // A mistake in the handling of one client must not end the service of all others.
    connection.run().catch((error: unknown) => {
      this.#log(`a connection was given up: ${error instanceof Error ? error.stack : String(error)}`);
      connection.destroy();
    });
  }

  /** Lets requests under way finish. */
  stop(): void {
    for (const connection of this.#open) connection.stop();
  }

  /** Ends all connections now. */
  destroy(): void {
    for (const connection of this.#open) connection.destroy();
  }

  /** Closes the connection that is unused longest: one of the same client when that has used up its share, else any. */
  #closeUnused(key: ShareKey): void {
    const ofAll = this.#places.isWithinShare(key, 1);
    let longest: ClientConnection | undefined;
    for (const connection of this.#open) {
      if (!ofAll && connection.peer.shareKey !== key) continue;
      const { idleSince } = connection;
      if (idleSince !== undefined && idleSince < (longest?.idleSince ?? Number.POSITIVE_INFINITY)) longest = connection;
    }
    if (longest === undefined) return;
    longest.destroy();
    // At once: the system reports the end of the connection later.
    this.#leave(longest);
  }

  /** To be called when a connection has ended; again does nothing. */
  #leave(connection: ClientConnection): void {
    if (this.#open.delete(connection)) this.#places.giveBack(connection.peer.shareKey, 1);
  }
}
