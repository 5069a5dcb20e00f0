import { randomBytes } from "node:crypto";
import { connect, isIP, type Socket } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";
import { EXCHANGE_HEADER, type Exchange, NOT_BEGUN_STATUS, renderExchange } from "../src/wire/exchange.ts";
import { MessageBody } from "./body.ts";
import { ByteReader, writeMessage } from "./byte-reader.ts";
import { Deadline } from "./deadline.ts";
import { type ResponseHead, readResponseHead } from "./heads.ts";
import { type Limits, UPSTREAM_IDLE_MS } from "./limits.ts";
import { BUSY, type Refusal } from "./refusal.ts";
import { type ShareKey, type Shares, Turns } from "./shares.ts";

/** Where the service is: an origin (`http:` or `https:`), or a Unix domain socket that speaks HTTP. */
export type UpstreamAddress =
  | { readonly kind: "origin"; readonly url: URL }
  | { readonly kind: "socket"; readonly path: string };

/** A whole request as it goes over the wire. */
export interface WholeRequest {
  /** Latin1, without the empty line at its end. */
  readonly head: string;
  readonly body: Buffer;
  /** True when no body follows the head of the answer, whatever it says. */
  readonly isHead: boolean;
  /** Milliseconds after which the answer is not waited for any more. */
  readonly abandonMs: number;
}

/** An answer of the service, its body unread. */
export interface UpstreamAnswer {
  readonly head: ResponseHead;
  readonly body: MessageBody;
  /** To be called when all of the body was read, or when the rest is not wanted (`whole` is false). The first call counts. */
  release(whole: boolean): void;
}

/** The service behind the gateway. */
export interface UpstreamSettings {
  readonly upstream: UpstreamAddress;
  /**
   * True when the service remembers which requests it has begun, as the Worker of `npm run serve` does: then a request that it lost is
   * sent once more. Never true of another service.
   */
  readonly repeats?: boolean;
  /** Gets one line for the operator at a time; nothing secret is in it. */
  readonly log: (line: string) => void;
}

const UNREACHABLE: Refusal = { status: 502, message: "the service is not reachable" };

/** The service behind the gateway, with a pool of connections to it. */
export class Upstream {
  /** The Host that requests to the service carry. */
  readonly host: string;
  readonly #settings: UpstreamSettings;
  readonly #places: Shares;
  readonly #requests: Shares;
  readonly #limits: Limits;
  #turns = new Turns();
  /** The one used last is used next, so that those that are not needed age. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  #failing = false;
  #suspended: Refusal | undefined;

  /**
   * @param places how many requests may be with the service at a time, each on a connection of its own
   * @param requests how many may be there or wait for their turn
   */
  constructor(settings: UpstreamSettings, places: Shares, requests: Shares, limits: Limits) {
    this.#settings = settings;
    this.#places = places;
    this.#requests = requests;
    this.#limits = limits;
    this.host = settings.upstream.kind === "socket" ? "localhost" : settings.upstream.url.host;
  }

