import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { ONE_PROCESS } from "../../../src/app/deployments.ts";
import { err, invalid } from "../../../src/base/result.ts";
import { prefixJob } from "../../../src/lease/prefix-revocation.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { publishRecent, UpdateQueue } from "../../../src/listing/updates/publish.ts";
import { forgetInstallation, loadInstallation, refreshInstallation } from "../../../src/system/installation.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { entityScope, MAX_WATERMARKS, pathScope } from "../../../src/system/watermarks.ts";
import { Tidy } from "../../../src/tidy/tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { atCalls, atNth, callsTo, failing, holdAlarmsOf, ringAlarm } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { issuingMount } from "../../support/logins.ts";
import { Meter } from "../../support/meter.ts";
import { bindings, call, dataOf } from "../../support/service.ts";
import { alter, insertRows } from "../../support/storage-writer.ts";
import { listsKnowAll } from "../../support/tidy.ts";
import { countRows, growTree, holdInventory, locate, restartTree, rewriteRecord, sweep } from "../../support/trees.ts";
import { countWalkCalls, holdWalks, stepWalk } from "../../support/walks.ts";

let root: string;

beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initializedAlone();
  await post("sys/policies/acl/maker", { policy: 'path "auth/token/*" { capabilities = ["update"] }' });
  await post("sys/policies/acl/holder", {
    policy: 'path "cubbyhole/*" { capabilities = ["create", "read", "update"] }',
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const get = (path: string, token = root) => call("GET", path, { token });
const isAlive = async (token: string) => (await get("auth/token/lookup-self", token)).status === 200;
const alive = async (tokens: readonly string[]) => Promise.all(tokens.map(isAlive));

async function create(endpoint: string, fields: Record<string, unknown> = {}, creator = root): Promise<string> {
  const answer = await post(`auth/token/${endpoint}`, { policies: ["maker"], ttl: "1h", ...fields }, creator);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.auth.client_token;
}

/** A role whose tokens are orphans. */
async function role(name: string): Promise<void> {
  await post(`auth/token/roles/${name}`, {
    orphan: true,
    allowed_policies: "maker,holder",
    token_type: "default-service",
  });
}

const revoke = (prefix: string) => post(`sys/leases/revoke-prefix/${prefix}`);
const walkBelow = (prefix: string) => prefixJob(bindings, { mode: "revoke", prefix });

async function watermarkOf(prefix: string) {
  const all = await systemOf(bindings).watermarks();
  return all.find(({ scope }) => scope === pathScope(prefix));
}

describe("tokens that were revoked together", () => {
  it("stays ended for batch tokens, which nothing stores, after the stored ones were revoked", async () => {
    holdWalks();
    await role("cleaned");
    const batch = await create("create/cleaned", { type: "batch" });
    expect((await revoke("auth/token/create/cleaned")).status).toBe(204);
    const made = await watermarkOf("auth/token/create/cleaned/");
    await systemOf(bindings).watermarksCleaned(made?.scope ?? null, made?.number ?? 0, Date.now());
    forgetInstallation();
    expect((await watermarkOf("auth/token/create/cleaned/"))?.cleaned).toBe(true);
    expect(await isAlive(batch)).toBe(false);
  });

  it("is refused wherever a token is accepted, before anything was cleaned up", async () => {
    holdWalks();
    await role("everywhere");
    const holder = await create("create/everywhere", { policies: ["maker", "holder"] });
    const child = await create("create", {}, holder);
    const batch = await create("create", { type: "batch" }, holder);
    const orphanBatch = await create("create/everywhere", { type: "batch" });
    const lookup = await post("auth/token/lookup", { token: holder });
    const accessor = lookup.body.data.accessor;
    await post("cubbyhole/kept", { a: 1 }, holder);
    const wrapped = await call("POST", "auth/token/create/everywhere", {
      token: root,
      body: {},
      headers: { "X-Vault-Wrap-TTL": "60s" },
    });
    const wrapping = wrapped.body.wrap_info.token;
    expect(await alive([holder, child, batch, orphanBatch])).toEqual([true, true, true, true]);

    expect((await revoke("auth/token/create/everywhere")).status).toBe(204);
    expect(await alive([holder, child, batch, orphanBatch])).toEqual([false, false, false, false]);
    expect((await get("cubbyhole/kept", holder)).status).toBe(403);
    expect((await post("auth/token/renew", { token: holder })).status).toBe(400);
    expect((await post("auth/token/renew", { token: child })).status).toBe(400);
    expect((await post("auth/token/create", {}, holder)).status).toBe(403);
    expect((await post("auth/token/lookup", { token: orphanBatch })).status).toBe(403);
    expect((await post("auth/token/lookup-accessor", { accessor })).status).toBe(400);
    expect((await post("sys/wrapping/unwrap", { token: wrapping })).status).toBe(400);
    expect((await post("sys/capabilities", { token: holder, paths: ["sys/health"] })).status).toBe(400);
    const lease = { accessor, path: "db/creds/x", target: "https://db.example.com/revoke" };
    expect((await post("sys/leases/register", lease)).status).toBe(400);
  });

  it("is distinguished from a token made in the same millisecond after it", async () => {
    holdWalks();
    await role("instant");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const before = await create("create/instant");
    await revoke("auth/token/create/instant");
    const after = await create("create/instant");
    const batch = await create("create/instant", { type: "batch" });
    await revoke("auth/token/create/instant/other");
    expect(await alive([before, after, batch])).toEqual([false, true, true]);
  });

  it("ends a renewal, and a login that was under way, with the others", async () => {
    holdWalks();
    await post("sys/auth/logins", { type: "cloud" });
    const { login, token } = await issuingMount("logins");
    const before = await token();
    await revoke("auth/logins");
    expect((await post("auth/token/renew-self", {}, before)).status).toBe(403);
    expect(await login()).toMatchObject({ ok: false, error: { code: "unavailable" } });
    expect(await login("batch")).toMatchObject({ ok: false, error: { code: "unavailable" } });
    expect((await (await issuingMount("logins")).login("batch")).ok).toBe(true);
  });

  it("is judged by each tree as the Worker knows it, when the tree's own copy is older", async () => {
    holdWalks();
    await role("elsewhere");
    const token = await create("create/elsewhere");
    const { stub, row } = await locate(token);
    // What is known does not grow old meanwhile.
    vi.useFakeTimers({ toFake: ["Date"] });
    await refreshInstallation(bindings);
    const known = await loadInstallation(bindings);
    if (!known.ok) throw new Error("initialised");
    // The system has the watermark, and nobody here has read it.
    const request = { id: "elsewhere", scope: pathScope("auth/token/create/elsewhere/"), createdBefore: null };
    const added = await systemOf(bindings).addWatermark(request, Date.now());
    const asked = {
      access: { operation: "read", path: "auth/token/lookup-self", data: {} },
      clientAddress: null,
    } as const;
    const find = (watermark: number) =>
      stub.run({ row, verifier: new Uint8Array(24), ...asked, watermark, action: null, malformed: false, line: null });
    const reads = callsTo(System, "snapshot");
    await find(known.value.watermarks.newest);
    expect(reads.calls).toEqual([]);
    await find(added.ok ? added.value : 0);
    expect(reads.calls).toHaveLength(1);
    expect(await isAlive(token)).toBe(false);
  });

  it("costs a tree a walk to the top once, and once more when it is cleaned up", async () => {
    holdWalks();
    // What the tree reads for the lists walks to the top as well.
    holdInventory();
    await role("deep");
    const top = await create("create");
    const [, , deepest = ""] = await growTree(top, 40, "chain");
    await revoke("auth/token/create/deep");
    const { stub, row } = await locate(deepest);
    const meter = new Meter();
    onTestFinished(() => meter.stop());
    const rowsRead = async () => {
      meter.reset();
      await stub.isAlive(row);
      return meter.rowsRead("TokenTree.isAlive", stub.id.toString());
    };
    expect(await rowsRead()).toBeGreaterThan(40);
    expect(await rowsRead()).toBe(1);
    await systemOf(bindings).watermarksCleaned(null, Number.MAX_SAFE_INTEGER, Date.now());
    forgetInstallation();
    await stub.isAlive(row);
    expect(await rowsRead()).toBe(1);
  });
});

describe("a token that no list had yet when its watermark was cleaned up", () => {
  /** A token of a role with a child. Their updates were lost with the process, and the clean-up has ended without them. */
  async function unlisted(name: string) {
    await role(name);
    holdAlarmsOf(TokenTree);
    const lost = atCalls(UpdateQueue, "send", async () => {});
    const parent = await create(`create/${name}`);
    const child = await create("create", {}, parent);
    const { stub: before, row } = await locate(child);
    await revoke(`auth/token/create/${name}`);
    const made = await watermarkOf(`auth/token/create/${name}/`);
    await systemOf(bindings).watermarksCleaned(made?.scope ?? null, made?.number ?? 0, Date.now());
    forgetInstallation();
    const stub = await restartTree(before);
    return { parent, child, stub, row, lost };
  }

  it("protects nothing below it", async () => {
    holdWalks();
    const { parent, child, stub, row } = await unlisted("late");
    expect(await alive([parent, child])).toEqual([false, false]);
    expect(await stub.isAlive(row)).toBe(false);
  });

  it("is revoked where its tree would list it, with all below it, however its first token is asked for", async () => {
    holdWalks();
    for (const [name, publish] of [
      ["by-alarm", (stub: DurableObjectStub<TokenTree>) => ringAlarm(stub)],
      ["by-shard", (stub: DurableObjectStub<TokenTree>) => stub.report()],
    ] as const) {
      const { parent, child, stub, lost } = await unlisted(name);
      lost.end();
      await publish(stub);
      await sweep(stub);
      // Nothing depends on the watermark any more.
      expect(await countRows(stub)).toBe(0);
      expect(await alive([parent, child])).toEqual([false, false]);
    }
  });
});

describe("a token that was changed in the storage", () => {
  /** A token of a role with a child, and the token's record changed so that it says to be made after every watermark. */
  async function forgedParent(name: string) {
    await role(name);
    const parent = await create(`create/${name}`);
    const child = await create("create", {}, parent);
    await publishRecent(bindings, Date.now());
    const { stub: before, row } = await locate(parent);
    const forge = `UPDATE tokens SET record = json_set(record, '$.watermark', ${Number.MAX_SAFE_INTEGER}) WHERE row = ?`;
    await alter(before, forge, row);
    return { child, stub: await restartTree(before), row };
  }

  it("protects no descendant of it from a watermark", async () => {
    holdWalks();
    const { child } = await forgedParent("forged");
    expect(await isAlive(child)).toBe(true);
    await revoke("auth/token/create/forged");
    expect(await isAlive(child)).toBe(false);
  });

  it("protects no descendant either when the watermark was cleaned up, by its walk or by tidy", async () => {
    holdWalks();
    const walked = await forgedParent("walked");
    const tidied = await forgedParent("tidied");
    await revoke("auth/token/create/walked");
    await revoke("auth/token/create/tidied");
    const stub = walkBelow("auth/token/create/walked/");
    for (let i = 0; i < 6; i++) await stepWalk(stub);
    await tidied.stub.tidy({ run: Date.now(), from: null, accessors: [], customIds: [], aged: [] });
    await systemOf(bindings).watermarksCleaned(null, Number.MAX_SAFE_INTEGER, Date.now());
    forgetInstallation();
    expect(await alive([walked.child, tidied.child])).toEqual([false, false]);
  });
});

describe("the clean-up", () => {
  it("revokes what is stored, twice so that no token of an isolate without the watermark is missed, and shows its progress", async () => {
    holdWalks();
    // A tree that lists its token now would revoke it, before the walk comes to it.
    holdAlarmsOf(TokenTree);
    await role("clean");
    const tokens = await Promise.all([create("create/clean"), create("create/clean"), create("create/clean")]);
    const trees = await Promise.all(tokens.map(locate));
    await revoke("auth/token/create/clean");
    const shown = async () => {
      const { revocations } = dataOf<{
        revocations: Record<string, unknown>[];
      }>(await get("sys/leases/revocations"));
      return revocations.find(({ prefix }) => prefix === "auth/token/create/clean/");
    };
    expect(await shown()).toMatchObject({ clean_up: "running", tokens_seen: 0, tokens_left: null });
    const stub = walkBelow("auth/token/create/clean/");
    await stepWalk(stub);
    const { tokens_seen: seen, tokens_left: left } = (await shown()) ?? {};
    expect(Number(seen) + Number(left)).toBe(3);
    for (let i = 0; i < 6; i++) await stepWalk(stub);
    expect(await shown()).toMatchObject({ clean_up: "running", tokens_seen: 3, tokens_left: 0 });
    for (const { stub: tree } of trees) {
      await sweep(tree);
      expect(await countRows(tree)).toBe(0);
    }
    // The last pass waits until everybody knows.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 130_000 });
    for (let i = 0; i < 6; i++) await stepWalk(stub);
    expect(await shown()).toMatchObject({ clean_up: "finished", clean_up_finished: expect.any(String) });
    expect(await stub.progress()).toBeNull();
  });

  it("continues after the end of its object at any moment, and finds tokens made late by isolates without the watermark", async () => {
    holdWalks();
    await role("late");
    const early = await create("create/late");
    await revoke("auth/token/create/late");
    const stub = walkBelow("auth/token/create/late/");
    for (let i = 0; i < 6; i++) {
      await stepWalk(stub);
      await evictDurableObject(stub);
    }
    const late = await create("create/late");
    await rewriteRecord(late, ({ watermark: _, ...record }) => record);
    const { stub: tree } = await locate(late);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 130_000 });
    for (let i = 0; i < 6; i++) {
      await stepWalk(stub);
      await evictDurableObject(stub);
    }
    expect((await watermarkOf("auth/token/create/late/"))?.cleaned).toBe(true);
    for (const token of [early, late]) await sweep((await locate(token)).stub);
    expect(await countRows(tree)).toBe(0);
  });

  it("happens although the process ended before the system knew", async () => {
    holdWalks();
    await role("crashed");
    const token = await create("create/crashed");
    const crashing = failing(System, "addWatermark", "the process ends here");
    expect((await revoke("auth/token/create/crashed")).status).toBe(500);
    crashing.end();
    expect(await isAlive(token)).toBe(true);
    const stub = walkBelow("auth/token/create/crashed/");
    await stepWalk(stub);
    await stepWalk(stub);
    expect((await watermarkOf("auth/token/create/crashed/"))?.cleaned).toBe(false);
    forgetInstallation();
    expect(await isAlive(token)).toBe(false);
  });

  it("of an entity finds its tokens by the lists", async () => {
    await post("auth/token/roles/listed", { allowed_entity_aliases: "*", allowed_policies: "maker" });
    const { entity_id: id } = (await post("auth/token/create/listed", { entity_alias: "listed", policies: ["maker"] }))
      .body.auth;
    await listsKnowAll();
    expect((await post(`identity/entity/id/${id}/not-before`)).status).toBe(204);
    const { revocations } = dataOf<{ revocations: Record<string, unknown>[] }>(await get("sys/leases/revocations"));
    expect(revocations.find(({ entity_id: of }) => of === id)).toMatchObject({
      ...{ asked_by: { display_name: "root" }, request_path: `identity/entity/id/${id}/not-before` },
      request_id: expect.stringMatching(/-/),
      clean_up: "waits for tidy",
      tokens_seen: null,
      tokens_left: 1,
    });
  });

  it("of an entity is done by tidy, in every tree, and a watermark that nothing older needs is deleted", async () => {
    holdWalks();
    await role("person");
    const { id } = dataOf<{ id: string }>(await post("identity/entity", { name: "person" }));
    const token = await create("create-orphan");
    await rewriteRecord(token, (record) => ({ ...record, entityId: id }));
    const { stub } = await locate(token);
    expect(await isAlive(token)).toBe(true);
    expect((await post(`identity/entity/id/${id}/not-before`)).status).toBe(204);
    expect(await isAlive(token)).toBe(false);
    expect((await get(`identity/entity/id/${id}/not-before`)).body.data.not_before).toMatch(/^2\d{3}-/);

    const now = Date.now();
    holdAlarmsOf(Tidy);
    const tidy = bindings.TIDY.getByName("tidy");
    const entity = async () => (await systemOf(bindings).watermarks()).find(({ scope }) => scope === entityScope(id));
    // In the first run there may be tokens that it left out and that were made by who did not know the watermark yet.
    for (const [ms, cleaned] of [
      [630_000, false],
      [800_000, true],
    ] as const) {
      vi.useFakeTimers({ toFake: ["Date"], now: now + ms });
      await tidy.start();
      for (let i = 0; i < 200 && (await tidy.status()).running; i++) {
        await ringAlarm(tidy);
      }
      expect((await tidy.status()).last?.report).toMatchObject({ failures: 0 });
      expect((await entity())?.cleaned).toBe(cleaned);
    }
    await sweep(stub);
    expect(await countRows(stub)).toBe(0);

    // 768 h and a little: the longest life of a batch token here.
    vi.setSystemTime(now + 769 * 3_600_000);
    const forget = () => systemOf(bindings).watermarksCleaned(null, 0, Date.now());
    await forget();
    // The newest stays: its number is what tokens are made with.
    expect(await entity()).toBeDefined();
    const newer = { id: "newer", scope: pathScope("auth/newer/"), createdBefore: null };
    await systemOf(bindings).addWatermark(newer, Date.now());
    await forget();
    expect(await entity()).toBeUndefined();
  });
});

