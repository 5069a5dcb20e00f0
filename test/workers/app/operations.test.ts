import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { app } from "../../../src/app/app.ts";
import { flushAudit } from "../../../src/audit/writer/isolate-writer.ts";
import { forgetEntities } from "../../../src/identity/entity-copies.ts";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { publishRecent } from "../../../src/listing/updates/publish.ts";
import { DocumentSigner, documentOf, signCaller } from "../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../support/cloud-mount.ts";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../support/fake-cloud/outbound.ts";
import { userArn } from "../../support/fake-cloud/world.ts";
import { Meter } from "../../support/meter.ts";
import {
  allCalls,
  type Calls,
  cost,
  END_OF_LONE,
  OPERATIONS,
  type OperationName,
  recordOf,
} from "../../support/operations.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { holdInventory, locate } from "../../support/trees.ts";

/** Longer than an alarm or a short timer lets wait for itself (ms). */
const QUIET_MS = 60;
/** Now and then a token and its parent are in the same shard, or the token is the first of its kind in a shard. */
const ATTEMPTS = 5;
/** So many requests write to nearly every shard. */
const WARM_UP = 48;
/** Requests whose first write to a shard costs more: a token of a group that is new there, the first token that ends. */
const WRITERS: ReadonlySet<OperationName> = new Set([
  "createChild",
  "createByRole",
  "createOrphan",
  "loginByDocument",
  "loginBySignature",
  "revoke",
]);

/** A request that is ready to be sent. */
interface Prepared {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly token?: string;
  readonly body?: unknown;
  /** True for a request after which the tree of `maker` has something to sweep. */
  readonly sweeps?: boolean;
}

const cloud = new FakeCloud();
const signer = new DocumentSigner();
const alice = cloud.world.addUser(HOME, "Alice");
const key = cloud.world.addKey(alice);
let mount: CloudMount;
let root: string;
let maker: string;
let meter: Meter;
let auditMeter: Meter;

beforeAll(async () => {
  // What an isolate remembers stays fresh, alarms come when the test says so, and no hour begins.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
  root = await initialized();
  const policy = 'path "auth/token/*" { capabilities = ["create", "update", "read", "list", "sudo"] }';
  await call("POST", "sys/policies/acl/maker", { token: root, body: { policy } });
  const made = await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["maker"] } });
  maker = made.body.auth.client_token;
  await call("POST", "auth/token/roles/service", { token: root, body: {} });
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/machines", { auth_type: "vm", bound_account_id: HOME });
  const people = { bound_iam_principal_arn: userArn(alice), token_ttl: "1h" };
  await mount.write("role/people", people);
  await mount.write("role/batches", { ...people, token_type: "batch" });
  meter = new Meter();
  auditMeter = new Meter("audit store");
  // Tables are made, and isolates learn, at the first requests of a kind.
  for (const [name, prepare] of Object.entries(REQUESTS) as [OperationName, () => Promise<Prepared>][]) {
    vi.setSystemTime(Date.now() + 1);
    const requests = Array.from({ length: WRITERS.has(name) ? WARM_UP : 2 }, prepare);
    await Promise.all(requests.map(async (prepared) => send(await prepared)));
  }
});

afterAll(() => {
  meter.stop();
  auditMeter.stop();
  vi.useRealTimers();
});

beforeEach(holdInventory);

/** A login where no isolate remembers the entity. */
function login(body: unknown): Prepared {
  forgetEntities();
  return { path: "auth/cloud/login", body };
}

const lookUp = (token: string): Prepared => ({ method: "GET", path: "auth/token/lookup-self", token });
const child = async () => (await createToken(maker, { ttl: "1h" })).client_token;
const document = () => signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1"))).pkcs7;
let signed = 0;
/** A signature of its own: one gives a bounded number of tokens. */
const signature = async (role: string) => {
  const now = Date.now() - (signed++ % 800) * 1000;
  return { ...(await signCaller(key, { now })), role };
};

async function loggedIn(role: string): Promise<string> {
  const answer = await mount.login(await signature(role));
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.auth.client_token;
}

/** A token that was used this hour, of an entity that no isolate remembers. */
async function ofForgottenEntity(role: string): Promise<string> {
  const token = await loggedIn(role);
  await send(lookUp(token));
  forgetEntities();
  return token;
}

