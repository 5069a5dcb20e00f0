import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { app } from "../../../src/app/app.ts";
import { MAX_PART_BYTES } from "../../../src/backup/part-format.ts";
import { toBase64 } from "../../../src/crypto/bytes.ts";
import { publishRecent } from "../../../src/listing/updates/publish.ts";
import type { ObjectPage, PagePosition, PageRead } from "../../../src/storage/object-pages.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { pathScope } from "../../../src/system/watermarks.ts";
import { CUSTOM_ID_SHARDS, customIdsShard } from "../../../src/tree/custom-ids.ts";
import type { TokenTree } from "../../../src/tree/token-tree.ts";
import { mountAppRole } from "../../support/app-role.ts";
import {
  backUp,
  begin,
  changedPart,
  finish,
  loseEverything,
  restore,
  restorePart,
  restoreParts,
} from "../../support/backups.ts";
import { indexedPaths, leaseFor } from "../../support/leases.ts";
import { crash } from "../../support/objects.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, initialized, keysOf, tokenUnder } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { standInForTargets } from "../../support/targets.ts";
import { api, createOrganization, resource } from "../../support/teams.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function firstPage(stub: Awaited<ReturnType<typeof locate>>["stub"]) {
  const read = await stub.exportPage(null, 2 ** 20);
  if (read === null || read === "changed") throw new Error("the tree was not read");
  return read.page;
}

const statusOf = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

