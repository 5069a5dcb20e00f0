import { runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { accessShardFor } from "../../../../src/methods/aws/mount/mount-config.ts";
import { type InstanceLogin, prepareNonce } from "../../../../src/methods/aws/rules/reauthentication.ts";
import { loadInstallation } from "../../../../src/system/installation.ts";
import { type cloudAt, cloudObject, enableCloud, mountRow, VOCABULARIES } from "../../../support/cloud.ts";
import { bindings, call, initialized } from "../../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const NOW = Date.parse("2026-05-01T12:00:00.120Z");

describe.each(VOCABULARIES)("the access list of a mount of the type $type", (words) => {
  let at: ReturnType<typeof cloudAt>;
  let count = 0;

  beforeEach(async () => {
    at = await enableCloud(root, `access-${words.type}-${count++}`, words.type);
  });

  const loginWith = async (nonce: string | undefined, instanceId = "i-1"): Promise<InstanceLogin> => {
    const loaded = await loadInstallation(bindings);
    if (!loaded.ok) throw new Error("not initialised");
    const prepared = await prepareNonce(loaded.value.keys, await mountRow(at.path), instanceId, nonce);
    if (!prepared.ok) throw new Error("refused");
    return {
      role: "web",
      nonce: prepared.value.nonce,
      pendingTime: "2026-05-01T11:00:00Z",
      pendingTimeMs: Date.parse("2026-05-01T11:00:00Z"),
      allowMigration: false,
      disallowReauthentication: false,
      expiresAt: NOW + 3_600_000,
    };
  };

  const shardOf = async (instanceId: string) => accessShardFor(bindings, await mountRow(at.path), instanceId);

  /** Enters a login; the text of the refusal, or null. */
  const enter = async (nonce: string | undefined, tag: string | null = null, instanceId = "i-1") => {
    if (tag !== null && (await (await cloudObject(at.path)).isDenied(tag))) return "role tag is deny listed";
    const { list, place } = await shardOf(instanceId);
    const result = await list.enterLogin(place, instanceId, await loginWith(nonce, instanceId), NOW);
    return result.ok || !("message" in result.error) ? null : result.error.message;
  };

  it("is judged by the policies under its current path: a rule for the older spelling holds too", async () => {
    const list = `auth/${at.path}/identity-accesslist`;
    await call("POST", "sys/policies/acl/no-lists", {
      token: root,
      body: { policy: `path "auth/*" { policy = "write" }\npath "${list}/*" { capabilities = ["deny"] }` },
    });
    const made = await call("POST", "auth/token/create", { token: root, body: { policies: ["no-lists"] } });
    const token = made.body.auth.client_token;
    await enter("swordfish");
    for (const name of ["identity-accesslist", "identity-whitelist"]) {
      expect((await call("DELETE", `auth/${at.path}/${name}/i-1`, { token })).status).toBe(403);
      expect((await call("GET", `auth/${at.path}/${name}?list=true`, { token })).status).toBe(403);
    }
    expect((await call("GET", `auth/${at.path}/config/identity`, { token })).status).toBe(200);
    expect((await at.get("identity-accesslist/i-1")).status).toBe(200);
  });

  it.each(["identity-accesslist", "identity-whitelist"])("is read, listed and deleted at %s", async (list) => {
    expect((await at.list(list)).status).toBe(404);
    expect((await at.get(`${list}/i-1`)).status).toBe(404);
    for (const instance of ["i-3", "i-1", "i-2"]) await enter("swordfish", null, instance);
    const read = await at.get(`${list}/i-1`);
    expect(read.body.data).toEqual({
      role: "web",
      client_nonce: "",
      creation_time: "2026-05-01T12:00:00.120Z",
      disallow_reauthentication: false,
      pending_time: "2026-05-01T11:00:00Z",
      expiration_time: "2026-05-01T13:00:00.120Z",
      last_updated_time: "2026-05-01T12:00:00.120Z",
    });
    expect((await at.list(list)).body.data.keys).toEqual(["i-1", "i-2", "i-3"]);
    expect((await at.list(list, "&limit=1&after=i-1")).body.data.keys).toEqual(["i-2"]);
    expect((await at.post(`${list}/i-1`)).status).toBe(405);
    expect((await at.remove(`${list}/i-1`)).status).toBe(204);
    expect((await at.remove(`${list}/i-1`)).status).toBe(204);
    expect((await at.get(`${list}/i-1`)).status).toBe(404);
  });

  it("shows that there can be no further login", async () => {
    await enter("");
    expect((await at.get("identity-accesslist/i-1")).body.data.disallow_reauthentication).toBe(true);
    expect(await enter("mine")).toBe("reauthentication is disabled");
    await at.remove("identity-accesslist/i-1");
    expect(await enter("mine")).toBeNull();
  });

  it("lets one of two concurrent first logins in", async () => {
    for (let round = 0; round < 10; round++) {
      const instanceId = `i-${round}`;
      const refusals = await Promise.all([enter("one", null, instanceId), enter("two", null, instanceId)]);
      expect(refusals.filter((refusal) => refusal === null)).toHaveLength(1);
      expect(refusals).toContain("client nonce mismatch");
      const winner = refusals[0] === null ? "one" : "two";
      expect(await enter(winner, null, instanceId)).toBeNull();
    }
  });

  it("lets one of two in at once where there is to be only one login", async () => {
    const refusals = await Promise.all([enter(""), enter("")]);
    expect(refusals.sort()).toEqual([null, "reauthentication is disabled"].sort());
  });

  it("refuses a denied tag in the same step, and remembers nothing of it", async () => {
    await at.post("role/web", { auth_type: words.vm, bound_vpc_id: "v", role_tag: "cap" });
    const tag = String((await at.post("role/web/tag")).body.data.tag_value);
    const other = String((await at.post("role/web/tag")).body.data.tag_value);
    await at.post(`roletag-denylist/${encodeURIComponent(tag)}`);
    expect(await enter("mine", tag)).toBe("role tag is deny listed");
    expect((await at.get("identity-accesslist/i-1")).status).toBe(404);
    expect(await enter("mine", other)).toBeNull();
    await at.remove(`roletag-denylist/${encodeURIComponent(tag)}`);
    expect(await enter("mine", tag)).toBeNull();
  });

  it("forgets a login that got no token, and no later login", async () => {
    const { list, place } = await shardOf("i-1");
    const enterAt = async (now: number) => {
      const result = await list.enterLogin(place, "i-1", await loginWith("mine"), now);
      if (!result.ok) throw new Error("refused");
      return result.value;
    };
    const first = await enterAt(NOW);
    await list.undoLogin("i-1", first);
    expect(await list.read("i-1")).toBeNull();

    const kept = await enterAt(NOW);
    const second = await enterAt(NOW + 1);
    await list.undoLogin("i-1", second);
    expect(await list.read("i-1")).toEqual(kept.entry);

    const third = await enterAt(NOW + 2);
    const fourth = await enterAt(NOW + 3);
    await list.undoLogin("i-1", third);
    expect(await list.read("i-1")).toEqual(fourth.entry);
  });

  it("is tidied in the hour after the first of its entries ends, whichever was entered first", async () => {
    const HOUR = 3_600_000;
    const { list, place } = await shardOf("i-1");
    const later = Math.ceil(Date.now() / HOUR) * HOUR + 9 * HOUR;
    const alarmAfter = async (expiresAt: number) => {
      await list.enterLogin(place, "i-1", { ...(await loginWith("mine")), expiresAt }, NOW);
      await list.enterLogin(place, `i-${expiresAt}`, { ...(await loginWith("mine")), expiresAt }, NOW);
      return runInDurableObject(list, (_, { storage }) => storage.getAlarm());
    };
    expect(await alarmAfter(later)).toBe(later + HOUR);
    expect(await alarmAfter(later + HOUR)).toBe(later + HOUR);
    expect(await alarmAfter(later - 2 * HOUR)).toBe(later - HOUR);
    expect(await alarmAfter(later - 1)).toBe(later - HOUR);
  });

  it("is extended by renewals, never shortened, and says when an entry is gone", async () => {
    const { list } = await shardOf("i-1");
    expect(await list.extend("i-1", NOW, NOW)).toBeNull();
    await enter("mine");
    expect(await list.extend("i-1", NOW + 9_000_000, NOW + 5)).toMatchObject({
      role: "web",
      expiresAt: NOW + 9_000_000,
      updatedAt: NOW + 5,
      createdAt: NOW,
    });
    expect((await list.extend("i-1", NOW, NOW + 6))?.expiresAt).toBe(NOW + 9_000_000);
    expect(await enter("mine")).toBeNull();
  });
});
