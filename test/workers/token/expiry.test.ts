import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { accessorShard, accessorShardNumber } from "../../../src/listing/accessor-shards.ts";
import { publishPending } from "../../../src/listing/updates/publish.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls, atNth, callsTo, failing } from "../../support/calls.ts";
import { endWithinShard, endWithinTree, loseChangeUpdates, loseCreationUpdates } from "../../support/faults.ts";
import { leaseFor } from "../../support/leases.ts";
import { crash } from "../../support/objects.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import {
  countRows,
  endSingleTokens,
  holdInventory,
  holdSweeps,
  locate,
  restartTree,
  runAlarm,
  sweep,
} from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/maker", {
    token: root,
    body: { policy: 'path "auth/token/create" { capabilities = ["update", "sudo"] }' },
  });
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const alarmOf = (stub: DurableObjectStub<TokenTree>) =>
  runInDurableObject(stub, (_, state) => state.storage.getAlarm());
const self = (token: string) => call("GET", "auth/token/lookup-self", { token });
const orphan = async (fields: Record<string, unknown>) =>
  (await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["maker"], ...fields } })).body.auth;

describe("expiry", () => {
  it("ends no token that is renewed while the clock is set back during its sweep", async () => {
    const { client_token: parent } = await orphan({ ttl: "1h" });
    const made = await call("POST", "auth/token/create", { token: parent, body: { policies: ["maker"], ttl: "60s" } });
    const child: string = made.body.auth.client_token;
    const { stub } = await locate(child);
    await publishPending(bindings);
    pass(60.5);
    let renewed: Awaited<ReturnType<typeof self>> | undefined;
    atNth(AccessorShard, "remove", 1, async (proceed) => {
      pass(-2);
      renewed ??= await call("POST", "auth/token/renew-self", { token: child });
      return proceed();
    });
    await sweep(stub);
    const alive = (await self(child)).status === 200;
    expect([renewed?.status, alive]).toEqual([403, false]);
  });

  it("is exact: a token works until its last moment and not after, before any sweep", async () => {
    const { client_token: token } = await orphan({ ttl: "60s" });
    pass(59.999);
    expect((await self(token)).status).toBe(200);
    pass(0.001);
    expect((await self(token)).status).toBe(403);
    const seen = await call("POST", "auth/token/lookup", { token: root, body: { token } });
    expect([seen.status, seen.body.errors]).toEqual([403, ["bad token"]]);
    const renewed = await call("POST", "auth/token/renew", { token: root, body: { token } });
    expect([renewed.status, renewed.body.errors]).toEqual([400, ["token not found"]]);
  });

  it("is exact for a batch token, which nothing stores", async () => {
    const { client_token: token } = await orphan({ ttl: "60s", type: "batch" });
    pass(59.999);
    expect((await self(token)).status).toBe(200);
    pass(0.001);
    expect((await self(token)).status).toBe(403);
    expect((await call("POST", "auth/token/create", { token })).status).toBe(403);
  });

  it("ends all descendants at the same moment, whatever their own TTL", async () => {
    const { client_token: top } = await orphan({ ttl: "60s" });
    const { client_token: child } = await createToken(top, { ttl: "10h" });
    const { client_token: grandchild } = await createToken(child, { ttl: "20h" });
    pass(60);
    expect((await self(child)).status).toBe(403);
    expect((await self(grandchild)).status).toBe(403);
    const { stub } = await locate(top);
    await sweep(stub);
    expect(await countRows(stub)).toBe(0);
  });

  it("a renewal of the top keeps its descendants alive", async () => {
    const { client_token: top } = await orphan({ ttl: "60s" });
    const { client_token: child } = await createToken(top, { ttl: "10h" });
    pass(50);
    expect(
      (await call("POST", "auth/token/renew", { token: root, body: { token: top, increment: "1h" } })).status,
    ).toBe(200);
    pass(1000);
    expect((await self(child)).status).toBe(200);
  });

  it("sets one alarm at the earliest end of a tree of several tokens", async () => {
    const { client_token: top } = await orphan({ ttl: "1h" });
    const { stub } = await locate(top);
    const alarm = () => alarmOf(stub);
    const end = Date.now() + 3_600_000;
    expect(await alarm()).toBeNull();
    // Before it the alarm makes sure that the shards know of a child.
    await createToken(top, { ttl: "2h" });
    expect(Math.abs(((await alarm()) ?? 0) - Date.now() - 5_000)).toBeLessThan(1000);
    await runAlarm(stub);
    expect(Math.abs(((await alarm()) ?? 0) - end)).toBeLessThan(1000);
    await createToken(top, { ttl: "1m" });
    await runAlarm(stub);
    expect(Math.abs(((await alarm()) ?? 0) - Date.now() - 60_000)).toBeLessThan(1000);
  });

  it("root without a TTL never expires", async () => {
    pass(20 * 365 * 86_400);
    expect((await self(root)).status).toBe(200);
  });
});

