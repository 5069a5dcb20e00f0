import { createExecutionContext, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { CronTrigger } from "../../../src/app/cron.ts";
import { type CountState, countStep, isCounted, NOT_COUNTED } from "../../../src/listing/inventory/count-selection.ts";
import { revocationsOf, TokenRevocations } from "../../../src/listing/inventory/revocation-jobs.ts";
import { NO_TALLY } from "../../../src/listing/inventory/tally.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { atCalls, atNth, holdAlarmsOf, losingAnswers, ringAlarm } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { bindings, call, createToken, dataOf } from "../../support/service.ts";
import { deleteRows, insertRows } from "../../support/storage-writer.ts";
import { holdTidy, listAgain } from "../../support/tidy.ts";
import { evictTree, growTree, holdSweeps, locate, sweep, tokenRows } from "../../support/trees.ts";

let root: string;

afterEach(() => vi.useRealTimers());

type Made = Awaited<ReturnType<typeof createToken>>;

const post = async (path: string, body: Record<string, unknown>, token = root) => {
  const answer = await call("POST", path, { token, body });
  return { status: answer.status, data: dataOf<Record<string, unknown>>(answer) };
};
const read = async (path: string) => {
  const answer = await call("GET", path, { token: root });
  return dataOf<Record<string, unknown>>(answer);
};
const isAlive = async ({ client_token: token }: Pick<Made, "client_token">) =>
  (await call("GET", "auth/token/lookup-self", { token })).status === 200;

beforeAll(async () => {
  root = await initializedAlone();
  const policy =
    'path "auth/token/create" { capabilities = ["update", "sudo"] } path "cubbyhole/*" { capabilities = ["create", "update"] }';
  await call("POST", "sys/policies/acl/maker", { token: root, body: { policy } });
  const operator =
    'path "sys/tokens/*" { capabilities = ["read", "update", "sudo"] } path "auth/token/create" { capabilities = ["update", "sudo"] }';
  await call("POST", "sys/policies/acl/operator", { token: root, body: { policy: operator } });
});

describe("the lineage of a token", () => {
  it("names the ancestors and descendants of a token, and counts what a revocation would end", async () => {
    const top = await createToken(root, { no_parent: true, policies: ["maker"], display_name: "top" });
    const middle = await createToken(top.client_token, { policies: ["maker"], display_name: "middle" });
    const [low, lower] = [
      await createToken(middle.client_token, { policies: ["maker"], display_name: "low" }),
      await createToken(middle.client_token, { policies: ["maker"], display_name: "lower" }),
    ];
    const lowest = await createToken(low.client_token, { display_name: "lowest" });
    await call("POST", "cubbyhole/a", { token: lowest.client_token, body: { k: "v" } });
    const register = { accessor: low.accessor, path: "db/creds/x", ttl: "1h", target: "https://db.example.com/revoke" };
    const lease = await post("sys/leases/register", register);
    expect(lease.status).toBe(200);

    const lineage = await read(`sys/tokens/${middle.accessor}?limit=1`);
    expect(lineage).toMatchObject({
      token: { accessor: middle.accessor, parent: top.accessor, children: 2 },
      ancestors: [{ accessor: top.accessor }],
      ancestors_more: false,
      children: [{ accessor: low.accessor, children: 1, descendants: { count: 1, more: false } }],
      descendants: { count: 3, more: false },
      leases: { count: 1, more: false },
      held_leases: [],
      cubbyhole: { values: 1, more: false },
    });
    const held = await read(`sys/tokens/${low.accessor}`);
    const id = expect.stringMatching(/^db\/creds\/x\/./);
    expect(held).toMatchObject({ held_leases: [{ lease_id: id, expire_time: expect.any(String) }] });
    const next = await read(`sys/tokens/${middle.accessor}?limit=1&after=${lineage.children_next}`);
    expect(next).toMatchObject({ children: [{ accessor: lower.accessor }], children_next: "" });
    expect((await read(`sys/tokens/${lowest.accessor}`)).ancestors).toMatchObject(
      [top, middle, low].map(({ accessor }) => ({ accessor })),
    );
    expect(await read(`sys/tokens/${top.accessor}/tree`)).toMatchObject({
      token: { accessor: top.accessor },
      children: [
        {
          token: { accessor: middle.accessor },
          descendants: { count: 3, more: false },
          children: [
            { token: { accessor: low.accessor }, descendants: { count: 1, more: false } },
            { token: { accessor: lower.accessor }, descendants: { count: 0, more: false } },
          ],
        },
      ],
      more: false,
    });
    await call("POST", "auth/token/revoke", { token: root, body: { token: middle.client_token } });
    for (const { accessor } of [middle, low]) {
      expect(await read(`sys/tokens/${accessor}`)).toMatchObject({ ended: { cause: middle.accessor } });
      expect((await call("GET", `sys/tokens/${accessor}/tree`, { token: root })).status).toBe(404);
    }
    expect((await call("GET", "sys/tokens/garbage", { token: root })).status).toBe(404);
  });
});

describe("revocation by a filter", () => {
  const finished = async (job: unknown) => {
    await expect.poll(async () => (await read(`sys/tokens/jobs/${job}`)).state).not.toBe("running");
    return read(`sys/tokens/jobs/${job}`);
  };

  it("shows what it would do, and then does that with all descendants", async () => {
    const victims = [
      await createToken(root, { display_name: "b-a", policies: ["maker"] }),
      await createToken(root, { display_name: "b-b", no_parent: true, policies: ["maker"] }),
    ];
    const below = await createToken(victims[1]?.client_token ?? "", {
      display_name: "other",
      meta: { owner: "payments" },
    });
    const bystander = await createToken(root, { display_name: "c", policies: ["maker"] });
    const filter = { display_name: "token-b-*" };
    const preview = await post("sys/tokens/revoke", filter);
    expect(preview.data).toMatchObject({
      count: 2,
      more: false,
      sample: victims.map(({ accessor }) => ({ accessor })),
      leases: { count: 0, more: false },
      skipped: { root: 0, self: 0 },
      total: 3,
      by: {
        mount: [{ key: "auth/token/", count: 3 }],
        type: [{ key: "service", count: 3 }],
        owner: [
          { key: "", count: 2 },
          { key: "payments", count: 1 },
        ],
      },
    });
    expect(await Promise.all(victims.map(isAlive))).toEqual([true, true]);
    const real = { ...filter, dry_run: false, expected_count: 2, expected_total: 3 };
    const { data } = await post("sys/tokens/revoke", real);
    const job = await finished(data.job);
    expect(job).toMatchObject({ state: "done", expected: 2, expected_total: 3, revoked: 2, remaining: null });
    expect(job).toMatchObject({ matched: 2, total: 3, preview: { count: 2, total: 3 }, failures: [] });
    // A job shows what was meant, and keeps nothing else of the request.
    expect(job.filter).toEqual(filter);
    expect(await Promise.all([...victims, below, bystander].map(isAlive))).toEqual([false, false, false, true]);
    expect((await read("sys/tokens/jobs")).jobs).toEqual([
      expect.objectContaining({
        ...{ asked_by: expect.objectContaining({ display_name: "root" }), request_id: expect.stringMatching(/-/) },
      }),
    ]);
  });

  it.each([
    ["a filter that means all", { dry_run: true }],
    ["a filter and accessors at once", { role: "x", accessors: ["y"] }],
    ["what is no accessor", { accessors: ["y"] }],
    ["a call without the count of a dry run", { display_name: "token-x", dry_run: false }],
  ])("refuses %s", async (_, body) => {
    expect((await post("sys/tokens/revoke", body)).status).toBe(400);
  });

  it("refuses when the count grew", async () => {
    const first = await createToken(root, { display_name: "grow", policies: ["default"] });
    await createToken(root, { display_name: "grow", policies: ["default"] });
    const real = { display_name: "token-grow", dry_run: false, expected_count: 1 };
    expect((await post("sys/tokens/revoke", real)).status).toBe(400);
    expect(await isAlive(first)).toBe(true);
    const parent = await createToken(root, { display_name: "grow-below", policies: ["maker"] });
    const below = { display_name: "token-grow-below", dry_run: false, expected_count: 1, expected_total: 1 };
    await createToken(parent.client_token, { display_name: "other" });
    const refused = await call("POST", "sys/tokens/revoke", { token: root, body: below });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ["1 tokens match now, and 2 would end in all, which is more than expected_total"],
    ]);
    expect(await isAlive(parent)).toBe(true);
  });

  it("leaves a token alone that is created between the request and the step of its job", async () => {
    const held = holdAlarmsOf(TokenRevocations);
    const meant = await createToken(root, { display_name: "tide", policies: ["default"] });
    const filter = { display_name: "token-tide" };
    const { data } = await post("sys/tokens/revoke", { ...filter, dry_run: false, expected_count: 1 });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 });
    const later = await createToken(root, { display_name: "tide", policies: ["default"] });
    // A count reads the lists, so they have the new token.
    expect((await post("sys/tokens/revoke", filter)).data).toMatchObject({ count: 2 });
    await ringAlarm(revocationsOf(bindings));
    expect(await read(`sys/tokens/jobs/${data.job}`)).toMatchObject({ state: "done", revoked: 1 });
    expect(await Promise.all([meant, later].map(isAlive))).toEqual([false, true]);
    held.end();
  });

  it("the number is true: 38 tokens of a service and all 1,130 below them, each once, wherever it is asked for", async () => {
    holdSweeps();
    const roots: Made[] = [];
    for (let at = 0; at < 38; at++) {
      const made = await createToken(root, { no_parent: true, policies: ["maker"], display_name: "payments-api" });
      roots.push(made);
      // 28 trees with 30 below the first token, and 10 with 29: some wide, some deep.
      await growTree(made.client_token, at < 28 ? 30 : 29, at % 3 === 0 ? "chain" : "wide");
      const { stub, row } = await locate(made.client_token);
      await listAgain(await stub.describe([row]));
    }
    const [first] = roots;
    const register = {
      accessor: first?.accessor,
      path: "db/creds/x",
      ttl: "1h",
      target: "https://db.example.com/revoke",
    };
    expect((await post("sys/leases/register", register)).status).toBe(200);
    const single = await createToken(root, { no_parent: true, policies: ["default"], display_name: "single-holder" });
    await post("sys/leases/register", { ...register, accessor: single.accessor });

    const filter = { display_name: "token-payments-api", orphan: true };
    const preview = await post("sys/tokens/revoke", filter);
    expect(preview.data).toMatchObject({ count: 38, total: 1168, leases: { count: 1, more: false } });
    expect(preview.data.by).toMatchObject({ mount: [{ key: "auth/token/", count: 1168 }] });
    // Of a token that the list says to be alone the leases are known, too.
    const alone = await post("sys/tokens/revoke", { accessors: [single.accessor] });
    expect(alone.data).toMatchObject({ count: 1, total: 1, leases: { count: 1, more: false } });
    const lineages = await Promise.all(roots.map(({ accessor }) => read(`sys/tokens/${accessor}`)));
    const below = lineages.map(({ descendants }) => (descendants as { count: number }).count);
    expect(below.reduce((sum, count) => sum + count + 1, 0)).toBe(1168);

    const real = { ...filter, dry_run: false, expected_count: 38, expected_total: 1168 };
    const { data } = await post("sys/tokens/revoke", real);
    expect(await finished(data.job)).toMatchObject({ state: "done", matched: 38, revoked: 38, total: 1168 });
    expect(await Promise.all(roots.map(isAlive))).not.toContain(true);
  });

  it("counts a token once when it matches and an ancestor does, too", async () => {
    const top = await createToken(root, { no_parent: true, policies: ["maker"], display_name: "nested" });
    const middle = await createToken(top.client_token, { policies: ["maker"], display_name: "between" });
    const low = await createToken(middle.client_token, { policies: ["maker"], display_name: "nested" });
    await createToken(low.client_token, { display_name: "leaf" });
    const byName = await post("sys/tokens/revoke", { display_name: "token-nested" });
    expect(byName.data).toMatchObject({ count: 2, total: 4 });
    const named = { accessors: [low.accessor, middle.accessor] };
    expect((await post("sys/tokens/revoke", named)).data).toMatchObject({ count: 2, total: 3 });
    const { data } = await post("sys/tokens/revoke", {
      ...named,
      dry_run: false,
      expected_count: 2,
      expected_total: 3,
    });
    expect(await finished(data.job)).toMatchObject({ matched: 2, revoked: 2, total: 3, ended_before: 0 });
    expect(await isAlive(top)).toBe(true);
  });

  it("counts an unused token by itself when its ancestor would match without its use", async () => {
    const top = await createToken(root, { no_parent: true, policies: ["maker"], display_name: "idle" });
    await createToken(top.client_token, { policies: ["maker"], display_name: "idle" });
    const lastUse = async () => {
      const { token } = await read(`sys/tokens/${top.accessor}`);
      return (token as { last_used: string | null }).last_used;
    };
    await expect.poll(lastUse).not.toBeNull();
    // The tree has forgotten the use, and the list has not.
    await evictTree((await locate(top.client_token)).stub);
    const hour = Date.parse((await lastUse()) ?? "");
    const filter = { display_name: "token-idle", unused_since: new Date(hour + 3_599_999).toISOString() };
    expect((await post("sys/tokens/revoke", filter)).data).toMatchObject({ count: 1, total: 1 });
  });

  it("continues counting in a job when one request is not enough, and the job continues after a crash", async () => {
    const held = holdAlarmsOf(TokenRevocations);
    const made: Made[] = [];
    for (let at = 0; at < 3; at++) {
      made.push(await createToken(root, { no_parent: true, policies: ["maker"], display_name: "many" }));
      await createToken(made[at]?.client_token ?? "", { display_name: "below" });
    }
    // Publishes what was made.
    expect((await post("sys/tokens/revoke", { display_name: "token-many" })).data).toMatchObject({
      count: 3,
      total: 6,
    });
    const selection = (sent: string) => ({
      ...{ sent, filter: { displayName: "token-many" }, accessors: null, includeRoot: false, spare: null },
      asked: NO_ORIGIN,
    });
    const start = (expected: { count: number; total: number } | null) =>
      revocationsOf(bindings).start(selection('{"display_name":"token-many"}'), NOT_COUNTED, expected);
    const step = async (id: string) => {
      await ringAlarm(revocationsOf(bindings));
      return read(`sys/tokens/jobs/${id}`);
    };
    const dry = await start(null);
    expect(await read(`sys/tokens/jobs/${dry}`)).toMatchObject({ state: "counting", dry_run: true, matched: null });
    await step(dry);
    await crash(revocationsOf(bindings));
    expect(await step(dry)).toMatchObject({
      ...{ state: "counted", counted: 6, matched: 3, total: 0, preview: { count: 3, total: 6, skipped: { root: 0 } } },
    });
    const refused = await start({ count: 3, total: 5 });
    await step(refused);
    expect(await step(refused)).toMatchObject({ state: "refused", matched: 3, revoked: 0 });
    expect(await Promise.all(made.map(isAlive))).not.toContain(false);
    const real = await start({ count: 3, total: 6 });
    await step(real);
    expect(await step(real)).toMatchObject({ state: "running", matched: 3 });
    expect(await step(real)).toMatchObject({ state: "done", matched: 3, revoked: 3, total: 6 });
    expect(await Promise.all(made.map(isAlive))).not.toContain(true);
    // No token is known to have asked.
    const unasked = { asked_by: null };
    expect(await read(`sys/tokens/jobs/${real}`)).toMatchObject(unasked);
    expect(await read(`sys/tokens/jobs/${real}/receipt`)).toMatchObject(unasked);
    // Counts are found by their ids, and are not among the revocations.
    const ids = (await read("sys/tokens/jobs")).jobs as { id: string }[];
    expect(ids.map(({ id }) => id)).toEqual(expect.arrayContaining([real, refused]));
    expect(ids.map(({ id }) => id)).not.toContain(dry);
    held.end();
  });

  it("that is stopped during the last step of its count stays stopped", async () => {
    const held = holdAlarmsOf(TokenRevocations);
    const made = await createToken(root, { no_parent: true, policies: ["maker"], display_name: "halted" });
    await createToken(made.client_token, {});
    expect((await post("sys/tokens/revoke", { display_name: "token-halted" })).data).toMatchObject({ count: 1 });
    const jobs = revocationsOf(bindings);
    const selection = { sent: "{}", filter: { displayName: "token-halted" }, accessors: null, includeRoot: false };
    const job = await jobs.start({ ...selection, spare: null, asked: NO_ORIGIN }, NOT_COUNTED, { count: 9, total: 9 });
    await ringAlarm(jobs);
    atNth(TokenTree, "countMeant", 1, async (proceed) => {
      expect((await post(`sys/tokens/jobs/${job}/stop`, {})).data).toMatchObject({ state: "stopped" });
      return proceed();
    });
    for (let step = 0; step < 2; step++) await ringAlarm(jobs);
    expect(await read(`sys/tokens/jobs/${job}`)).toMatchObject({ state: "stopped", counted: 2, revoked: 0 });
    expect(await isAlive(made)).toBe(true);
    held.end();
  });

  it("counts a tree from its beginning when the token is gone at which the step before has stopped", async () => {
    const { accessor, client_token } = await createToken(root, { no_parent: true });
    const { treeId } = await locate(client_token);
    const totals = [500, 499];
    atCalls(TokenTree, "countMeant", () => {
      const total = totals.shift() ?? 0;
      return { tally: { ...NO_TALLY, matched: 1, total }, anew: true, next: total === 500 ? { at: 0, row: 7 } : null };
    });
    const selection = { sent: "{}", filter: null, accessors: [accessor], includeRoot: false, spare: null };
    const left = [{ treeId, accessors: [accessor], from: null, tally: NO_TALLY }];
    let count: CountState = { after: null, isRead: true, left, tally: NO_TALLY };
    while (!isCounted(count)) count = await countStep(bindings, { ...selection, asked: NO_ORIGIN }, count, Date.now());
    expect(count.tally).toMatchObject({ matched: 1, total: 499 });
  });

  it("is listed without the tokens that it named and without its groups, of which a hundred jobs would have megabytes", async () => {
    const accessors = Array.from({ length: 900 }, (_, at) => String(at).padStart(112, "a"));
    const groups = { named: Array.from({ length: 300 }, (_, at) => ({ key: `group-${at}`, count: 3 })), other: 0 };
    const sent = JSON.stringify({ accessors, include_root: true });
    const selection = { sent, filter: null, accessors, asked: NO_ORIGIN };
    const tally = { ...NO_TALLY, matched: 900, total: 900, by: { mount: groups, role: groups, owner: groups } };
    const done = { dry: 0, state: "done", started_at: 0, failures: "[]" };
    const numbers = { revoked: 900, total: 900, gone: 0, spared: 0, mismatched: 0 };
    const count = JSON.stringify({ ...NOT_COUNTED, isRead: true, tally });
    const ids = Array.from({ length: 100 }, (_, at) => `large-${at}`);
    await insertRows(
      revocationsOf(bindings),
      "jobs",
      ids.map((id, at) => ({
        id,
        number: 1000 + at,
        selection: JSON.stringify(selection),
        count,
        ...done,
        ...numbers,
      })),
    );
    const { jobs } = (await read("sys/tokens/jobs")) as { jobs: Record<string, unknown>[] };
    const large = jobs.filter(({ id }) => String(id).startsWith("large-"));
    expect(large).toHaveLength(100);
    expect(large[0]).toMatchObject({ id: "large-99", named: 900, filter: { include_root: true }, matched: 900 });
    expect(large[0]?.preview).toEqual({
      ...{ count: 900, total: 900, leases: { count: 0, more: false }, skipped: { root: 0, self: 0 } },
    });
    expect(JSON.stringify(large).length).toBeLessThan(100 * 800);
    expect(await read("sys/tokens/jobs/large-0")).toMatchObject({
      ...{ named: 900, filter: { accessors }, preview: { by: { role: { length: 300 } } } },
    });
    for (const id of ids) await deleteRows(revocationsOf(bindings), "jobs", { id });
  });

  it("spares the caller, its ancestors and root tokens, unless they are named", async () => {
    const above = await createToken(root, { display_name: "s", policies: ["operator"], no_parent: true });
    const caller = await createToken(above.client_token, { display_name: "s", policies: ["operator"] });
    const sibling = await createToken(above.client_token, { display_name: "s", policies: ["operator"] });
    const rootToken = await createToken(root, { display_name: "s", policies: ["root"] });
    const filter = { display_name: "token-s" };
    const preview = await post("sys/tokens/revoke", filter, caller.client_token);
    expect(preview.data).toMatchObject({ count: 1, skipped: { root: 1, self: 2 } });
    const real = { ...filter, dry_run: false, expected_count: 1 };
    const { data } = await post("sys/tokens/revoke", real, caller.client_token);
    expect(await finished(data.job)).toMatchObject({ state: "done", revoked: 1, spared: 3 });
    expect(await Promise.all([above, caller, sibling, rootToken].map(isAlive))).toEqual([true, true, false, true]);
    await sweep((await locate(above.client_token)).stub);
    const all = { ...filter, include_root: true, include_self: true };
    expect((await post("sys/tokens/revoke", all, caller.client_token)).data).toMatchObject({ count: 3 });
    const last = { ...all, dry_run: false, expected_count: 3 };
    await finished((await post("sys/tokens/revoke", last, caller.client_token)).data.job);
    expect(await Promise.all([above, caller, rootToken].map(isAlive))).toEqual([false, false, false]);
  });

  it("spares the parent of a caller with a batch token, which would end with it", async () => {
    const fields = { display_name: "b", policies: ["operator"] };
    const parent = await createToken(root, { ...fields, no_parent: true });
    const batch = await createToken(parent.client_token, { ...fields, type: "batch", ttl: "1h" });
    const preview = await post("sys/tokens/revoke", { display_name: "token-b" }, batch.client_token);
    expect(preview.data).toMatchObject({ count: 0, skipped: { root: 0, self: 1 } });
  });

  it("takes tokens by name", async () => {
    const named = await createToken(root, { display_name: "n", policies: ["default"] });
    const accessors = [named.accessor];
    const preview = await post("sys/tokens/revoke", { accessors });
    expect(preview.data).toMatchObject({ count: 1, sample: [{ accessor: named.accessor }] });
    const { data } = await post("sys/tokens/revoke", { accessors, dry_run: false, expected_count: 1 });
    expect(await finished(data.job)).toMatchObject({ state: "done", revoked: 1 });
    expect(await isAlive(named)).toBe(false);
  });

  it("continues although its alarm was lost: the object sets it again when it wakes", async () => {
    const victim = await createToken(root, { display_name: "lost", policies: ["default"] });
    // Ahead of the platform's clock, so that no alarm goes off by itself.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    const real = { accessors: [victim.accessor], dry_run: false, expected_count: 1 };
    const { data } = await post("sys/tokens/revoke", real);
    // The list names the only token of a job, and no more.
    const listed = (await read("sys/tokens/jobs")).jobs as { id: string }[];
    expect(listed.find(({ id }) => id === data.job)).toMatchObject({
      filter: { accessors: [victim.accessor] },
      named: 1,
    });
    const jobs = revocationsOf(bindings);
    await runInDurableObject(jobs, (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(jobs);
    expect(await read(`sys/tokens/jobs/${data.job}`)).toMatchObject({ state: "running" });
    expect(await runDurableObjectAlarm(jobs)).toBe(true);
    expect(await read(`sys/tokens/jobs/${data.job}`)).toMatchObject({ state: "done", revoked: 1 });
    expect(await isAlive(victim)).toBe(false);
  });

  const callCron = async (path: string) => {
    const request = new Request(`http://localhost${path}`);
    await new CronTrigger(createExecutionContext(), bindings).fetch(request);
  };
  it.each([
    ["by a client that looks at it", (job: string) => read(`sys/tokens/jobs/${job}`)],
    ["when the disk has space again", () => callCron("/storage-faults?full=false")],
    ["by the hourly work", () => callCron("/")],
  ])("continues although its alarm does not ring and its object does not wake: %s", async (_, call) => {
    holdTidy();
    const victim = await createToken(root, { display_name: "unheard", policies: ["default"] });
    // Ahead of the platform's clock, so that no alarm goes off by itself.
    const now = Date.now() + 600_000;
    vi.useFakeTimers({ toFake: ["Date"], now });
    const { data } = await post("sys/tokens/revoke", {
      accessors: [victim.accessor],
      dry_run: false,
      expected_count: 1,
    });
    const jobs = revocationsOf(bindings);
    // The object still takes its alarm for set.
    await runInDurableObject(jobs, (_, { storage }) => storage.setAlarm(now + 1));
    vi.setSystemTime(now + 61_000);
    await call(String(data.job));
    expect(await runInDurableObject(jobs, (_, { storage }) => storage.getAlarm())).toBe(now + 61_000);
    expect(await runDurableObjectAlarm(jobs)).toBe(true);
    expect(await read(`sys/tokens/jobs/${data.job}`)).toMatchObject({ state: "done", revoked: 1 });
  });

  it("continues after a crash in any step, stops only between two, and revokes exactly the tokens of the filter", async () => {
    holdSweeps();
    const held = holdAlarmsOf(TokenRevocations);
    const parent = await createToken(root, { no_parent: true, policies: ["default"], display_name: "k" });
    const grown = await growTree(parent.client_token, 450, "wide");
    const bystander = await createToken(root, { display_name: "k2", policies: ["default"] });
    const { stub } = await locate(parent.client_token);
    // Rows that a test wrote are not published by their tree.
    const rows = (await tokenRows(stub)).filter(({ parent: above }) => above !== null);
    const entries = await stub.describe(rows.map(({ row }) => row));
    await listAgain(entries);
    // Their row numbers are up to half a second ahead, and tokens made after the start are not meant.
    const aheadUntil = Date.now() + 500;
    await expect.poll(() => Date.now() > aheadUntil).toBe(true);
    const filter = { display_name: "token-k", orphan: false };
    expect((await post("sys/tokens/revoke", filter)).data).toMatchObject({ count: 450 });
    const { data } = await post("sys/tokens/revoke", { ...filter, dry_run: false, expected_count: 450 });
    let jobs = revocationsOf(bindings);
    const step = async () => {
      await ringAlarm(jobs);
      return read(`sys/tokens/jobs/${data.job}`);
    };
    expect(await step()).toMatchObject({ state: "running", revoked: 200, remaining: 250 });
    // The tree does its part, and its answer is lost. The job sets the tree aside, and knows what it meant to end.
    const losing = losingAnswers(TokenTree, "revokeFiltered", ({ dry }) => !dry);
    const lost = await step();
    expect(lost).toMatchObject({ state: "running", revoked: 200, failures: [] });
    expect(lost.not_ended).toBeGreaterThan(190);
    losing.end();
    await crash(jobs);
    jobs = revocationsOf(bindings);
    const others = 450 - Number(lost.not_ended);
    const afterOthers = { revoked: others, total: others, not_ended: lost.not_ended, failures: [] };
    expect(await step()).toMatchObject({ state: "running", ...afterOthers });
    const done = { state: "done", matched: 450, revoked: 450, total: 450, ended_before: 0, not_ended: 0 };
    expect(await step()).toMatchObject(done);
    expect(await Promise.all(grown.map((client_token) => isAlive({ client_token })))).toEqual([false, false, false]);
    expect(await Promise.all([parent, bystander].map(isAlive))).toEqual([true, true]);

    const again = await post("sys/tokens/revoke", { display_name: "token-k2", dry_run: false, expected_count: 1 });
    expect((await post(`sys/tokens/jobs/${again.data.job}/stop`, {})).data).toMatchObject({
      state: "stopped",
      revoked: 0,
    });
    await ringAlarm(jobs);
    expect(await isAlive(bystander)).toBe(true);
    expect((await call("POST", "sys/tokens/jobs/nothing/stop", { token: root })).status).toBe(404);
    held.end();
    await runDurableObjectAlarm(jobs);

    // A receipt has the numbers of the dry run, also when an earlier step ended a token with the one above it.
    const top = await createToken(root, { no_parent: true, policies: ["maker"] });
    const low = await createToken(top.client_token, { display_name: "low" });
    const ended = entries.slice(0, 250).flatMap((entry) => entry?.accessor ?? []);
    const named = { accessors: [top.accessor, ...ended, low.accessor] };
    expect((await post("sys/tokens/revoke", named)).data).toMatchObject({ count: 2, total: 2 });
    const last = await post("sys/tokens/revoke", { ...named, dry_run: false, expected_count: 2, expected_total: 2 });
    expect(await finished(last.data.job)).toMatchObject({ state: "done", matched: 2, revoked: 1, total: 2 });
    const numbers = { matched: 2, total: 2, leases: { count: 0, more: false }, not_ended: 0 };
    expect((await read(`sys/tokens/jobs/${last.data.job}/receipt`)).numbers).toEqual(numbers);
  });
});

// Last: its row numbers are some seconds ahead.
it("lineage is bounded for wide and for deep trees", async () => {
  const wide = await createToken(root, { no_parent: true, ttl: "1h" });
  await growTree(wide.client_token, 10_050, "wide");
  expect(await read(`sys/tokens/${wide.accessor}?limit=1`)).toMatchObject({
    descendants: { count: 10_000, more: true },
    token: { children: 10_050 },
  });
  expect(await read(`sys/tokens/${wide.accessor}/tree`)).toMatchObject({ more: true });
  const deep = await createToken(root, { no_parent: true, ttl: "1h" });
  const [, , deepest = ""] = await growTree(deep.client_token, 150, "chain");
  const { accessor } = (await call("GET", "auth/token/lookup-self", { token: deepest })).body.data;
  const lineage = await read(`sys/tokens/${accessor}`);
  expect(lineage.ancestors).toHaveLength(100);
  expect(lineage.ancestors_more).toBe(true);
});
