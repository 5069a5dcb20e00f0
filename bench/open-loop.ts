import { Agent } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { CONNECTIONS } from "./case.ts";
import { type Client, send } from "./servers/client.ts";
import { percentile } from "./statistics.ts";

/** Latencies of requests that were sent at a fixed rate (ms). */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** Requests that were not answered with 200. The other figures exclude them. */
  readonly failed: number;
}

/**
 * Runs an open-loop load: sends look-ups at a fixed rate, even while earlier ones are unanswered.
 * A latency starts when the look-up was due, so a pause of the server increases the latency of every look-up due in it.
 */
export async function lookUpAtRate(
  url: string,
  tokens: readonly string[],
  perSecond: number,
  seconds: number,
): Promise<Waits> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const began = performance.now();
  const waits: number[] = [];
  let failed = 0;
  const lookUp = async (client: Client, due: number) => {
    const reply = await send(client, "GET", "v1/auth/token/lookup-self", undefined, { agent }).catch(() => null);
    if (reply?.status === 200) waits.push(performance.now() - due);
    else failed++;
  };
  const sent: Promise<void>[] = [];
  while (sent.length < perSecond * seconds) {
    const due = began + (sent.length * 1000) / perSecond;
    await pause(Math.max(0, Math.ceil(due - performance.now())));
    sent.push(lookUp({ url, token: tokens[sent.length % tokens.length] ?? "" }, due));
  }
  await Promise.all(sent);
  agent.destroy();
  const sorted = Float64Array.from(waits).sort();
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), longest: sorted.at(-1) ?? 0, failed };
}