describe("not_before", () => {
  it("of a mount ends what was issued before, batch tokens too, and can be read", async () => {
    holdWalks();
    await post("sys/auth/fleet", { type: "cloud" });
    const batch = async () => {
      const issued = await (await issuingMount("fleet")).login("batch");
      return issued.ok ? issued.value.auth.clientToken : "";
    };
    const before = await batch();
    expect((await get("sys/auth/fleet/tune")).body.data).not.toHaveProperty("not_before");
    expect((await post("sys/auth/fleet/tune", { not_before: "now" })).status).toBe(204);
    expect(await alive([before, await batch()])).toEqual([false, true]);
    expect((await get("sys/auth/fleet/tune")).body.data.not_before).toMatch(/^2\d{3}-/);
    expect((await get("sys/auth/fleet")).status).toBe(200);
  });

  it("needs sudo, as revoking by prefix does: to tune a mount or to write a role is not enough", async () => {
    const policy =
      'path "sys/mounts/auth/*" { capabilities = ["update"] } path "auth/token/roles/*" { capabilities = ["update"] }';
    await post("sys/policies/acl/tuner", { policy });
    await role("kept");
    const kept = await create("create/kept");
    const tuner = await create("create-orphan", { policies: ["tuner"] });
    expect((await post("sys/mounts/auth/token/tune", { description: "mine" }, tuner)).status).toBe(204);
    expect((await post("sys/mounts/auth/token/tune", { not_before: "now" }, tuner)).status).toBe(403);
    expect((await post("auth/token/roles/kept/revoke-tokens", {}, tuner)).status).toBe(403);
    expect(await isAlive(kept)).toBe(true);
  });

  it("of a time that has passed spares what was issued since, and changes nothing when it is repeated", async () => {
    holdWalks();
    await role("aged");
    const now = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: now - 60_000 });
    const old = await create("create/aged", { ttl: "1h" });
    vi.setSystemTime(now);
    const young = await create("create/aged");
    const time = new Date(now - 30_000).toISOString();
    expect((await post("sys/auth/token/tune", { not_before: time })).status).toBe(204);
    expect(await alive([old, young, root])).toEqual([false, true, true]);
    const newest = async () => (await systemOf(bindings).snapshot(null))?.parts.watermarks?.newest;
    const first = await newest();
    expect((await post("sys/auth/token/tune", { not_before: time })).status).toBe(204);
    expect(await newest()).toBe(first);
  });

  it.each(["soon", "2999-01-01T00:00:00Z", "1795239138"])("refuses %s and changes nothing", async (not_before) => {
    const answer = await post("sys/auth/token/tune", { description: "changed", not_before });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toContain("not_before must be");
    expect((await get("sys/auth/token/tune")).body.data.description).not.toBe("changed");
  });

  it("of an entity that is not there is a 404", async () => {
    expect((await post("identity/entity/id/nobody/not-before")).status).toBe(404);
  });
});

