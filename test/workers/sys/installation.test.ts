import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { RowKeys } from "../../../src/crypto/row-keys.ts";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/index.ts";
import { RowSeals } from "../../../src/storage/row-seals.ts";
import {
  forgetInstallation,
  loadForAlarm,
  loadInstallation,
  mustLoadInstallation,
  refreshInstallation,
} from "../../../src/system/installation.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { readSnapshot, systemStores, writeNewInstallation } from "../../../src/system/system-stores.ts";
import { atCalls, callsTo, failing, holdAlarms } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { crash } from "../../support/objects.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { changeRows, deleteRows } from "../../support/storage-writer.ts";
import { holdInventory } from "../../support/trees.ts";
import { holdWalks } from "../../support/walks.ts";

afterEach(() => {
  vi.useRealTimers();
});

const KEYS = new RowKeys([{ version: 1, root: new Uint8Array(32), usedFrom: 0 }]);
const SEALS = new RowSeals("an object", () => KEYS);

let root: string;

// An object that works by itself reads the installation too.
beforeEach(holdAlarms);
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
});

it("a refresh that was asked before a change and answered after it does not bring the old state back", async () => {
  await refreshInstallation(bindings);
  /** Answers that nothing has changed. Before the answer arrives, another request writes and refreshes. */
  const reading = atCalls(System, "snapshot", async () => {
    reading.end();
    const content = { text: "", rulesJson: "[]" };
    const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null };
    await systemOf(bindings).writePolicy("late", { content, ...settings }, Date.now());
    await refreshInstallation(bindings);
    return null;
  });
  await refreshInstallation(bindings);
  const loaded = await loadInstallation(bindings);
  expect(loaded.ok && loaded.value.policies.absent(["late"], Date.now())).toEqual([]);
});

it("of many concurrent requests one reads the copy again before it is too old, and none uses an older one", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const asked = callsTo(System, "snapshot");
  const askedBy = async (requests: number) => {
    const before = asked.calls.length;
    await Promise.all(Array.from({ length: requests }, () => call("GET", "auth/token/lookup-self", { token: root })));
    return asked.calls.length - before;
  };
  const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
  await refreshInstallation(bindings);
  expect(await askedBy(30)).toBe(0);
  later(3_900);
  expect(await askedBy(30)).toBe(0);
  later(200);
  expect(await askedBy(30)).toBe(1);
  expect(await askedBy(30)).toBe(0);

  // The reading fails: the others go on, and another one asks a moment later.
  later(4_100);
  const failed = failing(System, "snapshot", "gone", 1);
  expect((await loadInstallation(bindings)).ok).toBe(true);
  await vi.waitFor(() => expect(failed.calls).toHaveLength(1), 60_000);
  expect(await askedBy(30)).toBe(0);
  later(501);
  expect(await askedBy(30)).toBe(1);

  // The copy is too old: a request reads it first.
  later(5_000);
  expect(await askedBy(1)).toBe(1);
});

