import { PRICES as PER_MILLION } from "../bench/report/price.ts";

/*
 * What the vendor says about its platform, read on 2026-11-22:
 * prices: developers.cloudflare.com/workers/platform/pricing and /durable-objects/platform/pricing;
 * ceilings: /durable-objects/platform/limits (1,000 requests a second as a soft limit of one object) and
 * /durable-objects/best-practices/rules-of-durable-objects (200 to 500 writes).
 */

/** Calls that one object answers in a second, when all of them only read or all of them write. */
export const CEILING = { readsPerSecond: 1_000, writesPerSecond: 400 } as const;

/** Share of its ceiling above which an object is called a risk: half is left for bursts. */
export const COMFORTABLE = 0.5;

/** US dollars of the paid plan, without what it includes each month. A call is a request, as an alarm is. */
export const PRICES = {
  workerRequest: PER_MILLION.workerRequest / 1e6,
  workerCpuMs: PER_MILLION.workerCpuMs / 1e6,
  objectRequest: PER_MILLION.objectRequest / 1e6,
  objectGbSecond: PER_MILLION.objectGbSecond / 1e6,
  rowRead: PER_MILLION.rowRead / 1e6,
  rowWritten: PER_MILLION.rowWritten / 1e6,
  storedGbMonth: 0.2,
} as const;

/** Memory that an object is charged for while it works (GB). */
export const OBJECT_GB = 0.128;

/** An estimate of how long an object works on a call (s): one that reads, and one that waits for the disks of its replicas. */
export const CALL_SECONDS = { read: 0.002, write: 0.01 } as const;

/** CPU of the Worker (ms) for a request, and for a login, which verifies a signature. In the order of what the bench measures. */
export const WORKER_CPU_MS = { request: 0.3, login: 2 } as const;

export const SECONDS_A_MONTH = 30 * 86_400;
