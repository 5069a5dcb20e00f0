import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { KEPT_TOKEN, type LoadRequest } from "../load/request.ts";
import type { LabelResult, LoadResult, LoadStream } from "../load/run.ts";
import { type Access, makeToken } from "../servers/call.ts";
import { freePort, startGatewayProcess } from "../servers/gateway.ts";
import { GroveServer } from "../servers/grove.ts";
import { ServeProcess } from "../servers/serve.ts";
import { type Bench, CONNECTIONS, TOKEN_PATH } from "./bench.ts";

/** What a long load of mixed requests did. */
export interface MixedLoad {
  readonly seconds: number;
  readonly labels: Readonly<Record<string, LabelResult>>;
  /** MiB of the server's memory, once a second. */
  readonly memory: readonly number[];
  /** Answers with a status of 500 or more that are not a 503 with `Retry-After`. */
  readonly failures: number;
  readonly lost: number;
}

/** What far too many connections at once did. */
export interface Overload {
  readonly connections: number;
  readonly answered: number;
  /** 503 with `Retry-After`. */
  readonly refused: number;
  readonly failures: number;
  readonly lost: number;
  /** p99 of all answers, ms. */
  readonly p99: number;
  /** MiB of the process of `npm run serve`, which has the gateway in it: afterwards, or after many large bodies if that is more. */
  readonly gatewayMemoryMiB: number;
}

/** Good requests for each bad one. */
const GOOD_TO_BAD = 99;
/** Far above what the gateway lets through at once. */
const OVERLOAD_CONNECTIONS = 2000;
const LARGE_BODY_CONNECTIONS = 64;
/** Several reads long. */
const LARGE_BODY = { blob: "x".repeat(200_000) };

/** Mixed traffic at saturation, one request in a hundred of it bad, through the gateway. */
export async function runMixed(bench: Bench, seconds: number): Promise<{ mixed: MixedLoad; overload: Overload }> {
  bench.say(`load: ${seconds} s of mixed traffic`);
  const server = await GroveServer.start(bench.build, `${bench.directory}/mixed`);
  const gateway = await startGatewayProcess(server.socket);
  try {
    const streams = await mixedTraffic(server);
    const memory: number[] = [];
    let over = false;
    const watching = (async () => {
      while (!over) {
        memory.push(server.usage().memoryMiB);
        await pause(1000);
      }
    })();
    const result = await bench.load.run({ place: gateway.place, seconds, streams });
    over = true;
    await watching;
    const mixed = { ...result, memory, failures: failuresOf(result) };

    return { mixed, overload: await runOverload(bench) };
  } finally {
    await gateway.stop();
    await server.stop();
  }
}

/** Far too many connections, and then large bodies, on `npm run serve` as a whole. */
async function runOverload(bench: Bench): Promise<Overload> {
  const token = `root-${randomBytes(12).toString("hex")}`;
  const env = { ...bench.build.settings, GROVE_DEV_ROOT_TOKEN: token };
  const server = await ServeProcess.start(`${bench.directory}/overload`, await freePort(), env);
  try {
    const access: Access = { place: server.place, token };
    const [lookUps] = await mixedTraffic(access);
    const run = async (connections: number, requests: readonly LoadRequest[]) => {
      bench.say(`load: ${connections} connections at once`);
      const flood = { connections, requests: requests.map((one) => ({ ...one, label: "flood" })) };
      const result = await bench.load.run({ place: server.place, seconds: bench.seconds * 3, streams: [flood] });
      return { result, label: result.labels.flood, memoryMiB: server.usage().memoryMiB };
    };
    const flooded = await run(OVERLOAD_CONNECTIONS, lookUps?.requests ?? []);
    const path = `${TOKEN_PATH}renew-self`;
    const bodies = await run(LARGE_BODY_CONNECTIONS, [{ label: "", method: "POST", path, token, body: LARGE_BODY }]);
    const refused = (flooded.label?.statuses["503"] ?? 0) - (flooded.label?.withoutRetryAfter ?? 0);
    return {
      connections: OVERLOAD_CONNECTIONS,
      answered: (flooded.label?.count ?? 0) - (flooded.label?.statuses["503"] ?? 0),
      refused,
      failures: failuresOf(flooded.result) + failuresOf(bodies.result),
      lost: flooded.result.lost + bodies.result.lost,
      p99: flooded.label?.latencyMs.p99 ?? 0,
      gatewayMemoryMiB: Math.max(flooded.memoryMiB, bodies.memoryMiB),
    };
  } finally {
    await server.stop();
  }
}

function failuresOf({ labels }: LoadResult): number {
  return Object.values(labels).reduce((sum, { statuses, withoutRetryAfter }) => {
    const bad = Object.entries(statuses).filter(([status]) => Number(status) >= 500 && status !== "503");
    return sum + withoutRetryAfter + bad.reduce((count, [, number]) => count + number, 0);
  }, 0);
}

/** Look-ups, whole lives of tokens in one tree and of trees, and among them one bad request in a hundred. */
async function mixedTraffic(server: Access): Promise<LoadStream[]> {
  const plain = { ttl: "24h", policies: ["default"] };
  const services: string[] = [];
  while (services.length < 8) services.push((await makeToken(server, "create-orphan", plain)).token);
  const batch = await makeToken(server, "create-orphan", { ...plain, type: "batch" });
  const maker = await makeToken(server, "create-orphan", { ttl: "24h", policies: ["root"] });
  const on = (label: string, method: string, path: string, token: string, body?: unknown): LoadRequest => {
    return { label, method, path: TOKEN_PATH + path, token, ...(body !== undefined && { body }) };
  };
  const fields = { ttl: "1h", policies: ["default"] };
  const lookUps = services.flatMap((token) => [
    on("look-up", "GET", "lookup-self", token),
    on("look-up, batch token", "GET", "lookup-self", batch.token),
    on("renew", "POST", "renew-self", token, {}),
  ]);
  const life = (create: LoadRequest) => [
    { ...create, keepsToken: true },
    on("look-up", "GET", "lookup-self", KEPT_TOKEN),
    on("renew", "POST", "renew-self", KEPT_TOKEN, {}),
    on("revoke", "POST", "revoke-self", KEPT_TOKEN, {}),
  ];
  const bad = [
    on("bad", "GET", "lookup-self", "s.bad"),
    on("bad", "POST", "create", maker.token, { ttl: "a while" }),
    on("bad", "GET", "nothing-here", services[0] ?? ""),
    on("bad", "POST", "lookup", maker.token, { token: [1] }),
    { ...on("bad", "DELETE", "lookup-self", batch.token), body: { deep: { deeper: true } } },
  ];
  const quarter = CONNECTIONS / 4;
  return [
    { connections: 2 * quarter, requests: withBad(lookUps, bad), spread: true },
    { connections: quarter, requests: withBad(life(on("create a child", "POST", "create", maker.token, fields)), bad) },
    {
      connections: quarter,
      requests: withBad(life(on("create an orphan", "POST", "create-orphan", maker.token, fields)), bad),
    },
  ];
}

/** The good requests again and again, with one of the bad ones after each 99. */
function withBad(good: readonly LoadRequest[], bad: readonly LoadRequest[]): LoadRequest[] {
  return bad.flatMap((one) => {
    // Whole cycles of the good ones, as some of them belong together.
    const cycles = Math.round(GOOD_TO_BAD / good.length);
    return [...Array.from({ length: cycles }, () => good).flat(), one];
  });
}
