import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CloudAccessList } from "../../../../src/methods/aws/mount/access-list.ts";
import { accessShardOf } from "../../../../src/methods/aws/mount/access-shards.ts";
import { CloudAuth } from "../../../../src/methods/aws/mount/cloud-auth.ts";
import { accessShardFor } from "../../../../src/methods/aws/mount/mount-config.ts";
import type { InstanceLogin } from "../../../../src/methods/aws/rules/reauthentication.ts";
import { holdAlarmsOf, ringAlarm } from "../../../support/calls.ts";
import { type cloudAt, cloudObject, enableCloud, mountRow, VOCABULARIES } from "../../../support/cloud.ts";
import { failStatement } from "../../../support/faults.ts";
import { madeIn, rowsOf } from "../../../support/rows.ts";
import { bindings, initialized } from "../../../support/service.ts";
import { insertRows } from "../../../support/storage-writer.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** On the hour, and so far ahead of the platform's clock that no alarm goes off by itself. */
const NOW = Math.ceil(Date.now() / HOUR) * HOUR + 400 * DAY;
/** The shard that has this instance holds all entries of these tests. */
const INSTANCE = "odd0";
type Table = "access_list" | "deny_list";

const FIRST: InstanceLogin = {
  role: "web",
  nonce: { kind: "sent", hash: "AAAA" },
  pendingTime: "",
  pendingTimeMs: 0,
  allowMigration: false,
  disallowReauthentication: false,
  expiresAt: NOW + 400 * DAY,
};

let root: string;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  root = await initialized();
});

