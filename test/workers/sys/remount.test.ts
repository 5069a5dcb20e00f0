import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { LeaseWalk } from "../../../src/app/lease-walk.ts";
import { walkOfMove } from "../../../src/lease/walk.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { AccessorShard } from "../../../src/tree/index/accessor-shard.ts";
import { issuingMount } from "../../support/logins.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { holdWalks, stepWalk } from "../../support/walks.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const get = (path: string, token = root) => call("GET", path, { token });
const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const isAlive = async (token: string) => (await get("auth/token/lookup-self", token)).status === 200;
const enable = (path: string, type = "aws") => post(`sys/auth/${path}`, { type, description: `the one of ${path}` });

/** Moves a mount as far as the answer; the walk stands still. */
async function beginMove(from: string, to: string): Promise<string> {
  const held = holdWalks();
  const answer = await post("sys/remount", { from: `auth/${from}`, to: `auth/${to}` });
  expect(answer.status).toBe(200);
  held.mockRestore();
  return String(answer.body.data.migration_id);
}

/** The alarms of the walk of a move; then this isolate reads the mounts anew. */
async function walkToTheEnd(id: string): Promise<void> {
  const held = holdWalks();
  const stub = walkOfMove(bindings, id);
  for (let i = 0; i < 3; i++) await stepWalk(stub);
  held.mockRestore();
  forgetInstallation();
}

const statusOf = async (id: string) => (await get(`sys/remount/status/${id}`)).body.data.migration_info;

describe("moving an auth mount", { timeout: 30_000 }, () => {
  it("takes configuration, roles, ids and aliases along, and revokes what was issued at the old place", async () => {
    await enable("old/place");
    await post("auth/old/place/config/client", { access_key: "AKIAEXAMPLE" });
    await post("auth/old/place/role/web", { auth_type: "ec2", bound_vpc_id: "vpc-1" });
    const before = (await get("sys/auth/old/place")).body.data;
    const alias = await post("identity/entity-alias", { name: "i-1", mount_accessor: before.accessor });
    const old = await issuingMount("old/place", ["default"]);
    const token = await old.token();
    const neighbour = (await createToken(root, { policies: ["default"] })).client_token;

    const answer = await post("sys/remount", { from: "auth/old/place", to: "auth/new" });
    expect(answer.status).toBe(200);
    expect(String(answer.body.warnings)).toContain("Mount move has been queued");
    expect(answer.body.migration_id).toBe(answer.body.data.migration_id);
    const id = String(answer.body.data.migration_id);
    await walkToTheEnd(id);

    expect(await statusOf(id)).toEqual({
      source_mount: "auth/old/place/",
      target_mount: "auth/new/",
      status: "success",
    });
    expect((await get("sys/auth/new")).body.data).toEqual(before);
    expect((await get("sys/auth/old/place")).status).toBe(400);
    expect((await get("auth/new/role/web")).body.data.bound_vpc_id).toEqual(["vpc-1"]);
    expect((await get("auth/new/config/client")).body.data.access_key).toBe("AKIAEXAMPLE");
    expect(String((await get("auth/old/place/role/web")).body.errors)).toContain("no handler for route");
    const moved = await get(`identity/entity-alias/id/${alias.body.data.id}`);
    expect(moved.body.data).toMatchObject({ mount_accessor: before.accessor, mount_path: "auth/new/" });
    expect([await isAlive(token), await isAlive(neighbour)]).toEqual([false, true]);
    expect((await enable("old/place")).status).toBe(204);
  });

  it("lets the method issue tokens at the new place, and none to who still believes in the old one", async () => {
    await enable("was");
    const old = await issuingMount("was", ["default"]);
    await walkToTheEnd(await beginMove("was", "is"));
    const denied = { ok: false, error: { code: "permission_denied" } };
    expect([await old.login(), await old.login("batch")]).toEqual([denied, denied]);
    const now = await issuingMount("is", ["default"]);
    const token = await now.token();
    expect((await get("auth/token/lookup-self", token)).body.data.path).toBe("auth/is/login");
    // And from there to a third place and back to the first.
    await walkToTheEnd(await beginMove("is", "will-be"));
    expect(await isAlive(token)).toBe(false);
    expect(await now.login()).toEqual(denied);
    await walkToTheEnd(await beginMove("will-be", "was"));
    expect(await isAlive(await (await issuingMount("was", ["default"])).token())).toBe(true);
    expect(await old.login()).toEqual(denied);
  });

  it("holds both places and serves neither while it is under way", async () => {
    await enable("here");
    await enable("bystander");
    const id = await beginMove("here", "there");
    expect((await statusOf(id))?.status).toBe("in-progress");
    for (const path of ["here", "there"]) {
      expect(String((await get(`auth/${path}/role/x`)).body.errors)).toContain("no handler for route");
      expect(String((await enable(path)).body.errors)).toBe(`path is already in use at ${path}/`);
      expect((await post("sys/remount", { from: "auth/bystander", to: `auth/${path}` })).status).toBe(400);
    }
    expect((await call("DELETE", "sys/auth/here", { token: root })).body.errors).toEqual([
      "the mount is moving to there/",
    ]);
    expect((await post("sys/remount", { from: "auth/here", to: "auth/elsewhere" })).status).toBe(400);
    expect((await post("sys/auth/here/tune", { description: "x" })).status).toBe(400);
    await evictDurableObject(walkOfMove(bindings, id));
    await walkToTheEnd(id);
    expect((await get("sys/auth/there")).status).toBe(200);
    expect((await enable("here")).status).toBe(204);
  });

  it.each<[object, string]>([
    [{}, "both 'from' and 'to' path must be specified as a string"],
    [{ from: "auth/a" }, "both 'from' and 'to' path must be specified as a string"],
    [{ from: "auth/fixed ", to: "auth/b" }, "'from' path cannot contain trailing whitespace"],
    [{ from: "auth/fixed", to: " auth/b" }, "'to' path cannot contain trailing whitespace"],
    [{ from: "auth/fixed", to: "b" }, 'cannot remount auth mount to non-auth mount "b/"'],
    [{ from: "auth/none", to: "auth/b" }, 'no matching mount at "auth/none/"'],
    [{ from: "secret", to: "auth/b" }, 'no matching mount at "secret/"'],
    [{ from: "cubbyhole", to: "b" }, 'cannot remount "cubbyhole/"'],
    [{ from: "auth/token", to: "auth/b" }, 'cannot remount "auth/token/"'],
    [{ from: "auth/fixed", to: "auth/token/b" }, "path is already in use at token/"],
    [{ from: "auth/fixed", to: "auth/fixed" }, "path is already in use at fixed/"],
    [{ from: "auth/fixed", to: "auth/fixed/below" }, "path is already in use at fixed/"],
    [{ from: "auth/fixed", to: "auth/a*" }, "a mount path consists of letters"],
  ])("refuses %j, and changes nothing", async (body, message) => {
    await enable("fixed");
    const token = await (await issuingMount("fixed", ["default"])).token();
    const before = (await get("sys/auth")).body.data;
    const answer = await post("sys/remount", body);
    expect([answer.status, answer.body.errors[0]]).toEqual([400, expect.stringContaining(message)]);
    expect((await get("sys/auth")).body.data).toEqual(before);
    expect(await isAlive(token)).toBe(true);
  });

  it("needs sudo besides the capability", async () => {
    await post("sys/policies/acl/mover", { policy: 'path "sys/remount" { capabilities = ["update"] }' });
    const { client_token } = await createToken(root, { policies: ["mover"] });
    expect((await post("sys/remount", { from: "auth/a", to: "auth/b" }, client_token)).status).toBe(403);
  });

  it("of which nobody knows has no status", async () => {
    expect((await get("sys/remount/status/00000000-0000-4000-8000-000000000000")).status).toBe(404);
  });
});

