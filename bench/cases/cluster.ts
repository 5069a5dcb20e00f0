import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { BucketEmulator, BucketRequest } from "../../test/support/bucket.ts";
import type { Bench, CaseFigures, Row, Target } from "../case.ts";
import { ask, type Client, makeToken } from "../servers/client.ts";
import { type Nodes, startNodes } from "../servers/nodes.ts";
import { percentile } from "../statistics.ts";

/** Delay of each answer of the bucket (ms). */
const BUCKET_MS = 5;
/** Time after which the background work of an operation (lists, snapshots, the deletion of logs) is complete (ms). */
const FOLLOWS_MS = 12_000;
/** Number of parents of the children. Each parent is in its own tree. */
const PARENTS = 16;
/** Number of tokens in a tree that is revoked as a whole. */
const SUBTREE = 31;
/** Number of revocations of whole trees. */
const SUBTREES = 30;
const MANY_CLIENTS = 16;
/**
 * Number of orphans that are created before the measurement, so that each shard of the lists has created its objects.
 */
const WARM_UP = 200;

const CREATION = { ttl: "1h", policies: ["default"] };
const WITH_CHILDREN = { ttl: "1h", policies: ["root"] };

interface Operation {
  readonly name: string;
  /** Number of operations, one after the other and with {@link MANY_CLIENTS}. */
  readonly times: readonly [number, number];
  /** Creates the tokens that this number of operations uses up. */
  readonly prepare?: (count: number) => Promise<void>;
  readonly run: (at: Client) => Promise<unknown>;
}

/**
 * Measures three nodes on this machine, whose bucket answers in 5 ms: the time of an operation, and its requests to the
 * bucket, including its background work. Requests for the leases of nodes are not counted. The nodes receive the
 * requests in turn.
 */
export async function measureCluster(bench: Bench): Promise<CaseFigures> {
  const rows: Row[] = [];
  const subtrees: Row[] = [];
  for (const store of ["off", "on"]) {
    bench.say(`three nodes with AUDIT_STORE=${store}`);
    const cluster = await startNodes(join(bench.directory, store), bench.secrets, { AUDIT_STORE: store }, BUCKET_MS);
    try {
      for (const row of await measureNodes(cluster)) rows.push({ ...row, store });
      const operation = `revocation of a tree of ${SUBTREE} tokens`;
      subtrees.push({ operation, ...(await measureSubtree(cluster)), store });
    } finally {
      await cluster.stop();
    }
  }
  return { tables: [rows, subtrees], targets: targetsOf(rows, subtrees) };
}

async function measureNodes(cluster: Nodes): Promise<Row[]> {
  const [root] = cluster.nodes;
  for (let made = 0; made < WARM_UP; made++) await makeToken(root, "create-orphan", CREATION);
  const parents: string[] = [];
  for (let made = 0; made < PARENTS; made++) {
    parents.push((await makeToken(root, "create-orphan", WITH_CHILDREN)).token);
  }
  const [token = ""] = parents;
  let turn = 0;
  const asParent = ({ url }: Client): Client => ({ url, token: parents[turn++ % PARENTS] ?? "" });
  const child = (at: Client) => makeToken(asParent(at), "create", CREATION);
  const children: string[] = [];
  const operations: readonly Operation[] = [
    { name: "look-up", times: [1000, 4000], run: ({ url }) => ask({ url, token }, "GET", "v1/auth/token/lookup-self") },
    { name: "child", times: [100, 1000], run: child },
    { name: "renewal", times: [100, 1000], run: (at) => ask(asParent(at), "POST", "v1/auth/token/renew-self") },
    { name: "orphan", times: [100, 1000], run: (at) => makeToken(at, "create-orphan", CREATION) },
    {
      name: "revocation of a child",
      times: [100, 500],
      prepare: async (count) => {
        for (let made = 0; made < count; made++) children.push((await child(root)).token);
      },
      run: (at) => ask(at, "POST", "v1/auth/token/revoke", { token: children.pop() }),
    },
  ];
  const rows: Row[] = [];
  for (const operation of operations) {
    const { name, times } = operation;
    const [alone, many] = times;
    const one = await measureOperation(cluster, operation, alone, 1);
    rows.push({ operation: name, clients: 1, ...one });
    const together = await measureOperation(cluster, operation, many, MANY_CLIENTS);
    rows.push({ operation: name, clients: MANY_CLIENTS, ...together });
  }
  return rows;
}

