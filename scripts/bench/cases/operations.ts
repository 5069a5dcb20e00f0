import type { LoadRequest } from "../load/request.ts";
import { startBare } from "../servers/bare.ts";
import { type Access, makeToken, type OtherServer } from "../servers/call.ts";
import { startCloud } from "../servers/cloud.ts";
import { startGatewayProcess } from "../servers/gateway.ts";
import { GroveServer } from "../servers/grove.ts";
import { type Bench, type Measurable, measureOne, type Sample, TOKEN_PATH } from "./bench.ts";
import { measurable, measureTakenAgain, type Round, TAKEN_AGAIN, type TakenAgainName } from "./taken-again.ts";

/** An operation of Grove beside what it is compared with. */
export interface Comparison {
  readonly name: string;
  readonly title: string;
  /** What the other side is. */
  readonly reference: string;
  /** The least ratio of the two rates. */
  readonly target: number;
  /** One of each in every round. */
  readonly samples: readonly Sample[];
  readonly references: readonly Sample[];
  /**
   * The same load on the server of `--against`, and on Grove through the gateway. Empty without `--against`, and for
   * operations that the server lacks.
   */
  readonly others: readonly Sample[];
  readonly served: readonly Sample[];
  /** The most CPU that Grove's processes may use for a request, as a ratio to that server's. */
  readonly cpuTarget?: number;
}

/** The operations with their targets: rates as ratios to the bare Worker, or to Grove without a gateway. */
export const OPERATIONS = [
  { name: "lookup", title: "look-up self, service token", reference: "one RPC read", target: 0.6, cpuTarget: 0.9 },
  { name: "lookup-trees", title: "the same, 64 trees", reference: "64 objects read", target: 0.6, cpuTarget: 0.45 },
  {
    name: "lookup-batch",
    title: "look-up self, orphan batch token",
    reference: "static answer",
    target: 0.5,
    cpuTarget: 0.45,
  },
  { name: "create-batch", title: "create a batch token", reference: "one RPC read", target: 0.4, cpuTarget: 1 },
  { name: "create-child", title: "create a child", reference: "two writes in parallel", target: 0.6, cpuTarget: 0.55 },
  { name: "renew", title: "renew self", reference: "one RPC write", target: 0.6, cpuTarget: 0.5 },
  {
    name: "create-orphan",
    title: "create an orphan",
    reference: "a new object, one write",
    target: 0.8,
    cpuTarget: 1.2,
  },
  ...TAKEN_AGAIN,
  { name: "login", title: "login by a vm document", reference: "two writes in parallel", target: 0.3 },
  { name: "login-batch", title: "the same, batch token", reference: "two writes in parallel", target: 0.3 },
  { name: "login-signed", title: "login by a signed request", reference: "two writes in parallel", target: 0.3 },
  { name: "login-signed-batch", title: "the same, batch token", reference: "two writes in parallel", target: 0.3 },
  { name: "gateway", title: "look-up self through the gateway", reference: "without the gateway", target: 0.5 },
] as const;

/** Trees that the look-ups of several are spread over. */
const TREES = 64;

type OperationName = (typeof OPERATIONS)[number]["name"];
/** Those that are one request with a token, on any server with the same API. */
type TokenOperation = Exclude<
  OperationName,
  "gateway" | "login" | "login-batch" | "login-signed" | "login-signed-batch" | TakenAgainName
>;

type Load = readonly [Measurable, LoadRequest | readonly LoadRequest[]];

/** What is measured on which server, for both sides of a comparison. */
interface Sides {
  readonly sample: Load;
  readonly reference: Load;
  readonly other: Load | null;
  /** Grove beside the other server. */
  readonly served: Load | null;
}

/** A comparison that rounds are added to. */
type Growing = Omit<Comparison, "name" | "samples" | "references" | "others" | "served"> & {
  readonly name: OperationName;
} & Record<"samples" | "references" | "others" | "served", Sample[]>;

/** Measures the operations of Grove and what each is compared with, in turns. */
export async function compareOperations(
  bench: Bench,
  names: readonly string[],
  other: OtherServer | null,
): Promise<Comparison[]> {
  const comparisons = OPERATIONS.filter(({ name }) => names.includes(name)).map(
    (operation): Growing => ({ ...operation, samples: [], references: [], others: [], served: [] }),
  );
  const add = (name: OperationName, round: number, measured: Round) => {
    const comparison = comparisons.find((one) => one.name === name);
    // Round 0 warms up: compilers, caches and the first pages of every file.
    if (!comparison || round === 0) return;
    comparison.references.push(measured.reference);
    comparison.samples.push(measured.sample);
    if (measured.other) comparison.others.push(measured.other);
    if (measured.served) comparison.served.push(measured.served);
  };
  // On a server of their own: the trees that they leave would be taken by what makes new ones.
  await measureTakenAgain(bench, comparisons.map(({ name }) => name).filter(isTakenAgain), other, add);
  await measureInTurns(
    bench,
    comparisons.flatMap(({ name }) => (isTakenAgain(name) ? [] : [name])),
    other,
    add,
  );
  return comparisons;
}

