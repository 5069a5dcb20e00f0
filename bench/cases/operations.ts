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
import { amount } from "../figures.ts";
import type { LoadRequest } from "../load.ts";
import { startBare } from "../servers/bare.ts";
import { type Client, makeToken } from "../servers/client.ts";
import { ServeProcess, withTmpfsServer } from "../servers/serve.ts";
import { median, pairedRatio } from "../statistics.ts";
import { commonLogins, type Logins, loginRequests } from "./logins.ts";

/**
 * The operations and their targets: CPU time per request as a ratio to that of the other server with an audit device,
 * and to that of an earlier commit. Infinity: no target.
 */
const RATIOS = [
  ["look-up of one token", { audited: 0.55, before: 0.9 }],
  ["look-up of 64 trees", { audited: 0.4, before: 1 }],
  ["look-up of a batch token", { audited: 0.45, before: 1 }],
  ["creation of a batch token", { audited: 0.75, before: 1 }],
  ["creation of a child", { audited: 0.45, before: 1 }],
  ["renewal", { audited: 0.4, before: 1 }],
  ["creation of an orphan", { audited: Number.POSITIVE_INFINITY, before: 0.85 }],
] as const;

type Operation = (typeof RATIOS)[number][0];
type Requests = readonly LoadRequest[];

/** A server that is measured alternately with Grove. */
interface Peer {
  readonly name: "other" | "audited" | "before";
  readonly server: Measured;
}

/** Operations that wait for the disk. They are also measured on a tmpfs. */
const WRITES: ReadonlySet<Operation> = new Set(["creation of a child", "renewal", "creation of an orphan"]);
/** Target: CPU time of the Worker per orphan as a ratio to a bare new object. */
const BARE_RATIO = 1.4;

/** Number of trees in the operation "look-up of 64 trees". */
const TREES = 64;

/** Measures each operation on Grove, alternately with Grove on a tmpfs and the other server if present; then logins. */
export async function measureOperations(bench: Bench): Promise<CaseFigures> {
  const grove = await ServeProcess.start(`${bench.directory}/operations`, bench.secrets);
  const logins = await loginRequests(grove);
  const others: { readonly peer: Peer; readonly logins: Logins }[] = [];
  try {
    for (const peer of peersOf(bench, null)) others.push({ peer, logins: await commonLogins(peer.server, "any CA") });
    const operations = await withTmpfsServer((inMemory) => measureInTurns(bench, grove, inMemory));
    const rows: Row[] = [];
    const targets: Target[] = [];
    for (const { name, requests, atMost } of logins.kinds) {
      const peers = others.flatMap(({ peer, logins: { kinds } }) =>
        kinds.filter((kind) => kind.name === name).map((kind) => ({ peer, requests: kind.requests })),
      );
      const sides = peers.map(({ peer, requests: same }) => [peer.server, same] as const);
      const [samples = [], ...ofPeers] = await inTurns(bench, name, [[grove, requests], ...sides]);
      const compared = peers.map(({ peer }, at) => comparedWith(peer, samples, ofPeers[at] ?? []));
      rows.push({ login: name, ...figuresOf(samples), ...Object.assign({}, ...compared.map(comparison)) });
      const got = median(samples.map(({ workerMicros }) => workerMicros));
      if (atMost !== undefined) targets.push({ what: `${name}: CPU of the Worker, us`, got, atMost });
    }
    return { tables: [operations.rows, rows], targets: [...operations.targets, ...targets] };
  } finally {
    for (const { logins: ofPeer } of others) await ofPeer.stop();
    await logins.stop();
    await grove.stop();
  }
}

async function measureInTurns(bench: Bench, grove: Measured, inMemory: Measured | null) {
  const bare = await startBare(`${bench.directory}/bare`);
  const earlier = await startBefore(bench);
  try {
    const own = await requestsFor(grove);
    const onTmpfs = inMemory && (await requestsFor(inMemory));
    const peers = await Promise.all(
      peersOf(bench, earlier).map(async (peer) => ({ ...peer, requests: await requestsFor(peer.server) })),
    );
    const bareRequests: Requests = [{ method: "POST", path: "/", body: { ttl: "1h" } }];
    const rows: Row[] = [];
    const targets: Target[] = [];
    for (const [name, limits] of RATIOS) {
      const isOrphan = name === "creation of an orphan";
      const [samples = [], withoutDisk = [], bareSamples = [], ...others] = await inTurns(bench, name, [
        [grove, own[name]],
        inMemory && onTmpfs && WRITES.has(name) ? [inMemory, onTmpfs[name]] : null,
        isOrphan ? [bare, bareRequests] : null,
        ...peers.map(({ server, requests }) => [server, requests[name]] as const),
      ]);
      const compared = peers.map((peer, at) => comparedWith(peer, samples, others[at] ?? []));
      rows.push({ operation: name, ...figuresOf(samples), ...Object.assign({}, ...compared.map(comparison)) });
      if (withoutDisk.length > 0) rows.push({ operation: `${name}, on a tmpfs`, ...figuresOf(withoutDisk) });
      for (const { name: peer, ratio } of compared) {
        if (peer === "other" || !Number.isFinite(limits[peer])) continue;
        targets.push({ what: `${name}: CPU beside ${SAID[peer]}`, got: ratio.median, atMost: limits[peer] });
      }
      if (!isOrphan) continue;
      rows.push({ operation: "a bare new object", ...figuresOf(bareSamples) });
      const worker = (of: readonly Sample[]) => of.map(({ workerMicros }) => workerMicros);
      const got = pairedRatio(worker(samples), worker(bareSamples)).median;
      targets.push({ what: `${name}: CPU of the Worker beside a bare new object`, got, atMost: BARE_RATIO });
    }
    return { rows, targets };
  } finally {
    await bare.stop();
    await earlier?.stop();
  }
}

/** The names of the reference servers in the text of a target. */
const SAID = { audited: "the other server with audit", before: "the earlier commit" } as const;

/** Starts Grove of the earlier commit, on the same kind of disk. */
async function startBefore({ before, directory, secrets }: Bench): Promise<ServeProcess | null> {
  if (before === undefined) return null;
  return ServeProcess.start(`${directory}/before`, secrets, { checkout: before });
}

function peersOf({ against, audited }: Bench, earlier: Measured | null): Peer[] {
  return [
    ...(against ? [{ name: "other" as const, server: against }] : []),
    ...(audited ? [{ name: "audited" as const, server: audited }] : []),
    ...(earlier ? [{ name: "before" as const, server: earlier }] : []),
  ];
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

/** The CPU time of a peer per request (us), and the ratio of Grove's CPU time to it. */
function comparedWith({ name }: Peer, samples: readonly Sample[], ofPeer: readonly Sample[]) {
  const peerCpu = ofPeer.map(cpuOf);
  return { name, us: median(peerCpu), ratio: pairedRatio(samples.map(cpuOf), peerCpu) };
}

function comparison({ name, us, ratio }: { name: string; us: number; ratio: ReturnType<typeof pairedRatio> }): Row {
  return {
    [`${name}: us`]: us,
    [`${name}: ratio`]: ratio.median,
    [`${name}: least to most`]: `${amount(ratio.min)} to ${amount(ratio.max)}`,
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
