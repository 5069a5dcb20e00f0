import type { BlockList, Socket } from "node:net";
import { clientNetwork } from "../src/base/client-network.ts";
import { prepareAnswer, sendAnswer } from "./answer.ts";
import type { BodyPages } from "./body-pages.ts";
import { ByteReader } from "./byte-reader.ts";
import { type ClientAddress, clientAddress, directClient, isTrustedPeer } from "./client-address.ts";
import { Deadline } from "./deadline.ts";
import { bodyDueMs, type Timeouts } from "./limits.ts";
import { openBody } from "./message-body.ts";
import { valuesOf } from "./message-head.ts";
import { receiveBody, TOO_LARGE } from "./received-body.ts";
import { BUSY, LATE, type Refusal, renderRefusal } from "./refusal.ts";
import { type RequestHead, readRequestHead } from "./request-head.ts";
import type { ShareKey, Shares } from "./shares.ts";
import { isPlatformPath, listTarget } from "./target.ts";
import type { Upstream } from "./upstream.ts";
import { renderRequestHead } from "./upstream-headers.ts";
import { drained } from "./write-message.ts";

/** What all connections of a gateway share. */
export interface ConnectionSettings {
  readonly upstream: Upstream;
  readonly trustedProxies: BlockList;
  readonly maxBodyBytes: number;
  /** Bytes for bodies that are not complete yet. */
  readonly bodyRoom: Shares;
  readonly bodyPages: BodyPages;
  /** Requests with the service and waiting for it. */
  readonly requests: Shares;
  readonly timeouts: Timeouts;
  /** Why requests can't be passed on at the moment; undefined when they can. */
  readonly unavailable: () => string | undefined;
  /** InventoryUpdate of every request that the gateway answers itself. */
  readonly onRefusal: (refusal: Refusal, head: RequestHead | undefined, clientAddress: string) => void;
}

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

/** How long the client may go on sending after a last answer. An earlier reset could discard the answer before the client reads it. */
const LINGER_MS = 2_000;

/**
 * One client connection: requests are read, passed on and answered one after the other, so pipelined ones are answered
 * in order and none is started before the end of the one before is known.
 */
export class ClientConnection {
  /** Under which the connection itself is counted; null for a trusted proxy. */
  readonly shareKey: ShareKey;
  readonly #socket: Socket;
  readonly #reader: ByteReader;
  readonly #settings: ConnectionSettings;
  readonly #deadline = new Deadline();
  /** Who makes all requests here; undefined when each has to be asked for. */
  readonly #direct: ClientAddress | undefined;
  readonly #peer: string;
  #idleSince: number | undefined;
  #stopping = false;
  #closing = false;

