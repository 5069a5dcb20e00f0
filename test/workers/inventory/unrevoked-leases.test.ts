import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { countRetriedLeases } from "../../../src/api/sys/health/failing-leases.ts";
import { revocationsOf } from "../../../src/listing/inventory/revocation-jobs.ts";
import { leaseFor, leaseRows, runAlarm } from "../../support/leases.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { standInForTargets } from "../../support/targets.ts";
import { holdSweeps, locate, sweep } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  holdSweeps();
});

afterEach(() => {
  vi.useRealTimers();
});

interface Unrevoked {
  /** Leases of the job whose targets have accepted the end. */
  readonly ended?: number | null;
  readonly waiting: number;
  readonly failing: number;
  readonly removed: number;
  readonly failures: readonly { lease_id: string; error: string; next_attempt: string | null }[];
}

const post = async (path: string, body: unknown) => call("POST", path, { token: root, body });

/** Revokes the tree of `token` by a job. Returns what its receipt and its check say of leases, which is the same. */
async function revokedByJob(accessor: string): Promise<() => Promise<Unrevoked>> {
  const body = { accessors: [accessor], dry_run: false, expected_count: 1 };
  const { job } = dataOf<{ job: string }>(await post("sys/tokens/revoke", body));
  await expect.poll(async () => (await revocationsOf(bindings).read(job))?.state).toBe("done");
  return async () => {
    const receipt = await call("GET", `sys/tokens/jobs/${job}/receipt`, { token: root });
    const shown = dataOf<{ numbers: unknown; unrevoked_leases: Unrevoked }>(receipt);
    expect(shown.numbers).toMatchObject({ leases: { count: 3, more: false } });
    const check = dataOf<{ unrevoked_leases: Unrevoked; leases: { asked: number; ended: number | null } }>(
      await post("sys/tokens/verify-ended", { job }),
    );
    expect(check.unrevoked_leases).toEqual(shown.unrevoked_leases);
    expect(check.leases).toMatchObject({ asked: 3, more: false });
    return { ...shown.unrevoked_leases, ended: check.leases.ended };
  };
}

it("leases of ended tokens are said to wait, then to fail with the error, until their targets have accepted it", async () => {
  let isDown = true;
  standInForTargets(({ url }) => (isDown && url.includes("down") ? new TypeError("no route to host") : 204));
  const top = await createToken(root, { no_parent: true, policies: ["default"], ttl: "20h" });
  const child = await createToken(root, { no_parent: true, policies: ["default"], ttl: "20h" });
  const target = "https://down.example.com/revoke";
  const lost = await leaseFor(root, top.client_token, { target });
  await leaseFor(root, top.client_token);
  await leaseFor(root, top.client_token);
  await leaseFor(root, child.client_token, { target });
  const { stub } = await locate(top.client_token);
  const unrevoked = await revokedByJob(top.accessor);
  const before = await unrevoked();
  expect(before.waiting + before.failing).toBeGreaterThan(0);
  await sweep(stub);
  await runAlarm(top.client_token);
  const retried = await unrevoked();
  expect(retried).toMatchObject({ ended: 2, waiting: 0, failing: 1, more: false });
  expect(retried.failures).toEqual([
    {
      lease_id: lost,
      accessor: top.accessor,
      error: "the target down.example.com can't be reached",
      next_attempt: expect.any(String),
    },
  ]);
  // The list of failing leases has it, while it is tried again and after it was given up; that of irrevocable ones then only.
  const listed = async (type: string) =>
    dataOf<{ leases: { lease_id: string; next_attempt?: string | null }[] }>(
      await call("GET", `sys/leases?type=${type}`, { token: root }),
    ).leases.filter(({ lease_id: id }) => id === lost);
  const failing = { accessor: top.accessor, mount_id: "db/", error: "the target down.example.com can't be reached" };
  expect(await listed("failing")).toEqual([{ lease_id: lost, ...failing, next_attempt: expect.any(String) }]);
  expect(await listed("irrevocable")).toEqual([]);
  for (let attempt = 2; attempt <= 6; attempt++) {
    const [row] = await leaseRows(top.client_token);
    vi.setSystemTime(row?.attempt_at ?? 0);
    await runAlarm(top.client_token);
  }
  expect(await unrevoked()).toMatchObject({ failing: 1, failures: [{ lease_id: lost, next_attempt: null }] });
  await expect.poll(() => listed("irrevocable")).toEqual([{ lease_id: lost, ...failing }]);
  expect(await listed("failing")).toEqual([{ lease_id: lost, ...failing, next_attempt: null }]);
  // Sent again in vain: it is tried again, and listed and counted once.
  expect((await post("sys/leases/revoke", { lease_id: lost, sync: true })).status).toBe(400);
  expect(await listed("failing")).toEqual([{ lease_id: lost, ...failing, next_attempt: expect.any(String) }]);
  expect(await listed("irrevocable")).toEqual([{ lease_id: lost, ...failing }]);
  expect(await countRetriedLeases(bindings, Date.now())).toMatchObject({ retried: 0 });
  // Also when its token ended too long ago to be looked at.
  vi.setSystemTime(Date.now() + 20 * 60_000);
  expect(await listed("failing")).toEqual([{ lease_id: lost, ...failing, next_attempt: expect.any(String) }]);
  isDown = false;
  expect((await post("sys/leases/revoke", { lease_id: lost, sync: true })).status).toBe(204);
  expect(await unrevoked()).toEqual({ ended: 3, waiting: 0, failing: 0, removed: 0, more: false, failures: [] });
});

