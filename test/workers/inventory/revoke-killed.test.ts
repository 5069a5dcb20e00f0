import { runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { ACCESSOR_SHARDS, accessorShard } from "../../../src/listing/accessor-shards.ts";
import { revocationsOf, TokenRevocations } from "../../../src/listing/inventory/revocation-jobs.ts";
import { publishPending } from "../../../src/listing/updates/publish.ts";
import { treeIdOf } from "../../../src/token/ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { atCalls, atNth, holdAlarmsOf, ringAlarm } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { bindings, call, createToken, dataOf } from "../../support/service.ts";
import { holdSweeps, locate, sweep } from "../../support/trees.ts";

type Made = Awaited<ReturnType<typeof createToken>>;
type Answers = Record<string, unknown>;

/** What happens to a call, which is done by `proceed`. */
type Happens = <Answer>(proceed: () => Promise<Answer>) => Promise<Answer>;

type At = (nth: number, happens: Happens) => unknown;

interface Leak {
  readonly name: string;
  readonly accessors: string[];
  /** Of each of them. */
  readonly trees: readonly DurableObjectStub<TokenTree>[];
}

interface Begun extends Omit<Leak, "name"> {
  readonly job: string;
}

/** Each has something happen at the `nth` call of its kind, from now on. */
const PLAN: At = (nth, happens) => atNth(TokenTree, "revokeFiltered", nth, happens, ({ dry }) => dry);
const REVOKE: At = (nth, happens) => atNth(TokenTree, "revokeFiltered", nth, happens, ({ dry }) => !dry);
const READ: At = (nth, happens) => atNth(AccessorShard, "inventoryPage", nth, happens);
const SWEEP: At = (nth, happens) => atNth(TokenTree, "sweep", nth, happens);
const UNLIST: At = (nth, happens) => atNth(AccessorShard, "remove", nth, happens);

let root: string;
let service = 0;

beforeAll(async () => {
  root = await initializedAlone();
  const policy = 'path "auth/token/*" { capabilities = ["create", "update", "sudo"] }';
  await call("POST", "sys/policies/acl/operator", { token: root, body: { policy } });
});

beforeEach(() => {
  holdSweeps();
  holdAlarmsOf(TokenRevocations);
});

const post = async (path: string, body: Answers) => dataOf<Answers>(await call("POST", path, { token: root, body }));
const read = async (path: string) => dataOf<Answers>(await call("GET", path, { token: root }));

/** Tokens of a new service: two alone, two trees of three, and one tree where a token matches below another one that does. */
async function leak(): Promise<Leak> {
  service += 1;
  const name = `leak-${service}`;
  const create = (parent: string, display_name: string, more = {}) =>
    createToken(parent, { policies: ["operator"], display_name, ...more });
  const made: Made[] = [];
  for (let at = 0; at < 2; at++) made.push(await create(root, name, { no_parent: true }));
  for (const below of ["other", "other", name]) {
    const top = await create(root, name, { no_parent: true });
    const child = await create(top.client_token, "between");
    made.push(top, child, await create(child.client_token, below));
  }
  await publishPending(bindings);
  const accessors = made.map(({ accessor }) => accessor).sort();
  const located = await Promise.all(made.map(({ client_token }) => locate(client_token)));
  return { name: `token-${name}`, accessors, trees: located.map(({ stub }) => stub) };
}

const step = () => ringAlarm(revocationsOf(bindings));

/** Starts the revocation of a new service. */
async function begun(): Promise<Begun> {
  const { name: display_name, accessors, trees } = await leak();
  const filter = { display_name };
  expect(await post("sys/tokens/revoke", filter)).toMatchObject({ count: 6, total: 11 });
  const real = { ...filter, dry_run: false, expected_count: 6, expected_total: 11 };
  const { job } = await post("sys/tokens/revoke", real);
  return { job: String(job), accessors, trees };
}

/** Every token is named once, the numbers are those of the dry run, and all are refused. */
async function isWhole({ job, accessors }: Begun, state = "done"): Promise<void> {
  expect(await read(`sys/tokens/jobs/${job}`)).toMatchObject({
    ...{ state, matched: 6, revoked: 6, total: 11, ended_before: 0, failures: [], finished: expect.any(String) },
  });
  const receipt = await read(`sys/tokens/jobs/${job}/receipt`);
  expect(receipt).toMatchObject({ complete: true, numbers: { matched: 6, total: 11 }, next: "" });
  expect([...(receipt.accessors as string[])].sort()).toEqual(accessors);
  expect(await post("sys/tokens/verify-ended", { job })).toEqual({
    ...{ checked: 11, ended: 11, unknown: 0, alive: [], unanswered: [], next: "" },
    leases: { asked: expect.any(Number), more: false, ended: expect.anything() },
    unrevoked_leases: { waiting: 0, failing: 0, removed: 0, failures: [], more: false },
  });
}

const AT: [string, At, number][] = [
  ["the list is read", READ, 16],
  ["a tree plans", PLAN, 2],
  ["the first tree revokes", REVOKE, 1],
  ["the last tree revokes", REVOKE, 5],
  ["the first tree is swept", SWEEP, 1],
  ["the last tree is swept", SWEEP, 5],
  ["a list takes off what has ended", UNLIST, 6],
];

describe.each(AT)("a job that dies while %s", (_, where, nth) => {
  it.each(["before it", "after it"])("%s is done continues, and its receipt is complete", async (when) => {
    const begin = await begun();
    // Objects share no promises: each looks by itself.
    const seen = { reached: false, dead: false };
    where(nth, async (proceed) => {
      const answer = when === "after it" ? await proceed() : null;
      seen.reached = true;
      while (!seen.dead) await scheduler.wait(1);
      return answer ?? (await proceed());
    });
    const dying = step().catch(() => "died");
    await expect.poll(() => seen.reached).toBe(true);
    await crash(revocationsOf(bindings));
    seen.dead = true;
    expect(await dying).toBe("died");
    await step();
    await isWhole(begin);
  });
});

/** A call that is done, and whose answer never comes. */
const lost: Happens = async (proceed) => {
  await proceed();
  throw new Error("the answer is lost");
};

it("continues when answers of trees are lost, again and again", async () => {
  const begin = await begun();
  REVOKE(2, lost);
  await step();
  REVOKE(1, lost);
  await step();
  expect(await read(`sys/tokens/jobs/${begin.job}`)).toMatchObject({ state: "running", failures: [] });
  await step();
  await isWhole(begin);
});

it("counts what an attempt ended whose answer was lost, where no ends are kept", async () => {
  const begin = await begun();
  const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => accessorShard(bindings, number));
  const keepFor = async (days: string | undefined) => {
    for (const object of [revocationsOf(bindings), ...shards]) {
      await runInDurableObject<Rpc.DurableObjectBranded, void>(object, (instance) => {
        Reflect.set(Reflect.get(instance, "env") as object, "TOMBSTONE_DAYS", days);
      });
    }
  };
  await keepFor("0");
  try {
    REVOKE(2, lost);
    await step();
    await step();
    expect(await read(`sys/tokens/jobs/${begin.job}`)).toMatchObject({
      ...{ state: "done", matched: 6, revoked: 6, total: 11, ended_before: 0, failures: [] },
    });
  } finally {
    await keepFor(undefined);
  }
});

