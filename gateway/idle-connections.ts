import type { ShareKey } from "./shares.ts";

/** Connections on which no request is under way, the one that has waited longest first. */
export class IdleConnections<Connection> {
  readonly #byKey = new Map<ShareKey, Set<Connection>>();

  /** Notes that a connection waits for a request. */
  add(key: ShareKey, connection: Connection): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) this.#byKey.set(key, new Set([connection]));
    else waiting.add(connection);
  }

  /** Forgets a connection that does not wait any more. */
  delete(key: ShareKey, connection: Connection): void {
    const waiting = this.#byKey.get(key);
    if (waiting?.delete(connection) && waiting.size === 0) this.#byKey.delete(key);
  }

  /** The connection of a client that has waited longest. */
  oldestOf(key: ShareKey): Connection | undefined {
    return this.#byKey.get(key)?.values().next().value;
  }

  /** The connection that has waited longest of the client that has most of them waiting. */
  oldestOfLargest(): Connection | undefined {
    let largest: Set<Connection> | undefined;
    for (const waiting of this.#byKey.values()) if (waiting.size > (largest?.size ?? 0)) largest = waiting;
    return largest?.values().next().value;
  }
}