  /**
   * Sends a whole request when it is its turn, and waits for the head of the answer. A failed request may have been acted on, so it is
   * not sent again. The exception is a service that remembers what it has begun: there a request is sent once more when the service
   * closed its connection, and the service refuses it (421) unless it is certain that it has not begun it.
   *
   * @param turn deadline of its turn. Missed early when the request is not wanted any more.
   * @param key whose share the request is in until its answer is released
   * @returns a refusal with status 503 when it was not sent, and for what `suspend` ended; with 502 when the service gave no answer
   */
  async send(request: WholeRequest, turn: Deadline, key: ShareKey): Promise<Result<UpstreamAnswer, Refusal>> {
    if (this.#suspended !== undefined) return err(this.#suspended);
    if (!this.#requests.take(key, 1)) return err(BUSY);
    if (!this.#places.take(key, 1) && !(await this.#turns.wait(key, turn, this.#limits, performance.now()))) {
      this.#requests.giveBack(key, 1);
      return err(BUSY);
    }
    let connection = this.#takeIdle() ?? this.#connect();
    const exchange = this.#settings.repeats ? connection.nextExchange() : null;
    let head = await connection.exchange(request, exchange);
    if (!head.ok && exchange !== null && connection.loss !== undefined) {
      connection.destroy();
      connection = this.#connect();
      const again = await connection.exchange(request, { ...exchange, again: true });
      if (!again.ok || again.value.status !== NOT_BEGUN_STATUS) head = again;
    }
    if (head.ok === this.#failing) {
      this.#settings.log(head.ok ? "the service answers again" : `the service does not answer: ${head.error}`);
      this.#failing = !head.ok;
    }
    if (!head.ok) {
      this.#release(connection, key, false);
      return err(this.#suspended ?? UNREACHABLE);
    }
    const { keepAlive, body } = head.value;
    let isReleased = false;
    const release = (whole: boolean): void => {
      if (!isReleased) this.#release(connection, key, whole && keepAlive);
      isReleased = true;
    };
    return ok({ head: head.value, body: new MessageBody(connection.reader, body), release });
  }

  /** Refuses all requests, also those that the service has not answered yet, with a reason; from a call without one on it sends them. */
  suspend(reason: string | undefined): void {
    this.#suspended = reason === undefined ? undefined : { status: 503, message: reason };
    if (reason !== undefined) for (const connection of this.#open) connection.destroy();
  }

  /** Closes the connections, for good. */
  close(): void {
    // Requests that wait are not sent any more.
    this.#turns = new Turns();
    for (const connection of this.#open) connection.destroy();
  }

  #takeIdle(): UpstreamConnection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isFit) return connection;
      connection.destroy();
    }
    return undefined;
  }

  #connect(): UpstreamConnection {
    const connection = new UpstreamConnection(this.#settings.upstream, () => this.#open.delete(connection));
    this.#open.add(connection);
    return connection;
  }

  #release(connection: UpstreamConnection, key: ShareKey, isReusable: boolean): void {
    connection.rest();
    if (isReusable && connection.isFit) this.#idle.push(connection);
    else connection.destroy();
    this.#places.giveBack(key, 1);
    this.#requests.giveBack(key, 1);
    this.#turns.goOn((next) => this.#places.take(next, 1), performance.now());
  }
}

/** One connection to the service: one request at a time. */
export class UpstreamConnection {
  readonly reader: ByteReader;
  readonly #socket: Socket;
  readonly #deadline = new Deadline();
  /** In `X-Grove-Exchange`. No client can guess it. */
  readonly #name = randomBytes(16).toString("base64url");
  #sent = 0;
  #sentAt = 0;
  /** Why the service closed the connection or it could not be opened, for the operator; undefined when neither is so. */
  loss: string | undefined;

  /** @param onClose called once, however the connection ends. */
  constructor(address: UpstreamAddress, onClose: () => void) {
    this.#socket = openSocket(address);
    this.reader = new ByteReader(this.#socket);
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      // A failed connection to a name with several addresses has an empty message.
      this.loss = error.message || (error.code ?? error.name);
    });
    this.#socket.on("end", () => {
      this.loss ??= "the connection was closed";
    });
    this.#socket.on("close", () => {
      this.#deadline.disarm();
      onClose();
    });
  }

  /**
   * True when another request can be sent: the connection is open and not too old, all of the previous request was taken, and nothing
   * came that was not asked for, which would pass for the answer to the next request.
   */
  get isFit(): boolean {
    // A process that was kept from running has not seen yet that the service has closed what is too old. The service counts from the
    // sending of the last request or later.
    const isFresh = performance.now() - this.#sentAt < UPSTREAM_IDLE_MS;
    return isFresh && this.reader.isOpen && this.reader.unread === 0 && this.#socket.writableLength === 0;
  }

  /** The number of the next request on this connection. */
  nextExchange(): Exchange {
    this.#sent++;
    return { connection: this.#name, number: this.#sent, again: false };
  }

  /**
   * Sends a whole request and waits for the head of the answer. The error says for the operator why there is none.
   *
   * @param exchange sent with the request; null for a service that does not remember what it has begun
   */
  async exchange(request: WholeRequest, exchange: Exchange | null): Promise<Result<ResponseHead, string>> {
    this.#deadline.arm(request.abandonMs, () => this.destroy());
    this.#sentAt = performance.now();
    const number = exchange === null ? "" : `${EXCHANGE_HEADER}: ${renderExchange(exchange)}\r\n`;
    writeMessage(this.#socket, `${request.head}${number}\r\n`, request.body);
    const head = await readResponseHead(this.reader, request.isHead);
    if (head.ok) return head;
    return err(this.loss ?? (head.error === "ended" ? "it was given up" : "it does not speak HTTP as expected"));
  }

  /** The answer has been read: closes when it is not used again. */
  rest(): void {
    this.#deadline.arm(UPSTREAM_IDLE_MS, () => this.destroy());
  }

  /** Ends the connection with the request that is under way. */
  destroy(): void {
    this.#socket.destroy();
  }
}

function openSocket(address: UpstreamAddress): Socket {
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