const REQUESTS: Readonly<Record<OperationName, () => Promise<Prepared>>> = {
  lookUp: async () => lookUp(maker),
  lookUpOfEntity: async () => lookUp(await ofForgottenEntity("people")),
  lookUpOfBatch: async () => lookUp(await ofForgottenEntity("batches")),
  createChild: async () => ({ path: "auth/token/create", token: maker, body: { ttl: "1h" } }),
  createByRole: async () => ({ path: "auth/token/create/service", token: maker }),
  createOrphan: async () => ({ path: "auth/token/create-orphan", token: maker, body: { ttl: "1h" } }),
  createBatch: async () => ({ path: "auth/token/create", token: maker, body: { type: "batch" } }),
  renew: async () => ({ path: "auth/token/renew-self", token: await child() }),
  renewLogin: async () => ({ path: "auth/token/renew-self", token: await loggedIn("people") }),
  revoke: async () => ({ path: "auth/token/revoke-self", token: await child(), sweeps: true }),
  loginByDocument: async () => login({ role: "machines", pkcs7: document() }),
  loginBySignature: async () => login(await signature("people")),
  loginForBatch: async () => login(await signature("batches")),
  listAccessors: async () => ({ method: "GET", path: "auth/token/accessors?list=true&limit=1", token: maker }),
};

async function send({ method = "POST", path, token, body = {} }: Prepared): Promise<void> {
  const headers = token === undefined ? {} : { "X-Vault-Token": token };
  const init = { method, headers, body: method === "POST" ? JSON.stringify(body) : null };
  const answer = await app.fetch(new Request(`http://grove.test/v1/${path}`, init), bindings, createExecutionContext());
  const text = await answer.text();
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${text}`);
}

/** Waits for what follows from requests. Updates that trees send within two seconds are sent at once. */
async function followUp({ sweeps }: Prepared): Promise<void> {
  if (sweeps) await runInDurableObject((await locate(maker)).stub, (tree) => tree.alarm());
  for (let round = 0; round < 3; round++) {
    await meter.quiet(QUIET_MS);
    await publishRecent(bindings, Date.now());
  }
}

/** Sends a request, waits for what follows from it, and returns all calls, and those to the audit store apart. */
async function costsOf(prepare: () => Promise<Prepared>): Promise<{ readonly all: Calls; readonly audit: Calls }> {
  const prepared = await prepare();
  await followUp(prepared);
  await flushAudit(bindings);
  // Rows are numbered by their ms.
  vi.setSystemTime(Date.now() + 1);
  meter.reset();
  auditMeter.reset();
  await send(prepared);
  await followUp(prepared);
  // A tree reads its pending updates by itself, and writes one row for all that were sent together.
  const { "TokenTree.publishUpdates": _, "TokenTree.enqueueUpdates": _2, ...costs } = await meter.costs();
  return { all: costs, audit: await auditMeter.costs() };
}

/**
 * Calls and written rows are exact. A search in an index reads an entry more or less by what happens to be beside it: what is
 * read stays within two rows of the table for each call.
 */
function agree(measured: Calls, table: Calls): boolean {
  const rounded = Object.entries(measured).map(([method, { times, rowsRead, rowsWritten }]) => {
    const expected = table[method]?.rowsRead ?? rowsRead;
    return [method, cost(Math.abs(expected - rowsRead) <= 2 * times ? expected : rowsRead, rowsWritten, times)];
  });
  return isDeepStrictEqual(Object.fromEntries(rounded), table);
}

it.each(Object.keys(OPERATIONS) as OperationName[])(
  "%s costs what the table says, now and afterwards",
  async (name) => {
    const measured: Calls[] = [];
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const { all, audit } = await costsOf(REQUESTS[name]);
      if (agree(all, allCalls(name)) && agree(audit, recordOf(name))) return;
      measured.push({ ...all, ...audit });
    }
    expect(measured).toContainEqual({ ...allCalls(name), ...recordOf(name) });
  },
);

it("the end of a token that is alone in its tree costs what the table says", async () => {
  const measured: Calls[] = [];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const made = await createToken(maker, { no_parent: true, policies: ["default"], ttl: "1m" });
    await publishRecent(bindings, Date.now());
    const shard = accessorShard(bindings, accessorShardNumber(made.accessor));
    // Whatever else the shard has to do is done before.
    await runInDurableObject(shard, (object) => object.alarm());
    vi.setSystemTime(Date.now() + 62_000);
    await send(lookUp(maker));
    meter.reset();
    await runInDurableObject(shard, (object) => object.alarm());
    const costs = await meter.costs();
    if (agree(costs, END_OF_LONE)) return;
    measured.push(costs);
  }
  expect(measured).toContainEqual(END_OF_LONE);
});