it("continues when a sweep fails: the tree does it by its alarm, and until then the receipt is not complete", async () => {
  const begin = await begun();
  UNLIST(1, () => {
    throw new Error("the list does not answer");
  });
  await step();
  const { complete } = await read(`sys/tokens/jobs/${begin.job}/receipt`);
  expect(complete).toBe(false);
  for (const stub of begin.trees) await sweep(stub);
  await isWhole(begin);
});

it.each(["succeeds", "fails"])(
  "that is stopped while its first step is planned has finished, and revokes nothing: the plan %s",
  async (plan) => {
    const { job, accessors } = await begun();
    // Objects share no promises: each looks by itself.
    const seen = { reached: false, stopped: false };
    PLAN(2, async (proceed) => {
      seen.reached = true;
      while (!seen.stopped) await scheduler.wait(1);
      if (plan === "fails") throw new Error("the tree does not answer");
      return await proceed();
    });
    const going = step();
    await expect.poll(() => seen.reached).toBe(true);
    const stopped = await post(`sys/tokens/jobs/${job}/stop`, {});
    expect(stopped).toMatchObject({ state: "stopped", finished: expect.any(String), total: 0 });
    seen.stopped = true;
    await going;
    await step();
    expect(await read(`sys/tokens/jobs/${job}`)).toEqual(stopped);
    expect(await read(`sys/tokens/jobs/${job}/receipt`)).toMatchObject({
      ...{ state: "stopped", complete: true, numbers: { total: 0 }, accessors: [] },
    });
    expect(await post("sys/tokens/verify-ended", { job })).toMatchObject({ checked: 0, leases: { ended: null } });
    const { alive } = await post("sys/tokens/verify-ended", { accessors });
    expect([...(alive as string[])].sort()).toEqual(accessors);
  },
);