it("brings back tokens, values, leases, teams, entities and policies, and lists them", async () => {
  const root = await initialized();
  const holder = await tokenUnder(root, 'path "cubbyhole/*" { capabilities = ["create", "update", "read"] }');
  await call("POST", "cubbyhole/mine", { token: holder, body: { value: "kept" } });
  const parent = await createToken(root, { policies: ["default"], display_name: "parent" });
  const below = await createToken(root, { policies: ["root"] });
  const grandchild = await createToken(below.client_token, { policies: ["default"], num_uses: 5 });
  const orphan = await createToken(root, { no_parent: true, period: "1h" });
  const revoked = await createToken(root, { no_parent: true });
  await call("POST", "auth/token/revoke", { token: root, body: { token: revoked.client_token } });
  const chosen = await createToken(root, { id: "chosen-by-root" });
  await leaseFor(root, orphan.client_token);
  // The target of one says that it can never revoke; the other is asked again.
  standInForTargets(({ body }) => (body.path === "db/creds/given-up" ? 400 : 503));
  for (const path of ["db/creds/given-up", "db/creds/tried-again"]) {
    const lease_id = await leaseFor(root, orphan.client_token, { path });
    expect((await call("POST", "sys/leases/revoke", { token: root, body: { lease_id } })).status).toBe(400);
  }
  await call("PUT", "auth/token/roles/worker", { token: root, body: { allowed_policies: "default" } });
  await call("POST", "identity/entity", { token: root, body: { name: "somebody", policies: ["default"] } });
  const organization = await createOrganization(root, "acme");
  const team = await api("POST", `organizations/${organization}/teams`, {
    token: root,
    body: resource("teams", { name: "ops" }),
  });
  const teamToken = await api("POST", `teams/${team.body.data.id}/authentication-token`, { token: root });
  const machines = await mountAppRole(root, "machines");
  const roleId = await machines.role("web", { secret_id_num_uses: 2 });
  const [kept, spent] = [await machines.secretId("web"), await machines.secretId("web", { num_uses: 1 })];
  for (const { secret_id } of [kept, spent]) await machines.login(roleId, secret_id);
  const endingId = await machines.role("ending", { token_ends_with_secret_id: true });
  const ending = await machines.secretId("ending", { num_uses: 1 });
  const endingToken = (await machines.login(endingId, ending.secret_id)).body.auth.client_token;
  // What the installation knows of the audit store that it had.
  await systemOf(bindings).noteAuditObjects([{ shard: 7, number: 4 }]);
  await systemOf(bindings).noteAuditBacklog({ writer: "lost", since: 1, at: Date.now(), most: 9 });

  const backup = await backUp(root);
  const later = await createToken(root, { no_parent: true });
  await call("POST", "auth/token/revoke", { token: root, body: { token: grandchild.client_token } });
  await loseEverything();
  expect((await call("GET", "sys/init")).body.initialized).toBe(false);
  await restore(backup);

  expect(await statusOf(root)).toBe(200);
  expect((await call("GET", "cubbyhole/mine", { token: holder })).body.data.value).toBe("kept");
  expect(await statusOf(chosen.client_token)).toBe(200);
  expect(await statusOf(revoked.client_token)).toBe(403);
  // What happened after the backup is not known: a token of then is unknown, and what was revoked then is back.
  expect(await statusOf(later.client_token)).toBe(403);
  const back = await call("GET", "auth/token/lookup-self", { token: grandchild.client_token });
  expect(back.body.data.num_uses).toBe(4);
  await publishRecent(bindings, Date.now());
  const accessors = keysOf(await call("GET", "auth/token/accessors?list=true", { token: root }));
  const tokens = [parent, below, grandchild, orphan, chosen].map(({ accessor }) => accessor);
  expect(accessors).toEqual(expect.arrayContaining(tokens));
  expect(accessors).not.toContain(revoked.accessor);
  expect(await indexedPaths("secret")).toEqual(["db/creds/app", "db/creds/given-up", "db/creds/tried-again"]);
  const irrevocable = (await call("GET", "sys/leases?type=irrevocable", { token: root })).body.data.leases;
  expect(irrevocable).toMatchObject([
    { lease_id: expect.stringMatching(/^db\/creds\/given-up\//), error: "the target db.example.com answered 400" },
  ]);
  expect((await call("GET", "auth/token/roles/worker", { token: root })).status).toBe(200);
  expect((await call("GET", "identity/entity/name/somebody", { token: root })).status).toBe(200);
  const secret = String(teamToken.body.data.attributes.token);
  expect((await api("GET", `teams/${team.body.data.id}`, { token: secret })).status).toBe(200);
  const logins = [kept, kept, spent].map(
    ({ secret_id }) =>
      () =>
        machines.login(roleId, secret_id),
  );
  const statuses: number[] = [];
  for (const login of logins) statuses.push((await login()).status);
  expect(statuses).toEqual([200, 400, 400]);
  // A token that ends with its secret-id still does.
  const alive = async () => (await call("GET", "auth/token/lookup-self", { token: endingToken })).status;
  expect(await alive()).toBe(200);
  expect((await machines.ask("POST", "role/ending/secret-id-accessor/destroy", ending)).status).toBe(204);
  expect(await alive()).toBe(403);
  expect((await call("GET", "sys/audit/verify", { token: root })).body.data.problems).toEqual([]);
  expect(await systemOf(bindings).auditBacklogs()).toEqual([]);
  // The tree goes on: a revocation reaches what hangs below, and is durable.
  await call("POST", "auth/token/revoke", { token: root, body: { token: below.client_token } });
  expect(await statusOf(grandchild.client_token)).toBe(403);
});

async function customIdEntries() {
  const shards = Array.from({ length: CUSTOM_ID_SHARDS }, (_, number) => customIdsShard(bindings, number));
  return (await Promise.all(shards.map((shard) => shard.page("", 10)))).flat();
}

it("a token with a chosen id that is revoked while the backup is made is restored completely, or not at all", async () => {
  await loseEverything();
  const root = await initialized();
  const tokens = [];
  for (const id of ["chosen-and-revoked", "chosen-again", "chosen-and-kept"]) {
    const chosen = await createToken(root, { no_parent: true, id });
    tokens.push(id, (await createToken(chosen.client_token, { policies: ["default"] })).client_token);
  }
  const backup = await backUp(root, async () => {
    for (const token of ["chosen-and-revoked", "chosen-again"])
      await call("POST", "auth/token/revoke", { token: root, body: { token } });
    await vi.waitFor(async () => expect(await customIdEntries()).toHaveLength(1), 60_000);
    // Its tree is not in the backup, and its entry in the directory is.
    await createToken(root, { no_parent: true, id: "chosen-again" });
  });
  await loseEverything();
  await restore(backup);
  for (const token of tokens) expect(await statusOf(token)).toBe(200);
  expect(await customIdEntries()).toHaveLength(3);
});

it("a chosen id leads to the token that is alive, not to an earlier one that is not swept yet", async () => {
  holdSweeps();
  await loseEverything();
  const root = await initialized();
  // The rows of the earlier token are restored after those of the one that is alive.
  const token = "chosen-and-used-again";
  for (let lastEnded = "", alive = ""; lastEnded <= alive; ) {
    if (alive !== "") await call("POST", "auth/token/revoke", { token: root, body: { token } });
    lastEnded = alive > lastEnded ? alive : lastEnded;
    await createToken(root, { no_parent: true, id: token });
    const [entry] = await customIdEntries();
    alive = entry?.treeId ?? "";
  }
  const backup = await backUp(root);
  await loseEverything();
  await restore(backup);
  expect(await statusOf(token)).toBe(200);
});

it("is not opened with the receipts of some parts, and ends what was issued before a moment", async () => {
  await loseEverything();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 60_000 });
  const root = await initialized();
  const earlier = await createToken(root, { no_parent: true, policies: ["default"] });
  vi.setSystemTime(Date.now() + 1000);
  const issued_before = new Date().toISOString();
  const later = await createToken(root, { no_parent: true, policies: ["default"] });
  const backup = await backUp(root, async () => {});
  const some = { ...backup, parts: backup.parts.filter((part) => part.restored_first) };
  expect([some.parts.length > 0, some.parts.length < backup.parts.length]).toEqual([true, true]);
  await loseEverything();
  await begin(backup);
  const refused = await finish(backup, await restoreParts(some));
  expect([refused.status, refused.body.errors]).toEqual([400, ["not all parts of the backup were restored"]]);
  expect((await finish(backup, await restoreParts(backup), { issued_before })).status).toBe(204);
  expect([await statusOf(earlier.client_token), await statusOf(later.client_token)]).toEqual([403, 200]);
});