describe("while the system object does not answer", () => {
  /** Look-ups side by side, `ms` after the copy was last known to be true: their statuses, each once. */
  async function lookUps(checkedAt: number, ms: number, env: Partial<Env> = {}): Promise<number[]> {
    vi.setSystemTime(checkedAt + ms);
    const request = () =>
      new Request("http://grove.test/v1/auth/token/lookup-self", { headers: { "X-Vault-Token": root } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => worker.fetch(request(), { ...bindings, ...env }, createExecutionContext())),
    );
    return [...new Set(answers.map(({ status }) => status))];
  }

  async function checkedNow(): Promise<number> {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    await call("GET", "auth/token/lookup-self", { token: root });
    await refreshInstallation(bindings);
    return Date.now();
  }

  const health = async () => (await call("GET", "sys/health")).body;

  /** One process has one copy, which each of its changes reads again: an older one holds nothing that was ended. */
  const alone = () => {
    runAs(ONE_PROCESS);
    onTestFinished(() => runAs(NETWORK));
  };

  it("look-ups in one process do not notice, for POLICY_GRACE_SECONDS; sys/health and the log tell", async () => {
    alone();
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const told = vi.spyOn(console, "log");
    const start = await checkedNow();
    const away = failing(System, "snapshot", "away");
    for (const ms of [4_500, 5_500, 20_000, 64_900]) expect(await lookUps(start, ms)).toEqual([200]);
    expect(await health()).toMatchObject({ initialized: true, sealed: false, grove_stale_seconds: 64 });
    const lines = logged.mock.calls.map(([line]) => String(line)).filter((line) => line.includes("system_unavailable"));
    expect(lines.at(-1)).toContain("away");
    expect(lines.length).toBeLessThan(8);
    expect(await lookUps(start, 65_100)).toEqual([500]);

    away.end();
    expect(await lookUps(start, 65_200)).toEqual([200]);
    expect(await health()).not.toHaveProperty("grove_stale_seconds");
    expect(
      told.mock.calls.map(([line]) => String(line)).filter((line) => line.includes("system_available")),
    ).toHaveLength(1);
  });

  it("which is slow rather than away, one request in one process waits, and none after it", async () => {
    alone();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const start = await checkedNow();
    const { promise: late, resolve: answer } = Promise.withResolvers<null>();
    const asked = atCalls(System, "snapshot", () => late);
    expect(await lookUps(start, 6_000)).toEqual([200]);
    const before = asked.calls.length;
    expect(await lookUps(start, 7_000)).toEqual([200]);
    expect(asked.calls.length - before).toBe(1);
    answer(null);
  });

  it("requests are refused once the copy is too old: on the network, and where there is no grace", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const start = await checkedNow();
    failing(System, "snapshot", "away");
    for (const env of [{ POLICY_GRACE_SECONDS: "60" }, { POLICY_GRACE_SECONDS: "0" }]) {
      expect(await lookUps(start, 4_500, env)).toEqual([200]);
      expect(await lookUps(start, 5_500, env)).toEqual([500]);
      alone();
    }
  });

  it("on the network, requests without a copy wait for one reading, and after a second for another one", async () => {
    vi.setSystemTime((await checkedNow()) + 6_000);
    const { promise: late, resolve: answer } = Promise.withResolvers<null>();
    let readings = 0;
    atCalls(System, "snapshot", ({ proceed }) => (readings++ === 0 ? late : proceed()));
    const first = loadInstallation(bindings);
    const others = await Promise.all(Array.from({ length: 20 }, () => loadInstallation(bindings)));
    expect(others.every(({ ok }) => ok)).toBe(true);
    expect(readings).toBe(2);
    answer(null);
    expect((await first).ok).toBe(true);
  });

  it("a tree uses no older watermarks than its caller", async () => {
    const start = await checkedNow();
    failing(System, "snapshot", "away");
    vi.setSystemTime(start + 1);
    await expect(loadInstallation(bindings, Number.MAX_SAFE_INTEGER)).rejects.toThrow("away");
  });
});

it("a poll reads nothing while nothing has changed, and a change sends its own part alone", async () => {
  // The walk that a watermark begins would change it.
  holdWalks();
  const system = systemOf(bindings);
  const first = await system.snapshot(null);
  if (!first) throw new Error("whoever knows nothing is told everything");
  expect(Object.keys(first.parts).sort()).toEqual(Object.keys(first.versions).sort());
  await runInDurableObject(system, async (object, { storage: { sql } }) => {
    const exec = vi.spyOn(sql, "exec");
    expect(await object.snapshot(first.versions)).toBeNull();
    expect(exec).not.toHaveBeenCalled();
  });
  let known = first.versions;
  const sentBy = async (change: () => unknown) => {
    await change();
    const sent = await system.snapshot(known);
    known = sent?.versions ?? known;
    return Object.keys(sent?.parts ?? {});
  };
  const policy = { policy: 'path "x" { capabilities = ["read"] }' };
  const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
  expect(await sentBy(() => post("sys/policies/acl/one", policy))).toEqual(["policies"]);
  expect(await sentBy(() => post("sys/auth/parts", { type: "aws" }))).toEqual(["mounts"]);
  expect(await sentBy(() => post("sys/auth/parts/tune", { not_before: "now" }))).toEqual(["mounts", "watermarks"]);
  expect(await sentBy(() => post("auth/token/create", { id: "chosen-part" }))).toEqual(["customIds"]);
  expect(await sentBy(() => post("sys/quotas/rate-limit/q", { rate: 1000 }))).toEqual(["quotas"]);
  expect(await sentBy(() => call("PUT", "sys/rotate", { token: root }))).toEqual(["keys"]);
});

