import { connect, isIP, type Socket } from "node:net";
import { err, ok, type Result } from "../src/base/result.ts";
import { ByteReader, writeMessage } from "./byte-reader.ts";
import { type ShareNetworks, Shares } from "./client-shares.ts";
import { Deadline } from "./deadline.ts";
import { FairQueue } from "./fair-queue.ts";
import { type Limits, UPSTREAM_IDLE_MS } from "./limits.ts";
import { MessageBody } from "./message-body.ts";
import { type ResponseHead, readResponseHead } from "./message-head.ts";
import { BUSY, type Refusal } from "./refusal.ts";

/** Where the service is: an origin (`http:` or `https:`), or a Unix domain socket with HTTP. */
export type UpstreamAddress =
  | { readonly kind: "origin"; readonly url: URL }
  | { readonly kind: "socket"; readonly path: string };

/** A complete request. */
export interface WholeRequest {
  /** Latin1, without the empty line at its end. */
  readonly head: string;
  readonly body: Buffer;
  /** True for HEAD, whose answer has no body. */
  readonly isHead: boolean;
  /** Maximum time (ms) until the end of the answer. */
  readonly abandonMs: number;
}

/** The client of a request. */
export interface Sender {
  readonly networks: ShareNetworks;
  /** True when answers wait for the client on its connections. Such clients have places of their own. */
  readonly hasUnread: boolean;
  /** Deadline of its turn. It is missed early when the client goes away. */
  readonly turn: Deadline;
}

/** An answer of the service whose body was not read yet. */
export interface UpstreamAnswer {
  readonly head: ResponseHead;
  readonly body: MessageBody;
  /** Call it after the whole body was read, or with false when the rest is not needed. Only the first call counts. */
  release(whole: boolean): void;
}

/** The service behind the gateway. */
export interface UpstreamSettings {
  readonly upstream: UpstreamAddress;
  /** True when something starts the service again after its end. Then a lost request is answered 503, with Retry-After. */
  readonly isRestarted?: boolean;
  /** Writes a line for the operator. It has no secrets. */
  readonly log: (line: string) => void;
}

const UNREACHABLE: Refusal = { status: 502, message: "the service is not reachable" };
const RESTARTED: Refusal = { status: 503, message: "the service ended and starts again", retryAfterSeconds: 2 };

const LATE_ANSWER: Refusal = { status: 504, message: "the service did not answer in time" };
/** In a cluster another node may have held the answer up, which is replaced meanwhile. */
const SILENT_PEER: Refusal = { ...LATE_ANSWER, status: 503, retryAfterSeconds: 1 };

/** The service behind the gateway, with a pool of connections. */
export class Upstream {
  /** The Host header of requests to the service. */
  readonly host: string;
  readonly #settings: UpstreamSettings;
  readonly #limits: Limits;
  /** Places for requests in flight, each on its own connection. */
  readonly #places: FairQueue;
  /** Fewer places for clients that have unread answers, so that others wait for few requests of such clients. */
  readonly #placesOfReaders: FairQueue;
  /** For requests in flight and waiting. */
  readonly #requests: Shares;
  /** The connection that was used last is used next, so the others become old and are closed. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  #failing = false;
  #suspended: Refusal | undefined;

  constructor(settings: UpstreamSettings, limits: Limits) {
    const { upstream } = settings;
    this.#settings = settings;
    this.#limits = limits;
    this.#places = new FairQueue(new Shares(limits.maxUpstreamConnections, limits.clientSharePercent));
    this.#placesOfReaders = new FairQueue(new Shares(limits.maxReaderConnections, 100));
    this.#requests = new Shares(limits.maxRequests, limits.clientSharePercent);
    this.host = upstream.kind === "socket" ? "localhost" : upstream.url.host;
  }

  /** The refusal of a request whose answer takes too long. */
  get late(): Refusal {
    return this.#settings.isRestarted ? SILENT_PEER : LATE_ANSWER;
  }

  /** Number of requests in flight and waiting. */
  get requests(): number {
    return this.#requests.used;
  }

