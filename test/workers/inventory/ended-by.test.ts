import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { tokenLeaseTail } from "../../../src/lease/ids.ts";
import { prefixJob, walkOfMount } from "../../../src/lease/prefix-revocation.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { revocationsOf } from "../../../src/listing/inventory/revocation-jobs.ts";
import { publishPending } from "../../../src/listing/updates/publish.ts";
import { LeaseAuthority } from "../../../src/rpc/lease-authority.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { atCalls } from "../../support/calls.ts";
import { issuingMount } from "../../support/logins.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { holdTidy } from "../../support/tidy.ts";
import { endSingleTokens, holdSweeps, locate, loseToken, sweep } from "../../support/trees.ts";
import { holdWalks, stepWalk } from "../../support/walks.ts";

let root: string;
let operator: { readonly client_token: string; readonly accessor: string };
let entity: string;

interface Made {
  readonly client_token: string;
  readonly accessor: string;
}

interface End {
  readonly at: string;
  readonly [name: string]: unknown;
}

beforeAll(async () => {
  root = await initialized();
  const policy = 'path "*" { capabilities = ["create", "read", "update", "delete", "sudo"] }';
  await post("sys/policies/acl/operator", { policy }, root);
  operator = await createToken(root, { display_name: "on-call", policies: ["operator"], no_parent: true });
  await post("auth/token/roles/fleet", { orphan: true, allowed_policies: "operator", allowed_entity_aliases: "*" });
});

beforeEach(() => {
  holdSweeps();
  holdWalks();
  holdTidy();
});
afterEach(() => vi.useRealTimers());

const post = async (path: string, body: unknown = {}, token = operator.client_token) => {
  const answer = await call("POST", path, { token, body });
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
};

/** A token of the role. */
const ofRole = async (fields: Record<string, unknown> = {}): Promise<Made> =>
  (await post("auth/token/create/fleet", { policies: ["operator"], ...fields }, root)).body.auth;

/** A token of an auth mount of its own. */
async function ofMount(path: string): Promise<Made> {
  await post(`sys/auth/${path}`, { type: "jwt" }, root);
  const client_token = await (await issuingMount(path, ["operator"])).token();
  const { accessor } = (await call("GET", "auth/token/lookup-self", { token: client_token })).body.data;
  return { client_token, accessor };
}

async function keys() {
  const loaded = await loadInstallation(bindings);
  if (!loaded.ok) throw new Error(loaded.error.code);
  return loaded.value.keys;
}

async function mountId(path: string): Promise<string> {
  return (await systemOf(bindings).findMount(`${path}/`))?.uuid ?? "";
}

const ended = async ({ accessor }: Made): Promise<End | undefined> =>
  dataOf<{ ended?: End }>(await call("GET", `sys/tokens/${accessor}`, { token: root })).ended;

const listed = async ({ accessor }: Made) => {
  const { tokens } = dataOf<{ tokens: { token: { accessor: string }; ended: End }[] }>(
    await call("GET", "sys/tokens/ended?limit=1000", { token: root }),
  );
  return tokens.find(({ token }) => token.accessor === accessor)?.ended;
};

/** Runs a walk to its end, the pass included that waits until every isolate knows its watermark. */
async function walked(stub: Parameters<typeof stepWalk>[0]): Promise<void> {
  for (let step = 0; step < 20; step++) {
    await stepWalk(stub);
    const due = await runInDurableObject(stub, (object) => object.progress());
    if (!due) return;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
  }
  throw new Error("the walk does not end");
}

const BELOW = "auth/token/create/fleet/";

/** How a token ends: what is done with it, how its end is called, by which path, and what cleans up behind. */
interface Way {
  readonly make?: () => Promise<Made>;
  readonly end: (made: Made) => Promise<unknown>;
  readonly how: string;
  /** The path of the request; "" without one. */
  readonly path: string;
  /** Who asked; the operator unless said. */
  readonly by?: "itself" | null;
  readonly settle?: () => Promise<void>;
}