  /** @param peer address of the other end. */
  constructor(socket: Socket, peer: string, settings: ConnectionSettings) {
    this.#socket = socket;
    this.#peer = peer;
    this.#settings = settings;
    this.#reader = new ByteReader(socket);
    this.#direct = isTrustedPeer(peer, settings.trustedProxies) ? undefined : directClient(peer);
    this.shareKey = this.#direct === undefined ? null : clientNetwork(this.#direct.address);
    // A lost connection is no error here: "close" follows. A request that was passed on still completes at the service.
    socket.on("error", () => {});
    socket.on("close", () => this.#deadline.disarm());
  }

  /** Since when no request is under way, ms; undefined while one is. */
  get idleSince(): number | undefined {
    return this.#idleSince;
  }

  /** Serves requests until the connection ends. */
  async run(): Promise<void> {
    const hurry = (): void => this.#deadline.arm(this.#settings.timeouts.headMs, () => this.#refuse(LATE));
    while (await this.#awaitRequest()) {
      const head = await readRequestHead(this.#reader, hurry);
      if (!head.ok) {
        if (head.error === "disconnected") this.#close();
        else this.#refuse(head.error);
        return;
      }
      if (!(await this.#exchange(head.value))) return;
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
    this.#settings.onRefusal(BUSY, undefined, directClient(this.#peer).address);
  }

  /** Waits for the first byte of a request; false when there will be none. */
  async #awaitRequest(): Promise<boolean> {
    const { timeouts } = this.#settings;
    if (this.#socket.writableNeedDrain) {
      // A client that sends requests and never reads answers must not fill the memory.
      this.#deadline.arm(timeouts.stallMs, () => this.destroy());
      await drained(this.#socket);
    }
    if (this.#stopping) return false;
    if (this.#reader.unread > 0) return true;
    this.#idleSince = performance.now();
    this.#deadline.arm(timeouts.idleMs, () => this.#close());
    const received = await this.#reader.more();
    this.#idleSince = undefined;
    return received;
  }

  /** Waits for the body of a request and has it answered; true when the connection can serve another. */
  async #exchange(head: RequestHead): Promise<boolean> {
    const { maxBodyBytes, bodyRoom, bodyPages, timeouts } = this.#settings;
    if (isPlatformPath(head.target)) return this.#refuse({ status: 404 }, head);
    const body = openBody(this.#reader, head.body, maxBodyBytes);
    if (!body.ok) return this.#refuse(TOO_LARGE, head);
    if (head.expectsContinue) this.#socket.write(CONTINUE);

    const client = this.#clientOf(head);
    const key = this.#keyOf(client);
    const began = performance.now();
    const hurry = (received: number): void => {
      const left = bodyDueMs(received, timeouts.bodyMs) - (performance.now() - began);
      this.#deadline.arm(Math.max(left, 0), () => this.#refuse(LATE, head));
    };
    const received = await receiveBody(
      body.value,
      { maxBytes: maxBodyBytes, room: bodyRoom, pages: bodyPages, key },
      hurry,
    );
    if (!received.ok) return received.error === "disconnected" ? this.#close() : this.#refuse(received.error, head);
    let isUnread = false;
    try {
      const goesOn = await this.#answerWhole(head, received.value.pieces, client, key);
      // All of it was written to the service, or the connection to it was closed.
      isUnread = true;
      return goesOn;
    } finally {
      received.value.release(isUnread);
    }
  }

  /** Has a whole request answered by the service, if there is a place for it; true when the connection can serve another. */
  async #answerWhole(
    head: RequestHead,
    body: readonly Buffer[],
    client: ClientAddress,
    key: ShareKey,
  ): Promise<boolean> {
    const { requests, unavailable } = this.#settings;
    const reason = unavailable();
    if (reason !== undefined) return this.#decline({ status: 503, message: reason }, head);
    if (!requests.take(key, 1)) return this.#decline(BUSY, head);
    try {
      return await this.#passOn(head, body, client, key);
    } finally {
      requests.giveBack(key, 1);
    }
  }

  /**
   * Passes a whole request on and its answer back; true when the connection can serve another. A client that goes away
   * meanwhile, or that is told that it takes too long, does not end the request: it may have been acted on already, and
   * the service's record of it must be whole.
   */
  async #passOn(head: RequestHead, body: readonly Buffer[], client: ClientAddress, key: ShareKey): Promise<boolean> {
    const { upstream, unavailable, timeouts } = this.#settings;
    this.#deadline.arm(timeouts.answerMs, () => {
      this.#refuse({ status: 504, message: "the service did not answer in time" }, head);
    });
    const list = head.method === "LIST";
    const method = list ? "GET" : head.method;
    const target = list ? listTarget(head.target) : head.target;
    const bodyBytes = body.reduce((sum, piece) => sum + piece.length, 0);
    const rendered = renderRequestHead(head, { method, target, host: upstream.host, client, bodyBytes });
    const answer = await upstream.send({ method, head: rendered, body, abandonMs: timeouts.abandonMs }, key);
    if (!answer.ok) {
      const reason = unavailable();
      if (reason !== undefined) return this.#decline({ status: 503, message: reason }, head);
      return this.#refuse({ status: 502, message: "the service is not reachable" }, head);
    }
    if (this.#closing || this.#socket.destroyed) {
      answer.value.release(answer.value.body.takeWhole() !== undefined);
      return false;
    }
    this.#deadline.arm(timeouts.stallMs, () => {
      answer.value.release(false);
      this.#cut();
    });
    const prepared = prepareAnswer(head, answer.value.head, this.#stopping);
    if (!(await sendAnswer(this.#socket, prepared, answer.value, this.#deadline))) return this.#cut();
    return prepared.closes ? this.#close() : true;
  }

  /** Who made a request. */
  #clientOf(head: RequestHead): ClientAddress {
    const { trustedProxies } = this.#settings;
    return this.#direct ?? clientAddress(this.#peer, valuesOf(head.headers, "x-forwarded-for"), trustedProxies);
  }

  /** What a request is counted under: the address that a trusted proxy vouches for is as good as a peer's own. */
  #keyOf(client: ClientAddress): ShareKey {
    if (this.#direct !== undefined) return this.shareKey;
    return client.address === directClient(this.#peer).address ? null : clientNetwork(client.address);
  }

  /**
   * Answers a whole request for the service. The connection goes on: a client that had to open another one for the next
   * attempt would cost more than its request. Returns whether it can serve another.
   */
  #decline(refusal: Refusal, head: RequestHead): boolean {
    if (!head.keepAlive || this.#stopping) return this.#refuse(refusal, head);
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
    const { address } = head === undefined ? directClient(this.#peer) : this.#clientOf(head);
    this.#settings.onRefusal(refusal, head, address);
  }

  /** Closes when everything written has left, and reads on a little so that the client gets it. Always false. */
  #close(): false {
    if (this.#closing || this.#socket.destroyed) return false;
    this.#closing = true;
    this.#reader.discard();
    this.#deadline.arm(this.#settings.timeouts.stallMs, () => this.destroy());
    this.#socket.end(() => this.#deadline.arm(LINGER_MS, () => this.destroy()));
    return false;
  }

  /** Breaks the connection with a reset, so that half an answer cannot pass for a whole one. Always false. */
  #cut(): false {
    this.#socket.resetAndDestroy();
    return false;
  }
}
