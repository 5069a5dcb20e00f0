import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CronTrigger, hourly } from "../../../src/app/cron.ts";
import { noteOldData } from "../../../src/base/storage-faults.ts";
import { OidcIssuer } from "../../../src/issuer/oidc-issuer.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { NO_TRAFFIC, slotOf } from "../../../src/metrics/traffic.ts";
import { Tidy, tidyOf } from "../../../src/tidy/tidy.ts";
import { callsTo, failing, holdAlarms } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";

interface Check {
  readonly name: string;
  readonly state: string;
  readonly seen: string;
  readonly advice: string;
  readonly link: string;
}

const SLOT_MS = 300_000;
const DAY_MS = 86_400_000;

let root: string;

beforeAll(async () => {
  root = await initialized();
});
beforeEach(() => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
});
afterEach(() => void vi.useRealTimers());

const doctor = async (query = "") =>
  dataOf<{ state: string; checks: readonly Check[] }>(await call("GET", `sys/doctor${query}`, { token: root }));
const check = async (name: string, query = "") => (await doctor(query)).checks.find((one) => one.name === name);
const slots = async () =>
  dataOf<{ samples: readonly Record<string, unknown>[] }>(await call("GET", "sys/metrics/history", { token: root }))
    .samples;
const now = () => (Date.now() / 1000).toFixed(3);

describe("sys/doctor", () => {
  it("needs sudo", async () => {
    const reader = await tokenUnder(root, 'path "sys/doctor" { capabilities = ["read"] }');
    expect((await call("GET", "sys/doctor", { token: reader })).status).toBe(403);
    const operator = await tokenUnder(root, 'path "sys/doctor" { capabilities = ["read", "sudo"] }');
    expect((await call("GET", "sys/doctor", { token: operator })).status).toBe(200);
  });

  it("says of every check what was seen, and of every finding what to do and where that is described", async () => {
    const { state, checks } = await doctor(`?client_time=${now()}`);
    expect(checks.map(({ name }) => name)).toEqual([
      ...["objects", "faults", "releases", "clock", "backups", "audit", "leases", "tidy", "lists", "storage"],
      ...["seal_key", "keys", "issuer", "root_tokens", "endless_tokens", "quotas"],
    ]);
    for (const { state, seen, advice, link } of checks) {
      expect(seen).not.toBe("");
      expect(advice !== "" && link.startsWith("docs/")).toBe(state !== "ok");
    }
    // The root token of this installation never ends.
    expect(state).toBe("attention");
    expect(checks.find(({ name }) => name === "root_tokens")).toMatchObject({ state: "attention" });
  });

  it("compares the client's clock, if the request has it", async () => {
    expect((await check("clock"))?.state).toBe("unknown");
    expect((await check("clock", `?client_time=${now()}`))?.state).toBe("ok");
    expect((await check("clock", "?client_time=5"))?.state).toBe("attention");
    expect((await call("GET", "sys/doctor?client_time=noon", { token: root })).status).toBe(400);
  });

  it("finds tokens without an end", async () => {
    const before = await check("endless_tokens");
    expect(before?.state).toBe("ok");
    await createToken(root, { policies: ["default"], period: "1h", no_parent: true });
    expect((await check("endless_tokens"))?.state).toBe("ok");
    await createToken(root, { policies: ["root"], no_parent: true });
    expect((await check("root_tokens"))?.seen).toMatch(/^2, of which 2 never end/);
  });

  it("does not count a root token that a watermark has ended, and that is not cleaned up yet", async () => {
    await createToken(root, { policies: ["root"], ttl: "1h", no_parent: true });
    expect((await check("root_tokens"))?.seen).toMatch(/^3, of which 2 never end/);
    await call("PUT", "sys/leases/revoke-prefix/auth/token", { token: root });
    expect((await check("root_tokens"))?.seen).toBe("1, which never ends");
    expect((await check("endless_tokens"))?.state).toBe("ok");
  });

  it("hides no other check behind one whose object does not answer", async () => {
    const silent = failing(OidcIssuer, "firstRotation", "the disk is gone");
    const { checks } = await doctor();
    silent.end();
    expect(checks.find(({ name }) => name === "issuer")).toMatchObject({ state: "unknown" });
    expect(JSON.stringify(checks)).not.toContain("disk");
    expect(checks.find(({ name }) => name === "keys")).toMatchObject({ state: "ok" });
  });

  it("knows a backup that a client read over the API", async () => {
    expect(await check("backups")).toMatchObject({ state: "attention", seen: "none yet in the bucket" });
    let [run, position, parts] = ["", "", 0];
    for (let next: string | null = ""; next !== null; parts++) {
      const body = { run, position, number: parts };
      const part = dataOf<{ run: string; next: string | null }>(
        await call("POST", "sys/backup/part", { token: root, body }),
      );
      [run, next] = [part.run, part.next];
      position = next ?? "";
    }
    expect((await call("POST", "sys/backup/seal", { token: root, body: { run, parts } })).status).toBe(200);
    expect(await check("backups")).toMatchObject({ state: "ok" });
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    expect(await check("backups")).toMatchObject({ state: "failing" });
  });

  it("shows the nodes of a cluster that reported themselves, and misses one only if it did not leave", async () => {
    const cron = new CronTrigger(createExecutionContext(), bindings);
    const report = (path: string, node: string) => cron.fetch(new Request(`http://localhost/${path}?node=${node}`));
    const named = async () => (await tidyOf(bindings).history()).nodes.map(({ name }) => name);
    await report("up", "a:1");
    await report("up", "b:1");
    expect(await named()).toEqual(["a:1", "b:1"]);
    await report("left", "a:1");
    expect(await named()).toEqual(["b:1"]);
    // One process has no nodes.
    expect(await check("cluster")).toBeUndefined();
    for (let at = 0; at < 105; at++) await report("up", `c:${at}`);
    expect(await named()).toHaveLength(100);
    vi.setSystemTime(Date.now() + DAY_MS);
    await report("up", "d:1");
    expect(await named()).toEqual(["d:1"]);
  });
});