/** A wrapped answer. */
async function wrap(): Promise<Made> {
  const headers = { "X-Vault-Wrap-TTL": "60s" };
  const wrapped = await call("POST", "sys/wrapping/wrap", { token: root, body: { a: 1 }, headers });
  const { token, accessor } = wrapped.body.wrap_info;
  return { client_token: token, accessor };
}

const BY_UNWRAPPING = { how: "unwrapped", path: "sys/wrapping/unwrap" } as const;

const walkBelow = () => walked(prefixJob(bindings, { mode: "revoke", prefix: BELOW }));

const WAYS: readonly (readonly [string, Way])[] = [
  [
    "revoke-self",
    {
      end: ({ client_token }) => post("auth/token/revoke-self", {}, client_token),
      ...{ how: "revoked", path: "auth/token/revoke-self", by: "itself" },
    },
  ],
  [
    "revoke",
    {
      end: ({ client_token: token }) => post("auth/token/revoke", { token }),
      ...{ how: "revoked", path: "auth/token/revoke" },
    },
  ],
  [
    "revoke-accessor",
    {
      end: ({ accessor }) => post("auth/token/revoke-accessor", { accessor }),
      ...{ how: "revoked", path: "auth/token/revoke-accessor" },
    },
  ],
  [
    "revoke-orphan, with the token in the path",
    {
      end: ({ client_token }) => post(`auth/token/revoke-orphan/${client_token}`),
      ...{ how: "revoked", path: "auth/token/revoke-orphan" },
    },
  ],
  [
    "a job",
    {
      async end({ accessor }) {
        const body = { accessors: [accessor], dry_run: false, expected_count: 1 };
        const { job } = dataOf<{ job: string }>(await post("sys/tokens/revoke", body));
        await expect.poll(async () => (await revocationsOf(bindings).read(job))?.state).toBe("done");
      },
      ...{ how: "revoked", path: "sys/tokens/revoke" },
    },
  ],
  [
    "a prefix",
    {
      end: () => post(`sys/leases/revoke-prefix/${BELOW.slice(0, -1)}`),
      ...{
        how: "revoked by path or entity",
        path: "sys/leases/revoke-prefix/auth/token/create/fleet",
        settle: walkBelow,
      },
    },
  ],
  [
    "the role",
    {
      end: () => post("auth/token/roles/fleet/revoke-tokens"),
      ...{ how: "revoked by path or entity", path: "auth/token/roles/fleet/revoke-tokens", settle: walkBelow },
    },
  ],
  [
    "a prefix of wrapped answers, which no watermark ends",
    {
      make: wrap,
      async end() {
        await post("sys/leases/revoke-prefix/sys/wrapping", { sync: false });
        await walked(prefixJob(bindings, { mode: "revoke", prefix: "sys/wrapping/" }));
      },
      ...{ how: "revoked by path or entity", path: "sys/leases/revoke-prefix/sys/wrapping" },
    },
  ],
  [
    "another token that took its answer",
    { make: wrap, end: ({ client_token: token }) => post("sys/wrapping/unwrap", { token }), ...BY_UNWRAPPING },
  ],
  [
    "its holder, who took its answer",
    {
      make: wrap,
      end: ({ client_token }) => post("sys/wrapping/unwrap", {}, client_token),
      ...{ ...BY_UNWRAPPING, by: "itself" },
    },
  ],
  [
    "another token that exchanged it for a new one",
    {
      make: wrap,
      end: ({ client_token: token }) => post("sys/wrapping/rewrap", { token }),
      ...{ ...BY_UNWRAPPING, path: "sys/wrapping/rewrap" },
    },
  ],
  [
    "another Worker, over its binding",
    {
      async end({ accessor }) {
        const leases = new LeaseAuthority(createExecutionContext(), bindings);
        expect(await leases.revoke(`${BELOW}${await tokenLeaseTail(await keys(), accessor)}`)).toEqual({ done: true });
      },
      ...{ how: "revoked", path: "sys/leases/revoke", by: null },
    },
  ],
  [
    "the end of its mount",
    {
      make: () => ofMount("gone"),
      async end() {
        const id = await mountId("gone");
        expect((await call("DELETE", "sys/auth/gone", { token: operator.client_token })).status).toBe(204);
        settleMount = () => walked(walkOfMount(bindings, id));
      },
      ...{ how: "revoked by path or entity", path: "sys/auth/gone", settle: () => settleMount() },
    },
  ],
  [
    "the move of its mount",
    {
      make: () => ofMount("moving"),
      async end() {
        const moved = await post("sys/remount", { from: "auth/moving", to: "auth/moved" });
        settleMount = () => walked(walkOfMount(bindings, String(moved.body.migration_id)));
      },
      ...{ how: "revoked by path or entity", path: "sys/remount", settle: () => settleMount() },
    },
  ],
  [
    "not_before of its mount",
    {
      make: () => ofMount("tuned"),
      end: () => post("sys/auth/tuned/tune", { not_before: "now" }),
      ...{ how: "revoked by path or entity", path: "sys/auth/tuned/tune" },
      settle: () => walked(prefixJob(bindings, { mode: "revoke", prefix: "auth/tuned/" })),
    },
  ],
  [
    "not_before of its entity, which tidy sees to",
    {
      async make() {
        const answer = await post("auth/token/create/fleet", { policies: ["operator"], entity_alias: "alice" }, root);
        entity = String(answer.body.auth.entity_id);
        return answer.body.auth;
      },
      async end() {
        await post(`identity/entity/id/${entity}/not-before`);
        notBefore = `identity/entity/id/${entity}/not-before`;
      },
      ...{ how: "revoked by path or entity", path: "not-before" },
    },
  ],
  [
    "its time",
    {
      make: () => createToken(root, { no_parent: true, policies: ["operator"], ttl: "60s" }),
      async end() {
        await publishPending(bindings);
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 62_000 });
        await endSingleTokens();
      },
      ...{ how: "expired", path: "", by: null },
    },
  ],
  [
    "its last use",
    {
      make: () => createToken(root, { no_parent: true, policies: ["operator"], num_uses: 1 }),
      end: ({ client_token: token }) => call("GET", "auth/token/lookup-self", { token }),
      ...{ how: "uses spent", path: "", by: "itself" },
    },
  ],
  [
    "tidy, when its tree does not have it",
    {
      make: () => ofRole(),
      async end({ client_token, accessor }) {
        await loseToken(client_token);
        await accessorShard(bindings, accessorShardNumber(accessor)).remove([accessor]);
      },
      ...{ how: "tidy", path: "", by: null },
    },
  ],
];

