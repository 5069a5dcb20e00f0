import {
  type Bench,
  type CaseFigures,
  lookUps,
  type Measured,
  measure,
  type Row,
  type Sample,
  type Target,
} from "../case.ts";
import type { LoadRequest } from "../load.ts";
import { startBare } from "../servers/bare.ts";
import { type Client, makeToken } from "../servers/client.ts";
import { ServeProcess, withTmpfsServer } from "../servers/serve.ts";
import { median, pairedRatio } from "../statistics.ts";
import { loginRequests } from "./logins.ts";

/** The operations and their targets: CPU time per request as a ratio to the other server's. */
const RATIOS = [
  ["look-up of one token", 0.9],
  ["look-up of 64 trees", 0.45],
  ["look-up of a batch token", 0.45],
  ["creation of a batch token", 0.8],
  ["creation of a child", 0.5],
  ["renewal", 0.5],
  ["creation of an orphan", 1.2],
] as const;

type Operation = (typeof RATIOS)[number][0];
type Requests = readonly LoadRequest[];

/** Operations that wait for the disk. They are also measured on a tmpfs. */
const WRITES: ReadonlySet<Operation> = new Set(["creation of a child", "renewal", "creation of an orphan"]);
/** Target: CPU time of the Worker per orphan as a ratio to a bare new object. */
const BARE_RATIO = 1.2;

/** Number of trees in the operation "look-up of 64 trees". */
const TREES = 64;

/** Measures each operation on Grove, alternately with Grove on a tmpfs and the other server if present; then logins. */
export async function measureOperations(bench: Bench): Promise<CaseFigures> {
  const grove = await ServeProcess.start(`${bench.directory}/operations`, bench.secrets);
  const logins = await loginRequests(grove);
  try {
    const operations = await withTmpfsServer((inMemory) => measureInTurns(bench, grove, inMemory));
    const rows: Row[] = [];
    const targets: Target[] = [];
    for (const { name, requests, atMost } of logins.kinds) {
      const [samples = []] = await inTurns(bench, name, [[grove, requests]]);
      rows.push({ login: name, ...figuresOf(samples) });
      const got = median(samples.map(({ workerMicros }) => workerMicros));
      if (atMost !== undefined) targets.push({ what: `${name}: CPU of the Worker, us`, got, atMost });
    }
    return { tables: [operations.rows, rows], targets: [...operations.targets, ...targets] };
  } finally {
    await logins.stop();
    await grove.stop();
  }
}

async function measureInTurns(bench: Bench, grove: Measured, inMemory: Measured | null) {
  const { against } = bench;
  const bare = await startBare(`${bench.directory}/bare`);
  try {
    const own = await requestsFor(grove);
    const others = against && (await requestsFor(against));
    const onTmpfs = inMemory && (await requestsFor(inMemory));
    const bareRequests: Requests = [{ method: "POST", path: "/", body: { ttl: "1h" } }];
    const rows: Row[] = [];
    const targets: Target[] = [];
    for (const [name, atMost] of RATIOS) {
      const isOrphan = name === "creation of an orphan";
      const [samples = [], other = [], withoutDisk = [], bareSamples = []] = await inTurns(bench, name, [
        [grove, own[name]],
        against && others && [against, others[name]],
        inMemory && onTmpfs && WRITES.has(name) ? [inMemory, onTmpfs[name]] : null,
        isOrphan ? [bare, bareRequests] : null,
      ]);
      rows.push({ operation: name, ...figuresOf(samples), ...(against && comparison(samples, other)) });
      if (withoutDisk.length > 0) rows.push({ operation: `${name}, on a tmpfs`, ...figuresOf(withoutDisk) });
      const ratio = pairedRatio(samples.map(cpuOf), other.map(cpuOf)).median;
      if (against) targets.push({ what: `${name}: CPU beside the other server`, got: ratio, atMost });
      if (!isOrphan) continue;
      rows.push({ operation: "a bare new object", ...figuresOf(bareSamples) });
      const worker = (of: readonly Sample[]) => of.map(({ workerMicros }) => workerMicros);
      const got = pairedRatio(worker(samples), worker(bareSamples)).median;
      targets.push({ what: `${name}: CPU of the Worker beside a bare new object`, got, atMost: BARE_RATIO });
    }
    return { rows, targets };
  } finally {
    await bare.stop();
  }
}

/** Measures several servers alternately in each round. Discards the first round, which fills the caches. */
async function inTurns(
  bench: Bench,
  name: string,
  sides: readonly (readonly [Measured, Requests] | null)[],
): Promise<Sample[][]> {
  bench.say(name);
  const samples: Sample[][] = sides.map(() => []);
  for (let round = 0; round <= bench.rounds; round++) {
    for (const [at, side] of sides.entries()) {
      if (side === null) continue;
      const again = (error: unknown) => {
        bench.say(`a measurement failed and is repeated: ${error}`);
        return measure(side[0], side[1], bench.seconds);
      };
      const sample = await measure(side[0], side[1], bench.seconds).catch(again);
      if (round > 0) samples[at]?.push(sample);
    }
  }
  return samples;
}

function figuresOf(samples: readonly Sample[]): Row {
  const middle = (value: (sample: Sample) => number) => median(samples.map(value));
  return {
    "requests/s": middle(({ perSecond }) => perSecond),
    "p50 ms": middle(({ p50 }) => p50),
    "p99 ms": middle(({ p99 }) => p99),
    "Worker us": middle(({ workerMicros }) => workerMicros),
    "gateway us": middle(({ gatewayMicros }) => gatewayMicros),
  };
}

function comparison(own: readonly Sample[], other: readonly Sample[]): Row {
  const ratio = pairedRatio(own.map(cpuOf), other.map(cpuOf));
  return {
    "other: requests/s": median(other.map(({ perSecond }) => perSecond)),
    "other: us": median(other.map(cpuOf)),
    "CPU ratio": ratio.median,
    least: ratio.min,
    most: ratio.max,
  };
}

function cpuOf({ workerMicros, gatewayMicros }: Sample): number {
  return workerMicros + gatewayMicros;
}

/** Creates the necessary tokens and returns the requests of every operation. */
async function requestsFor(root: Client): Promise<Record<Operation, Requests>> {
  const plain = { ttl: "24h", policies: ["default"] };
  const { token } = await makeToken(root, "create-orphan", plain);
  const batch = await makeToken(root, "create-orphan", { ...plain, type: "batch" });
  const maker = await makeToken(root, "create-orphan", { ttl: "24h", policies: ["root"] });
  const trees: string[] = [];
  while (trees.length < TREES) trees.push((await makeToken(root, "create-orphan", plain)).token);
  const fields = { ttl: "1h", policies: ["default"] };
  const post = (endpoint: string, by: string, body: unknown): LoadRequest[] => {
    return [{ method: "POST", path: `/v1/auth/token/${endpoint}`, token: by, body }];
  };
  return {
    "look-up of one token": lookUps([token]),
    "look-up of 64 trees": lookUps(trees),
    "look-up of a batch token": lookUps([batch.token]),
    "creation of a batch token": post("create", maker.token, { ...fields, type: "batch" }),
    "creation of a child": post("create", maker.token, fields),
    renewal: post("renew-self", token, {}),
    "creation of an orphan": post("create-orphan", maker.token, fields),
  };
}
