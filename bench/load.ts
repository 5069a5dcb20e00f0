import autocannon from "autocannon";
import { percentile } from "./statistics.ts";

/** A request of a load. */
export interface LoadRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** With base path and query. */
  readonly path: string;
  /** A secret; absent: none is sent. */
  readonly token?: string;
  readonly body?: unknown;
  /** True when later requests of the list on the same connection use the token of the answer. */
  readonly givesToken?: boolean;
}

/** Connections that each send a list of requests in order, repeatedly. */
export interface Stream {
  readonly connections: number;
  readonly requests: readonly LoadRequest[];
}

/** The result of a stream. Times (ms) exclude requests that were refused with 503. */
export interface StreamResult {
  readonly answers: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests whose connection was lost, and those that waited for longer than a minute. */
  readonly lost: number;
}

/** Longer than every limit of the server: a request that waits longer hangs. */
const TIMEOUT_SECONDS = 60;
/** Interval at which the load generator checks its time (ms). */
const SAMPLE_MS = 100;

/** Sends a stream for a while. Each connection sends its next request when the previous one is answered. */
export async function runStream(
  url: string,
  { connections, requests }: Stream,
  seconds: number,
): Promise<StreamResult> {
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const list = requests.map(prepared);
  const isOrdered = requests.some(({ givesToken }) => givesToken);
  let begun = 0;
  let sent = 0;
  const options: autocannon.Options = {
    url,
    connections,
    duration: seconds,
    timeout: TIMEOUT_SECONDS,
    sampleInt: SAMPLE_MS,
    requests: list,
    // Each connection begins at another index of the list.
    setupClient: (client) => {
      const first = isOrdered ? 0 : Math.floor((begun++ * list.length) / connections);
      client.setRequests([...list.slice(first), ...list.slice(0, first)]);
      client.addListener("request", () => sent++);
    },
  };
  const done = Promise.withResolvers<void>();
  const run = autocannon(options, (error) => (error ? done.reject(error) : done.resolve()));
  const began = performance.now();
  let answers = 0;
  run.on("response", (_, status, __, ms) => {
    answers++;
    if (status !== 503) times.push(ms);
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  await done.promise;
  const elapsed = (performance.now() - began) / 1000;
  const sorted = Float64Array.from(times).sort();
  return {
    answers,
    perSecond: times.length / elapsed,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    longest: sorted.at(-1) ?? 0,
    statuses,
    // At the end each connection has one request under way.
    lost: Math.max(0, sent - answers - connections),
  };
}

function prepared({ method, path, token, body, givesToken }: LoadRequest): autocannon.Request {
  const headers = {
    ...(token !== undefined && { "X-Vault-Token": token }),
    ...(body !== undefined && { "Content-Type": "application/json" }),
  };
  return {
    method,
    path,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(givesToken && {
      onResponse: (_, answer, context) => Object.assign(context, { token: tokenIn(answer) }),
    }),
    ...(token === undefined && {
      setupRequest: (request, context) => {
        const given = "token" in context ? { "X-Vault-Token": String(context.token) } : {};
        return { ...request, headers: { ...headers, ...given } };
      },
    }),
  };
}

/** The token in an answer; "" without one, so that the next request is refused. */
function tokenIn(answer: string): string {
  return /"client_token":"([^"]+)"/.exec(answer)?.[1] ?? "";
}