describe("a move that crashes", { timeout: 30_000 }, () => {
  /** The calls of the first pass fail where `crash` says; then the walk goes on by its own alarm. */
  async function movedAfter(path: string, crash: () => { mockRestore(): void }): Promise<void> {
    await enable(path);
    const old = await issuingMount(path, ["default"]);
    const token = await old.token();
    const held = holdWalks();
    const crashing = crash();
    const starting = vi.spyOn(LeaseWalk.prototype, "startMove");
    const answer = await post("sys/remount", { from: `auth/${path}`, to: `auth/${path}-moved` });
    expect(answer.status).toBe(500);
    const id = starting.mock.calls[0]?.[0].move?.id ?? "";
    crashing.mockRestore();
    held.mockRestore();
    await walkToTheEnd(id);
    expect(await old.login()).toEqual({ ok: false, error: { code: "permission_denied" } });
    expect(await isAlive(token)).toBe(false);
    const mount = await systemOf(bindings).findMount(`${path}-moved/`);
    expect(mount).toMatchObject({ uuid: old.mount.uuid, disabled: false, move: { finished: true } });
    expect(await systemOf(bindings).findMount(`${path}/`)).toBeNull();
  }

  const failing = () => {
    throw new Error("the process ends here");
  };

  it("before the system knew is ended by its walk", () =>
    movedAfter("early", () => vi.spyOn(System.prototype, "beginMove").mockImplementation(failing)));

  it("while the shards are told is ended by its walk", () =>
    movedAfter("midway", () => vi.spyOn(AccessorShard.prototype, "closeMount").mockImplementation(failing)));

  it("after the mount is at its new place leaves it there in service", async () => {
    await enable("late");
    const id = await beginMove("late", "late-moved");
    const stub = walkOfMove(bindings, id);
    const row = await runInDurableObject(stub, (_, { storage }) => storage.sql.exec("SELECT * FROM walk").one());
    await walkToTheEnd(id);
    // As if the walk's own end were lost: it has only the last call to repeat.
    expect(row.unit).toBe(0);
    await systemOf(bindings).endMove(id);
    expect(await systemOf(bindings).beginMove(id, "late/", "late-moved/")).toEqual({ ok: true, value: null });
    expect(await systemOf(bindings).findMount("late-moved/")).toMatchObject({ disabled: false });
    expect(await isAlive(await (await issuingMount("late-moved", ["default"])).token())).toBe(true);
  });
});