/** @param count number of operations. @param clients number of concurrent operations. */
async function measureOperation(
  { bucket, nodes }: Nodes,
  { prepare, run }: Operation,
  count: number,
  clients: number,
): Promise<Row> {
  await prepare?.(count);
  await pause(FOLLOWS_MS);
  const from = bucket.requests.length;
  const times = new Float64Array(count);
  const began = performance.now();
  let begun = 0;
  const work = async () => {
    while (begun < count) {
      const number = begun++;
      const at = performance.now();
      await run(nodes[number % nodes.length] ?? nodes[0]);
      times[number] = performance.now() - at;
    }
  };
  await Promise.all(Array.from({ length: clients }, work));
  const seconds = (performance.now() - began) / 1000;
  await pause(FOLLOWS_MS);
  const requests = requestsOfObjects(bucket, from);
  const each = (method: string) => requests.filter((request) => request.method === method).length / count;
  times.sort();
  return {
    "a second": count / seconds,
    "p50 ms": percentile(times, 0.5),
    "p99 ms": percentile(times, 0.99),
    PUT: each("PUT"),
    GET: each("GET"),
    DELETE: each("DELETE"),
  };
}

/** The requests about objects since `from`. All others are about the leases of nodes. */
function requestsOfObjects(bucket: BucketEmulator, from: number): BucketRequest[] {
  return bucket.requests.slice(from).filter(({ key }) => key.includes("/workerd/v1/do/"));
}

async function measureSubtree({ nodes: [root, ...others] }: Nodes): Promise<Row> {
  const times = new Float64Array(SUBTREES);
  for (let number = 0; number < SUBTREES; number++) {
    const top = await makeToken(root, "create-orphan", WITH_CHILDREN);
    for (let made = 1; made < SUBTREE; made++) {
      await makeToken({ url: root.url, token: top.token }, "create", CREATION);
    }
    const at = others[number % others.length] ?? root;
    const began = performance.now();
    await ask(at, "POST", "v1/auth/token/revoke", { token: top.token });
    times[number] = performance.now() - began;
  }
  times.sort();
  return { "p50 ms": percentile(times, 0.5), "longest ms": times.at(-1) ?? 0 };
}

/** Requests of a new object without data: 3 PUT and 2 GET. */
const BARE_OBJECT = 5;

/**
 * The targets for requests apply without the audit store. DELETE requests are not counted, since R2 and S3 do not
 * charge for them.
 */
function targetsOf(rows: readonly Row[], subtrees: readonly Row[]): Target[] {
  const figure = (name: string, clients: number, store: string, column: string): number => {
    const row = rows.find(({ operation, ...of }) => operation === name && of.clients === clients && of.store === store);
    return Number(row?.[column]);
  };
  const inAll = (name: string) => figure(name, MANY_CLIENTS, "off", "PUT") + figure(name, MANY_CLIENTS, "off", "GET");
  return [
    { what: "look-up: p50 ms", got: figure("look-up", 1, "on", "p50 ms"), atMost: 5 },
    { what: "child: PUT and GET, with what follows", got: inAll("child"), atMost: 3 },
    { what: "orphan: PUT and GET, with what follows", got: inAll("orphan"), atMost: BARE_OBJECT + 1 },
    { what: "revocation of a child: PUT and GET, with what follows", got: inAll("revocation of a child"), atMost: 4 },
    { what: "revocation of a tree: p50 ms", got: Number(subtrees.at(-1)?.["p50 ms"]), atMost: 60 },
  ];
}
