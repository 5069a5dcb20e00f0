import { setTimeout as pause } from "node:timers/promises";
import { type Bench, type CaseFigures, lookUps, type Measured, MIB, type Row, type Target } from "../case.ts";
import { type LoadRequest, runStream, type Stream } from "../load.ts";
import { type Client, makeToken } from "../servers/client.ts";
import { ServeProcess, withTmpfsServer } from "../servers/serve.ts";
import { median } from "../statistics.ts";

/** Target: longest latency of a request that is not answered with 503 (ms). */
const LONGEST_MS = 1000;
/** Target: p99 as a ratio to p50. */
const MAX_TAIL_RATIO = 10;
/**
 * Target: memory in the last sixth of the load as a ratio to the second sixth.
 * Caches fill in the first sixth, so later growth suggests a leak.
 */
const MAX_GROWTH = 1.15;

/** Longest load on the other server (s). A longer load could only increase its memory, which would favour Grove. */
const OTHER_SECONDS = 120;

/** Divisor of the load's duration for the run on a tmpfs. That run shows how much of the latency is disk I/O. */
const TMPFS_DIVISOR = 5;
/** Longest load on a tmpfs (s). */
const MAX_TMPFS_SECONDS = 60;

const AT_THE_END = "MiB at the end";

/** Runs a saturating mixed load on Grove, on Grove with a tmpfs, and on the other server if there is one. */
export async function measureLoad(bench: Bench): Promise<CaseFigures> {
  const { against, loadSeconds } = bench;
  const grove = await ServeProcess.start(`${bench.directory}/load`, bench.secrets);
  const own = await loadOn(bench, "Grove", grove, loadSeconds).finally(() => grove.stop());
  const tmpfsSeconds = Math.ceil(Math.min(loadSeconds / TMPFS_DIVISOR, MAX_TMPFS_SECONDS));
  const inMemory = await withTmpfsServer(async (server) => {
    return server && (await loadOn(bench, "Grove on a tmpfs", server, tmpfsSeconds));
  });
  const otherSeconds = Math.min(loadSeconds, OTHER_SECONDS);
  const other = against && (await loadOn(bench, "the other server", against, otherSeconds));
  const targets = [...own.targets];
  if (other) {
    const got = Number(own.memory[AT_THE_END]) / Number(other.memory[AT_THE_END]);
    targets.push({ what: "mixed load: memory at the end as a ratio to the other server's", got, atMost: 1 });
  }
  const all = [own, inMemory, other].filter((loaded) => loaded !== null);
  return { tables: [all.flatMap(({ streams }) => streams), all.map(({ memory }) => memory)], targets };
}

async function loadOn(bench: Bench, name: string, server: Measured, seconds: number) {
  bench.say(`${seconds} s of mixed load on ${name}`);
  const memory: number[] = [];
  const resident = () => {
    const { worker, gateway } = server.usage();
    return (worker.residentBytes + gateway.residentBytes) / MIB;
  };
  const before = resident();
  const streams = Object.entries(await mixture(server));
  const done = Promise.all(streams.map(([, stream]) => runStream(server.url, stream, seconds)));
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      memory.push(resident());
      await pause(1000);
    }
  })();
  const results = await done;
  isOver = true;
  await watching;
  const rows = results.map(({ statuses, lost, answers, p50, p99, longest }, at): Row => {
    const answered = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
    const figures = { answers, "p50 ms": p50, "p99 ms": p99, "longest ms": longest };
    return { server: name, requests: streams[at]?.[0] ?? "", ...figures, statuses: answered.join(", "), lost };
  });
  const sixth = Math.ceil(memory.length / 6);
  const [early, late] = [median(memory.slice(sixth, 2 * sixth)), median(memory.slice(-sixth))];
  const failures = results.reduce((sum, { statuses, lost }) => {
    const failed = Object.entries(statuses).filter(([status]) => Number(status) >= 500 && status !== "503");
    return failed.reduce((all, [, count]) => all + count, sum + lost);
  }, 0);
  const targets: Target[] = [
    { what: "mixed load: 5xx but 503, and lost connections", got: failures, atMost: 0 },
    {
      what: "mixed load: longest wait of a request that is served, ms",
      got: Math.max(...results.map(({ longest }) => longest)),
      atMost: LONGEST_MS,
    },
    {
      what: "mixed load: p99 as a ratio to p50",
      got: Math.max(...results.map(({ p50, p99 }) => p99 / p50)),
      atMost: MAX_TAIL_RATIO,
    },
    {
      what: "mixed load: memory at the end as a ratio to after the first third",
      got: late / early,
      atMost: MAX_GROWTH,
    },
  ];
  return {
    streams: rows,
    memory: {
      server: name,
      "seconds of load": seconds,
      "MiB before": before,
      "MiB after a third": early,
      [AT_THE_END]: late,
    },
    targets,
  };
}

/** The streams of the mixed load: look-ups, renewals, token life cycles in one tree and in new trees, and errors. */
async function mixture(root: Client): Promise<Record<string, Stream>> {
  const plain = { ttl: "24h", policies: ["default"] };
  const services: string[] = [];
  while (services.length < 8) services.push((await makeToken(root, "create-orphan", plain)).token);
  const batch = await makeToken(root, "create-orphan", { ...plain, type: "batch" });
  const maker = await makeToken(root, "create-orphan", { ttl: "24h", policies: ["root"] });
  const post = (endpoint: string, body: unknown, token?: string): LoadRequest => {
    return { method: "POST", path: `/v1/auth/token/${endpoint}`, body, ...(token !== undefined && { token }) };
  };
  const life = (endpoint: string): LoadRequest[] => [
    { ...post(endpoint, { ttl: "1h", policies: ["default"] }, maker.token), givesToken: true },
    { method: "GET", path: "/v1/auth/token/lookup-self" },
    post("renew-self", {}),
    post("revoke-self", {}),
  ];
  const refused: LoadRequest[] = [
    ...lookUps(["s.bad"]),
    post("create", { ttl: "a while" }, maker.token),
    { method: "GET", path: "/v1/auth/token/nothing-here", token: services[0] ?? "" },
    post("lookup", { token: [1] }, maker.token),
  ];
  return {
    "look-ups": { connections: 6, requests: lookUps([...services, batch.token]) },
    renewals: { connections: 2, requests: services.map((token) => post("renew-self", {}, token)) },
    "lives of children": { connections: 4, requests: life("create") },
    "lives of orphans": { connections: 4, requests: life("create-orphan") },
    refused: { connections: 1, requests: refused },
  };
}
