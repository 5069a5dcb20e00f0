import type { Socket } from "node:net";
import type { Result } from "../src/base/result.ts";
import type { Exchange } from "../src/wire/exchange.ts";
import { ByteReader } from "./byte-reader.ts";
import { Deadline } from "./deadline.ts";
import { type MessageBody, openBody } from "./message-body.ts";
import { type ResponseError, type ResponseHead, readResponseHead } from "./response-head.ts";
import { writePieces } from "./write-message.ts";

/** An answer of the service, its body unread. */
export interface UpstreamAnswer {
  readonly head: ResponseHead;
  readonly body: MessageBody;
  /** To be called once, when all of the body was read, or when the rest is not wanted (`whole` is false). */
  release(whole: boolean): void;
}

/** One connection to the service: one request at a time. */
export class UpstreamConnection {
  #sentAt = 0;
  #sent = 0;
  readonly #name: string;
  readonly #socket: Socket;
  readonly #reader: ByteReader;
  readonly #deadline = new Deadline();
  #error: Error | undefined;

  /**
   * @param open connects; what it gets is called with bytes that arrive apart from the socket's stream, good until it returns
   * @param name for the service
   * @param onClose called once, however the connection ends.
   */
  constructor(
    open: (onBytes: (received: Buffer) => void) => Socket,
    name: string,
    onClose: (connection: UpstreamConnection) => void,
  ) {
    const socket = open((received) => this.#reader.receive(Buffer.from(received)));
    this.#socket = socket;
    this.#name = name;
    this.#reader = new ByteReader(socket);
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
   * True when another request can be sent: the connection is open, all of the request before was taken, and nothing came
   * that nobody asked for, which would pass for the answer to the next request.
   */
  get isFit(): boolean {
    return this.#reader.isOpen && this.#reader.unread === 0 && this.#socket.writableLength === 0;
  }

  /** When its last request was sent, ms. The service cannot have begun earlier to count how long it is unused. */
  get sentAt(): number {
    return this.#sentAt;
  }

  /** True when it was the other end that closed the connection, or it could not be opened. */
  get isLost(): boolean {
    return this.#error !== undefined;
  }

  /** The next request on it. */
  nextExchange(): Exchange {
    this.#sent++;
    return { connection: this.#name, number: this.#sent, again: false };
  }

  /**
   * Sends a whole request and waits for the answer's head.
   *
   * @param method of the request as sent
   * @param abandonMs after which the answer is not waited for any more
   * @returns the head, or what kept it away, of which `failure` tells more
   */
  exchange(
    head: string,
    body: readonly Buffer[],
    method: string,
    abandonMs: number,
  ): Promise<Result<ResponseHead, ResponseError>> {
    this.#deadline.arm(abandonMs, () => this.destroy());
    this.#sentAt = performance.now();
    writePieces(this.#socket, head, body);
    return readResponseHead(this.#reader, method);
  }

  /** Why there was no answer. */
  failure(error: ResponseError): Error {
    return this.#error ?? new Error(error === "ended" ? "it was given up" : "it does not speak HTTP as expected");
  }

  /** The body of the answer whose head was read. */
  bodyOf(head: ResponseHead): MessageBody {
    const body = openBody(this.#reader, head.body);
    // Without a limit no length is refused.
    if (!body.ok) throw new Error("a body without a limit cannot be too large");
    return body.value;
  }

  /** The answer has been read. */
  rest(): void {
    this.#deadline.rest();
  }

  /** Ends the connection with whatever is under way. */
  destroy(): void {
    this.#socket.destroy();
  }
}
