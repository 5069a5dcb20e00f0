import { type LoadRequest, runStream } from "./load.ts";
import type { Forest } from "./seed/forest.ts";
import type { Client } from "./servers/client.ts";
import type { Secrets, Usage } from "./servers/serve.ts";

/** A server under load and the resource usage of its processes. The gateway's usage is 0 for a server without one. */
export interface Measured extends Client {
  usage(): { readonly worker: Usage; readonly gateway: Usage };
}

/** Bytes per MiB. */
export const MIB = 2 ** 20;

/** A large installation: its data directory, the secrets of its server, and some of its tokens. */
export interface LargeInstallation {
  readonly data: string;
  readonly secrets: Secrets;
  readonly forest: Forest;
}

/** The parameters of every case. */
export interface Bench {
  /** Directory for the servers' data. Deleted after the case. */
  readonly directory: string;
  readonly secrets: Secrets;
  /** Repetitions of each measurement. */
  readonly rounds: number;
  /** Duration of one measurement (s). */
  readonly seconds: number;
  /** Duration of the mixed load (s). */
  readonly loadSeconds: number;
  /** Tokens of the large installation; 0 for a case that does not use it. */
  readonly tokens: number;
  /** The large installation, with its server stopped. The first call creates it. Cases must not change its tokens. */
  readonly forest: () => Promise<LargeInstallation>;
  /** Another server with the same API, measured alternately with Grove; null if there is none. */
  readonly against: Measured | null;
  /** The same server with an audit device; null if there is none. */
  readonly audited: Measured | null;
  /** A checkout of an earlier commit; undefined if there is none. */
  readonly before: string | undefined;
  /** Reports progress to the operator. */
  readonly say: (line: string) => void;
}

/** A table row. The keys are the column headers. */
export type Row = Readonly<Record<string, string | number>>;

/** A measured figure and its upper limit. */
export interface Target {
  readonly what: string;
  readonly got: number;
  readonly atMost: number;
}

/** The result of a case. */
export interface CaseFigures {
  readonly tables: readonly (readonly Row[])[];
  readonly targets: readonly Target[];
  /** Distinguishes several stored results of one case: the number of tokens. */
  readonly variant?: string;
}

/** The result of one measurement. Latencies are in ms. */
export interface Sample {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU time per request (us). */
  readonly workerMicros: number;
  readonly gatewayMicros: number;
}

/** Connections of a measurement. Each sends its next request after the answer to the previous one. */
export const CONNECTIONS = 16;

/**
 * Sends the requests repeatedly for `seconds`.
 *
 * @throws when a connection is lost or a status is neither 2xx nor 503, because the figures would be meaningless.
 */
export async function measure(server: Measured, requests: readonly LoadRequest[], seconds: number): Promise<Sample> {
  const before = server.usage();
  const result = await runStream(server.url, { connections: CONNECTIONS, requests }, seconds);
  const after = server.usage();
  const { perSecond, p50, p99, statuses, lost } = result;
  // The gateway answers 503 to requests that were queued for too long, for example when the machine stalls.
  // The figures exclude them.
  const { 503: refused = 0, ...answered } = statuses;
  const answers = result.answers - refused;
  if (answers === 0 || lost > 0 || Object.keys(answered).some((status) => !status.startsWith("2"))) {
    throw new Error(`${requests[0]?.path}: answers by status ${JSON.stringify(statuses)}, ${lost} lost requests`);
  }
  const micros = (process: "worker" | "gateway") =>
    ((after[process].cpuSeconds - before[process].cpuSeconds) * 1e6) / answers;
  return { perSecond, p50, p99, workerMicros: micros("worker"), gatewayMicros: micros("gateway") };
}

/** One self look-up for each token. */
export function lookUps(tokens: readonly string[]): LoadRequest[] {
  return tokens.map((token) => ({ method: "GET", path: "/v1/auth/token/lookup-self", token }));
}