it("a lease that ended before its token is listed while its revocation fails", async () => {
  let isDown = true;
  standInForTargets(() => (isDown ? 503 : 204));
  const { accessor, client_token: token } = await createToken(root, {
    no_parent: true,
    policies: ["default"],
    ttl: "20h",
  });
  const expired = await leaseFor(root, token, { path: "cut/expired", ttl: "1h" });
  const revoked = await leaseFor(root, token, { path: "cut/revoked", ttl: "9h" });
  const held = await leaseFor(root, token, { path: "cut/held", ttl: "9h" });
  const listed = async () =>
    dataOf<{ leases: { lease_id: string }[] }>(await call("GET", "sys/leases?type=failing", { token: root }))
      .leases.filter(({ lease_id: id }) => [expired, revoked, held].includes(id))
      .sort((a, b) => (a.lease_id < b.lease_id ? -1 : 1));
  expect(await listed()).toEqual([]);
  vi.setSystemTime(Date.now() + 3_600_000);
  await post("sys/leases/revoke", { lease_id: revoked, sync: false });
  await runAlarm(token);
  const failing = {
    accessor,
    mount_id: "cut/",
    error: expect.stringContaining("503"),
    next_attempt: expect.any(String),
  };
  expect(await listed()).toEqual([
    { lease_id: expired, ...failing },
    { lease_id: revoked, ...failing },
  ]);
  const before = await countRetriedLeases(bindings, Date.now());
  expect(before.retried).toBeGreaterThanOrEqual(2);
  isDown = false;
  for (const id of [expired, revoked]) await post("sys/leases/revoke", { lease_id: id, sync: true });
  expect(await listed()).toEqual([]);
  expect(await countRetriedLeases(bindings, Date.now())).toMatchObject({ retried: before.retried - 2 });
});

