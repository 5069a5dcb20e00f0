import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { CloudAccessList } from "../../../../src/methods/cloud/access-list/access-list.ts";
import type { InstanceLogin } from "../../../../src/methods/cloud/access-list/rules.ts";
import { accessShardFor, accessShardsOf } from "../../../../src/methods/cloud/access-list/shards.ts";
import { CloudAuth } from "../../../../src/methods/cloud/cloud-auth.ts";
import { ACCESS_SHARDS, accessShardOf } from "../../../../src/system/access-shards.ts";
import { type cloudAt, cloudObject, enableCloud, mountRow } from "../../../support/cloud.ts";
import { forgetSeals } from "../../../support/seals.ts";
import { bindings, initialized, keysOf } from "../../../support/service.ts";

const NOW = Date.now();
const alarmOfMount = CloudAuth.prototype.alarm;
let root: string;
let at: ReturnType<typeof cloudAt>;
let count = 0;

beforeAll(async () => {
  root = await initialized();
  await forgetSeals();
});

/** Instances that a release of before remembers, each with the nonce "old". */
const INSTANCES = Array.from({ length: 90 }, (_, i) => `i-${i.toString(16).padStart(17, "0")}`);
const [FIRST = "", SECOND = "", THIRD = ""] = INSTANCES;

afterEach(() => void vi.useRealTimers());

beforeEach(async () => {
  // The test decides when the entries are taken over.
  vi.spyOn(CloudAuth.prototype, "alarm").mockResolvedValue(undefined);
  vi.spyOn(CloudAccessList.prototype, "alarm").mockResolvedValue(undefined);
  at = await enableCloud(root, `old-${count++}`, "cloud");
  await at.post("config/identity", {});
  await runInDurableObject(await cloudObject(at.path), (_, { storage: { sql } }) => {
    for (const name of INSTANCES) {
      const value = { role: "web", nonceHash: "b2xk", createdAt: 1, updatedAt: 1, pendingTime: "", pendingTimeMs: 5 };
      const text = JSON.stringify({ ...value, expiresAt: NOW + 3_600_000 });
      sql.exec("INSERT INTO access_list (name, value, expires_at) VALUES (?, ?, ?)", name, text, NOW + 3_600_000);
    }
  });
});

const login = (nonce: string): InstanceLogin => ({
  role: "web",
  nonce: { kind: "sent", hash: Buffer.from(nonce).toString("base64") },
  pendingTime: "",
  pendingTimeMs: 5,
  allowMigration: false,
  disallowReauthentication: false,
  expiresAt: NOW + 7_200_000,
});

const shardOf = async (instance: string) => accessShardFor(bindings, await mountRow(at.path), instance);

async function enter(instance: string, nonce: string): Promise<string> {
  const { list, place } = await shardOf(instance);
  const entered = await list.enterLogin(place, instance, login(nonce), NOW);
  return entered.ok ? "entered" : "message" in entered.error ? entered.error.message : entered.error.code;
}