describe("the end of a token that is alone in its tree", () => {
  let tests = 0;
  // Ids that an earlier test allocated are too old.
  beforeEach(() => pass(31 * ++tests));

  /** Such a token, which the shards know of. */
  async function alone(fields: Record<string, unknown>) {
    const { client_token: token, accessor } = await orphan(fields);
    await publishPending(bindings);
    return { token, accessor, ...(await locate(token)) };
  }

  const isListed = async (accessor: string) => {
    const shard = accessorShard(bindings, accessorShardNumber(accessor));
    return (await shard.list("", 10_000)).includes(accessor);
  };

  it("comes by the shard that lists it, without an alarm or another call", async () => {
    const { accessor, stub } = await alone({ ttl: "60s" });
    const other = await alone({ ttl: "1h" });
    pass(59);
    await endSingleTokens();
    expect([await countRows(stub), await isListed(accessor)]).toEqual([1, true]);
    pass(3);
    const removals = callsTo(AccessorShard, "remove");
    await endSingleTokens();
    expect([await countRows(stub), await isListed(accessor)]).toEqual([0, false]);
    expect(await countRows(other.stub)).toBe(1);
    expect(await alarmOf(stub)).toBeNull();
    expect(removals.calls).toEqual([]);
  });

  it("is the one of its last renewal, whether the shard has been notified of it or not", async () => {
    for (const isListed of [true, false]) {
      const { token, accessor, stub } = await alone({ period: "1m" });
      const shard = accessorShard(bindings, accessorShardNumber(accessor));
      pass(50);
      const lost = isListed ? null : loseChangeUpdates();
      await call("POST", "auth/token/renew-self", { token });
      await stub.publishUpdates();
      lost?.end();
      const end = async () => (await shard.findListed([accessor]))[0]?.expiresAt;
      expect(await end()).toBe(Date.now() + (isListed ? 60_000 : 10_000));
      pass(12);
      await endSingleTokens();
      expect((await self(token)).status).toBe(200);
      expect(await end()).toBe(Date.now() + 48_000);
      expect(await alarmOf(stub)).toBeNull();
      pass(50);
      await endSingleTokens();
      expect(await countRows(stub)).toBe(0);
    }
  });

  it("is left to the alarm of a tree with more than one token", async () => {
    const { token, stub } = await alone({ ttl: "1h" });
    await leaseFor(root, token, { ttl: "2h" });
    const end = Date.now() + 3_600_000;
    expect(Math.abs(((await alarmOf(stub)) ?? 0) - end)).toBeLessThan(1000);
  });

  it("frees the id that root chose", async () => {
    const body = { id: "chosen-once", ttl: "60s" };
    const make = () => call("POST", "auth/token/create-orphan", { token: root, body });
    expect((await make()).status).toBe(200);
    await publishPending(bindings);
    expect((await make()).status).toBe(400);
    pass(62);
    await endSingleTokens();
    expect((await make()).status).toBe(200);
  });

  it("does not wait for a tree that does not answer, which is asked again after longer and longer pauses", async () => {
    const away = await alone({ ttl: "60s" });
    const others = await Promise.all(Array.from({ length: 8 }, () => alone({ ttl: "60s" })));
    const asked = atCalls(TokenTree, "endSingleToken", ({ id, proceed }) => {
      if (id === away.treeId) throw new Error("away");
      return proceed();
    });
    pass(62);
    const times = async (seconds: number) => {
      pass(seconds);
      await endSingleTokens();
      return asked.calls.filter(({ id }) => id === away.treeId).length;
    };
    expect(await times(0)).toBe(1);
    for (const { accessor } of others) expect(await isListed(accessor)).toBe(false);
    expect([await times(30), await times(121), await times(60), await times(125)]).toEqual([1, 2, 2, 3]);
    expect(await isListed(away.accessor)).toBe(true);
    asked.end();
    await times(300);
    expect(await isListed(away.accessor)).toBe(false);
  });

  it("is left to the tree when it has more tokens, of which the shard has not been notified", async () => {
    const { token, accessor, stub } = await alone({ policies: ["root"], ttl: "60s" });
    const lost = loseChangeUpdates();
    await createToken(token, { ttl: "10h" });
    await publishPending(bindings);
    pass(62);
    await endSingleTokens();
    lost.end();
    expect([await countRows(stub), await isListed(accessor)]).toEqual([2, true]);
    expect(await alarmOf(stub)).not.toBeNull();
    await sweep(stub);
    expect([await countRows(stub), await isListed(accessor)]).toEqual([0, false]);
  });

  it("comes also when the clock of the shard was ahead for a while", async () => {
    await alone({ ttl: "1h" });
    pass(3602);
    await endSingleTokens();
    pass(-3600);
    const { accessor, stub } = await alone({ ttl: "60s" });
    pass(62);
    await endSingleTokens();
    expect([await countRows(stub), await isListed(accessor)]).toEqual([0, false]);
  });

  it.each([
    ["in the tree", endWithinTree],
    ["between the tree and the shard", endWithinShard],
  ])("comes after a crash %s", async (_, step) => {
    const { accessor, stub } = await alone({ ttl: "60s" });
    pass(62);
    const ends = step();
    await endSingleTokens();
    ends.end();
    expect(await isListed(accessor)).toBe(true);
    const shard = accessorShard(bindings, accessorShardNumber(accessor));
    await crash(shard);
    await crash(stub);
    await endSingleTokens();
    expect([await countRows(bindings.TOKEN_TREE.get(stub.id)), await isListed(accessor)]).toEqual([0, false]);
  });

  it("happens when the token was never listed: the shard that allocated the tree asks", async () => {
    const lost = loseCreationUpdates();
    const { token, stub } = await alone({ ttl: "10s" });
    lost.end();
    expect(await alarmOf(stub)).toBeNull();
    pass(61);
    // A shard asks for sixty ids at a time, and not all of them were used.
    for (let alarms = 0; alarms < 5; alarms++) await endSingleTokens();
    expect(await alarmOf(stub)).not.toBeNull();
    await runAlarm(stub);
    expect([await countRows(stub), (await self(token)).status]).toEqual([0, 403]);
  });

  it("comes by the tree when its shard had asked for it before the token came", async () => {
    const tree = bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.newUniqueId());
    expect(await tree.report()).toBe(false);
    const allocations = atNth(AccessorShard, "allocateTrees", 1, () => [tree.id.toString()]);
    const { stub } = await alone({ ttl: "1h" });
    allocations.end();
    expect(stub.id.equals(tree.id)).toBe(true);
    expect(await alarmOf(stub)).not.toBeNull();
  });

  it("happens by the tree where no shard allocated it, or its shard has lost it for a day", async () => {
    const allocations = failing(AccessorShard, "allocateTrees", "away");
    const { stub: own } = await alone({ ttl: "1h" });
    allocations.end();
    expect(await alarmOf(own)).not.toBeNull();
    const lost = await alone({ ttl: "1h" });
    await accessorShard(bindings, accessorShardNumber(lost.accessor)).remove([lost.accessor]);
    pass(2 * 86_400);
    const woken = await restartTree(lost.stub);
    await self(lost.token);
    expect(await alarmOf(woken)).not.toBeNull();
  });

  it("that no shard has recorded is listed after a crash, also when a child came before its update", async () => {
    const away = failing(AccessorShard, "allocateTrees", "away");
    const lost = loseCreationUpdates();
    const { client_token: token, accessor } = await orphan({ ttl: "1h", policies: ["root"] });
    away.end();
    const { stub } = await locate(token);
    const child = await createToken(token, { ttl: "1h" });
    lost.end();
    const woken = await restartTree(stub);
    pass(6);
    await runAlarm(woken);
    expect([await isListed(accessor), await isListed(child.accessor)]).toEqual([true, true]);
  });

  it("keeps the alarm that an earlier version's tree has", async () => {
    const { stub } = await alone({ ttl: "1h" });
    const end = Date.now() + 3_600_000;
    await runInDurableObject(stub, (_, state) => state.storage.setAlarm(end));
    expect(await alarmOf(await restartTree(stub))).toBe(end);
  });
});