let settleMount: () => Promise<void> = async () => {};
let notBefore = "";

it.each(WAYS)("the record of an ended token says when, by whom and with what it ended: %s", async (_, way) => {
  const made = await (way.make ?? ofRole)();
  const began = Date.now();
  await way.end(made);
  const asker = way.by === "itself" ? made : operator;
  const expected = {
    how: way.how,
    by: way.by === null ? null : expect.objectContaining({ accessor: asker.accessor }),
    cause: made.accessor,
    request_path: way.path === "not-before" ? notBefore : way.path,
    request_id: way.path === "" ? "" : expect.stringMatching(/-/),
  };
  // The tree says it from the answer on; the list when what is stored of it is gone.
  expect(await ended(made)).toMatchObject(expected);
  await way.settle?.();
  const place = await locate(made.client_token).catch(() => null);
  if (place) await place.stub.tidy({ run: Date.now(), from: null, accessors: [], customIds: [], aged: [] });
  if (place) await sweep(place.stub);
  expect(await listed(made)).toMatchObject(expected);
  if (way.how !== "expired") expect(Date.parse((await ended(made))?.at ?? "") - began).toBeLessThan(60_000);
});

it("its descendants have the record of the token that ended", async () => {
  const top = await ofRole();
  const child = await createToken(top.client_token, { policies: ["operator"] });
  await post(`sys/leases/revoke-prefix/${BELOW.slice(0, -1)}`);
  await walkBelow();
  await sweep((await locate(top.client_token)).stub);
  expect(await listed(child)).toMatchObject({
    ...{ how: "ended with its parent", cause: top.accessor, by: { display_name: "token-on-call" } },
    request_path: "sys/leases/revoke-prefix/auth/token/create/fleet",
  });
});

