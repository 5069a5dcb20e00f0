import type { BlockList, Socket } from "node:net";
import { KeptBytes } from "./buffered-body.ts";
import { ByteReader, flushed } from "./byte-reader.ts";
import { type Client, clientOf } from "./client-address.ts";
import type { ShareNetworks } from "./client-shares.ts";
import { Deadline } from "./deadline.ts";
import { announcesBody, valuesOf } from "./framing.ts";
import { isPlatformPath, renderAnswerHead, renderRequestHead } from "./headers.ts";
import { type Limits, transferDueMs } from "./limits.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { MessageBody } from "./message-body.ts";
import { type MessageError, type RequestHead, readRequestHead } from "./message-head.ts";
import { BUSY, LATE, type Refusal, renderReadiness, renderRefusal, TOO_LARGE } from "./refusal.ts";
import { UnreadAnswer } from "./unread-answer.ts";
import type { Upstream, UpstreamAnswer } from "./upstream.ts";

/** What all connections of a gateway share. */
export interface ConnectionSettings {
  readonly upstream: Upstream;
  readonly trustedProxies: BlockList;
  /** Maximum size of the body of a request to this target, and the memory for such bodies. */
  readonly bodyBound: (target: string) => { readonly maxBytes: number; readonly budget: MemoryBudget };
  /** Memory for answers that clients have not read. */
  readonly answerBudget: MemoryBudget;
  readonly limits: Limits;
  /** Answers `GET /ready`, which balancers ask. Absent: the service answers it as any other path. */
  readonly readiness?: () => Promise<boolean>;
  /** Called for each request that the gateway answers itself. */
  readonly onRefusal: (refusal: Refusal, head: RequestHead | undefined, clientAddress: string) => void;
}

/** How long a client may send after the last answer (ms). An earlier reset could discard the answer before it is read. */
const LINGER_MS = 2_000;

/** The target of balancers. It is outside of the service's paths. */
const READY_TARGET = "/ready";