function isTakenAgain(name: OperationName): name is TakenAgainName {
  return TAKEN_AGAIN.some((operation) => operation.name === name);
}

async function measureInTurns(
  bench: Bench,
  names: readonly Exclude<OperationName, TakenAgainName>[],
  other: OtherServer | null,
  add: (name: OperationName, round: number, measured: Round) => void,
): Promise<void> {
  if (names.length === 0) return;
  const bare = await startBare(`${bench.directory}/bare`, bench.build.model.compatibilityDate);
  const grove = await GroveServer.start(bench.build, `${bench.directory}/operations`);
  const gateway = await startGatewayProcess(grove.socket);
  const cloud = await startCloud(grove);
  try {
    const requests = await requestsFor(grove);
    const otherRequests = other && (await requestsFor(other));
    const served: Measurable = { place: gateway.place, usage: () => grove.usage(), gateway };
    const onBare = (path: string): Load => [bare, { label: "bare", method: "GET", path }];
    const against = (name: TokenOperation, path: string): Sides => ({
      sample: [grove, requests[name]],
      reference: onBare(path),
      other: other && otherRequests && [measurable(other), otherRequests[name]],
      served: other && [served, requests[name]],
    });
    const alone = { other: null, served: null };
    const sides: Record<Exclude<OperationName, TakenAgainName>, Sides> = {
      lookup: against("lookup", "/read"),
      "lookup-trees": against("lookup-trees", "/read-many"),
      "lookup-batch": against("lookup-batch", "/static"),
      "create-batch": against("create-batch", "/read"),
      "create-child": against("create-child", "/two-writes"),
      renew: against("renew", "/write"),
      "create-orphan": against("create-orphan", "/new-object"),
      login: { sample: [grove, cloud.service], reference: onBare("/two-writes"), ...alone },
      "login-batch": { sample: [grove, cloud.batch], reference: onBare("/two-writes"), ...alone },
      "login-signed": { sample: [grove, cloud.signedService], reference: onBare("/two-writes"), ...alone },
      "login-signed-batch": { sample: [grove, cloud.signedBatch], reference: onBare("/two-writes"), ...alone },
      gateway: { sample: [served, requests.lookup], reference: [grove, requests.lookup], ...alone },
    };
    for (let round = 0; round <= bench.rounds; round++) {
      bench.say(round === 0 ? "operations: warming up" : `operations: round ${round} of ${bench.rounds}`);
      for (const name of names) {
        const { sample, reference, other, served: beside } = sides[name];
        add(name, round, {
          reference: await measureOne(bench, ...reference),
          sample: await measureOne(bench, ...sample),
          other: other && (await measureOne(bench, ...other)),
          served: beside && (await measureOne(bench, ...beside)),
        });
      }
    }
  } finally {
    await cloud.stop();
    await gateway.stop();
    await grove.stop();
    await bare.stop();
  }
}

/** The request of every operation, with a token made for it. */
async function requestsFor(access: Access): Promise<Record<TokenOperation, LoadRequest | LoadRequest[]>> {
  const plain = { ttl: "24h", policies: ["default"] };
  const service = await makeToken(access, "create-orphan", plain);
  const batch = await makeToken(access, "create-orphan", { ...plain, type: "batch" });
  const maker = await makeToken(access, "create-orphan", { ttl: "24h", policies: ["root"] });
  const create = { method: "POST", token: maker.token, body: { ttl: "1h", policies: ["default"] } };
  const lookup = { method: "GET", path: `${TOKEN_PATH}lookup-self` };
  const trees: LoadRequest[] = [];
  while (trees.length < TREES) {
    const { token } = await makeToken(access, "create-orphan", plain);
    trees.push({ ...lookup, label: "lookup-trees", token });
  }
  const batchFields = { type: "batch", ttl: "1h", policies: ["default"] };
  return {
    lookup: { ...lookup, label: "lookup", token: service.token },
    "lookup-batch": { ...lookup, label: "lookup-batch", token: batch.token },
    "lookup-trees": trees,
    "create-batch": { ...create, label: "create-batch", path: `${TOKEN_PATH}create`, body: batchFields },
    "create-child": { ...create, label: "create-child", path: `${TOKEN_PATH}create` },
    renew: { label: "renew", method: "POST", path: `${TOKEN_PATH}renew-self`, token: service.token, body: {} },
    "create-orphan": { ...create, label: "create-orphan", path: `${TOKEN_PATH}create-orphan` },
  };
}
