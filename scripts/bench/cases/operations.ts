import type { LoadRequest } from "../load/request.ts";
import { startBare } from "../servers/bare.ts";
import { type Access, makeToken } from "../servers/call.ts";
import { startCloud } from "../servers/cloud.ts";
import { startGatewayProcess } from "../servers/gateway.ts";
import { GroveServer } from "../servers/grove.ts";
import { type Bench, type Measurable, measureOne, type Sample, TOKEN_PATH } from "./bench.ts";

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
  /** The same load on the server of `--against`; empty without one, and for what it can't have. */
  readonly others: readonly Sample[];
}

/** The operations with their targets: rates as ratios to the bare Worker, or to Grove without a gateway. */
export const OPERATIONS = [
  { name: "lookup", title: "look-up self, service token", reference: "one RPC read", target: 0.6 },
  { name: "lookup-batch", title: "look-up self, orphan batch token", reference: "static answer", target: 0.5 },
  { name: "create-child", title: "create a child", reference: "two writes in parallel", target: 0.6 },
  { name: "renew", title: "renew self", reference: "one RPC write", target: 0.6 },
  { name: "create-orphan", title: "create an orphan", reference: "a new object, one write", target: 0.8 },
  { name: "login", title: "login by a vm document", reference: "two writes in parallel", target: 0.3 },
  { name: "login-batch", title: "the same, batch token", reference: "two writes in parallel", target: 0.3 },
  { name: "gateway", title: "look-up self through the gateway", reference: "without the gateway", target: 0.5 },
] as const;

type OperationName = (typeof OPERATIONS)[number]["name"];
/** Those that are one request with a token, on any server with the same API. */
type TokenOperation = Exclude<OperationName, "gateway" | "login" | "login-batch">;

type Load = readonly [Measurable, LoadRequest | readonly LoadRequest[]];

/** What is measured on which server, for both sides of a comparison. */
interface Sides {
  readonly sample: Load;
  readonly reference: Load;
  readonly other: Load | null;
}

/** Measures the operations of Grove and what each is compared with, in turns. */
export async function compareOperations(
  bench: Bench,
  names: readonly string[],
  other: Access | null,
): Promise<Comparison[]> {
  const bare = await startBare(`${bench.directory}/bare`, bench.build.model.compatibilityDate);
  const grove = await GroveServer.start(bench.build, `${bench.directory}/operations`);
  const gateway = await startGatewayProcess(grove.socket);
  const cloud = await startCloud(grove);
  try {
    const requests = await requestsFor(grove);
    const otherRequests = other && (await requestsFor(other));
    const onBare = (path: string): Load => [bare, { label: "bare", method: "GET", path }];
    const against = (name: TokenOperation, path: string): Sides => ({
      sample: [grove, requests[name]],
      reference: onBare(path),
      other: other && otherRequests && [{ place: other.place }, otherRequests[name]],
    });
    const sides: Record<OperationName, Sides> = {
      lookup: against("lookup", "/read"),
      "lookup-batch": against("lookup-batch", "/static"),
      "create-child": against("create-child", "/two-writes"),
      renew: against("renew", "/write"),
      "create-orphan": against("create-orphan", "/new-object"),
      login: { sample: [grove, cloud.service], reference: onBare("/two-writes"), other: null },
      "login-batch": { sample: [grove, cloud.batch], reference: onBare("/two-writes"), other: null },
      gateway: { sample: [gateway, requests.lookup], reference: [grove, requests.lookup], other: null },
    };
    const chosen = OPERATIONS.filter(({ name }) => names.includes(name));
    const comparisons = chosen.map((operation) => {
      const none: { samples: Sample[]; references: Sample[]; others: Sample[] } = {
        samples: [],
        references: [],
        others: [],
      };
      return { ...operation, ...none };
    });
    // Round 0 warms up: compilers, caches and the first pages of every file.
    for (let round = 0; round <= bench.rounds; round++) {
      bench.say(round === 0 ? "operations: warming up" : `operations: round ${round} of ${bench.rounds}`);
      for (const comparison of comparisons) {
        const { sample, reference, other } = sides[comparison.name];
        const measured = {
          reference: await measureOne(bench, ...reference),
          sample: await measureOne(bench, ...sample),
          other: other && (await measureOne(bench, ...other)),
        };
        if (round === 0) continue;
        comparison.references.push(measured.reference);
        comparison.samples.push(measured.sample);
        if (measured.other) comparison.others.push(measured.other);
      }
    }
    return comparisons;
  } finally {
    await cloud.stop();
    await gateway.stop();
    await grove.stop();
    await bare.stop();
  }
}

/** The request of every operation, with a token made for it. */
async function requestsFor(access: Access): Promise<Record<TokenOperation, LoadRequest>> {
  const plain = { ttl: "24h", policies: ["default"] };
  const service = await makeToken(access, "create-orphan", plain);
  const batch = await makeToken(access, "create-orphan", { ...plain, type: "batch" });
  const maker = await makeToken(access, "create-orphan", { ttl: "24h", policies: ["root"] });
  const create = { method: "POST", token: maker.token, body: { ttl: "1h", policies: ["default"] } };
  const lookup = { method: "GET", path: `${TOKEN_PATH}lookup-self` };
  return {
    lookup: { ...lookup, label: "lookup", token: service.token },
    "lookup-batch": { ...lookup, label: "lookup-batch", token: batch.token },
    "create-child": { ...create, label: "create-child", path: `${TOKEN_PATH}create` },
    renew: { label: "renew", method: "POST", path: `${TOKEN_PATH}renew-self`, token: service.token, body: {} },
    "create-orphan": { ...create, label: "create-orphan", path: `${TOKEN_PATH}create-orphan` },
  };
}