it.each([
  ["", () => {}],
  [", also while the history can't be stored", () => void failing(Tidy, "keepHistory", "SQLITE_FULL")],
])("counts an answer 503 of this second%s", async (_, meanwhile) => {
  meanwhile();
  const unavailable = async () => Number(/(\d+) answers 503/.exec((await check("faults"))?.seen ?? "")?.[1]);
  const before = await unavailable();
  const away = failing(AccessorShard, "inventoryPage", "Network connection lost.");
  expect((await call("GET", "sys/tokens", { token: root })).status).toBe(503);
  away.end();
  expect(await unavailable()).toBe(before + 1);
});

describe("the history of a day", () => {
  const keep = (at: number, requests: number, live: { tokens: number; leases: number } | null = null) =>
    tidyOf(bindings).keepHistory(at, { ...NO_TRAFFIC, requests }, live);

  it("is written by each isolate once a minute, whatever it is asked meanwhile", async () => {
    vi.setSystemTime(Date.now() + 120_000);
    const reports = callsTo(Tidy, "keepHistory");
    for (let n = 0; n < 5; n++) await call("GET", "auth/token/lookup-self", { token: root });
    await vi.waitFor(() => expect(reports.calls).toHaveLength(1), 60_000);
    vi.setSystemTime(Date.now() + 60_000);
    await call("GET", "auth/token/lookup-self", { token: root });
    await call("GET", "auth/token/lookup-self", { token: "s.none" });
    await vi.waitFor(() => expect(reports.calls).toHaveLength(2), 60_000);
    expect(reports.calls[1]?.args[1].requests).toBe(5);
  });

  it("loses nothing of a report that failed", async () => {
    vi.setSystemTime(Date.now() + 120_000);
    const first = callsTo(Tidy, "keepHistory");
    await call("GET", "auth/token/lookup-self", { token: root });
    await vi.waitFor(() => expect(first.calls).toHaveLength(1), 60_000);
    vi.setSystemTime(Date.now() + 60_000);
    const lost = failing(Tidy, "keepHistory");
    await call("GET", "auth/token/lookup-self", { token: root });
    await vi.waitFor(() => expect(lost.calls).toHaveLength(1), 60_000);
    lost.end();
    const reports = callsTo(Tidy, "keepHistory");
    vi.setSystemTime(Date.now() + 60_000);
    await call("GET", "auth/token/lookup-self", { token: root });
    await vi.waitFor(() => expect(reports.calls[0]?.args[1].requests).toBe(2), 60_000);
  });

  it("adds up what isolates report of one slot, with the newest numbers of the installation", async () => {
    const at = slotOf(Date.now() + 10 * DAY_MS);
    vi.setSystemTime(at + 10_000);
    await keep(at, 3, { tokens: 5, leases: 1 });
    await keep(at + SLOT_MS - 1, 4);
    await keep(at + SLOT_MS, 1);
    const samples = (await slots()).filter(({ time }) => Date.parse(String(time)) >= at);
    expect(samples.map(({ requests, tokens }) => [requests, tokens])).toEqual([
      [7, 5],
      [1, null],
    ]);
  });

  it("has the slots of a day and no more, also when a clock is far ahead", async () => {
    const at = slotOf(Date.now() + 20 * DAY_MS);
    vi.setSystemTime(at);
    await runInDurableObject(tidyOf(bindings), (tidy: Tidy) => {
      for (let n = 300; n >= 0; n--) tidy.keepHistory(at - n * SLOT_MS, NO_TRAFFIC, null);
      tidy.keepHistory(at + 1000 * DAY_MS, NO_TRAFFIC, null);
    });
    const times = (await slots()).map(({ time }) => Date.parse(String(time)));
    expect([times.length, times[0]]).toEqual([289, at - DAY_MS + SLOT_MS]);
    expect(times.at(-1)).toBe(at + 2 * SLOT_MS);
  });

  it("gets the number of tokens and leases with the hourly work", async () => {
    const at = slotOf(Date.now() + 30 * DAY_MS);
    vi.setSystemTime(at);
    await hourly(bindings);
    expect((await slots()).at(-1)).toMatchObject({ tokens: expect.any(Number), leases: 0 });
  });
});

// Last: it revokes every token.
it("says of data that may be a restored backup to revoke all tokens, until that is done", async () => {
  noteOldData({ isCopy: true, servedAt: Date.now() - DAY_MS });
  const before = await check("storage");
  expect(before).toMatchObject({ state: "attention", seen: expect.stringContaining("the data are a copy") });
  expect((await call("PUT", "sys/leases/revoke-prefix/auth", { token: root })).status).toBeLessThan(300);
  const after = await check("storage");
  expect(after?.seen).not.toContain("the data are a copy");
});
