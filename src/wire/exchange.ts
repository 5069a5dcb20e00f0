/** Header with the connection of the gateway and the number of the request on it. Only the gateway sets it. */
export const EXCHANGE_HEADER = "X-Grove-Exchange";

/** Status of the answer to a request that was not begun, as it may have been begun before. No other answer has it. */
export const NOT_BEGUN_STATUS = 421;

/** One request on a connection between the gateway and the service. */
export interface Exchange {
  /** Name of the connection. Other clients can't guess it. */
  readonly connection: string;
  /** Counted from 1 on each connection. */
  readonly number: number;
  /** True when the request is repeated because that connection ended without an answer. */
  readonly again: boolean;
}

const EXCHANGE = /^([\w-]{1,64})\.([1-9]\d{0,14})( again)?$/;

/** Returns the value of the header. */
export function renderExchange({ connection, number, again }: Exchange): string {
  return again ? `${connection}.${number} again` : `${connection}.${number}`;
}

/** Reads the value of the header; null when it is malformed. */
export function readExchange(text: string): Exchange | null {
  const [, connection, number, again] = EXCHANGE.exec(text) ?? [];
  return connection === undefined ? null : { connection, number: Number(number), again: again !== undefined };
}
