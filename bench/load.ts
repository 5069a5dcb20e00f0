import autocannon from "autocannon";
import { percentile } from "./statistics.ts";

/** One request that the load generator sends. */
export interface LoadRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path with the API prefix and the query. */
  readonly path: string;
  /** The token to send (a secret). Absent: the token of an earlier `givesToken` request, if any. */
  readonly token?: string;
  readonly body?: unknown;
  /** True if later requests on the same connection use the token in this request's answer. */
  readonly givesToken?: boolean;
}

/** A number of connections. Each sends the list of requests in order, repeatedly. */
export interface Stream {
  readonly connections: number;
  readonly requests: readonly LoadRequest[];
}

/** The result of a stream. Latencies (ms) and `perSecond` exclude answers with status 503. */
export interface StreamResult {
  readonly answers: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** Number of answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests without an answer: the connection was lost, or the time limit of a minute passed. */
  readonly lost: number;
}

/** Time limit of a request. It exceeds every time limit of the server. */
const TIMEOUT_SECONDS = 60;
/** Interval at which the load generator checks whether its duration has elapsed (ms). */
const SAMPLE_MS = 100;

/** Runs a closed-loop load: each connection sends its next request after the answer to the previous one. */
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
    // Connections start at different indexes, except where a request needs the token of an earlier answer.
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
    // When the load ends, each connection has one request in flight.
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

/** The token in an answer; "" if there is none, which makes the next request fail. */
function tokenIn(answer: string): string {
  return /"client_token":"([^"]+)"/.exec(answer)?.[1] ?? "";
}