describe("renewal", () => {
  it("an omitted increment repeats the last grant", async () => {
    const { client_token: token } = await orphan({ ttl: "1h" });
    const renew = (body: object) => call("POST", "auth/token/renew", { token: root, body: { token, ...body } });
    expect((await renew({})).body.auth.lease_duration).toBe(3600);
    expect((await renew({ increment: "30m" })).body.auth.lease_duration).toBe(1800);
    expect((await renew({})).body.auth.lease_duration).toBe(1800);
  });

  it("a small increment shortens what is left", async () => {
    const { client_token: token } = await orphan({ ttl: "1h" });
    await call("POST", "auth/token/renew", { token: root, body: { token, increment: 10 } });
    pass(11);
    expect((await self(token)).status).toBe(403);
  });

  it("a periodic token is renewed to its period, whatever is asked; an explicit maximum ends it", async () => {
    const { client_token: token } = await orphan({ period: "5s", explicit_max_ttl: "8s" });
    const renew = () => call("POST", "auth/token/renew", { token: root, body: { token, increment: "10h" } });
    expect((await renew()).body.auth.lease_duration).toBe(5);
    pass(4);
    const capped = await renew();
    expect(capped.body.auth.lease_duration).toBe(4);
    expect(capped.body.warnings).toEqual([
      'TTL of "5s" exceeded the effective max_ttl of "4s"; TTL value is capped accordingly',
    ]);
    pass(4);
    expect((await self(token)).status).toBe(403);
  });

  it("a token that is not periodic can't pass the mount's maximum from its creation", async () => {
    const { client_token: token } = await orphan({ ttl: "767h" });
    pass(766 * 3600);
    const renewed = await call("POST", "auth/token/renew", { token: root, body: { token, increment: "10h" } });
    expect(renewed.body.auth.lease_duration).toBe(2 * 3600);
    pass(2 * 3600);
    expect((await self(token)).status).toBe(403);
  });

  it("shows when it was; by accessor without the token", async () => {
    const auth = await orphan({ ttl: "1h" });
    expect((await self(auth.client_token)).body.data.last_renewal_time).toBeUndefined();
    pass(100);
    const answer = await call("POST", "auth/token/renew-accessor", {
      token: root,
      body: { accessor: auth.accessor, increment: "3600s" },
    });
    expect(answer.body.auth).toMatchObject({ client_token: "", accessor: auth.accessor, lease_duration: 3600 });
    const { data } = (await self(auth.client_token)).body;
    expect(data.last_renewal_time).toBe(Math.floor(Date.now() / 1000));
    expect(data.ttl).toBe(3600);
    expect(data.creation_ttl).toBe(3600);
  });

  it("the first root token has no lease", async () => {
    const answer = await call("POST", "auth/token/renew-self", { token: root });
    expect([answer.status, answer.body.errors]).toEqual([400, ["invalid lease ID"]]);
    const made = (await createToken(root)).client_token;
    const never = await call("POST", "auth/token/renew-self", { token: made });
    expect([never.status, never.body.errors]).toEqual([400, ["lease is not renewable"]]);
  });

  it("takes the token in the URL", async () => {
    const { client_token: token } = await orphan({ ttl: "1h" });
    const answer = await call("POST", `auth/token/renew/${token}`, { token: root, body: { increment: "2h" } });
    expect(answer.body.auth).toMatchObject({ client_token: token, lease_duration: 7200 });
  });
});
