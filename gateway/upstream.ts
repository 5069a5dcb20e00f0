import { err, ok, type Result } from "../src/base/result.ts";
import { NOT_BEGUN_STATUS } from "../src/wire/exchange.ts";
import type { Deadline } from "./deadline.ts";
import { MessageBody } from "./message-body.ts";
import type { ResponseHead } from "./response-head.ts";
import { type ShareKey, Shares } from "./shares.ts";
import { type TurnLimits, Turns } from "./turns.ts";
import { type UpstreamAddress, UpstreamConnection, type WholeRequest } from "./upstream-connection.ts";

/** A whole request, and how it waits for its turn. */
export interface UpstreamRequest extends WholeRequest {
  readonly turns: TurnLimits;
  /** For the turn. Missed early when the request is not wanted any more. */
  readonly turn: Deadline;
}

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
  #turns = new Turns();
  readonly #log: (line: string) => void;
  /** The one used last is used next, so that those that are not needed age. */
  readonly #idle: UpstreamConnection[] = [];
  readonly #open = new Set<UpstreamConnection>();
  readonly #repeats: boolean;
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
    const { turn, turns } = request;
    const isTurn = this.#places.take(key, 1) || (await this.#turns.wait(key, turn, turns, performance.now()));
    if (!isTurn) return err("busy");
    let connection = this.#takeIdle() ?? this.#connect();
    const exchange = this.#repeats ? connection.nextExchange() : null;
    let head = await connection.exchange(request, exchange);
    if (!head.ok && exchange !== null && connection.isLost) {
      connection.destroy();
      connection = this.#connect();
      const again = await connection.exchange(request, { ...exchange, again: true });
      if (!again.ok || again.value.status !== NOT_BEGUN_STATUS) head = again;
    }
    if (head.ok === this.#failing) {
      this.#log(head.ok ? "the service answers again" : `the service does not answer: ${head.error}`);
      this.#failing = !head.ok;
    }
    if (!head.ok) {
      this.#release(connection, key, false);
      return err("unavailable");
    }
    const { keepAlive, body } = head.value;
    let isReleased = false;
    const release = (whole: boolean): void => {
      if (!isReleased) this.#release(connection, key, whole && keepAlive);
      isReleased = true;
    };
    return ok({ head: head.value, body: new MessageBody(connection.reader, body), release });
  }

  /** Ends the connections with the requests that are under way on them. */
  drop(): void {
    for (const connection of this.#open) connection.destroy();
  }

  /** Closes the connections, for good. */
  close(): void {
    // Requests that wait are not sent any more.
    this.#turns = new Turns();
    this.drop();
  }

  #takeIdle(): UpstreamConnection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isFit) return connection;
      connection.destroy();
    }
    return undefined;
  }

  #connect(): UpstreamConnection {
    const connection = new UpstreamConnection(this.#address, (closed) => this.#open.delete(closed));
    this.#open.add(connection);
    return connection;
  }

  #release(connection: UpstreamConnection, key: ShareKey, isReusable: boolean): void {
    connection.rest();
    if (isReusable && connection.isFit) this.#idle.push(connection);
    else connection.destroy();
    this.#places.giveBack(key, 1);
    this.#turns.goOn((next) => this.#places.take(next, 1), performance.now());
  }
}
