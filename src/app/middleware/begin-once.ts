import { isolates } from "../../base/isolates.ts";
import { EXCHANGE_HEADER, NOT_BEGUN_STATUS, readExchange } from "../../wire/exchange.ts";
import { BegunExchanges } from "../begun-exchanges.ts";
import type { Middleware } from "../context.ts";

/** Of all gateways: where one process serves, all requests come to one isolate. */
const BEGUN = new BegunExchanges();

/** Refuses a request of the gateway that may have been begun already. Other clients send no exchange. */
export const beginOnce: Middleware = (c, next) => {
  const text = isolates().areMany ? null : c.req.raw.headers.get(EXCHANGE_HEADER);
  const exchange = text === null ? null : readExchange(text);
  const begins = text === null || (exchange !== null && BEGUN.begin(exchange));
  return begins ? next() : Promise.resolve(new Response(null, { status: NOT_BEGUN_STATUS }));
};