describe("a role's tokens", () => {
  it("are not made by a creation that began before their revocation, also when it has to reserve an id first", async () => {
    await post("auth/token/roles/begun", { allowed_policies: "maker" });
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const inserted = atNth(TokenTree, "insert", 1, async (proceed) => {
      vi.setSystemTime(Date.now() + 1000);
      expect((await post("auth/token/roles/begun/revoke-tokens")).status).toBeLessThan(300);
      await refreshInstallation(bindings);
      return proceed();
    });
    const refused = await post("auth/token/create/begun", { id: "chosen-begun", ttl: "1h" });
    expect(inserted.calls).toHaveLength(1);
    expect(refused.status).toBe(503);
    expect((await get("auth/token/lookup-self", "chosen-begun")).status).toBe(403);
  });

  it("are not made by such a creation in a tree of their own", async () => {
    await post("auth/token/roles/alone", { allowed_policies: "maker", orphan: true });
    const created = atNth(TokenTree, "create", 1, async (proceed) => {
      expect((await post("auth/token/roles/alone/revoke-tokens")).status).toBeLessThan(300);
      await refreshInstallation(bindings);
      return proceed();
    });
    expect((await post("auth/token/create/alone", { ttl: "1h" })).status).toBe(503);
    expect(created.calls).not.toHaveLength(0);
  });

  it("are revoked in one call, with what they made, in a constant number of calls", async () => {
    holdWalks();
    await role("squad");
    const tokens = [await create("create/squad"), await create("create/squad", { type: "batch" })];
    const child = await create("create", {}, tokens[0]);
    const other = await create("create-orphan");
    const pages = callsTo(AccessorShard, "leasesBelow");
    const callsToTrees = await countWalkCalls([child, tokens[0] ?? ""]);
    expect((await post("auth/token/roles/squad/revoke-tokens")).status).toBe(204);
    // The walks of other tests may still go on.
    expect(pages.calls.filter(({ args: [, prefix] }) => prefix.includes("squad"))).toEqual([]);
    expect(callsToTrees()).toBe(0);
    expect(await alive([...tokens, child, other])).toEqual([false, false, false, true]);
  });
});

