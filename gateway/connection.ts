import type { BlockList, Socket } from "node:net";
import { sendAnswer } from "./answer.ts";
import { ByteReader } from "./byte-reader.ts";
import { type Client, clientOf } from "./client-address.ts";
import { Deadline } from "./deadline.ts";
import { renderRequestHead } from "./headers.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { type Timeouts, transferDueMs } from "./limits.ts";
import { MessageBody } from "./message-body.ts";
import { type HeadError, valuesOf } from "./message-head.ts";
import { BUSY, badRequest, LATE, type Refusal, renderRefusal, TOO_LARGE } from "./refusal.ts";
import { type RequestHead, readRequestHead } from "./request-head.ts";
import type { Shares } from "./shares.ts";
import { isPlatformPath } from "./target.ts";
import type { Upstream } from "./upstream.ts";
import { flushed } from "./write-message.ts";

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
  /** Requests with the service and waiting for it. */
  readonly requests: Shares;
  readonly timeouts: Timeouts;
  /** Why requests can't be passed on at the moment; undefined when they can. */
  readonly unavailable: () => string | undefined;
  /** Called for every request that the gateway answers itself. */
  readonly onRefusal: (refusal: Refusal, head: RequestHead | undefined, clientAddress: string) => void;
}

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

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
  #idleSince: number | undefined;
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

  /** Since when no request is under way, in milliseconds; undefined while one is. */
  get idleSince(): number | undefined {
    return this.#idleSince;
  }

  /** Serves requests until the connection ends. */
  async run(): Promise<void> {
    while (await this.#awaitRequest()) {
      this.#deadline.arm(this.#settings.timeouts.headMs, () => this.#refuse(LATE));
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
    if (this.#idleSince !== undefined) this.#close();
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
      this.#deadline.arm(this.#settings.timeouts.readMs, () => this.destroy());
      await flushed(this.#socket);
    }
    if (this.#stopping) return false;
    if (this.#reader.unread > 0) return true;
    this.#idleSince = performance.now();
    this.#deadline.arm(this.#settings.timeouts.idleMs, () => this.#close());
    const received = await this.#reader.more();
    this.#idleSince = undefined;
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
    if (whole !== undefined) return this.#answerWhole(head, whole, client);
    const kept = new KeptBytes(room, client.shareKey, head.body.kind === "length" ? head.body.bytes : maxBytes);
    try {
      const failure = await this.#receive(head, body, kept);
      if (failure === undefined) return await this.#answerWhole(head, kept.bytes, client);
      return failure === "ended" ? this.#close() : this.#refuse(failure, head);
    } finally {
      kept.release();
    }
  }

  /** Waits for a whole body, and returns why there is none: half of one must never hold a connection to the service. */
  async #receive(head: RequestHead, body: MessageBody, kept: KeptBytes): Promise<HeadError | undefined> {
    const began = performance.now();
    for (;;) {
      const left = transferDueMs(kept.length, this.#settings.timeouts.bodyMs) - (performance.now() - began);
      this.#deadline.arm(left, () => this.#refuse(LATE, head));
      const piece = await body.next();
      if (!piece.ok && piece.error === "ended") return "ended";
      if (!piece.ok) return piece.error === "too-long" ? TOO_LARGE : badRequest("malformed chunked body");
      if (piece.value === undefined) return undefined;
      if (!kept.add(piece.value)) return BUSY;
    }
  }

  /** Has a whole request answered, if there is a place for it; true when the connection can serve another. */
  async #answerWhole(head: RequestHead, body: Buffer, client: Client): Promise<boolean> {
    const { requests, unavailable } = this.#settings;
    const reason = unavailable();
    if (reason !== undefined) return this.#decline({ status: 503, message: reason }, head);
    if (!requests.take(client.shareKey, 1)) return this.#decline(BUSY, head);
    try {
      return await this.#passOn(head, body, client);
    } finally {
      requests.giveBack(client.shareKey, 1);
    }
  }

  /**
   * Passes a whole request on and its answer back; true when the connection can serve another. A client that goes away
   * meanwhile, or that gets a 504, does not end the request: it may have been acted on already, and the service's record of it
   * must be whole.
   */
  async #passOn(head: RequestHead, body: Buffer, client: Client): Promise<boolean> {
    const { upstream, unavailable, timeouts, answerRoom } = this.#settings;
    this.#deadline.arm(timeouts.answerMs, () => {
      this.#refuse({ status: 504, message: "the service did not answer in time" }, head);
    });
    const request = {
      head: renderRequestHead(head, upstream.host, client, body.length),
      body,
      isHead: head.method === "HEAD",
      turns: timeouts,
      turn: this.#turn,
      abandonMs: timeouts.abandonMs,
    };
    const sending = upstream.send(request, client.shareKey);
    // It waits for its turn, or has had it at once. A client that had ended its side before is not waited for either.
    if (!this.#reader.isOpen) this.#turn.miss();
    const answer = await sending;
    if (!answer.ok && answer.error === "busy") return this.#decline(BUSY, head);
    if (!answer.ok) {
      const reason = unavailable();
      if (reason !== undefined) return this.#decline({ status: 503, message: reason }, head);
      return this.#refuse({ status: 502, message: "the service is not reachable" }, head);
    }
    if (this.#closing || this.#socket.destroyed) {
      answer.value.release(answer.value.body.takeWhole() !== undefined);
      return false;
    }
    const hurry = (bytes: number): void => {
      this.#deadline.arm(transferDueMs(bytes, timeouts.readMs), () => {
        answer.value.release(false);
        this.#cut();
      });
    };
    const closes = this.#stopping || !head.keepAlive;
    const to = { socket: this.#socket, request: head, closes, room: answerRoom, key: client.shareKey, hurry };
    const outcome = await sendAnswer(to, answer.value);
    this.#deadline.disarm();
    if (outcome === "broken") return this.#cut();
    return outcome === "closing" ? this.#close() : true;
  }

  #clientOf(head: RequestHead): Client {
    if (!this.peer.throughProxy) return this.peer;
    return clientOf(this.peer.address, valuesOf(head.headers, "x-forwarded-for"), this.#settings.trustedProxies);
  }

  /**
   * Answers a whole request for the service. The connection goes on: a client that had to open another one for the next
   * attempt would cost more than its request. Not so where more requests are here already: they would all be refused.
   * Returns whether it can serve another.
   */
  #decline(refusal: Refusal, head: RequestHead): boolean {
    if (!head.keepAlive || this.#stopping || this.#reader.unread > 0) return this.#refuse(refusal, head);
    this.#answer(refusal, head, false);
    return !this.#closing;
  }

  /** Answers for the service and closes, as where the next request starts is not known. Always false. */
  #refuse(refusal: Refusal, head?: RequestHead): false {
    this.#answer(refusal, head, true);
    return this.#close();
  }

  #answer(refusal: Refusal, head: RequestHead | undefined, closes: boolean): void {
    if (this.#closing || this.#socket.destroyed) return;
    this.#socket.write(renderRefusal(refusal, head, closes), "latin1");
    const { address } = head === undefined ? this.peer : this.#clientOf(head);
    this.#settings.onRefusal(refusal, head, address);
  }

  /** Closes when everything written has left, and reads on a little so that the client gets it. Always false. */
  #close(): false {
    if (this.#closing || this.#socket.destroyed) return false;
    this.#closing = true;
    this.#reader.discard();
    this.#deadline.arm(this.#settings.timeouts.readMs, () => this.destroy());
    this.#socket.end(() => this.#deadline.arm(LINGER_MS, () => this.destroy()));
    return false;
  }

  /** Breaks the connection with a reset, so that half an answer cannot pass for a whole one. Always false. */
  #cut(): false {
    this.#socket.resetAndDestroy();
    return false;
  }
}