it("answers nothing but the restore until all parts are there, and takes no part of another making", async () => {
  await loseEverything();
  const root = await initialized();
  const login = await createToken(root, { no_parent: true, policies: ["default"] });
  const { stub } = await locate(root);
  const page = await firstPage(stub);
  await runInDurableObject(stub, async (tree: TokenTree) => {
    await expect(tree.restore(page)).rejects.toThrow("not being restored");
  });
  const backup = await backUp(root);
  const [part] = backup.parts;
  if (!part) throw new Error("a backup has a part");
  expect((await restorePart(part)).body.errors).toEqual(["no restore is under way here"]);
  expect((await begin(backup)).status).toBe(400);
  await loseEverything();

  const forged = { ...backup, head: { ...backup.head, parts: backup.head.parts - 1 } };
  expect((await begin(forged)).status).toBe(400);
  for (const key_ring of ["", "1.a", backup.head.key_ring.replace(/.$/, (last) => (last === "A" ? "B" : "A"))])
    expect((await begin({ ...backup, head: { ...backup.head, key_ring } })).body.errors).toEqual([
      expect.stringContaining("key_ring can't be opened"),
    ]);
  expect((await call("GET", "sys/init")).body.initialized).toBe(false);
  expect((await begin(backup)).status).toBe(204);
  expect((await begin(backup)).status).toBe(204);
  expect((await call("GET", "auth/token/lookup-self", { token: root })).status).toBe(503);
  expect((await call("PUT", "sys/init")).status).toBe(503);
  expect((await restorePart(await changedPart(part, (text) => text.replace("root", "rooT")))).status).toBe(400);
  expect((await restorePart({ ...part, number: part.number + 1 })).status).toBe(400);
  expect((await finish(backup, "")).status).toBe(400);
  const ends = { issuedSince: null, issuedBefore: null };
  expect(await systemOf(bindings).finishRestore(backup.head.run, ends, Date.now())).toBe(false);
  const tree = bindings.TOKEN_TREE.get(bindings.TOKEN_TREE.newUniqueId());
  await alter(tree, "CREATE TABLE other (one)");
  expect(await tree.importPage(page)).toEqual({ ok: false, error: "not empty" });
  expect(await tree.importPage({ ...page, page: 1 })).toEqual({ ok: false, error: "another page is expected" });

  const proof = await restoreParts(backup);
  expect(await restoreParts(backup)).toBe(proof);
  expect((await call("GET", "auth/token/lookup-self", { token: root })).status).toBe(503);
  expect((await finish(backup, proof, { issued_before: "now" })).status).toBe(204);
  expect((await finish(backup, proof, { issued_before: "now" })).status).toBe(204);
  // What was not ended then is not said to be.
  const since = { issued_since: new Date(Date.now() - 60_000).toISOString() };
  expect((await finish(backup, proof, since)).body.errors).toEqual(["no restore is under way here"]);
  // What was issued before is ended, except for root tokens.
  expect(await statusOf(root)).toBe(200);
  expect(await statusOf(login.client_token)).toBe(403);
  expect(await statusOf((await createToken(root, { no_parent: true })).client_token)).toBe(200);
  expect((await restorePart(part)).status).toBe(400);
});

