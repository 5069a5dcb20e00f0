import type { LoadProcess } from "../load/process.ts";
import type { LoadRequest } from "../load/request.ts";
import type { LabelResult } from "../load/run.ts";
import type { Access } from "../servers/call.ts";
import type { GroveBuild } from "../servers/grove.ts";
import type { Usage } from "../servers/usage.ts";

/** What every case has at hand. */
export interface Bench {
  readonly build: GroveBuild;
  readonly load: LoadProcess;
  /** Where servers keep their data; removed at the end. */
  readonly directory: string;
  /** Turns of each measurement. */
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** Tells the operator what happens. */
  readonly say: (line: string) => void;
}

/** Connections of a measurement. Each sends its next request when the one before is answered. */
export const CONNECTIONS = 16;

/** Base path of the token method. */
export const TOKEN_PATH = "/v1/auth/token/";

/** A server under load, with what it uses of the machine when that can be seen. */
export interface Measurable extends Pick<Access, "place"> {
  /** Of the server's process. */
  usage?(): Usage;
  /** The gateway in front of it, a process of its own. */
  readonly gateway?: { usage(): Usage };
}

/** One measurement of one operation. */
export interface Sample {
  readonly perSecond: number;
  /** ms. */
  readonly p50: number;
  /** ms. */
  readonly p99: number;
  /** CPU time of the server process for one request, in microseconds; 0 where it can't be seen. */
  readonly cpuMicros: number;
  /** The same of the gateway in front of it; 0 without one. */
  readonly gatewayMicros: number;
}

/** Sends requests for a while, one kind or a cycle of several. Throws when one is not answered as it should be. */
export async function measure(
  { load, seconds }: Pick<Bench, "load" | "seconds">,
  server: Measurable,
  requests: LoadRequest | readonly LoadRequest[],
): Promise<Record<string, Sample>> {
  const cpuOf = () => [server.usage?.().cpuSeconds ?? 0, server.gateway?.usage().cpuSeconds ?? 0] as const;
  const before = cpuOf();
  const list = [requests].flat();
  const streams = [{ connections: CONNECTIONS, requests: list, spread: !list.some((request) => request.keepsToken) }];
  const result = await load.run({ place: server.place, seconds, streams });
  const after = cpuOf();
  if (result.lost > 0) throw new Error(`${result.lost} connections were lost`);
  const labels = Object.entries(result.labels);
  const total = labels.reduce((sum, [, { count }]) => sum + count, 0);
  return Object.fromEntries(
    labels.map(([name, label]) => {
      assertAllGood(name, label);
      const { p50, p99 } = label.latencyMs;
      const perSecond = label.count / result.seconds;
      const cpuMicros = ((after[0] - before[0]) * 1e6) / total;
      const gatewayMicros = ((after[1] - before[1]) * 1e6) / total;
      return [name, { perSecond, p50, p99, cpuMicros, gatewayMicros }];
    }),
  );
}

/** The same for one kind of request, one or several. */
export async function measureOne(
  bench: Pick<Bench, "load" | "seconds">,
  server: Measurable,
  requests: LoadRequest | readonly LoadRequest[],
): Promise<Sample> {
  const [sample] = Object.values(await measure(bench, server, requests));
  if (!sample) throw new Error("a request is counted under its label");
  return sample;
}

/** Throws when an answer was not a success: then the figures say nothing. */
export function assertAllGood(name: string, label: LabelResult): void {
  const bad = Object.keys(label.statuses).filter((status) => !status.startsWith("2"));
  if (bad.length > 0) throw new Error(`${name}: answered ${JSON.stringify(label.statuses)}`);
}