describe("two revocations below one prefix at the same time", () => {
  const job = { mode: "revoke", prefix: "auth/token/create/twice/" } as const;
  const end = (prefix: string, createdBefore: number | null) =>
    walkBelow(prefix).endTokens({ ...job, prefix, createdBefore, mount: null, asked: NO_ORIGIN });

  it.each(["first", "second"])("end what each asked for, if the %s one ends all tokens", async (which) => {
    holdWalks();
    const prefix = `${job.prefix}${which}/`;
    const times = [null, Date.now() - 86_400_000];
    // Both wait for the installation, and go on in the same moment.
    forgetInstallation();
    const asked = which === "first" ? times : times.toReversed();
    const answers = await Promise.all(asked.map((time) => end(prefix, time)));
    expect(answers).toEqual(asked.map(() => ({ ok: true, value: null })));
    expect(await watermarkOf(prefix)).toMatchObject({ createdBefore: null });
  });

  it("leave a walk that revokes without a watermark, which was answered, as it is", async () => {
    holdWalks();
    await role("walked");
    const [token, later] = [await create("create/walked"), await create("create/walked")];
    const walk = walkBelow("auth/token/create/walked/");
    const walked = { ...job, prefix: "auth/token/create/walked/" };
    await walk.start(walked, NO_ORIGIN, 0);
    atNth(System, "addWatermark", 1, async () => err(invalid("too many")));
    expect(await end(walked.prefix, 1)).toMatchObject({ ok: false });
    expect(await end(walked.prefix, 1)).toMatchObject({ ok: true });
    for (let step = 0; step < 20 && (await walk.progress()); step++) await stepWalk(walk);
    expect(await alive([token, later])).toEqual([false, false]);
  });

  it("leave alone a walk that begins after one of them was refused, and before that is known", async () => {
    holdWalks();
    const prefix = `${job.prefix}late/`;
    const walk = walkBelow(prefix);
    let isBegun = false;
    let isAsked = false;
    const until = async (isSo: () => boolean) => {
      while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const refuse = async () => err(invalid("too many"));
    let asked = 0;
    const system = atCalls(System, "addWatermark", async () => {
      if (++asked === 1) {
        isAsked = true;
        await until(() => isBegun);
      }
      return refuse();
    });
    const refused = end(prefix, null);
    await until(() => isAsked);
    // The walk asks too, is refused, and ends.
    await stepWalk(walk);
    expect(await walk.progress()).toBeNull();
    await walk.start({ ...job, prefix }, NO_ORIGIN, 0);
    isBegun = true;
    expect(await refused).toMatchObject({ ok: false });
    system.end();
    expect(await walk.progress()).not.toBeNull();
  });
});

describe("the system object", () => {
  it("makes a watermark once for one id, replaces what ends no more, and takes no more than it can send to everybody", async () => {
    const system = systemOf(bindings);
    const make = (id: string, createdBefore: number | null = null) =>
      system.addWatermark({ id, scope: pathScope("auth/once/"), createdBefore }, Date.now());
    const first = await make("once-1");
    expect(await make("once-1")).toEqual(first);
    const second = await make("once-2");
    expect(second.ok && first.ok && second.value > first.value).toBe(true);
    const ofScope = (await system.watermarks()).filter(({ scope }) => scope === pathScope("auth/once/"));
    expect(ofScope.map(({ id }) => id)).toEqual(["once-2"]);

    // They have no seal, which is on record each time that somebody reads them.
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const numbers = Array.from({ length: MAX_WATERMARKS }, (_, at) => at);
    await insertRows(
      system,
      "watermarks",
      numbers.map((number) => ({
        ...{ number, id: `x${number}`, scope: pathScope(`x${number}/`), made_at: number, asked: "{}" },
      })),
    );
    const refused = await system.addWatermark(
      { id: "more", scope: pathScope("auth/more/"), createdBefore: null },
      Date.now(),
    );
    expect(refused).toMatchObject({ ok: false, error: { code: "invalid_request" } });
    // The walk alone is left then: the tokens that are stored end all the same.
    await role("crowded");
    const token = await create("create/crowded");
    holdWalks();
    expect((await post("sys/leases/revoke-prefix/auth/token/create/crowded", { sync: false })).status).toBe(202);
    expect(await isAlive(token)).toBe(true);
    const walk = walkBelow("auth/token/create/crowded/");
    while (await walk.progress()) await stepWalk(walk);
    expect(await isAlive(token)).toBe(false);
    expect((await post("sys/auth/token/tune", { not_before: "now" })).status).toBe(400);
  });
});
