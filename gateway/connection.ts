import type { BlockList, Socket } from "node:net";
import { KeptBytes, MessageBody } from "./body.ts";
import { ByteReader, flushed, writeMessage } from "./byte-reader.ts";
import { type Client, clientOf } from "./client-address.ts";
import { Deadline } from "./deadline.ts";
import { isPlatformPath, renderAnswerHead, renderRequestHead } from "./headers.ts";
import { type MessageError, type RequestHead, readRequestHead, valuesOf } from "./heads.ts";
import { type Limits, MAX_KEPT_ANSWER_BYTES, transferDueMs } from "./limits.ts";
import { BUSY, LATE, type Refusal, renderRefusal, TOO_LARGE } from "./refusal.ts";
import type { ShareKey, Shares } from "./shares.ts";
import type { Upstream, UpstreamAnswer } from "./upstream.ts";

/** What bounds the body of a request. */
export interface BodyBound {
  readonly maxBytes: number;
  readonly room: Shares;
}

/** What all connections of a gateway share. */
export interface ConnectionSettings {
  readonly upstream: Upstream;
  readonly trustedProxies: BlockList;
  /** How large the body of a request to this target may be, and the bytes for such bodies that are not complete yet. */
  readonly bodyBound: (target: string) => BodyBound;
  /** Bytes for answers that are not read yet. */
  readonly answerRoom: Shares;
  readonly limits: Limits;
  /** Called for every request that the gateway answers itself. */
  readonly onRefusal: (refusal: Refusal, head: RequestHead | undefined, clientAddress: string) => void;
}

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const CRLF = Buffer.from("\r\n");

/** How long the client may go on sending after a last answer. An earlier reset could discard the answer before the client reads it. */
const LINGER_MS = 2_000;

/**
 * One client connection: requests are read, passed on and answered one after the other. A pipelined request begins when
 * the answer before it has left.
 */
export class ClientConnection {
  /** The other end, with the share that the connection itself is counted in. */
  readonly peer: Client;
  readonly #socket: Socket;
  readonly #reader: ByteReader;
  readonly #settings: ConnectionSettings;
  readonly #deadline = new Deadline();
  /** For the turn of a request that waits for it. */
  readonly #turn = new Deadline();
  /** Since when no request is under way, in milliseconds; undefined while one is. */
  idleSince: number | undefined;
  #stopping = false;
  #closing = false;