const NO_BODY: Buffer = Buffer.alloc(0);

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
  /** Since when the connection waits for its client (ms on the clock of `performance`); undefined while the service has its request. */
  #waitsSince: number | undefined = performance.now();
  /** The answer that the client has not read completely. */
  #unread: UnreadAnswer | undefined;
  #isIdle = false;
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

  /** Since when the client has to act (ms on the clock of `performance`); undefined while the service has its request. */
  get waitsSince(): number | undefined {
    return this.#unread?.actedAt ?? this.#waitsSince;
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
    if (this.#isIdle) this.#close();
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
    this.#waitsSince = performance.now();
    if (this.#socket.writableLength > 0) {
      // Refusals that the client does not read must not fill the memory.
      this.#deadline.arm(this.#settings.limits.readMs, () => this.destroy());
      await flushed(this.#socket);
    }
    if (this.#stopping) return false;
    if (this.#reader.unread > 0) return true;
    this.#isIdle = true;
    this.#deadline.arm(this.#settings.limits.idleMs, () => this.#close());
    const received = await this.#reader.more();
    this.#isIdle = false;
    this.#waitsSince = performance.now();
    return received;
  }

  /** Receives the body of a request and answers the request. True when the connection can serve another one. */
  async #serve(head: RequestHead): Promise<boolean> {
    const { readiness } = this.#settings;
    if (readiness && asksReadiness(head)) return this.#sendReadiness(head, await readiness());
    const { maxBytes } = this.#settings.bodyBound(head.target);
    if (isPlatformPath(head.target)) return this.#refuse({ status: 404 }, head);
    const body = new MessageBody(this.#reader, head.body, maxBytes);
    if (body.isTooLarge) return this.#refuse(TOO_LARGE, head);
    if (head.expectsContinue) this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    const client = this.#clientOf(head);
    // A body that has arrived in one piece takes no budget, so short requests are served while the budget is used up.
    const whole = body.takeWhole();
    const answer = whole !== undefined ? await this.#ask(head, whole, client) : await this.#receive(head, body, client);
    if (answer === undefined) return !this.#closing && !this.#socket.destroyed;
    if (!this.#closing && !this.#socket.destroyed) return await this.#sendAnswer(head, answer, client);
    answer.release(false);
    return false;
  }

  /**
   * Receives the rest of a body and asks the service. An incomplete body never uses a connection to the service, and a
   * complete one uses no budget while the client reads the answer. Undefined after a refusal.
   */
  async #receive(head: RequestHead, body: MessageBody, client: Client): Promise<UpstreamAnswer | undefined> {
    const { limits, bodyBound } = this.#settings;
    const { maxBytes, budget } = bodyBound(head.target);
    const bound = head.body.kind === "length" ? head.body.bytes : maxBytes;
    const kept = new KeptBytes(budget, client.networks, bound, () => this.#refuse(BUSY, head));
    const began = performance.now();
    try {
      while (!body.isRead) {
        this.#waitsSince = performance.now();
        const left = transferDueMs(kept.length, limits.bodyMs) - (this.#waitsSince - began);
        this.#deadline.arm(left, () => this.#refuse(LATE, head));
        const piece = await body.next();
        const failure = piece.ok ? (kept.add(piece.value) ? undefined : BUSY) : piece.error;
        if (failure !== undefined) return void this.#end(failure, head);
      }
      return await this.#ask(head, kept.complete(), client);
    } finally {
      kept.release();
    }
  }

  /**
   * Sends a complete request to the service. Undefined after a refusal. When the client goes away or the answer is late,
   * the service still carries the request out, and its audit log is complete.
   */
  async #ask(head: RequestHead, body: Buffer, client: Client): Promise<UpstreamAnswer | undefined> {
    const { upstream, answerBudget, limits } = this.#settings;
    const { networks } = client;
    const hasUnread = answerBudget.holdsFor(networks);
    if (hasUnread && !(await this.#awaitReading(networks))) return void this.#refuse(BUSY, head, true);
    this.#waitsSince = undefined;
    this.#deadline.arm(limits.answerMs, () => this.#refuse(upstream.late, head));
    const request = {
      head: renderRequestHead(head, upstream.host, client, body.length),
      body,
      isHead: head.method === "HEAD",
      abandonMs: limits.abandonMs,
    };
    const sending = upstream.send(request, { networks, hasUnread, turn: this.#turn });
    // A client that has already closed its side does not wait for a turn.
    if (!this.#reader.isOpen) this.#turn.miss();
    const answer = await sending;
    return answer.ok ? answer.value : void this.#refuse(answer.error, head, answer.error.status === 503);
  }

  /**
   * Waits for a moment while the client leaves more unread on its connections than its part of the budget. False when it still
   * does: its request is not sent, because the answer could not be held.
   */
  async #awaitReading(networks: ShareNetworks): Promise<boolean> {
    const { answerBudget, limits } = this.#settings;
    if (answerBudget.admits(networks)) return true;
    this.#deadline.disarm();
    this.#waitsSince = performance.now();
    await new Promise<void>((resolve) => this.#turn.arm(limits.turnMs, resolve));
    return answerBudget.admits(networks);
  }

  /**
   * Sends an answer to the client. It is read from the service at once, so the connection to the service is free while the
   * client reads.
   *
   * @returns true when the connection can serve another request
   */
  async #sendAnswer(request: RequestHead, answer: UpstreamAnswer, { networks }: Client): Promise<boolean> {
    const { answerBudget, limits } = this.#settings;
    // An HTTP/1.0 client finds the end of a chunked answer by the end of the connection.
    const inChunks = answer.head.body.kind === "chunked" && !request.http10;
    const closes = this.#stopping || !request.keepAlive;
    const giveUp = (): void => {
      answer.release(false);
      this.#cut();
    };
    const unread = new UnreadAnswer(this.#socket, answerBudget, networks, giveUp);
    this.#unread = unread;
    let head = renderAnswerHead(answer.head, inChunks, closes);
    try {
      while (!answer.body.isRead) {
        this.#deadline.arm(limits.readMs, giveUp);
        const piece = await answer.body.next();
        if (!piece.ok || this.#socket.destroyed) return this.#cut();
        const [size, end] = inChunks ? [`${piece.value.length.toString(16)}\r\n`, "\r\n"] : ["", ""];
        unread.write(head + size, piece.value, end);
        head = "";
      }
      answer.release(true);
      if (head !== "") unread.write(head, NO_BODY, "");
      if (unread.heldBytes > 0) {
        this.#deadline.arm(transferDueMs(unread.heldBytes, limits.readMs), () => this.#cut());
        await unread.drained();
      }
      if (this.#socket.destroyed) return this.#cut();
      return closes ? this.#close() : true;
    } finally {
      this.#unread = undefined;
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

  /** Answers a balancer. There is no audit line, as it asks every second. */
  #sendReadiness(head: RequestHead, isReady: boolean): boolean {
    if (this.#closing || this.#socket.destroyed) return false;
    const closes = !head.keepAlive || this.#stopping;
    this.#socket.write(renderReadiness(isReady, closes, head.method === "HEAD"), "latin1");
    return closes ? this.#close() : true;
  }

  /** Closes after everything was sent, and reads on for a moment so that the client gets it. Always false. */
  #close(): false {
    if (this.#closing || this.#socket.destroyed) return false;
    this.#closing = true;
    this.#waitsSince = performance.now();
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

function asksReadiness({ method, target, body }: RequestHead): boolean {
  return target === READY_TARGET && (method === "GET" || method === "HEAD") && !announcesBody(body);
}
