import { GenerationalCache } from "../base/generational-cache.ts";
import { EXCHANGE_HEADER, type Exchange, NOT_BEGUN_STATUS, readExchange } from "../wire/exchange.ts";
import type { Middleware } from "./context.ts";

/** Minimum number of connections of the gateway that are remembered. It has far fewer at a time. */
const REMEMBERED_CONNECTIONS = 2048;

/**
 * Decides whether a request of the gateway may begin. workerd can close a connection with a request that it has not
 * begun. The gateway can't distinguish that from a request that was processed, so it sends the request again. The
 * repetition may begin only if the connection of the first attempt is known here and the request was not begun on it.
 * On an unknown connection (of another process, or forgotten) a repetition is refused, so no request is processed
 * twice.
 */
export class BegunExchanges {
  /** Number of the last request that was begun, by connection. The requests of a connection are sequential. */
  readonly #begun: GenerationalCache<string, { last: number }>;

  /** @param remembered minimum number of connections that are remembered. */
  constructor(remembered: number = REMEMBERED_CONNECTIONS) {
    this.#begun = new GenerationalCache(remembered);
  }

  /** Records that a request begins. Returns false when it must not. */
  begin({ connection, number, again }: Exchange): boolean {
    const known = this.#begun.get(connection);
    if (known === undefined) {
      if (!again) this.#begun.set(connection, { last: number }, 1);
      return !again;
    }
    // A first attempt that arrives after its repetition must not begin either.
    if (again ? known.last !== number - 1 : known.last >= number) return false;
    known.last = number;
    return true;
  }
}

/** The requests of all gateways of this isolate. */
const BEGUN = new BegunExchanges();

/** Refuses a request of the gateway that may have been begun already. Other clients do not send the header. */
export const beginOnce: Middleware = (c, next) => {
  const text = c.env.deployment.recognisesRepetitions ? c.req.raw.headers.get(EXCHANGE_HEADER) : null;
  const exchange = text === null ? null : readExchange(text);
  const begins = text === null || (exchange !== null && BEGUN.begin(exchange));
  return begins ? next() : Promise.resolve(new Response(null, { status: NOT_BEGUN_STATUS }));
};