it("that is stopped in a step whose answer is lost has what that step has ended", async () => {
  const begin = await begun();
  REVOKE(3, lost);
  await step();
  const stopped = await post(`sys/tokens/jobs/${begin.job}/stop`, {});
  expect(stopped).toMatchObject({ state: "stopped", finished: null });
  expect(await read(`sys/tokens/jobs/${begin.job}/receipt`)).toMatchObject({ complete: false });
  await step();
  await isWhole(begin, "stopped");
});

it("counts each token of a tree of several orphans when the answer of the tree is lost", async () => {
  const top = await createToken(root, { policies: ["operator"], no_parent: true });
  const create = (parent: string, display_name: string) =>
    createToken(parent, { policies: ["operator"], display_name });
  const orphans: Made[] = [];
  for (let at = 0; at < 4; at++) orphans.push(await create(top.client_token, "orphaned"));
  await create(orphans[3]?.client_token ?? "", "below");
  const { stub } = await locate(top.client_token);
  await call("POST", "auth/token/revoke-orphan", { token: root, body: { token: top.client_token } });
  await sweep(stub);
  await publishPending(bindings);
  const filter = { display_name: "token-orphaned" };
  expect(await post("sys/tokens/revoke", filter)).toMatchObject({ count: 4, total: 5 });
  const { job } = await post("sys/tokens/revoke", {
    ...{ ...filter, dry_run: false, expected_count: 4, expected_total: 5 },
  });
  REVOKE(1, lost);
  await step();
  await step();
  expect(await read(`sys/tokens/jobs/${job}`)).toMatchObject({
    ...{ state: "done", matched: 4, revoked: 4, total: 5, ended_before: 0 },
  });
});

it("does not count tokens that something else ended before a step was repeated", async () => {
  const begin = await begun();
  REVOKE(5, () => {
    throw new Error("the tree does not answer");
  });
  await step();
  const { alive } = await post("sys/tokens/verify-ended", { accessors: begin.accessors });
  const accessor = String((alive as string[])[0]);
  expect((await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor } })).status).toBe(204);
  for (const stub of begin.trees) await sweep(stub);
  const { tokens } = await read(`sys/tokens/ended?cause=${accessor}`);
  const others = (tokens as unknown[]).length;
  expect(others).toBeGreaterThan(0);
  await step();
  expect(await read(`sys/tokens/jobs/${begin.job}`)).toMatchObject({ state: "done", total: 11 - others });
  const receipt = await read(`sys/tokens/jobs/${begin.job}/receipt`);
  expect(receipt).toMatchObject({
    complete: true,
    accessors: { length: 11 - others },
    numbers: { total: 11 - others },
  });
  // Leases of the others may be left, and are not asked for.
  const check = await post("sys/tokens/verify-ended", { job: begin.job });
  expect(check).toMatchObject({ ended: 11 - others, leases: { ended: null } });
});

it("counts a repeated step once its trees are swept: until then it is repeated", async () => {
  const begin = await begun();
  REVOKE(1, lost);
  await step();
  const sweeps = atCalls(TokenTree, "sweep", async () => false);
  await step();
  sweeps.end();
  const { state, failures } = await read(`sys/tokens/jobs/${begin.job}`);
  expect([state, (failures as string[]).length]).toEqual(["running", 1]);
  await step();
  await isWhole(begin);
});

