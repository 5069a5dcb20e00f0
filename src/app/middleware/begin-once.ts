import { GenerationalCache } from "../../base/generational-cache.ts";
import { isolates } from "../../base/isolates.ts";
import { EXCHANGE_HEADER, type Exchange, NOT_BEGUN_STATUS, readExchange } from "../../wire/exchange.ts";
import type { Middleware } from "../context.ts";

/** Connections of the gateway that are remembered at least: many times those that it has at a time. */
const REMEMBERED_CONNECTIONS = 2048;

/**
 * Which requests of the gateway this process has begun. workerd may close a connection with a request on it that it has not begun, and
 * the gateway can't tell that from one that was acted on. It then sends the request once more, and this decides: a
 * repetition is for a request that came next on a connection known here, and was not begun. Whatever this does not remember (a
 * connection of another process or of long ago) is refused, so that no request is acted on twice.
 */
export class BegunExchanges {
  /** Number of the last one that was begun, by connection. One is begun after the other on each. */
  readonly #begun: GenerationalCache<string, { last: number }>;

  /** @param remembered how many connections are remembered at least. */
  constructor(remembered: number = REMEMBERED_CONNECTIONS) {
    this.#begun = new GenerationalCache(remembered);
  }

  /** Notes that an exchange begins; false when it must not. */
  begin({ connection, number, again }: Exchange): boolean {
    const known = this.#begun.get(connection);
    if (known === undefined) {
      if (!again) this.#begun.set(connection, { last: number }, 1);
      return !again;
    }
    // A first sending that comes after its repetition must not begin either.
    if (again ? known.last !== number - 1 : known.last >= number) return false;
    known.last = number;
    return true;
  }
}

/** Of all gateways: where one process serves, all requests come to one isolate. */
const BEGUN = new BegunExchanges();

/** Refuses a request of the gateway that may have been begun already. Other clients send no exchange. */
export const beginOnce: Middleware = (c, next) => {
  const text = isolates().areMany ? null : c.req.raw.headers.get(EXCHANGE_HEADER);
  const exchange = text === null ? null : readExchange(text);
  const begins = text === null || (exchange !== null && BEGUN.begin(exchange));
  return begins ? next() : Promise.resolve(new Response(null, { status: NOT_BEGUN_STATUS }));
};
