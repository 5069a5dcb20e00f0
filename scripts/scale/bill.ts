import { streams } from "./load.ts";
import type { Release } from "./objects.ts";
import { CALL_SECONDS, OBJECT_GB, PRICES, SECONDS_A_MONTH, WORKER_CPU_MS } from "./vendor.ts";
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

/** What a token takes in the databases of its tree and its shard, indexes included, and what a tree takes besides (bytes). */
const TOKEN_BYTES = 2_000;
const TREE_BYTES = 16_000;

/** The vendor's bill for a month at the rates of a world. */
export function monthlyBill(world: World, release: Release): Bill {
  const requests = Object.values(world.rates).reduce((sum, rate) => sum + rate, 0);
  const logins = loginsPerSecond(world);
  const cpuMs = logins * WORKER_CPU_MS.login + (requests - logins) * WORKER_CPU_MS.request;
  let [calls, time, rows] = [0, 0, 0];
  for (const { calls: costs, perSecond } of streams(world, release)) {
    for (const { times, rowsRead, rowsWritten } of Object.values(costs)) {
      const seconds = rowsWritten > 0 ? CALL_SECONDS.write : CALL_SECONDS.read;
      calls += perSecond * times * PRICES.objectRequest;
      time += perSecond * times * seconds * OBJECT_GB * PRICES.objectGbSecond;
      rows += perSecond * (rowsRead * PRICES.rowRead + rowsWritten * PRICES.rowWritten);
    }
  }
  const month = {
    worker: (requests * PRICES.workerRequest + cpuMs * PRICES.workerCpuMs) * SECONDS_A_MONTH,
    calls: calls * SECONDS_A_MONTH,
    time: time * SECONDS_A_MONTH,
    rows: rows * SECONDS_A_MONTH,
    storage: ((world.liveTokens * TOKEN_BYTES + world.liveTrees * TREE_BYTES) / 1e9) * PRICES.storedGbMonth,
  };
  return { ...month, total: Object.values(month).reduce((sum, dollars) => sum + dollars, 0) };
}
