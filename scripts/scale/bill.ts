import { streams } from "./load.ts";
import { allCalls, type Calls, type OperationName } from "./operations.ts";
import { loginsPerSecond, type World } from "./world.ts";

/** What a month costs, in US dollars, without what the plan includes. */
export interface Bill {
  readonly worker: number;
  readonly calls: number;
  readonly time: number;
  readonly rows: number;
  readonly storage: number;
  readonly total: number;
}

/** The vendor's list prices in US dollars of the paid plan (workers/platform/pricing, durable-objects/platform/pricing). */
const MILLION = 1e6;
const PRICES = {
  workerRequest: 0.3 / MILLION,
  workerCpuMs: 0.02 / MILLION,
  /** A call is a request, as an alarm is. */
  objectRequest: 0.15 / MILLION,
  objectGbSecond: 12.5 / MILLION,
  rowRead: 0.001 / MILLION,
  rowWritten: 1 / MILLION,
  storedGbMonth: 0.2,
} as const;
/** Memory that an object is charged for while it works (GB). */
const OBJECT_GB = 0.128;
/** An estimate of how long an object works on a call (s): one that reads, and one that waits for the disks of its replicas. */
const CALL_SECONDS = { read: 0.002, write: 0.01 } as const;
/** CPU of the Worker (ms) for a request, and for a login, which verifies a signature: of the order of what the bench measures. */
const WORKER_CPU_MS = { request: 0.3, login: 2 } as const;
const SECONDS_A_MONTH = 30 * 86_400;
/** What a token takes in the databases of its tree and its shard, indexes included, and what a tree takes besides (bytes). */
const TOKEN_BYTES = 2_000;
const TREE_BYTES = 16_000;

/** The vendor's bill for a month at the rates of a world. */
export function monthlyBill(world: World): Bill {
  const requests = Object.values(world.rates).reduce((sum, rate) => sum + rate, 0);
  const logins = loginsPerSecond(world);
  const cpuMs = logins * WORKER_CPU_MS.login + (requests - logins) * WORKER_CPU_MS.request;
  const second = { calls: 0, time: 0, rows: 0 };
  for (const { calls, perSecond } of streams(world)) {
    const price = priceOf(calls);
    second.calls += perSecond * price.calls;
    second.time += perSecond * price.time;
    second.rows += perSecond * price.rows;
  }
  const month = {
    worker: (requests * PRICES.workerRequest + cpuMs * PRICES.workerCpuMs) * SECONDS_A_MONTH,
    calls: second.calls * SECONDS_A_MONTH,
    time: second.time * SECONDS_A_MONTH,
    rows: second.rows * SECONDS_A_MONTH,
    storage: ((world.liveTokens * TOKEN_BYTES + world.liveTrees * TREE_BYTES) / 1e9) * PRICES.storedGbMonth,
  };
  return { ...month, total: Object.values(month).reduce((sum, dollars) => sum + dollars, 0) };
}

/** US dollars for a million requests of a kind, with what follows from them. */
export function pricePerMillion(name: OperationName): number {
  const cpuMs = name.startsWith("login") ? WORKER_CPU_MS.login : WORKER_CPU_MS.request;
  const { calls, time, rows } = priceOf(allCalls(name));
  return (PRICES.workerRequest + cpuMs * PRICES.workerCpuMs + calls + time + rows) * MILLION;
}

/** US dollars for calls to objects. */
function priceOf(calls: Calls): Pick<Bill, "calls" | "time" | "rows"> {
  const price = { calls: 0, time: 0, rows: 0 };
  for (const { times, rowsRead, rowsWritten } of Object.values(calls)) {
    const seconds = rowsWritten > 0 ? CALL_SECONDS.write : CALL_SECONDS.read;
    price.calls += times * PRICES.objectRequest;
    price.time += times * seconds * OBJECT_GB * PRICES.objectGbSecond;
    price.rows += rowsRead * PRICES.rowRead + rowsWritten * PRICES.rowWritten;
  }
  return price;
}
