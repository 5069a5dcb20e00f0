import { randomBytes } from "node:crypto";
import { err, ok, type Result } from "../src/base/result.ts";
import { NOT_BEGUN_STATUS } from "../src/wire/exchange.ts";
import { Deadline } from "./deadline.ts";
import { MessageBody } from "./message-body.ts";
import type { ResponseHead } from "./response-head.ts";
import { type ShareKey, Shares, Turns } from "./shares.ts";
import { type UpstreamAddress, UpstreamConnection, type UpstreamRequest } from "./upstream-connection.ts";

/** An answer of the service, its body unread. */
export interface UpstreamAnswer {
  readonly head: ResponseHead;
  readonly body: MessageBody;
  /** To be called when all of the body was read, or when the rest is not wanted (`whole` is false). The first call counts. */
  release(whole: boolean): void;
}

/** The service behind the gateway, with a pool of connections to it. */
export class Upstream {
  /** The Host that requests to the service carry. */
  readonly host: string;
  readonly #address: UpstreamAddress;
  readonly #places: Shares;
  #waiting = new Turns();
  readonly #log: (line: string) => void;
  /** The one used last is used next, so that those that are not needed age. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  readonly #repeats: boolean;
  /** The beginning of the names of its connections. No client can guess it. */
  readonly #name = randomBytes(16).toString("base64url");
  #connected = 0;
  #failing = false;

  /**
   * @param places how many requests may be with the service at a time, each on a connection of its own
   * @param repeats true when the service remembers which requests it has begun
   */
  constructor(address: UpstreamAddress, log: (line: string) => void, places = new Shares(1, 100), repeats = false) {
    this.#address = address;
    this.#repeats = repeats;
    this.#places = places;
    this.#log = log;
    this.host = address.kind === "socket" ? "localhost" : address.url.host;
  }

  /**
   * Sends a whole request when it is its turn, and waits for the head of the answer. A failed request may have been acted on, so it is
   * not sent again. The exception is a service that remembers what it has begun: there a request is sent once more when the service
   * closed its connection, and the service refuses it (421) unless it is certain that it has not begun it.
   *
   * @param key whose share the request is in until its answer is released
   * @returns "busy" when the request has waited for its turn for too long, and was not sent.
   */
  async send(request: UpstreamRequest, key: ShareKey): Promise<Result<UpstreamAnswer, "busy" | "unavailable">> {
    const isTurn = this.#places.take(key, 1) || (await this.#awaitTurn(key, request));
    if (!isTurn) return err("busy");
    let connection = this.#takeIdle() ?? this.#connect();
    const exchange = this.#repeats ? connection.nextExchange() : null;
    let head = await connection.exchange(request, exchange);
    let failure = head.ok ? "" : connection.failure(head.error);
    if (!head.ok && exchange !== null && connection.isLost) {
      connection.destroy();
      connection = this.#connect();
      const again = await connection.exchange(request, { ...exchange, again: true });
      if (!again.ok) failure = connection.failure(again.error);
      else if (again.value.status !== NOT_BEGUN_STATUS) head = again;
    }
    if (!head.ok) {
      this.#release(connection, key, false);
      if (!this.#failing) this.#log(`the service does not answer: ${failure}`);
      this.#failing = true;
      return err("unavailable");
    }
    if (this.#failing) this.#log("the service answers again");
    this.#failing = false;
    let isReleased = false;
    const release = (whole: boolean): void => {
      if (!isReleased) this.#release(connection, key, whole && head.value.keepAlive);
      isReleased = true;
    };
    return ok({ head: head.value, body: new MessageBody(connection.reader, head.value.body), release });
  }

  /** Ends the connections with the requests that are under way on them. */
  drop(): void {
    for (const connection of this.#open) connection.destroy();
  }

  /** Closes the connections, for good. */
  close(): void {
    // Requests that wait are not sent any more.
    this.#waiting = new Turns();
    this.drop();
  }

  #awaitTurn(key: ShareKey, { turns }: UpstreamRequest): Promise<boolean> {
    return this.#waiting.wait(key, new Deadline(), turns, performance.now());
  }

  #takeIdle(): UpstreamConnection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isFit) return connection;
      connection.destroy();
    }
    return undefined;
  }

  #connect(): UpstreamConnection {
    this.#connected++;
    const connection = new UpstreamConnection(this.#address, `${this.#name}-${this.#connected}`, (closed) => {
      this.#open.delete(closed);
      const place = this.#idle.indexOf(closed);
      if (place !== -1) this.#idle.splice(place, 1);
    });
    this.#open.add(connection);
    return connection;
  }

  #release(connection: UpstreamConnection, key: ShareKey, isReusable: boolean): void {
    connection.rest();
    if (isReusable && connection.isFit) this.#idle.push(connection);
    else connection.destroy();
    this.#places.giveBack(key, 1);
    this.#waiting.goOn((next) => this.#places.take(next, 1), performance.now());
  }
}
