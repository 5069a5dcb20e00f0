import type { BlockList, Socket } from "node:net";
import { KeptBytes, MessageBody } from "./body.ts";
import { ByteReader, flushed, writeMessage } from "./byte-reader.ts";
import { type Client, clientOf } from "./client-address.ts";
import { Deadline } from "./deadline.ts";
import { isPlatformPath, renderAnswerHead, renderRequestHead } from "./headers.ts";
import { type BodyFraming, type MessageError, type RequestHead, readRequestHead, valuesOf } from "./heads.ts";
import { type Limits, MAX_KEPT_ANSWER_BYTES, transferDueMs } from "./limits.ts";
import { BUSY, LATE, type Refusal, renderRefusal, TOO_LARGE } from "./refusal.ts";
import type { ShareKey, Shares } from "./shares.ts";
import type { Upstream, UpstreamAnswer } from "./upstream.ts";

/** What all connections of a gateway share. */
export interface ConnectionSettings {
  readonly upstream: Upstream;
  readonly trustedProxies: BlockList;
  /** Maximum size of the body of a request to this target, and the memory for such bodies. */
  readonly bodyBound: (target: string) => { readonly maxBytes: number; readonly room: Shares };
  /** Memory for answers that clients have not read. */
  readonly answerRoom: Shares;
  readonly limits: Limits;
  /** Called for each request that the gateway answers itself. */
  readonly onRefusal: (refusal: Refusal, head: RequestHead | undefined, clientAddress: string) => void;
}

/** How long a client may send after the last answer (ms). An earlier reset could discard the answer before it is read. */
const LINGER_MS = 2_000;

/** A client connection. It serves one request after the other: a pipelined request begins after the previous answer was sent. */
export class ClientConnection {
  /** The other end. The connection counts in its share. */
  readonly peer: Client;
  readonly #socket: Socket;
  readonly #reader: ByteReader;
  readonly #settings: ConnectionSettings;
  readonly #deadline = new Deadline();
  /** For the turn of a waiting request. */
  readonly #turn = new Deadline();
  /** Since when no request is in flight (ms on the clock of `performance`); undefined while one is. */
  idleSince: number | undefined;
  #stopping = false;
  #closing = false;