it("ends everything that was issued at a moment or later, batch tokens and what hangs below included", async () => {
  await loseEverything();
  const start = Date.now() - 7_200_000;
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  const root = await initialized();
  const parent = await createToken(root, { no_parent: true, policies: ["root"], ttl: "30h" });
  const batchOf = async (ttl: string) =>
    (await createToken(root, { type: "batch", no_parent: true, policies: ["default"], ttl })).client_token;
  const earlyBatch = await batchOf("24h");
  const organization = await createOrganization(root, "acme");
  const teamToken = async (name: string) => {
    const team = await api("POST", `organizations/${organization}/teams`, {
      token: root,
      body: resource("teams", { name }),
    });
    const made = await api("POST", `teams/${team.body.data.id}/authentication-token`, { token: root });
    return { token: String(made.body.data.attributes.token), path: `teams/${team.body.data.id}` };
  };
  const early = await teamToken("early");

  const attack = start + 3_600_000;
  vi.setSystemTime(attack);
  const child = await createToken(parent.client_token, { policies: ["root"], ttl: "29h" });
  const grandchild = await createToken(child.client_token, { policies: ["default"], ttl: "28h" });
  const orphan = await createToken(root, { no_parent: true, policies: ["root"] });
  const late = await teamToken("late");
  const backup = await backUp(root);
  vi.setSystemTime(start + 5_400_000);
  const lateBatch = await batchOf("25h");
  const teamStatus = async ({ token, path }: typeof late) => (await api("GET", path, { token })).status;
  expect([await statusOf(lateBatch), await teamStatus(late)]).toEqual([200, 200]);

  await loseEverything();
  vi.setSystemTime(start + 7_200_000);
  expect((await begin(backup)).status).toBe(204);
  const proof = await restoreParts(backup);
  const future = new Date(start + 7_200_001).toISOString();
  for (const issued_since of [future, "now", "yesterday"])
    expect((await finish(backup, proof, { issued_since })).status).toBe(400);
  const ends = { issued_since: new Date(attack).toISOString() };
  expect((await finish(backup, proof, ends)).status).toBe(204);

  for (const token of [root, parent.client_token, earlyBatch]) expect(await statusOf(token)).toBe(200);
  for (const token of [child.client_token, grandchild.client_token, orphan.client_token, lateBatch])
    expect(await statusOf(token)).toBe(403);
  expect([await teamStatus(early), await teamStatus(late)]).toEqual([200, 401]);
  const since = await call("GET", "sys/leases/revocations", { token: root });
  expect(since.body.data.revocations).toMatchObject([ends]);
  // What is issued from now on is good, in old trees too.
  for (const token of [root, parent.client_token])
    expect(await statusOf((await createToken(token, { policies: ["default"] })).client_token)).toBe(200);
  expect(await statusOf(await batchOf("1h"))).toBe(200);
  expect(await teamStatus(await teamToken("new"))).toBe(200);
  // The clean-up may drop other watermarks; tokens of teams are ended by this one alone.
  await systemOf(bindings).watermarksCleaned(null, Number.MAX_SAFE_INTEGER, Date.now());
  vi.setSystemTime(start + 400 * 86_400_000);
  await systemOf(bindings).addWatermark({ id: "x", scope: pathScope("auth/x/"), createdBefore: null }, Date.now());
  await systemOf(bindings).watermarksCleaned(null, Number.MAX_SAFE_INTEGER, Date.now());
  forgetInstallation();
  expect([await teamStatus(early), await teamStatus(late)]).toEqual([200, 401]);
});

it("nothing is decompressed that has no seal, and no more than a part can be", async () => {
  await loseEverything();
  const backup = await backUp(await initialized());
  const [part] = backup.parts;
  if (!part) throw new Error("a backup has a part");
  await loseEverything();
  expect((await begin(backup)).status).toBe(204);
  const unsealed = [expect.stringContaining("the seal does not hold")];
  // What is no gzip at all is not looked at.
  for (const change of [{ seal: "AAAA" }, { sha256: "ab".repeat(32) }, { sha256: "" }, { number: 7 }]) {
    expect((await restorePart({ ...part, content: "AAAA", ...change })).body.errors).toEqual(unsealed);
  }
  const bomb = await changedPart(part, () => "a".repeat(MAX_PART_BYTES + 1));
  const tooLong = [expect.stringContaining(`at most ${MAX_PART_BYTES} bytes`)];
  expect((await restorePart(bomb)).body.errors).toEqual(tooLong);
  expect((await restorePart({ ...part, content: "AAAA" })).body.errors).toEqual(tooLong);
  expect((await restorePart(part)).status).toBe(200);
});