  /** @param address of the other end. */
  constructor(socket: Socket, address: string, settings: ConnectionSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#reader = new ByteReader(socket);
    this.peer = clientOf(address, [], settings.trustedProxies);
    // A lost connection is no error here: "close" follows. A request that was passed on still completes at the service.
    socket.on("error", () => {});
    // A request that still waits for its turn is refused: most clients that end their side have gone, and others need its place.
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
      if (!head.ok) {
        if (head.error === "ended") this.#close();
        else this.#refuse(head.error);
        return;
      }
      if (!(await this.#serve(head.value))) return;
    }
    this.#close();
  }

  /** Lets the request under way finish, then closes. */
  stop(): void {
    this.#stopping = true;
    if (this.idleSince !== undefined) this.#close();
  }

  /** Ends the connection now. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Answers that there is no place for another connection, and closes without waiting as `#close` does. */
  turnAway(): void {
    this.#socket.end(renderRefusal(BUSY, undefined, true), "latin1", () => this.destroy());
    this.#settings.onRefusal(BUSY, undefined, this.peer.address);
  }

  /** Waits for the first byte of a request; false when there will be none. */
  async #awaitRequest(): Promise<boolean> {
    if (this.#socket.writableLength > 0) {
      // A client that does not read its refusals must not fill the memory.
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

  /** Waits for the whole request and has it answered; true when the connection can serve another. */
  async #serve(head: RequestHead): Promise<boolean> {
    const { maxBytes, room } = this.#settings.bodyBound(head.target);
    if (isPlatformPath(head.target)) return this.#refuse({ status: 404 }, head);
    const body = new MessageBody(this.#reader, head.body, maxBytes);
    if (body.isTooLarge) return this.#refuse(TOO_LARGE, head);
    if (head.expectsContinue) this.#socket.write(CONTINUE);
    const client = this.#clientOf(head);
    // A body that came at once takes no room, so that short requests are served while others use up theirs.
    const whole = body.takeWhole();
    if (whole !== undefined) return await this.#passOn(head, whole, client);
    const kept = new KeptBytes(room, client.shareKey, head.body.kind === "length" ? head.body.bytes : maxBytes);
    try {
      const failure = await this.#receive(head, body, kept);
      if (failure === undefined) return await this.#passOn(head, kept.bytes, client);
      return failure === "ended" ? this.#close() : this.#refuse(failure, head);
    } finally {
      kept.release();
    }
  }

  /** Waits for a whole body, and returns why there is none: half of one must never hold a connection to the service. */
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
   * Passes a whole request on and its answer back; true when the connection can serve another. A client that goes away
   * meanwhile, or that gets a 504, does not end the request: it may have been acted on already, and the service's record of it
   * must be whole.
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
    // It waits for its turn, or has had it at once. A client that had ended its side before is not waited for either.
    if (!this.#reader.isOpen) this.#turn.miss();
    const answer = await sending;
    if (!answer.ok) return this.#refuse(answer.error, head, answer.error.status === 503);
    if (this.#closing || this.#socket.destroyed) {
      answer.value.release(answer.value.body.takeWhole() !== undefined);
      return false;
    }
    return await this.#sendAnswer(head, answer.value, client.shareKey);
  }

  /**
   * Writes an answer to the client. One of moderate length is kept until the client has read it, and the connection to the service
   * is free meanwhile; one that is longer, or for which the client's share has no room, is read as fast as the client reads.
   *
   * @returns true when the connection can serve another request
   */
  async #sendAnswer(request: RequestHead, answer: UpstreamAnswer, key: ShareKey): Promise<boolean> {
    const { answerRoom: room, limits } = this.#settings;
    const { body: framing } = answer.head;
    // An HTTP/1.0 client knows the end of what comes in chunks by the end of the connection.
    const inChunks = framing.kind === "chunked" && !request.http10;
    const closes = this.#stopping || !request.keepAlive;
    let unsent = renderAnswerHead(answer.head, inChunks, closes);
    let keeps = framing.kind !== "length" || framing.bytes <= MAX_KEPT_ANSWER_BYTES;
    let kept = 0;
    /** @param bytes that the client has to read next, or 0 for the service, when either takes time */
    const hurry = (bytes: number): void => {
      this.#deadline.arm(transferDueMs(bytes, limits.readMs), () => {
        answer.release(false);
        this.#cut();
      });
    };
    const drain = async (): Promise<void> => {
      hurry(this.#socket.writableLength);
      await flushed(this.#socket);
      room.giveBack(key, kept);
      kept = 0;
    };
    try {
      while (!answer.body.isRead) {
        hurry(0);
        const piece = await answer.body.next();
        if (!piece.ok || this.#socket.destroyed) return this.#cut();
        const { length } = piece.value;
        writeMessage(this.#socket, unsent, inChunks ? inChunk(piece.value) : piece.value);
        unsent = "";
        keeps &&= kept + length <= MAX_KEPT_ANSWER_BYTES && room.take(key, length);
        if (keeps) kept += length;
        else await drain();
      }
      answer.release(true);
      if (unsent !== "") this.#socket.write(unsent, "latin1");
      if (this.#socket.writableLength > 0) await drain();
      if (this.#socket.destroyed) return this.#cut();
      return closes ? this.#close() : true;
    } finally {
      room.giveBack(key, kept);
      answer.release(false);
    }
  }

  #clientOf(head: RequestHead): Client {
    if (!this.peer.throughProxy) return this.peer;
    return clientOf(this.peer.address, valuesOf(head.headers, "x-forwarded-for"), this.#settings.trustedProxies);
  }

  /**
   * Answers for the service; true when the connection can serve another request. It closes, as where the next request starts is not
   * known, unless the request `isWhole`: a client that had to open another connection for the next attempt would cost more than its
   * request. Not so where more requests are here already: they would all be refused.
   */
  #refuse(refusal: Refusal, head?: RequestHead, isWhole = false): boolean {
    const closes = !isWhole || !head?.keepAlive || this.#stopping || this.#reader.unread > 0;
    if (this.#closing || this.#socket.destroyed) return false;
    this.#socket.write(renderRefusal(refusal, head, closes), "latin1");
    const { address } = head === undefined ? this.peer : this.#clientOf(head);
    this.#settings.onRefusal(refusal, head, address);
    return closes ? this.#close() : true;
  }

  /** Closes when everything written has left, and reads on a little so that the client gets it. Always false. */
  #close(): false {
    if (this.#closing || this.#socket.destroyed) return false;
    this.#closing = true;
    this.#reader.discard();
    this.#deadline.arm(this.#settings.limits.readMs, () => this.destroy());
    this.#socket.end(() => this.#deadline.arm(LINGER_MS, () => this.destroy()));
    return false;
  }

  /** Breaks the connection with a reset, so that half an answer cannot pass for a whole one. Always false. */
  #cut(): false {
    this.#socket.resetAndDestroy();
    return false;
  }
}

function inChunk(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, CRLF]);
}
