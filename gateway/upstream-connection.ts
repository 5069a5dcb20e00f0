import { randomBytes } from "node:crypto";
import { connect, isIP, type Socket } from "node:net";
import { err, type Result } from "../src/base/result.ts";
import { EXCHANGE_HEADER, type Exchange, renderExchange } from "../src/wire/exchange.ts";
import { ByteReader } from "./byte-reader.ts";
import { Deadline } from "./deadline.ts";
import { UPSTREAM_IDLE_MS } from "./limits.ts";
import { type ResponseHead, readResponseHead } from "./response-head.ts";
import { writeMessage } from "./write-message.ts";

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

/** One connection to the service: one request at a time. */
export class UpstreamConnection {
  readonly reader: ByteReader;
  readonly #socket: Socket;
  readonly #deadline = new Deadline();
  /** In `X-Grove-Exchange`. No client can guess it. */
  readonly #name = randomBytes(16).toString("base64url");
  #sent = 0;
  #sentAt = 0;
  /** Why the connection is lost, for the operator. */
  #loss: string | undefined;

  /** @param onClose called once, however the connection ends. */
  constructor(address: UpstreamAddress, onClose: (connection: UpstreamConnection) => void) {
    this.#socket = openSocket(address);
    this.reader = new ByteReader(this.#socket);
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      // A failed connection to a name with several addresses has an empty message.
      this.#loss = error.message || (error.code ?? error.name);
    });
    this.#socket.on("end", () => {
      this.#loss ??= "the connection was closed";
    });
    this.#socket.on("close", () => {
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
    return this.#loss !== undefined;
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
    return err(this.#loss ?? (head.error === "ended" ? "it was given up" : "it does not speak HTTP as expected"));
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