it("a lease that was removed by force has not ended, as its target never accepted it", async () => {
  standInForTargets(({ url }) => (url.includes("down") ? 400 : 204));
  const { accessor, client_token: token } = await createToken(root, { no_parent: true, policies: ["default"] });
  const target = "https://down.example.com/revoke";
  const lost = await leaseFor(root, token, { target });
  const other = await leaseFor(root, token, { target });
  await leaseFor(root, token);
  const unrevoked = await revokedByJob(accessor);
  await sweep((await locate(token)).stub);
  await runAlarm(token);
  expect(await unrevoked()).toMatchObject({ ended: 1, waiting: 0, failing: 2, removed: 0 });
  const remove = (id: string) => call("POST", `sys/leases/revoke-force/${id}`, { token: root, body: {} });
  expect((await remove(lost)).status).toBe(204);
  expect(await unrevoked()).toMatchObject({ ended: 1, waiting: 0, failing: 1, removed: 1 });
  const left = { unrevoked_leases: { waiting: 0, failing: 1, removed: 1 } };
  const { accessor: live } = await createToken(root, { no_parent: true, policies: ["default"] });
  expect(dataOf(await post("sys/tokens/verify-ended", { accessors: [live, accessor] }))).toMatchObject(left);
  expect(dataOf(await post("sys/tokens/find", { token }))).toMatchObject({
    ...left,
    message: expect.stringContaining("But 1 lease that it held was removed without the target's answer: such a"),
  });
  expect(dataOf(await post("sys/tokens/find", { token: lost }))).toMatchObject({
    state: "ended",
    unrevoked_leases: { failing: 0, removed: 1 },
    message: expect.stringContaining("was removed by force"),
  });
  const byId = async (ids: readonly string[]) => dataOf(await post("sys/tokens/verify-ended", { lease_ids: ids }));
  expect(await byId([lost, other])).toMatchObject({ checked: 2, ended: 0, ...left });
  // One whose target accepts it after all has ended.
  standInForTargets(() => 204);
  await remove(other);
  expect(await byId([lost, other])).toMatchObject({ ended: 1, unrevoked_leases: { failing: 0, removed: 1 } });
  // The record lasts as long as the record of the token.
  vi.setSystemTime(Date.now() + 31 * 24 * 3_600_000);
  expect(await byId([lost])).toMatchObject({ ended: 1, unrevoked_leases: { removed: 0 } });
});

it("a lease that was removed by force while its token lived is none of those that end with it", async () => {
  standInForTargets(({ url }) => (url.includes("down") ? 400 : 204));
  const { accessor, client_token: token } = await createToken(root, { no_parent: true, policies: ["default"] });
  const lost = await leaseFor(root, token, { target: "https://down.example.com/revoke" });
  for (let times = 0; times < 3; times++) await leaseFor(root, token);
  expect((await call("POST", `sys/leases/revoke-force/${lost}`, { token: root, body: {} })).status).toBe(204);
  const unrevoked = await revokedByJob(accessor);
  await sweep((await locate(token)).stub);
  await runAlarm(token);
  expect(await unrevoked()).toMatchObject({ ended: 3, removed: 0 });
  const byId = dataOf(await post("sys/tokens/verify-ended", { lease_ids: [lost] }));
  expect(byId).toMatchObject({ ended: 0, unrevoked_leases: { removed: 1 } });
});

it("leases of live tokens are not among them", async () => {
  const held = await createToken(root, { no_parent: true, policies: ["default"], ttl: "20h" });
  await leaseFor(root, held.client_token);
  const answer = await post("sys/tokens/verify-ended", { accessors: [held.accessor] });
  expect(dataOf(answer)).toMatchObject({ alive: [held.accessor], unrevoked_leases: { waiting: 0, failing: 0 } });
});

