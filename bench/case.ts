import { type LoadRequest, runStream } from "./load.ts";
import type { Forest } from "./seed/forest.ts";
import type { Client } from "./servers/client.ts";
import type { Secrets, Usage } from "./servers/serve.ts";

/** A server under load. Without a gateway, its usage is zero. */
export interface Measured extends Client {
  usage(): { readonly worker: Usage; readonly gateway: Usage };
}

/** Bytes in MiB. */
export const MIB = 2 ** 20;

/** The data of a large installation, the secrets of a server on it, and its tokens. */
export interface KeptForest {
  readonly data: string;
  readonly secrets: Secrets;
  readonly forest: Forest;
}

/** Parameters of every case. */
export interface Bench {
  /** Where servers keep their data; removed at the end. */
  readonly directory: string;
  /** Turns of each measurement. */
  readonly rounds: number;
  /** Length of one measurement (s). */
  readonly seconds: number;
  /** Length of the mixed load (s). */
  readonly loadSeconds: number;
  /** Tokens of the large installation; 0 for a case without one. */
  readonly tokens: number;
  /** The data of a stopped large installation, made at the first call. A case does not change its tokens. */
  readonly forest: () => Promise<KeptForest>;
  /** Another server with the same API, measured in turns with Grove; null without one. */
  readonly against: Measured | null;
  /** Reports progress to the operator. */
  readonly say: (line: string) => void;
}

/** A row of a table: its labels and figures, by column. */
export type Row = Readonly<Record<string, string | number>>;

/** A figure with its limit. */
export interface Target {
  readonly what: string;
  readonly got: number;
  readonly atMost: number;
}

/** The result of a case. */
export interface CaseFigures {
  readonly tables: readonly (readonly Row[])[];
  readonly targets: readonly Target[];
  /** The number of tokens, for a case that is kept once for each. */
  readonly variant?: string;
}

/** One measurement of one operation. Times in ms. */
export interface Sample {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU time for one request (us). */
  readonly workerMicros: number;
  readonly gatewayMicros: number;
}

/** Connections of a measurement. Each sends its next request when the previous one is answered. */
export const CONNECTIONS = 16;

/** Sends requests for a while. Throws when a request that was served is not answered with a success. */
export async function measure(server: Measured, requests: readonly LoadRequest[], seconds: number): Promise<Sample> {
  const before = server.usage();
  const result = await runStream(server.url, { connections: CONNECTIONS, requests }, seconds);
  const after = server.usage();
  const { perSecond, p50, p99, statuses, lost } = result;
  // The gateway refuses requests that waited too long, as in a stall of the machine. No figure includes them.
  const { 503: refused = 0, ...answered } = statuses;
  const answers = result.answers - refused;
  if (answers === 0 || lost > 0 || Object.keys(answered).some((status) => !status.startsWith("2"))) {
    throw new Error(`${requests[0]?.path}: answered ${JSON.stringify(statuses)}, ${lost} connections were lost`);
  }
  const micros = (process: "worker" | "gateway") =>
    ((after[process].cpuSeconds - before[process].cpuSeconds) * 1e6) / answers;
  return { perSecond, p50, p99, workerMicros: micros("worker"), gatewayMicros: micros("gateway") };
}

/** Look-ups by each of these tokens. */
export function lookUps(tokens: readonly string[]): LoadRequest[] {
  return tokens.map((token) => ({ method: "GET", path: "/v1/auth/token/lookup-self", token }));
}
