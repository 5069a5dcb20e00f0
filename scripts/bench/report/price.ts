import type { Counts } from "../cases/counts.ts";

/**
 * The vendor's price list for the paid plan, in US dollars a million, without what the plan includes
 * (developers.cloudflare.com/workers/platform/pricing and /durable-objects/platform/pricing).
 */
export const PRICES = {
  workerRequest: 0.3,
  workerCpuMs: 0.02,
  objectRequest: 0.15,
  rowRead: 0.001,
  rowWritten: 1,
  objectGbSecond: 12.5,
} as const;

/** An object is billed for 128 MB while it works. */
const OBJECT_GB = 0.128;
/** How long an object works on one call until the answer is durable: storage on the network takes longer than here. */
export const OBJECT_SECONDS_A_CALL = 0.01;
/** CPU time of one request; measured on a machine of one's own it is below that. */
export const CPU_MS_A_REQUEST = 1;
/** A month of the bill. */
const DAYS = 30;

/** Dollars for a million of an operation. An alarm that is set is billed as a row, one that fires as a call. */
export function pricePerMillion(counts: Counts): number {
  const calls = counts.calls.length;
  return (
    PRICES.workerRequest +
    CPU_MS_A_REQUEST * PRICES.workerCpuMs +
    calls * (PRICES.objectRequest + OBJECT_SECONDS_A_CALL * OBJECT_GB * PRICES.objectGbSecond) +
    counts.rowsRead * PRICES.rowRead +
    (counts.rowsWritten + counts.alarms) * PRICES.rowWritten
  );
}

/** Dollars a month for `perDay` of an operation. */
export function pricePerMonth(perMillion: number, perDay: number): number {
  return (perMillion * perDay * DAYS) / 1e6;
}