it("what a request ended is found by its id, and checked, once tidy has recorded it", async () => {
  const robot = { policies: ["operator"], entity_alias: "robot" };
  const make = async (alias: string) =>
    (await post("auth/token/create/fleet", { ...robot, entity_alias: alias }, root)).body.auth;
  const [first, second, other] = [await make("robot"), await make("robot"), await make("bystander")];
  const child = await createToken(first.client_token, { policies: ["operator"] });
  await post(`identity/entity/id/${String(first.entity_id)}/not-before`);
  await post(`identity/entity/id/${String(other.entity_id)}/not-before`);
  const request = String((await ended(first))?.request_id);
  const verify = (body: object) => call("POST", "sys/tokens/verify-ended", { token: root, body });
  const found = async () => {
    const answer = await call("GET", `sys/tokens/ended?request_id=${request}&limit=1000`, { token: root });
    return dataOf<{ tokens: { token: { accessor: string } }[] }>(answer).tokens.map(({ token }) => token.accessor);
  };
  // An answer without tokens would look like a proof.
  expect([await found(), (await verify({ request_id: request })).status]).toEqual([[], 404]);
  for (const { client_token: token } of [first, second, other]) {
    const { stub } = await locate(token);
    await stub.tidy({ run: Date.now(), from: null, accessors: [], customIds: [], aged: [] });
    await sweep(stub);
  }
  expect((await found()).sort()).toEqual([first, second, child].map(({ accessor }) => accessor).sort());
  expect(dataOf(await verify({ request_id: request }))).toMatchObject({ checked: 3, ended: 3, alive: [], next: "" });
  const ofLastRelease = atCalls(AccessorShard, "endedPage", ({ args: [{ filter, ...query }], proceed }) => {
    const { request: _, ...known } = filter;
    return proceed({ ...query, filter: known });
  });
  expect((await found()).sort()).toEqual([first, second, child].map(({ accessor }) => accessor).sort());
  expect(dataOf(await verify({ request_id: request }))).toMatchObject({ checked: 3, ended: 3 });
  ofLastRelease.end();
  const both = { request_id: request, job: "j1" };
  expect((await verify(both)).status).toBe(400);
  expect((await call("GET", `sys/tokens/ended?request_id=${request}&job=j1`, { token: root })).status).toBe(400);
});

it("until the clean-up the map says which trees ended, and a dry run shows none of their tokens", async () => {
  const top = await ofRole();
  await createToken(top.client_token, { policies: ["operator"] });
  await ofRole();
  const alive = await createToken(root, { no_parent: true });
  type Tree = { root: { accessor: string; path: string }; count: number; ended: boolean };
  const treesOf = async () =>
    dataOf<{ groups: { largest: Tree[] }[] }>(await call("GET", "sys/tokens/map", { token: root })).groups.flatMap(
      ({ largest }) => largest,
    );
  const isOfRole = ({ root: { path } }: { root: { path: string } }) => path === BELOW.slice(0, -1);
  const dryRun = async () =>
    dataOf<{ sample: unknown[] }>(
      await post("sys/tokens/revoke", { path_prefix: BELOW.slice(0, -1), dry_run: true }, root),
    );
  expect((await treesOf()).filter(isOfRole)).toEqual(
    expect.arrayContaining([expect.objectContaining({ count: 2, ended: false })]),
  );
  expect((await dryRun()).sample.length).toBeGreaterThan(1);
  await post(`sys/leases/revoke-prefix/${BELOW.slice(0, -1)}`, { sync: false });
  const trees = await treesOf();
  expect(trees.filter(isOfRole).map(({ ended }) => ended)).not.toContain(false);
  expect(trees.find((tree) => tree.root.accessor === top.accessor)).toMatchObject({ count: 2, ended: true });
  expect(trees.filter(({ root: { accessor } }) => accessor === alive.accessor)).not.toContainEqual(
    expect.objectContaining({ ended: true }),
  );
  expect(await dryRun()).toMatchObject({ count: 0, total: 0, sample: [] });
});