  /**
   * Waits for the turn of a request, sends it, and waits for the head of the answer. A failed request may have been carried
   * out, so it is never sent again.
   *
   * @param sender uses its share until the answer is released
   * @returns a refusal: 503 when the request was not sent or the gateway is suspended, 502 (503 with `isRestarted`) when
   *   the service did not answer
   */
  async send(request: WholeRequest, sender: Sender): Promise<Result<UpstreamAnswer, Refusal>> {
    const { networks, turn } = sender;
    const places = sender.hasUnread ? this.#placesOfReaders : this.#places;
    if (this.#suspended !== undefined) return err(this.#suspended);
    if (!this.#requests.take(networks, 1)) return err(BUSY);
    if (!places.take(networks) && !(await places.wait(networks, turn, this.#limits, performance.now()))) {
      this.#requests.giveBack(networks, 1);
      return err(BUSY);
    }
    const connection = this.#takeIdle() ?? this.#connect();
    const head = await connection.exchange(request);
    if (head.ok === this.#failing) {
      this.#settings.log(head.ok ? "the service answers again" : `the service does not answer: ${head.error}`);
      this.#failing = !head.ok;
    }
    const end = (isReusable: boolean): void => {
      this.#rest(connection, isReusable);
      this.#requests.giveBack(networks, 1);
      places.giveBack(networks, performance.now());
    };
    if (!head.ok) {
      end(false);
      return err(this.#suspended ?? (this.#settings.isRestarted ? RESTARTED : UNREACHABLE));
    }
    const { keepAlive, body } = head.value;
    let isReleased = false;
    const release = (whole: boolean): void => {
      if (!isReleased) end(whole && keepAlive);
      isReleased = true;
    };
    return ok({ head: head.value, body: new MessageBody(connection.reader, body), release });
  }

  /** Refuses all requests with a reason, including those in flight. Without a reason, sends requests again. */
  suspend(reason: string | undefined, retryAfterSeconds?: number): void {
    const refusal = {
      status: 503,
      message: reason ?? "",
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    };
    this.#suspended = reason === undefined ? undefined : refusal;
    if (reason !== undefined) for (const connection of this.#open) connection.destroy();
  }

  /** Closes all connections. Waiting requests are not sent. */
  close(): void {
    this.#places.clear();
    this.#placesOfReaders.clear();
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

  #rest(connection: UpstreamConnection, isReusable: boolean): void {
    connection.rest();
    if (isReusable && connection.isFit) this.#idle.push(connection);
    else connection.destroy();
  }
}

/** A connection to the service. It carries one request at a time. */
export class UpstreamConnection {
  readonly reader: ByteReader;
  readonly #socket: Socket;
  readonly #deadline = new Deadline();
  #sentAt = 0;
  /** Why the connection failed or was closed by the service, for the operator; undefined while it is open. */
  loss: string | undefined;

  /** @param onClose called once, however the connection ends. */
  constructor(address: UpstreamAddress, onClose: () => void) {
    this.#socket = openSocket(address);
    this.reader = new ByteReader(this.#socket);
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      // The message is empty when a name has several addresses.
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
   * True when another request can be sent: the connection is open and not too old, the previous request was sent completely,
   * and no unexpected bytes have arrived, which would look like the next answer.
   */
  get isFit(): boolean {
    // After a pause of this process, the close by the service may not have arrived yet. So the age counts too.
    const isFresh = performance.now() - this.#sentAt < UPSTREAM_IDLE_MS;
    return isFresh && this.reader.isOpen && this.reader.unread === 0 && this.#socket.writableLength === 0;
  }

  /** Sends a request and waits for the head of the answer. The error is for the operator. */
  async exchange(request: WholeRequest): Promise<Result<ResponseHead, string>> {
    this.#deadline.arm(request.abandonMs, () => this.destroy());
    this.#sentAt = performance.now();
    writeMessage(this.#socket, `${request.head}\r\n`, request.body);
    const head = await readResponseHead(this.reader, request.isHead);
    if (head.ok) return head;
    return err(this.loss ?? (head.error === "ended" ? "it was given up" : "it does not speak HTTP as expected"));
  }

  /** Closes the connection soon, unless it is used again. */
  rest(): void {
    this.#deadline.arm(UPSTREAM_IDLE_MS, () => this.destroy());
  }

  /** Closes the connection and gives up its request. */
  destroy(): void {
    this.#socket.destroy();
  }
}

function openSocket(address: UpstreamAddress): Socket {
  if (address.kind === "socket") return connect({ path: address.path });
  const { protocol, hostname, port } = address.url;
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "https:") return connect({ host, port: Number(port || 80), noDelay: true });
  const options = {
    host,
    port: Number(port || 443),
    servername: isIP(host) === 0 ? host : "",
    ALPNProtocols: ["http/1.1"],
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED can't switch the check off.
    rejectUnauthorized: true,
  };
  // The module is loaded only when it is needed: few gateways use TLS.
  return process.getBuiltinModule("node:tls").connect(options).setNoDelay(true);
}