describe.each(VOCABULARIES)("tidy of a mount of the type $type", (words) => {
  let at: ReturnType<typeof cloudAt>;
  let count = 0;

  beforeEach(async () => {
    vi.setSystemTime(NOW);
    // The test decides when an alarm goes off.
    holdAlarmsOf(CloudAuth, CloudAccessList);
    at = await enableCloud(root, `tidy-${words.type}-${count++}`, words.type);
    await at.post("config/identity", {});
    const { list, place } = await shard();
    await list.enterLogin(place, INSTANCE, FIRST, NOW);
    await list.delete(INSTANCE);
  });

  const shard = async () => accessShardFor(bindings, await mountRow(at.path), INSTANCE);
  const objectOf = async (table: Table) => (table === "access_list" ? (await shard()).list : cloudObject(at.path));

  /** Puts `count` entries into a list that end at `end` (ms). */
  async function fill(table: Table, prefix: string, rows: number, end: number | string) {
    const value = JSON.stringify({ expiresAt: end, createdAt: 0, updatedAt: 0, pendingTime: "", role: "" });
    const all = Array.from({ length: rows }, (_, i) => ({ name: `${prefix}${i}`, value, expires_at: end }));
    await insertRows(await objectOf(table), table, all);
  }

  async function names(table: Table): Promise<string[]> {
    return (await rowsOf(await objectOf(table), table)).map(({ name }) => String(name)).sort();
  }

  /** Lets one alarm go off. */
  const ring = async (table: Table = "deny_list") => {
    if (table === "deny_list") await ringAlarm(await cloudObject(at.path));
    else await ringAlarm((await shard()).list);
  };
  const alarmAt = async (table: Table = "deny_list") =>
    runInDurableObject(await objectOf(table), (_, { storage }) => storage.getAlarm());

  /** What the line about a finished job says besides. */
  const place = (table: Table) => (table === "access_list" ? { shard: accessShardOf(INSTANCE) } : {});

  const LISTS = [
    ["access_list", "identity-accesslist", "identity-whitelist"],
    ["deny_list", "roletag-denylist", "roletag-blacklist"],
  ] as const;

  describe.each(LISTS)("of the table %s", (table, name, deprecated) => {
    it.each([name, deprecated])("by hand at tidy/%s removes what ended more than 72 h ago", async (path) => {
      await fill(table, "gone", 3, NOW - 3 * DAY - 1);
      await fill(table, "edge", 1, NOW - 3 * DAY);
      await fill(table, "alive", 1, NOW + DAY);
      const answer = await at.post(`tidy/${path}`);
      expect([answer.status, answer.body.data, answer.body.warnings]).toEqual([
        202,
        null,
        [
          "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.",
        ],
      ]);
      await ring(table);
      expect(await names(table)).toEqual(["alive0", "edge0"]);
    });

    it("by hand takes its own safety buffer, not the configured one", async () => {
      await at.post(`config/tidy/${name}`, { safety_buffer: "30d", disable_periodic_tidy: true });
      await fill(table, "gone", 1, NOW - 61_000);
      await fill(table, "kept", 1, NOW - 59_000);
      await at.post(`tidy/${name}`, { safety_buffer: "1m" });
      await ring(table);
      expect(await names(table)).toEqual(["kept0"]);
      expect((await at.post(`tidy/${name}`, { safety_buffer: "-1m" })).status).toBe(400);
    });

    it("is done once at a time", async () => {
      await fill(table, "gone", 1, NOW - 4 * DAY);
      expect((await at.post(`tidy/${name}`)).status).toBe(202);
      const second = await at.post(`tidy/${deprecated}`);
      expect([second.status, second.body.data, second.body.warnings]).toEqual([
        200,
        null,
        ["Tidy operation already in progress."],
      ]);
      await ring(table);
      expect((await at.post(`tidy/${name}`)).status).toBe(202);
    });

    it("continues after a break where it was, in steps", async () => {
      await fill(table, "gone", 1201, NOW - 4 * DAY);
      await fill(table, "later", 1, NOW - 3 * DAY + 1000);
      await at.post(`tidy/${name}`);
      // A step fails: what the steps before did stays done, and the job stays.
      const mend = await failStatement(await objectOf(table), `DELETE FROM ${table}`, 2);
      vi.spyOn(console, "error").mockImplementation(() => {});
      await ring(table);
      await mend();
      expect((await names(table)).length).toBe(702);
      expect(await alarmAt(table)).toBe(NOW + 30_000);
      vi.setSystemTime(NOW + 30_000);
      expect((await at.post(`tidy/${name}`)).status).toBe(200);
      const log = vi.spyOn(console, "log").mockImplementation(() => {});
      await ring(table);
      expect(await names(table)).toEqual(["later0"]);
      const list = table === "access_list" ? "access" : "deny";
      expect(log.mock.calls).toContainEqual([
        JSON.stringify({ type: "tidy", list, removed: 1201, unreadable: 0, ...place(table) }),
      ]);
    });

    it("leaves an entry that it can't read alone and tells of it", async () => {
      await fill(table, "gone", 2, NOW - 4 * DAY);
      await fill(table, "odd", 1, "soon");
      await at.post(`tidy/${name}`);
      const log = vi.spyOn(console, "log").mockImplementation(() => {});
      await ring(table);
      expect(await names(table)).toEqual(["odd0"]);
      const list = table === "access_list" ? "access" : "deny";
      expect(log.mock.calls).toContainEqual([
        JSON.stringify({ type: "tidy", list, removed: 2, unreadable: 1, ...place(table) }),
      ]);
      expect((await at.remove(`${name}/odd0`)).status).toBe(204);
      expect(await names(table)).toEqual([]);
    });

    it("does not happen by itself when that is disabled, and again when the settings are deleted", async () => {
      await fill(table, "a", 1, NOW - 10 * DAY);
      await at.post(`config/tidy/${name}`, { disable_periodic_tidy: true });
      await ring(table);
      expect(await names(table)).toEqual(["a0"]);
      await at.remove(`config/tidy/${name}`);
      if (table === "deny_list") expect(await alarmAt()).toBe(NOW);
      await ring(table);
      expect(await names(table)).toEqual([]);
    });
  });

  it("of the deny list happens by itself on the hour, after 72 h or what is configured", async () => {
    await fill("deny_list", "a", 1, NOW + 1);
    await fill("deny_list", "b", 1, NOW + 2 * HOUR);
    await at.post("config/tidy/roletag-denylist", {});
    expect(await alarmAt()).toBe(NOW + 3 * DAY + HOUR);
    await at.post("config/tidy/roletag-denylist", { safety_buffer: "90m" });
    expect(await alarmAt()).toBe(NOW + 2 * HOUR);
    vi.setSystemTime(NOW + 2 * HOUR);
    await ring();
    expect(await names("deny_list")).toEqual(["b0"]);
    expect(await alarmAt()).toBe(NOW + 4 * HOUR);
    vi.setSystemTime(NOW + 4 * HOUR);
    await ring();
    expect(await names("deny_list")).toEqual([]);
  });

  it.each<Table>(["access_list", "deny_list"])("of the table %s sets an alarm again that was lost", async (table) => {
    await fill(table, "a", 1, NOW + DAY);
    await ring(table);
    const due = await alarmAt(table);
    expect(due).toBeGreaterThan(NOW);
    await runInDurableObject(await objectOf(table), async (_, state) => {
      await state.storage.setAlarm(NOW - HOUR);
      if (table === "deny_list") new CloudAuth(state, bindings);
      else new CloudAccessList(state, bindings);
    });
    expect(await alarmAt(table)).toBe(due);
  });

  it("of the access list happens by itself in the hour after its end and what is configured by then", async () => {
    await fill("access_list", "a", 1, NOW + 1);
    await fill("access_list", "b", 1, NOW + 2 * HOUR);
    await ring("access_list");
    expect(await alarmAt("access_list")).toBe(NOW + HOUR);
    vi.setSystemTime(NOW + HOUR);
    await ring("access_list");
    expect((await names("access_list")).length).toBe(2);
    // As long as something has ended the settings are asked for every hour, so a change of them needs no word to the shards.
    expect(await alarmAt("access_list")).toBe(NOW + 2 * HOUR);
    await at.post("config/tidy/identity-accesslist", { safety_buffer: "90m" });
    vi.setSystemTime(NOW + 2 * HOUR);
    await ring("access_list");
    expect(await names("access_list")).toEqual(["b0"]);
    vi.setSystemTime(NOW + 4 * HOUR);
    await ring("access_list");
    expect(await names("access_list")).toEqual([]);
  });

  it("of one list leaves the other alone", async () => {
    await fill("access_list", "a", 1, NOW - 10 * DAY);
    await fill("deny_list", "d", 1, NOW - 10 * DAY);
    await at.post("config/tidy/identity-accesslist", { disable_periodic_tidy: true });
    await at.post("tidy/roletag-denylist");
    await ring();
    await ring("access_list");
    expect([await names("access_list"), await names("deny_list")]).toEqual([["a0"], []]);
  });

  it("of a mount that was never written starts and ends at once, without a trace", async () => {
    const fresh = await enableCloud(root, `${at.path}-fresh`, words.type);
    expect((await fresh.post("tidy/roletag-denylist")).status).toBe(202);
    expect((await fresh.post("tidy/roletag-denylist")).status).toBe(202);
    const stub = await cloudObject(fresh.path);
    expect(await runDurableObjectAlarm(stub)).toBe(false);
    expect(await madeIn(stub)).toEqual([]);
  });

  it("is scheduled by denying a tag, without any setting of tidy", async () => {
    await at.post("role/web", { auth_type: words.vm, bound_vpc_id: "v", role_tag: "cap" });
    const tag = String((await at.post("role/web/tag")).body.data.tag_value);
    await at.post(`roletag-denylist/${encodeURIComponent(tag)}`);
    const ends = NOW + 768 * HOUR;
    expect(await alarmAt()).toBe(ends + 3 * DAY + HOUR);
    await at.remove("role/web");
    vi.setSystemTime(ends + 3 * DAY + HOUR);
    await ring();
    expect(await names("deny_list")).toEqual([]);
    expect(await alarmAt()).toBeNull();
  });

  it("keeps a denied tag as long as the role whose key signed it", async () => {
    await at.post("role/web", { auth_type: words.vm, bound_vpc_id: "v", role_tag: "cap" });
    const tag = String((await at.post("role/web/tag")).body.data.tag_value);
    await at.post(`roletag-denylist/${encodeURIComponent(tag)}`);
    const tidy = async () => {
      expect((await at.post("tidy/roletag-denylist", { safety_buffer: "0s" })).status).toBe(202);
      await ring();
    };
    vi.setSystemTime(NOW + 900 * HOUR);
    await tidy();
    expect(await names("deny_list")).toEqual([tag]);
    // It is looked at again a day later, not in every run.
    expect(await alarmAt()).toBe(NOW + 900 * HOUR + 4 * DAY + HOUR);
    await at.remove("role/web");
    // The same name, but another key.
    await at.post("role/web", { auth_type: words.vm, bound_vpc_id: "v", role_tag: "cap" });
    vi.setSystemTime(NOW + 925 * HOUR);
    await tidy();
    expect(await names("deny_list")).toEqual([]);
  });
});