it("is done although no list ever counts what it ended", async () => {
  const begin = await begun();
  REVOKE(1, lost);
  await step();
  for (let nth = 2; nth <= 11; nth++) {
    const counts = atNth(AccessorShard, "countRevoked", 1, () => {
      throw new Error("the list does not answer");
    });
    await step();
    counts.end();
  }
  expect(await read(`sys/tokens/jobs/${begin.job}`)).toMatchObject({ state: "running", failures: { length: 10 } });
  await step();
  await isWhole(begin);
});

/** The trees with these ids fail from now on. */
function damage(trees: readonly { readonly id: DurableObjectId }[]) {
  const ids = new Set(trees.map(({ id }) => id.toString()));
  const fail = ({ id, proceed }: { id: string; proceed: () => never }) => {
    if (ids.has(id)) throw new Error("file is not a database: SQLITE_NOTADB");
    return proceed();
  };
  return [
    atCalls(TokenTree, "revokeFiltered", fail as never),
    atCalls(TokenTree, "countMeant", fail as never),
    atCalls(TokenTree, "aliveOf", fail as never),
  ];
}

describe("a job that meets damaged trees", () => {
  it("ends the tokens of all others, and names what has not ended and why", async () => {
    const { name: display_name, accessors, trees } = await leak();
    const alone = trees.filter((_, at) => at === 0);
    const [damaged = ""] = accessorsIn(accessors, alone);
    damage(alone);
    const real = { display_name, dry_run: false, expected_count: 6, expected_total: 11 };
    const { job } = await post("sys/tokens/revoke", real);
    await step();
    expect(await read(`sys/tokens/jobs/${job}`)).toMatchObject({ state: "running", total: 11 - 1, not_ended: 1 });
    for (let tries = 2; tries <= 3; tries++) await step();
    const done = await read(`sys/tokens/jobs/${job}`);
    expect(done).toMatchObject({ state: "incomplete", revoked: 5, total: 10, not_ended: 1, failures: [] });
    expect(await read(`sys/tokens/jobs/${job}/receipt`)).toMatchObject({
      state: "incomplete",
      numbers: { matched: 6, total: 10, not_ended: 1 },
      not_ended: [{ accessor: damaged, cause: expect.stringContaining("database of the service is damaged") }],
    });
    expect(await post("sys/tokens/verify-ended", { job })).toMatchObject({
      ...{ checked: 11, ended: 10, alive: [], unanswered: [damaged], leases: { ended: null } },
    });
  });

  it("counts the tokens of a damaged tree by the list, so that the others can be ended", async () => {
    const { name: display_name, trees } = await leak();
    const [top] = trees.slice(2, 3);
    if (!top) throw new Error("there is no tree of several tokens");
    damage([top]);
    const counted = await post("sys/tokens/revoke", { display_name });
    expect(counted).toMatchObject({ count: 6, total: 11 - 3 + 1 });
    const real = { display_name, dry_run: false, expected_count: 6, expected_total: counted.total };
    const { job } = await post("sys/tokens/revoke", real);
    for (let tries = 1; tries <= 3; tries++) await step();
    expect(await read(`sys/tokens/jobs/${job}`)).toMatchObject({ state: "incomplete", total: 8, not_ended: 1 });
  });

  it("calls a tree again that failed for a moment, and is whole", async () => {
    const begin = await begun();
    const failing = atCalls(TokenTree, "revokeFiltered", ({ id, args: [{ dry }], proceed }) => {
      if (!dry && id === begin.trees[0]?.id.toString()) throw new Error("the tree does not answer");
      return proceed();
    });
    for (let tries = 1; tries < 20; tries++) await step();
    expect(await read(`sys/tokens/jobs/${begin.job}`)).toMatchObject({ state: "running", not_ended: 1 });
    failing.end();
    await step();
    await isWhole(begin);
  });
});

function accessorsIn(accessors: readonly string[], trees: readonly { readonly id: DurableObjectId }[]): string[] {
  const ids = trees.map(({ id }) => id.toString());
  return accessors.filter((accessor) => ids.includes(treeIdOf(accessor)));
}