  /** @param address of the other end. */
  constructor(socket: Socket, address: string, settings: ConnectionSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#reader = new ByteReader(socket);
    this.peer = clientOf(address, [], settings.trustedProxies);
    // A lost connection is handled at "close". A request that was sent to the service is still carried out.
    socket.on("error", () => {});
    // A waiting request is refused: most clients that close their side have gone, and others need its place.
    socket.on("end", () => this.#turn.miss());
    socket.on("close", () => {
      this.#turn.miss();
      this.#deadline.disarm();
    });
  }

  /** Serves requests until the connection ends. */
  async run(): Promise<void> {
    while (await this.#awaitRequest()) {
      this.#deadline.arm(this.#settings.limits.headMs, () => this.#refuse(LATE));
      const head = await readRequestHead(this.#reader);
      const goesOn = head.ok ? await this.#serve(head.value) : this.#end(head.error);
      if (!goesOn) return;
    }
    this.#close();
  }

  /** Closes after the request in flight. */
  stop(): void {
    this.#stopping = true;
    if (this.idleSince !== undefined) this.#close();
  }

  /** Ends the connection now. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Refuses the connection with 503, and closes without the wait of `#close`. */
  turnAway(): void {
    this.#socket.end(renderRefusal(BUSY, undefined, true), "latin1", () => this.destroy());
    this.#settings.onRefusal(BUSY, undefined, this.peer.address);
  }

  /** Waits for the first byte of a request; false when none will come. */
  async #awaitRequest(): Promise<boolean> {
    if (this.#socket.writableLength > 0) {
      // Refusals that the client does not read must not fill the memory.
      this.#deadline.arm(this.#settings.limits.readMs, () => this.destroy());
      await flushed(this.#socket);
    }
    if (this.#stopping) return false;
    if (this.#reader.unread > 0) return true;
    this.idleSince = performance.now();
    this.#deadline.arm(this.#settings.limits.idleMs, () => this.#close());
    const received = await this.#reader.more();
    this.idleSince = undefined;
    return received;
  }

  /** Receives the body of a request and answers the request. True when the connection can serve another one. */
  async #serve(head: RequestHead): Promise<boolean> {
    const { maxBytes, room } = this.#settings.bodyBound(head.target);
    if (isPlatformPath(head.target)) return this.#refuse({ status: 404 }, head);
    const body = new MessageBody(this.#reader, head.body, maxBytes);
    if (body.isTooLarge) return this.#refuse(TOO_LARGE, head);
    if (head.expectsContinue) this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    const client = this.#clientOf(head);
    // A body that has arrived in one piece takes no room, so short requests are served while the room is used up.
    const whole = body.takeWhole();
    if (whole !== undefined) return await this.#passOn(head, whole, client);
    const kept = new KeptBytes(room, client.shareKey, head.body.kind === "length" ? head.body.bytes : maxBytes);
    try {
      const failure = await this.#receive(head, body, kept);
      return failure === undefined ? await this.#passOn(head, kept.bytes, client) : this.#end(failure, head);
    } finally {
      kept.release();
    }
  }

  /** Receives the rest of a body. Returns why it is not complete: an incomplete body never uses a connection to the service. */
  async #receive(head: RequestHead, body: MessageBody, kept: KeptBytes): Promise<MessageError | undefined> {
    const began = performance.now();
    while (!body.isRead) {
      const left = transferDueMs(kept.length, this.#settings.limits.bodyMs) - (performance.now() - began);
      this.#deadline.arm(left, () => this.#refuse(LATE, head));
      const piece = await body.next();
      if (!piece.ok) return piece.error;
      if (!kept.add(piece.value)) return BUSY;
    }
    return undefined;
  }

  /**
   * Sends a complete request to the service, and its answer to the client. True when the connection can serve another request.
   * When the client goes away or gets a 504 meanwhile, the service still carries the request out, and its audit log is complete.
   */
  async #passOn(head: RequestHead, body: Buffer, client: Client): Promise<boolean> {
    const { upstream, limits } = this.#settings;
    this.#deadline.arm(limits.answerMs, () => {
      this.#refuse({ status: 504, message: "the service did not answer in time" }, head);
    });
    const request = {
      head: renderRequestHead(head, upstream.host, client, body.length),
      body,
      isHead: head.method === "HEAD",
      abandonMs: limits.abandonMs,
    };
    const sending = upstream.send(request, this.#turn, client.shareKey);
    // A client that has already closed its side does not wait for a turn.
    if (!this.#reader.isOpen) this.#turn.miss();
    const answer = await sending;
    if (!answer.ok) return this.#refuse(answer.error, head, answer.error.status === 503);
    if (!this.#closing && !this.#socket.destroyed) return await this.#sendAnswer(head, answer.value, client.shareKey);
    answer.value.release(false);
    return false;
  }

  /**
   * Sends an answer to the client. An answer of moderate size is buffered in the client's share of the memory, so the
   * connection to the service is free while the client reads. Any other is read from the service as fast as the client reads.
   *
   * @returns true when the connection can serve another request
   */
  async #sendAnswer(request: RequestHead, answer: UpstreamAnswer, key: ShareKey): Promise<boolean> {
    const { answerRoom: room, limits } = this.#settings;
    const { body: framing } = answer.head;
    // An HTTP/1.0 client finds the end of a chunked answer by the end of the connection.
    const inChunks = framing.kind === "chunked" && !request.http10;
    const closes = this.#stopping || !request.keepAlive;
    let unsent = renderAnswerHead(answer.head, inChunks, closes);
    const wanted = roomFor(framing);
    const reserved = wanted <= MAX_KEPT_ANSWER_BYTES && room.take(key, wanted) ? wanted : 0;
    let written = 0;
    /** @param bytes that the client has to read next; 0 while the service has to send */
    const hurry = (bytes: number): void => {
      this.#deadline.arm(transferDueMs(bytes, limits.readMs), () => {
        answer.release(false);
        this.#cut();
      });
    };
    const drain = (): Promise<void> => {
      hurry(this.#socket.writableLength);
      return flushed(this.#socket);
    };
    try {
      while (!answer.body.isRead) {
        hurry(0);
        const piece = await answer.body.next();
        if (!piece.ok || this.#socket.destroyed) return this.#cut();
        const { length } = piece.value;
        const [size, end] = inChunks ? [`${length.toString(16)}\r\n`, "\r\n"] : ["", ""];
        writeMessage(this.#socket, unsent + size, piece.value, end);
        unsent = "";
        written += length;
        if (written > reserved) await drain();
      }
      answer.release(true);
      if (unsent !== "") this.#socket.write(unsent, "latin1");
      if (this.#socket.writableLength > 0) await drain();
      if (this.#socket.destroyed) return this.#cut();
      return closes ? this.#close() : true;
    } finally {
      room.giveBack(key, reserved);
      answer.release(false);
    }
  }

  #clientOf(head: RequestHead): Client {
    if (!this.peer.throughProxy) return this.peer;
    return clientOf(this.peer.address, valuesOf(head.headers, "x-forwarded-for"), this.#settings.trustedProxies);
  }

  /** Ends the connection after a message that cannot be read. Always false. */
  #end(error: MessageError, head?: RequestHead): boolean {
    return error === "ended" ? this.#close() : this.#refuse(error, head);
  }

  /**
   * Answers a request itself. True when the connection can serve another request. It closes when the request was not read
   * completely (`isWhole` is false), because the start of the next request is unknown. After a complete request it stays
   * open, as a new connection for the retry would cost more than the request. If more requests are here already, it closes:
   * they would all be refused.
   */
  #refuse(refusal: Refusal, head?: RequestHead, isWhole = false): boolean {
    if (this.#closing || this.#socket.destroyed) return false;
    const closes = !isWhole || !head?.keepAlive || this.#stopping || this.#reader.unread > 0;
    this.#socket.write(renderRefusal(refusal, head, closes), "latin1");
    const { address } = head === undefined ? this.peer : this.#clientOf(head);
    this.#settings.onRefusal(refusal, head, address);
    return closes ? this.#close() : true;
  }

  /** Closes after everything was sent, and reads on for a moment so that the client gets it. Always false. */
  #close(): false {
    if (this.#closing || this.#socket.destroyed) return false;
    this.#closing = true;
    this.#reader.discard();
    this.#deadline.arm(this.#settings.limits.readMs, () => this.destroy());
    this.#socket.end(() => this.#deadline.arm(LINGER_MS, () => this.destroy()));
    return false;
  }

  /** Resets the connection, so that the client can't take a truncated answer for a complete one. Always false. */
  #cut(): false {
    this.#socket.resetAndDestroy();
    return false;
  }
}

/** The bytes of the answer room that a body may need. The length of a chunked answer is unknown. */
function roomFor(framing: BodyFraming): number {
  if (framing.kind === "none") return 0;
  return framing.kind === "length" ? framing.bytes : MAX_KEPT_ANSWER_BYTES;
}
