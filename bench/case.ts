import { type LoadRequest, runStream } from "./load.ts";
import type { Forest } from "./seed/forest.ts";
import type { Client } from "./servers/client.ts";
import type { Secrets, Usage } from "./servers/serve.ts";

/** A server under load, with what its processes use. The gateway of one without is zeros. */
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

/** What every case has at hand. */
export interface Bench {
  /** Where servers keep their data; removed at the end. */
  readonly directory: string;
  readonly secrets: Secrets;
  /** Turns of each measurement. */
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  readonly loadSeconds: number;
  /** Tokens of a large installation. */
  readonly tokens: number;
  /** The stopped server of a large installation; planted when it is asked for first. Cases do not change its tokens. */
  readonly forest: () => Promise<KeptForest>;
  /** Another server with the same API, measured in turns with Grove; null for none. */
  readonly against: Measured | null;
  /** Reports progress to the operator. */
  readonly say: (line: string) => void;
}

/** A row of a table: what it is about, and figures by their names. */
export type Row = Readonly<Record<string, string | number>>;

/** A figure with its limit. */
export interface Target {
  readonly what: string;
  readonly got: number;
  readonly atMost: number;
}

/** What a case finds. */
export interface CaseFigures {
  readonly tables: readonly (readonly Row[])[];
  readonly targets: readonly Target[];
  /** Which of several measurements of the case this is, where each is kept: its number of tokens. */
  readonly variant?: string;
}

/** One measurement of one operation. Times in ms. */
export interface Sample {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU time for one request, in microseconds. */
  readonly workerMicros: number;
  readonly gatewayMicros: number;
}

/** Connections of a measurement. Each sends its next request when the previous one is answered. */
export const CONNECTIONS = 16;

/** Sends requests for a while. Throws when one that was served is not answered with a success: such figures mean nothing. */
export async function measure(server: Measured, requests: readonly LoadRequest[], seconds: number): Promise<Sample> {
  const before = server.usage();
  const result = await runStream(server.url, { connections: CONNECTIONS, requests }, seconds);
  const after = server.usage();
  const { perSecond, p50, p99, statuses, lost } = result;
  // The gateway refuses requests that have waited for too long for their turn, as in a stall of the machine. They are in no figure.
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
