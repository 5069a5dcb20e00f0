import type { IncomingMessage } from "node:http";
import type { BlockList, Socket } from "node:net";
import { ok, type Result } from "../src/base/result.ts";
import { prepareAnswer, sendAnswer } from "./answer.ts";
import { ByteReader } from "./byte-reader.ts";
import { clientAddress } from "./client-address.ts";
import { Deadline } from "./deadline.ts";
import { type BodyRoom, type HeldBody, holdBody } from "./held-body.ts";
import { MAX_HELD_BODY_BYTES, RETRY_AFTER_SECONDS, type Timeouts } from "./limits.ts";
import { type Refusal, renderRefusal } from "./refusal.ts";
import { openBody, type RequestBody } from "./request-body.ts";
import { type Disconnected, type RequestHead, readRequestHead, valuesOf } from "./request-head.ts";
import { isPlatformPath, listTarget } from "./target.ts";
import type { Upstream, UpstreamFailure, UpstreamRequest } from "./upstream.ts";
import { upstreamHeaders } from "./upstream-headers.ts";

/** What all connections of a gateway share. */
export interface ConnectionSettings {
  readonly upstream: Upstream;
  readonly trustedProxies: BlockList;
  readonly maxBodyBytes: number;
  /** Where bodies wait until they are complete. */
  readonly bodyRoom: BodyRoom;
  readonly timeouts: Timeouts;
}

const BUSY: Refusal = {
  status: 503,
  message: "the service is busy; try again",
  retryAfterSeconds: RETRY_AFTER_SECONDS,
};

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

const LATE: Refusal = { status: 408, message: "the request did not arrive in time" };

/** After a last answer, how long the client may go on sending: a reset before it has read the answer would erase it. */
const LINGER_MS = 2_000;

/**
 * One client connection: requests are read, passed on and answered one after the other, so pipelined ones are answered
 * in order and none is started before the end of the one before is known.
 */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #reader: ByteReader;
  readonly #settings: ConnectionSettings;
  readonly #deadline = new Deadline();
  #current: UpstreamRequest | undefined;
  #idle = false;
  #stopping = false;
  #closing = false;

  constructor(socket: Socket, settings: ConnectionSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#reader = new ByteReader(socket);
    // A lost client is no error here; "close" follows and ends whatever is under way.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#deadline.disarm();
      this.#current?.abort();
    });
  }

  /** Serves requests until the connection ends. */
  async run(): Promise<void> {
    while (await this.#awaitRequest()) {
      this.#deadline.arm(this.#settings.timeouts.headMs, () => this.#refuse({ status: 408 }));
      const head = await readRequestHead(this.#reader);
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
    if (this.#idle) this.#close();
  }

  /** Ends the connection now. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Waits for the first byte of a request; false when there will be none. */
  async #awaitRequest(): Promise<boolean> {
    const { idleMs, stallMs } = this.#settings.timeouts;
    if (this.#socket.writableNeedDrain) {
      // A client that sends requests and never reads answers must not fill the memory.
      this.#deadline.arm(stallMs, () => this.destroy());
      await drained(this.#socket);
    }
    if (this.#stopping) return false;
    if (this.#reader.unread > 0) return true;
    this.#idle = true;
    this.#deadline.arm(idleMs, () => this.#close());
    const received = await this.#reader.more();
    this.#idle = false;
    return received;
  }

  /** Reads the body of a request and has it answered; true when the connection can serve another. */
  async #exchange(head: RequestHead): Promise<boolean> {
    const { maxBodyBytes, bodyRoom, timeouts } = this.#settings;
    if (isPlatformPath(head.target)) return this.#refuse({ status: 404 }, head);
    const body = openBody(this.#reader, head.body, maxBodyBytes);
    if (!body.ok) return this.#refuse(body.error, head);
    if (head.expectsContinue) this.#socket.write(CONTINUE);

    this.#deadline.arm(timeouts.exchangeMs, () => (this.#current ? this.#current.abort() : this.#refuse(LATE)));
    const held = await holdBody(body.value, MAX_HELD_BODY_BYTES, bodyRoom);
    if (!held.ok) return this.#refuse(held.error === "disconnected" ? "gone" : held.error, head);
    try {
      return await this.#passOn(head, held.value);
    } finally {
      held.value.release();
    }
  }

  /** Passes one request on and its answer back; true when the connection can serve another. */
  async #passOn(head: RequestHead, body: HeldBody): Promise<boolean> {
    const { upstream, trustedProxies, timeouts } = this.#settings;
    if (upstream.isBusy) return this.#refuse(BUSY, head);
    const peer = this.#socket.remoteAddress;
    if (peer === undefined) return this.#cut();
    const client = clientAddress(peer, valuesOf(head.headers, "x-forwarded-for"), trustedProxies);
    const list = head.method === "LIST";
    const request = upstream.open(
      list ? "GET" : head.method,
      list ? listTarget(head.target) : head.target,
      upstreamHeaders(head, client, upstream.host),
    );
    this.#current = request;

    const upload = { complete: false };
    const sent = this.#upload(body, request, upload);
    const failed = sent.then(async (result): Promise<Result<IncomingMessage, NoAnswer>> => {
      return result.ok ? request.response : result;
    });
    const response = await Promise.race([request.response, failed]);
    if (!response.ok) {
      request.abort();
      return this.#refuse(refusalFor(response.error, upload.complete), head);
    }
    const answer = prepareAnswer(head, response.value, this.#stopping || !upload.complete);
    if (!answer.ok) {
      request.abort();
      return this.#refuse({ status: 502, message: "the service's answer has no end" }, head);
    }

    this.#deadline.arm(timeouts.stallMs, () => this.#cut());
    void failed.then((result) => {
      if (!result.ok) request.abort();
    });
    const complete = await sendAnswer(this.#socket, answer.value, response.value, this.#deadline);
    this.#current = undefined;
    if (!complete) return this.#cut();
    if (!answer.value.closes) return true;
    if (!upload.complete) request.abort();
    return this.#close();
  }

  /**
   * Sends the body to the service, as fast as the service takes it. Ends early without an error when the service takes no
   * more, as one that refuses a body does: its answer is what counts.
   *
   * @param upload told when the whole body is sent
   */
  async #upload(
    body: RequestBody,
    request: UpstreamRequest,
    upload: { complete: boolean },
  ): Promise<Result<undefined, Refusal | Disconnected>> {
    for (;;) {
      const piece = await body.next();
      if (!piece.ok) return piece;
      if (piece.value === undefined) {
        request.end();
        upload.complete = true;
        return ok(undefined);
      }
      if (!(await request.write(piece.value))) return ok(undefined);
    }
  }

  /** Answers for the service and closes, as where the next request starts is not known. Always false. */
  #refuse(refusal: Refusal | "gone", head?: RequestHead): false {
    if (refusal !== "gone" && !this.#closing) this.#socket.write(renderRefusal(refusal, head?.method !== "HEAD"));
    return this.#close();
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

type NoAnswer = Refusal | Disconnected | UpstreamFailure;

/** What to tell the client when there is no answer. */
function refusalFor(failure: NoAnswer, uploaded: boolean): Refusal | "gone" {
  switch (failure) {
    case "disconnected":
      return "gone";
    case "unavailable":
      return { status: 502, message: "the service is not reachable" };
    case "aborted":
      return uploaded ? { status: 504, message: "the service did not answer in time" } : LATE;
    default:
      return failure;
  }
}

/** Resolves when the socket takes more, or is closed. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      socket.off("drain", settle);
      socket.off("close", settle);
      resolve();
    };
    socket.on("drain", settle);
    socket.on("close", settle);
  });
}
