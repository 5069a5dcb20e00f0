import { connect, isIP, type Socket } from "node:net";
import type { Result } from "../src/base/result.ts";
import { EXCHANGE_HEADER, type Exchange, renderExchange } from "../src/wire/exchange.ts";
import { ByteReader, type ReadError } from "./byte-reader.ts";
import { Deadline } from "./deadline.ts";
import { UPSTREAM_IDLE_MS } from "./limits.ts";
import { type ResponseHead, readResponseHead } from "./response-head.ts";
import type { TurnLimits } from "./shares.ts";
import { writeMessage } from "./write-message.ts";

/** Where the service is: an origin (`http:` or `https:`), or a Unix domain socket that speaks HTTP. */
export type UpstreamAddress =
  | { readonly kind: "origin"; readonly url: URL }
  | { readonly kind: "socket"; readonly path: string };

/** A whole request as it goes over the wire. */
export interface UpstreamRequest {
  /** Latin1, with the empty line at its end. */
  readonly head: string;
  readonly body: Buffer;
  /** True when no body follows the head of the answer, whatever it says. */
  readonly isHead: boolean;
  /** How long the request waits for its turn. */
  readonly turns: TurnLimits;
  /** Milliseconds after which the answer is not waited for any more. */
  readonly abandonMs: number;
}

/** One connection to the service: one request at a time. */
export class UpstreamConnection {
  readonly reader: ByteReader;
  readonly #socket: Socket;
  readonly #deadline = new Deadline();
  readonly #name: string;
  #sent = 0;
  #sentAt = 0;
  #error: NodeJS.ErrnoException | undefined;

  /**
   * @param name of the connection in `X-Grove-Exchange`
   * @param onClose called once, however the connection ends
   */
  constructor(address: UpstreamAddress, name: string, onClose: (connection: UpstreamConnection) => void) {
    this.#name = name;
    const socket = openSocket(address, (received) => this.reader.receive(Buffer.from(received)));
    this.#socket = socket;
    this.reader = new ByteReader(socket);
    socket.on("error", (error) => {
      this.#error = error;
    });
    socket.on("end", () => {
      this.#error ??= new Error("the connection was closed");
    });
    socket.on("close", () => {
      this.#deadline.disarm();
      onClose(this);
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

  /** True when the service closed the connection, or it could not be opened. */
  get isLost(): boolean {
    return this.#error !== undefined;
  }

  /** The number of the next request on this connection. */
  nextExchange(): Exchange {
    this.#sent++;
    return { connection: this.#name, number: this.#sent, again: false };
  }

  /**
   * Sends a whole request and waits for the head of the answer, or the reason why there is none, which `failure` describes.
   *
   * @param exchange sent with the request; null for a service that does not remember what it has begun
   */
  exchange(request: UpstreamRequest, exchange: Exchange | null): Promise<Result<ResponseHead, ReadError>> {
    const { body, isHead, abandonMs } = request;
    const head = exchange === null ? request.head : withExchange(request.head, exchange);
    this.#deadline.arm(abandonMs, () => this.destroy());
    this.#sentAt = performance.now();
    writeMessage(this.#socket, head, body);
    return readResponseHead(this.reader, isHead);
  }

  /** Why there was no answer, for the operator. */
  failure(error: ReadError): string {
    if (this.#error === undefined) return error === "ended" ? "it was given up" : "it does not speak HTTP as expected";
    // A failed connection to a name with several addresses has an empty message.
    return this.#error.message || (this.#error.code ?? this.#error.name);
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

function withExchange(head: string, exchange: Exchange): string {
  return `${head.slice(0, -2)}${EXCHANGE_HEADER}: ${renderExchange(exchange)}\r\n\r\n`;
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
