import { randomBytes } from "node:crypto";
import { connect, isIP, type Socket } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";
import { EXCHANGE_HEADER, type Exchange, NOT_BEGUN_STATUS, renderExchange } from "../src/wire/exchange.ts";
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
  /** Latin1, without the empty line at its end. */
  readonly head: string;
  readonly body: readonly Buffer[];
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
  readonly #repeats: boolean;
  readonly #log: (line: string) => void;
  /** Begins the names of its connections. No client can guess it. */
  readonly #name = randomBytes(16).toString("base64url");
  #connected = 0;
  /** The one used last is used next, so that those that are not needed age. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  readonly #waiting = new FairQueue<(connection: UpstreamConnection | undefined) => void>();
  readonly #sweeper: NodeJS.Timeout;
  #failing = false;
  #closed = false;

  /** @param repeats whether the service remembers which requests it has begun. */
  constructor(address: UpstreamAddress, repeats: boolean, log: (line: string) => void) {
    this.#address = address;
    this.#repeats = repeats;
    this.#log = log;
    this.host = address.kind === "socket" ? "localhost" : address.url.host;
    this.#sweeper = setInterval(() => this.#closeUnused(performance.now()), SWEEP_MS).unref();
  }

  /**
   * Sends a whole request and waits for the head of the answer. A failed request may have been acted on, so it is not sent
   * again; only to a service that remembers what it has begun, once, and the service refuses what it can't be sure of.
   *
   * @param key whose turn it is when requests have to wait for a connection
   */
  async send(request: UpstreamRequest, key: ShareKey): Promise<Result<UpstreamAnswer, "unavailable">> {
    const connection = this.#takeIdle() ?? (await this.#newConnection(key));
    if (connection === undefined) return err("unavailable");
    const exchange = connection.nextExchange();
    const answer = await this.#exchange(connection, request, exchange);
    if (answer.ok || !this.#repeats || !connection.isLost) return this.#reported(answer);
    return this.#reported(await this.#sendAgain(request, exchange, key, answer.error));
  }

  async #sendAgain(
    request: UpstreamRequest,
    exchange: Exchange,
    key: ShareKey,
    lost: Error,
  ): Promise<Result<UpstreamAnswer, Error>> {
    const connection = await this.#newConnection(key);
    if (connection === undefined) return err(lost);
    const answer = await this.#exchange(connection, request, { ...exchange, again: true });
    if (!answer.ok || answer.value.head.status !== NOT_BEGUN_STATUS) return answer;
    answer.value.release(answer.value.body.takeWhole() !== undefined);
    return err(lost);
  }

  async #exchange(
    connection: UpstreamConnection,
    { method, head, body, abandonMs }: UpstreamRequest,
    exchange: Exchange,
  ): Promise<Result<UpstreamAnswer, Error>> {
    const numbered = this.#repeats ? `${head}${EXCHANGE_HEADER}: ${renderExchange(exchange)}\r\n\r\n` : `${head}\r\n`;
    const response = await connection.exchange(numbered, body, method, abandonMs);
    if (!response.ok) {
      connection.destroy();
      return err(connection.failure(response.error));
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
    this.#connected++;
    const name = `${this.#name}-${this.#connected}`;
    const connection = new UpstreamConnection(
      (onBytes) => openSocket(this.#address, onBytes),
      name,
      (closed) => this.#onClose(closed),
    );
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
  #reported(answer: Result<UpstreamAnswer, Error>): Result<UpstreamAnswer, "unavailable"> {
    if (!answer.ok && !this.#failing) this.#log(`the service does not answer: ${describe(answer.error)}`);
    if (answer.ok && this.#failing) this.#log("the service answers again");
    this.#failing = !answer.ok;
    return answer.ok ? answer : err("unavailable");
  }
}

/**
 * Where bytes from the service arrive, those of one connection after the other. A socket's own stream takes 64 KiB of memory for each read, and
 * as much time as the rest of the reading.
 */
const ARRIVALS = Buffer.allocUnsafeSlow(64 * 1024);

function openSocket(address: UpstreamAddress, onBytes: (received: Buffer) => void): Socket {
  const onread = {
    buffer: ARRIVALS,
    callback: (length: number): boolean => {
      onBytes(ARRIVALS.subarray(0, length));
      return true;
    },
  };
  if (address.kind === "socket") return connect({ path: address.path, onread });
  const { protocol, hostname, port } = address.url;
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "https:") return connect({ host, port: Number(port || 80), noDelay: true, onread });
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
