import { connect, isIP } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";
import { FairQueue } from "./fair-queue.ts";
import { MAX_UPSTREAM_CONNECTIONS, UPSTREAM_IDLE_MS } from "./limits.ts";
import type { ShareKey } from "./shares.ts";
import { type UpstreamAnswer, UpstreamConnection } from "./upstream-connection.ts";

/** Where the service is: an origin (`http:` or `https:`), or a Unix domain socket that speaks HTTP. */
export type UpstreamAddress =
  | { readonly kind: "origin"; readonly url: URL }
  | { readonly kind: "socket"; readonly path: string };

/** A whole request as it goes over the wire. */
export interface UpstreamRequest {
  readonly method: string;
  /** Latin1, with the empty line at its end. */
  readonly head: string;
  readonly body: Buffer;
  /** Milliseconds after which the answer is not waited for any more. */
  readonly abandonMs: number;
}

/** How often unused connections are looked for. */
const SWEEP_MS = 500;

/** The service behind the gateway, with a pool of connections to it. */
export class Upstream {
  /** The Host that requests to the service carry. */
  readonly host: string;
  readonly #address: UpstreamAddress;
  readonly #log: (line: string) => void;
  /** The one used last is used next, so that those that are not needed age. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  readonly #waiting = new FairQueue<(connection: UpstreamConnection | undefined) => void>();
  readonly #sweeper: NodeJS.Timeout;
  #failing = false;
  #closed = false;

  constructor(address: UpstreamAddress, log: (line: string) => void) {
    this.#address = address;
    this.#log = log;
    this.host = address.kind === "socket" ? "localhost" : address.url.host;
    this.#sweeper = setInterval(() => this.#closeUnused(performance.now()), SWEEP_MS).unref();
  }

  /**
   * Sends a whole request and waits for the head of the answer. A failed request is never sent again: a use of the token
   * may have been counted.
   *
   * @param key whose turn it is when requests have to wait for a connection
   */
  async send(request: UpstreamRequest, key: ShareKey): Promise<Result<UpstreamAnswer, "unavailable">> {
    const connection = this.#takeIdle() ?? (await this.#newConnection(key));
    if (connection === undefined) return err("unavailable");
    const { method, head, body, abandonMs } = request;
    const response = await connection.exchange(head, body, method, abandonMs);
    this.#report(response.ok ? undefined : response.error);
    if (!response.ok) {
      connection.destroy();
      return err("unavailable");
    }
    const { keepAlive } = response.value;
    return ok({
      head: response.value,
      body: connection.bodyOf(response.value),
      release: (whole) => this.#release(connection, whole && keepAlive),
    });
  }

  /** Ends the connections with whatever is under way on them. */
  drop(): void {
    for (const connection of this.#open) connection.destroy();
  }

  /** Closes the connections, and the waiting for one. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    this.drop();
    for (let waiter = this.#waiting.next(); waiter; waiter = this.#waiting.next()) waiter(undefined);
  }

  #takeIdle(): UpstreamConnection | undefined {
    // A process that was kept from running has neither swept nor heard that the service has closed what is too old.
    const oldest = performance.now() - UPSTREAM_IDLE_MS;
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isFit && connection.sentAt > oldest) return connection;
      connection.destroy();
    }
    return undefined;
  }

  #newConnection(key: ShareKey): UpstreamConnection | undefined | Promise<UpstreamConnection | undefined> {
    if (this.#closed) return undefined;
    if (this.#open.size < MAX_UPSTREAM_CONNECTIONS) return this.#connect();
    return new Promise((resolve) => this.#waiting.add(key, resolve));
  }

  #connect(): UpstreamConnection {
    const connection = new UpstreamConnection(openSocket(this.#address), (closed) => this.#onClose(closed));
    this.#open.add(connection);
    return connection;
  }

  #release(connection: UpstreamConnection, reusable: boolean): void {
    connection.rest();
    if (!reusable || !connection.isFit || this.#closed) {
      connection.destroy();
      return;
    }
    const waiter = this.#waiting.next();
    if (waiter) waiter(connection);
    else this.#idle.push(connection);
  }

  #onClose(connection: UpstreamConnection): void {
    this.#open.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place !== -1) this.#idle.splice(place, 1);
    if (this.#closed) return;
    const waiter = this.#waiting.next();
    if (waiter) waiter(this.#connect());
  }

  #closeUnused(now: number): void {
    while ((this.#idle[0]?.sentAt ?? now) < now - UPSTREAM_IDLE_MS) this.#idle.shift()?.destroy();
  }

  /** One line when the service goes away and one when it is back, not one for each request. */
  #report(error: Error | undefined): void {
    if (error !== undefined && !this.#failing) this.#log(`the service does not answer: ${describe(error)}`);
    if (error === undefined && this.#failing) this.#log("the service answers again");
    this.#failing = error !== undefined;
  }
}

function openSocket(address: UpstreamAddress) {
  if (address.kind === "socket") return connect({ path: address.path });
  const { protocol, hostname, port } = address.url;
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "https:") return connect({ host, port: Number(port || 80), noDelay: true });
  // Loaded where it is needed: few gateways speak TLS.
  return process
    .getBuiltinModule("node:tls")
    .connect({
      host,
      port: Number(port || 443),
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["http/1.1"],
      // Said in full so that NODE_TLS_REJECT_UNAUTHORIZED in some environment cannot switch the check off.
      rejectUnauthorized: true,
    })
    .setNoDelay(true);
}

function describe(error: Error & { readonly code?: string }): string {
  // A failed connection to a name with several addresses has an empty message.
  return error.message === "" ? (error.code ?? error.name) : error.message;
}