it("rows are sealed for the object that takes them, and none that was refused before is valid in it", async () => {
  await loseEverything();
  const root = await initialized();
  const write = (name: string) => call("POST", `auth/token/roles/${name}`, { token: root, body: { orphan: true } });
  for (const name of ["good", "forged", "bare"]) await write(name);
  const roles = bindings.TOKEN_ROLES.getByName("token");
  await alter(roles, "UPDATE roles SET value = replace(value, 'true', 'false') WHERE name = 'forged'");
  await alter(roles, "UPDATE roles SET seal = NULL WHERE name = 'bare'");
  const read = await roles.exportPage(null, 2 ** 20);
  if (read === null || read === "changed") throw new Error("the roles were not read");
  const backup = await backUp(root);
  await loseEverything();
  expect((await begin(backup)).status).toBe(204);
  const other = bindings.TOKEN_ROLES.getByName("other");
  expect(await other.importPage(read.page)).toEqual({ ok: true, value: null });
  await crash(other);
  const moved = bindings.TOKEN_ROLES.getByName("other");
  expect(await moved.read("good")).toMatchObject({ orphan: true });
  expect([await moved.read("forged"), await moved.read("bare")]).toEqual([null, null]);
  const again = await moved.exportPage(null, 2 ** 20);
  expect(again !== null && again !== "changed" && again.page.id).toBe(moved.id.toString());
  const rows = await rowsOf(moved, "roles");
  expect(rows.map(({ name, seal }) => [name, seal === null])).toEqual([
    ["bare", true],
    ["forged", true],
    ["good", false],
  ]);
});

it("an object that changed while it was read has the rows of the last reading, though pages come twice", async () => {
  await loseEverything();
  const root = await initialized();
  const role = (method: string, name: string) =>
    call(method, `auth/token/roles/${name}`, { token: root, body: { orphan: true } });
  for (const name of ["a", "b", "c"]) await role("POST", name);
  const roles = bindings.TOKEN_ROLES.getByName("token");
  const readAll = async () => {
    const pages: ObjectPage[] = [];
    for (let from: PagePosition | null = null; ; ) {
      const read: PageRead | "changed" | null = await roles.exportPage(from, 1);
      if (read === null || read === "changed") throw new Error("the roles were not read");
      pages.push(read.page);
      if (!read.next) return pages;
      from = read.next;
    }
  };
  const before = (await readAll()).slice(0, 2);
  await role("DELETE", "a");
  const pages = await readAll();
  const backup = await backUp(root);
  await loseEverything();
  expect((await begin(backup)).status).toBe(204);
  const other = bindings.TOKEN_ROLES.getByName("read-again");
  for (const page of [...before, ...pages].flatMap((one) => [one, one])) {
    expect(await other.importPage(page)).toEqual({ ok: true, value: null });
  }
  expect((await rowsOf(other, "roles")).map(({ name }) => name)).toEqual(["b", "c"]);
});

it("a refused part is read to its end, so that a gateway which is writing it gets the refusal", async () => {
  await loseEverything();
  await initialized();
  const pieces = 64;
  const send = async () => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (sent++ < pieces) controller.enqueue(new Uint8Array(64 * 1024));
        else controller.close();
      },
    });
    const headers = { "Content-Length": `${pieces * 64 * 1024}`, "CF-Connecting-IP": "192.0.2.25" };
    const request = new Request("http://grove.test/v1/sys/restore/part", { method: "POST", headers, body });
    const env = { ...bindings, GROVE_INIT_TOKEN: "the-secret" };
    const { status } = await app.fetch(request, env, createExecutionContext());
    return { status, isWhole: sent > pieces };
  };
  expect(await send()).toEqual({ status: 413, isWhole: true });
  for (let guess = 1; guess < 10; guess++) await send();
  expect(await send()).toEqual({ status: 429, isWhole: true });
});

it("only a client that may restore sends a large body", async () => {
  await loseEverything();
  const root = await initialized();
  const backup = await backUp(root);
  await loseEverything();
  expect((await begin(backup)).status).toBe(204);
  const content = toBase64(new Uint8Array(1_500_000));
  const send = async (token: string) => {
    const request = new Request("http://grove.test/v1/sys/restore/part", {
      method: "POST",
      headers: { "X-Vault-Token": token },
      body: JSON.stringify({ number: 0, seal: "", content }),
    });
    return (await app.fetch(request, { ...bindings, GROVE_INIT_TOKEN: "the-secret" }, createExecutionContext())).status;
  };
  expect(await send("the-secreT")).toBe(413);
  expect(await send("the-secret")).toBe(400);
});