/** One step of the take-over: what the alarm of the mount's object does. */
const step = async () => runInDurableObject(await cloudObject(at.path), (auth) => alarmOfMount.call(auth));
async function takeAllOver(): Promise<void> {
  // A batch of each shard, and one step that drops what is left here.
  for (let taken = 0; taken <= ACCESS_SHARDS; taken++) await step();
}
const left = async () =>
  runInDurableObject(await cloudObject(at.path), (_, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM access_list ORDER BY name")
      .toArray()
      .map(({ name }) => name),
  );

it("entries of a release of before hold before, while and after the shards take them over", async () => {
  expect(await enter(FIRST, "mine")).toBe("client nonce mismatch");
  expect(await enter(SECOND, "old")).toBe("entered");
  expect(keysOf(await at.list("identity-accesslist"))).toEqual(INSTANCES);

  // Some shards have their entries, others not yet.
  const mount = await mountRow(at.path);
  for (const { list, place } of accessShardsOf(bindings, mount).slice(0, ACCESS_SHARDS / 2)) {
    expect(await list.takeOver(place)).toBe(true);
  }
  expect(keysOf(await at.list("identity-accesslist"))).toEqual(INSTANCES);
  for (const instance of INSTANCES) expect(await enter(instance, "mine")).toBe("client nonce mismatch");

  await takeAllOver();
  expect(await left()).toEqual([]);
  expect(keysOf(await at.list("identity-accesslist"))).toEqual(INSTANCES);
  for (const instance of INSTANCES) expect(await enter(instance, "mine")).toBe("client nonce mismatch");
  expect(await enter(THIRD, "old")).toBe("entered");
  expect((await at.get(`identity-accesslist/${FIRST}`)).body.data.role).toBe("web");
});

it("begins by itself with the first login or look-up, and goes on after a crash", async () => {
  expect((await at.get(`identity-accesslist/${FIRST}`)).status).toBe(200);
  const alarm = vi.mocked(CloudAuth.prototype.alarm);
  await vi.waitFor(() => expect(alarm).toHaveBeenCalled());
  // A shard dies in between: nothing was dropped before all shards had everything, and the alarm comes again.
  const failing = vi.spyOn(CloudAccessList.prototype, "takeOver").mockImplementationOnce(() => {
    throw new Error("the object was reset");
  });
  vi.spyOn(console, "error").mockImplementation(() => {});
  await step();
  failing.mockRestore();
  for (let taken = 0; taken < ACCESS_SHARDS; taken++) {
    expect(await left()).toEqual(INSTANCES);
    await step();
  }
  expect(await left()).toEqual(INSTANCES);
  const again = await runInDurableObject(await cloudObject(at.path), (_, { storage }) => storage.getAlarm());
  expect(again).toBeGreaterThan(NOW);
  await takeAllOver();
  expect(await left()).toEqual([]);
  expect(await enter(FIRST, "mine")).toBe("client nonce mismatch");
});

it("is in steps, with a pause after each that leaves most of the time to requests", async () => {
  await enter(FIRST, "old");
  const { uuid: mount } = await mountRow(at.path);
  const armedFor = async () => runInDurableObject(await cloudObject(at.path), (_, { storage }) => storage.getAlarm());
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  vi.spyOn(CloudAccessList.prototype, "takeOver").mockImplementationOnce(async () => {
    vi.setSystemTime(NOW + 2_000);
    return false;
  });
  await step();
  expect(await armedFor()).toBe(NOW + 2_000 + 38_000);
  await (await cloudObject(at.path)).oldAccess({ mount, shard: 0 }, FIRST);
  expect(await armedFor()).toBe(NOW + 2_000 + 38_000);
});

it("an entry that was deleted meanwhile does not come back", async () => {
  const { list, place } = await shardOf(FIRST);
  // The entries were read before the deletion, and arrive after it.
  const oldAccessOf = CloudAuth.prototype.oldAccessOf;
  let deleted = false;
  vi.spyOn(CloudAuth.prototype, "oldAccessOf").mockImplementation(async function (this: CloudAuth, ...given) {
    const answer = await oldAccessOf.apply(this, given);
    if (!deleted) {
      deleted = true;
      expect((await at.remove(`identity-accesslist/${FIRST}`)).status).toBe(204);
    }
    return answer;
  });
  expect(await list.takeOver(place)).toBe(false);
  expect(await list.takeOver(place)).toBe(true);
  expect((await at.get(`identity-accesslist/${FIRST}`)).status).toBe(404);
  expect(await enter(FIRST, "mine")).toBe("entered");
  await takeAllOver();
  expect(await enter(FIRST, "mine")).toBe("entered");
  expect(await enter(FIRST, "old")).toBe("client nonce mismatch");
});

it("what a shard wrote since is newer than what it takes over", async () => {
  const { list, place } = await shardOf(FIRST);
  await enter(FIRST, "old");
  const before = await list.read(place, FIRST);
  expect(before?.expiresAt).toBe(NOW + 7_200_000);
  await takeAllOver();
  expect(await list.read(place, FIRST)).toEqual(before);
});

it("an entry that was tampered with keeps its instance out, before and after", async () => {
  await runInDurableObject(await cloudObject(at.path), (_, { storage: { sql } }) => {
    sql.exec("UPDATE access_list SET seal = x'00' WHERE name IN (?, ?)", FIRST, SECOND);
  });
  vi.spyOn(console, "error").mockImplementation(() => {});
  expect(await enter(FIRST, "old")).toBe("permission_denied");
  await takeAllOver();
  expect(await left()).toEqual([]);
  for (const instance of [FIRST, SECOND]) expect(await enter(instance, "old")).toBe("permission_denied");
  expect((await at.remove(`identity-accesslist/${SECOND}`)).status).toBe(204);
  expect(await enter(SECOND, "mine")).toBe("entered");
});

it("a tidy of the list waits until a shard has everything, and removes what has ended", async () => {
  await runInDurableObject(await cloudObject(at.path), (_, { storage: { sql } }) => {
    sql.exec("UPDATE access_list SET expires_at = 1, value = replace(value, ?, '1')", String(NOW + 3_600_000));
  });
  await enter(FIRST, "old");
  expect((await at.post("tidy/identity-accesslist", { safety_buffer: "0s" })).status).toBe(202);
  const alarm = vi.mocked(CloudAccessList.prototype.alarm);
  alarm.mockRestore();
  for (const { list } of accessShardsOf(bindings, await mountRow(at.path))) {
    await runInDurableObject(list, (one) => one.alarm());
  }
  await takeAllOver();
  const same = INSTANCES.filter((instance) => accessShardOf(instance) === accessShardOf(FIRST));
  expect(same.length).toBeGreaterThan(1);
  const kept = keysOf(await at.list("identity-accesslist"));
  expect(kept.filter((instance) => same.includes(instance))).toEqual([FIRST]);
});

it("spreads instances evenly", () => {
  const loads = new Array<number>(ACCESS_SHARDS).fill(0);
  for (let i = 0; i < 32_000; i++) {
    const shard = accessShardOf(`i-${crypto.randomUUID().replaceAll("-", "").slice(0, 17)}`);
    loads[shard] = (loads[shard] ?? 0) + 1;
  }
  expect(Math.min(...loads)).toBeGreaterThan(1_800);
  expect(Math.max(...loads)).toBeLessThan(2_200);
});