it("a lease whose revocation was tried before is one of those that are to end, so that the numbers add up", async () => {
  standInForTargets(() => new TypeError("no route to host"));
  const { accessor, client_token: token } = await createToken(root, { no_parent: true, policies: ["default"] });
  const tried = await leaseFor(root, token);
  await leaseFor(root, token);
  expect((await post("sys/leases/revoke", { lease_id: tried, sync: true })).status).toBe(400);
  const detail = dataOf<object>(await call("GET", `sys/tokens/${accessor}`, { token: root }));
  expect(detail).toMatchObject({ leases: { count: 2 }, failing_leases: 1 });
  const preview = dataOf<object>(await post("sys/tokens/revoke", { accessors: [accessor] }));
  expect(preview).toMatchObject({ leases: { count: 2, more: false } });
  const { job } = dataOf<{ job: string }>(
    await post("sys/tokens/revoke", { accessors: [accessor], dry_run: false, expected_count: 1 }),
  );
  await expect.poll(async () => (await revocationsOf(bindings).read(job))?.state).toBe("done");
  const receipt = async () =>
    dataOf<{ numbers: object; unrevoked_leases: Unrevoked }>(
      await call("GET", `sys/tokens/jobs/${job}/receipt`, { token: root }),
    );
  // It is a finding while it is tried again, before it is irrevocable.
  await runAlarm(token);
  const { checks } = dataOf<{ checks: { name: string; state: string; seen: string }[] }>(
    await call("GET", "sys/doctor", { token: root }),
  );
  expect(checks.find(({ name }) => name === "leases")).toMatchObject({
    state: "attention",
    seen: expect.stringMatching(/^2 that ended/),
  });
  // Tokens that ended later do not hide it.
  vi.setSystemTime(Date.now() + 1);
  const later = await createToken(root, { no_parent: true, policies: ["default"] });
  await post("sys/tokens/revoke", { accessors: [later.accessor], dry_run: false, expected_count: 1 });
  const look = (pages: number) => countRetriedLeases(bindings, Date.now(), { pages, page: 1 });
  await expect.poll(() => look(1)).toEqual({ retried: 2, looked: 1, more: true });
  expect(await look(10)).toMatchObject({ retried: 2 });
  // The trees of at most one page of tokens with leases are asked.
  vi.setSystemTime(Date.now() + 1);
  const last = await createToken(root, { no_parent: true, policies: ["default"] });
  await leaseFor(root, last.client_token);
  await post("sys/tokens/revoke", { accessors: [last.accessor], dry_run: false, expected_count: 1 });
  await expect.poll(() => look(10)).toMatchObject({ looked: 2, more: true });
  const { numbers, unrevoked_leases: left } = await receipt();
  expect(numbers).toMatchObject({ leases: { count: 2, more: false } });
  expect(left.waiting + left.failing).toBe(2);
});

it("leases by their ids are held, ended, or fail until their target has accepted the end", async () => {
  let isDown = true;
  standInForTargets(({ url }) => (isDown && url.includes("down") ? new TypeError("no route to host") : 204));
  const { client_token: holder } = await createToken(root, { no_parent: true, policies: ["default"], ttl: "20h" });
  const held = await leaseFor(root, holder);
  const ended = await leaseFor(root, holder);
  const failing = await leaseFor(root, holder, { target: "https://down.example.com/revoke" });
  for (const id of [ended, failing]) await post("sys/leases/revoke", { lease_id: id, sync: true });
  const ids = [held, ended, failing];
  // Another path than that of the lease, whose end must not seem to be proven by a mistake.
  const unknown = ["x/y", `x${held}`];
  const check = async () => dataOf<object>(await post("sys/tokens/verify-ended", { lease_ids: [...ids, ...unknown] }));
  const failure = { lease_id: failing, error: "the target down.example.com can't be reached" };
  expect(await check()).toMatchObject({
    ...{ checked: 5, ended: 1, unknown: 2, alive: [held], next: "" },
    unrevoked_leases: { waiting: 0, failing: 1, failures: [failure] },
  });
  isDown = false;
  await post("auth/token/revoke", { token: holder });
  await sweep((await locate(holder)).stub);
  // Nothing is left to compare a path with: the end of the id names the lease.
  for (let times = 0; times < 3; times++) {
    vi.setSystemTime(Date.now() + 3_600_000);
    await runAlarm(holder);
  }
  expect(await check()).toMatchObject({
    checked: 5,
    ended: 4,
    unknown: 1,
    alive: [],
    unrevoked_leases: { failing: 0 },
  });
  for (const body of [{ lease_ids: ids, job: "x" }, { lease_ids: new Array(101).fill(held) }]) {
    expect((await post("sys/tokens/verify-ended", body)).status).toBe(400);
  }
});