it("what an isolate made of a part is kept while that part is the same", async () => {
  const before = await refreshInstallation(bindings);
  await call("POST", "sys/auth/kept", { token: root, body: { type: "aws" } });
  const after = await refreshInstallation(bindings);
  if (!before.ok || !after.ok) throw new Error("initialised");
  expect(after.value).not.toBe(before.value);
  expect(after.value.mountAt("kept/")).toBeDefined();
  for (const part of ["keys", "tokenHashes", "quotas", "watermarks", "customIdList"] as const) {
    expect(after.value[part]).toBe(before.value[part]);
  }
});

it("a copy is not taken for that of a restored object that has since changed as often as before", async () => {
  const system = systemOf(bindings);
  const write = (name: string) => {
    const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null };
    return systemOf(bindings).writePolicy(name, { content: { text: "", rulesJson: "[]" }, ...settings }, Date.now());
  };
  const versions = await rowsOf(system, "part_versions");
  await write("lost-1");
  await write("lost-2");
  await refreshInstallation(bindings);

  for (const name of ["lost-1", "lost-2"]) await deleteRows(system, "policies", { name });
  for (const { part = "", version = 0 } of versions) await changeRows(system, "part_versions", { version }, { part });
  await crash(system);
  await write("after-1");
  await write("after-2");
  const refreshed = await refreshInstallation(bindings);
  const loaded = await loadInstallation(bindings);
  for (const known of [refreshed, loaded]) {
    const names = ["lost-1", "lost-2", "after-1", "after-2"];
    expect(known.ok && known.value.policies.absent(names, Date.now())).toEqual(["lost-1", "lost-2"]);
  }
});

it("while the key ring does not open, an isolate gets the wrapped keys alone, and the other parts later", async () => {
  await runInDurableObject(bindings.CLOUD_AUTH.getByName("an installation"), (_, { storage: { sql } }) => {
    const stores = systemStores(sql, SEALS, bindings);
    stores.schema.create();
    writeNewInstallation(stores, "1.a.b");
    const whole = readSnapshot(stores, null, true);
    expect(Object.keys(readSnapshot(stores, null, false)?.parts ?? {})).toEqual(["keys"]);
    stores.quotas.delete("none");
    const sealed = readSnapshot(stores, whole?.versions ?? null, false);
    expect([Object.keys(sealed?.parts ?? {}), sealed?.versions]).toEqual([["keys"], whole?.versions]);
    const opened = readSnapshot(stores, sealed?.versions ?? null, true);
    expect(Object.keys(opened?.parts ?? {})).toEqual(["quotas"]);
    expect(readSnapshot(stores, opened?.versions ?? null, true)).toBeNull();
  });
});

it("with a new seal key that the System object lacks, a known copy is used on, and a new isolate is sealed", async () => {
  const next = `2:${Buffer.from("another-seal-key-of-the-tests-32").toString("base64")}`;
  const env = { ...bindings, GROVE_SEAL_KEY: next, GROVE_SEAL_KEY_PREVIOUS: bindings.GROVE_SEAL_KEY ?? "" };
  forgetInstallation();
  const before = await loadInstallation(env);
  await crash(systemOf(bindings));
  const after = await refreshInstallation(env);
  expect(after.ok && before.ok && after.value.mounts).toBe(before.ok && before.value.mounts);
  forgetInstallation();
  expect(await loadInstallation(env)).toMatchObject({ ok: false, error: { code: "sealed" } });
  // The work of alarms waits without an error: each request says what is wrong.
  expect(await loadForAlarm(env)).toBeNull();
  await expect(mustLoadInstallation(env)).rejects.toThrow("rows can't be checked: sealed");
});
