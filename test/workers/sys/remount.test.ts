import { beforeAll, describe, expect, it } from "vitest";
import { LeaseWalk, walkOfMount } from "../../../src/lease/prefix-revocation.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { callsTo, failing } from "../../support/calls.ts";
import { issuingMount } from "../../support/logins.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { countRows, locate } from "../../support/trees.ts";
import { holdWalks, stepWalk } from "../../support/walks.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const get = (path: string, token = root) => call("GET", path, { token });
const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const isAlive = async (token: string) => (await get("auth/token/lookup-self", token)).status === 200;
const enable = (path: string, type = "aws") => post(`sys/auth/${path}`, { type, description: `the one of ${path}` });

/** Moves a mount; the walk that cleans up after it stands still. */
async function move(from: string, to: string): Promise<string> {
  const held = holdWalks();
  const answer = await post("sys/remount", { from: `auth/${from}`, to: `auth/${to}` });
  expect(answer.status).toBe(200);
  held.end();
  return String(answer.body.data.migration_id);
}

/** Alarms of the walk of a move, then this isolate reads the mounts anew. */
async function walkOn(id: string): Promise<void> {
  const held = holdWalks();
  const stub = walkOfMount(bindings, id);
  for (let i = 0; i < 3; i++) await stepWalk(stub);
  held.end();
  forgetInstallation();
}

const statusOf = async (id: string) => (await get(`sys/remount/status/${id}`)).body.data.migration_info;

describe("moving an auth mount", () => {
  it("takes configuration, roles, ids and aliases along, and ends what was issued at the old place", async () => {
    await enable("old/place");
    await post("auth/old/place/config/client", { access_key: "AKIAEXAMPLE" });
    await post("auth/old/place/role/web", { auth_type: "ec2", bound_vpc_id: "vpc-1" });
    const before = (await get("sys/auth/old/place")).body.data;
    const alias = await post("identity/entity-alias", { name: "i-1", mount_accessor: before.accessor });
    const old = await issuingMount("old/place", ["default"]);
    const token = await old.token();
    const neighbour = (await createToken(root, { policies: ["default"] })).client_token;

    const batch = await old.token("batch");

    holdWalks();
    const answer = await post("sys/remount", { from: "auth/old/place", to: "auth/new" });
    expect(answer.status).toBe(200);
    expect(String(answer.body.warnings)).toContain("The mount is at its new path");
    expect([await isAlive(token), await isAlive(batch), await isAlive(neighbour)]).toEqual([false, false, true]);
    expect(answer.body.migration_id).toBe(answer.body.data.migration_id);
    const id = String(answer.body.data.migration_id);
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
    expect((await enable("old/place")).status).toBe(204);
    const { stub } = await locate(token);
    expect(await countRows(stub)).toBe(1);
    await walkOn(id);
    expect(await countRows(stub)).toBe(0);
  });

  it("lets the method issue tokens at the new place, and none to who still believes in the old one", async () => {
    await enable("was");
    const old = await issuingMount("was", ["default"]);
    await walkOn(await move("was", "is"));
    const denied = { ok: false, error: { code: "permission_denied" } };
    expect([await old.login(), await old.login("batch")]).toEqual([denied, denied]);
    const now = await issuingMount("is", ["default"]);
    const token = await now.token();
    expect((await get("auth/token/lookup-self", token)).body.data.path).toBe("auth/is/login");
    // And from there to a third place and back to the first.
    await walkOn(await move("is", "will-be"));
    expect(await isAlive(token)).toBe(false);
    expect(await now.login()).toEqual(denied);
    await walkOn(await move("will-be", "was"));
    expect(await isAlive(await (await issuingMount("was", ["default"])).token())).toBe(true);
    expect(await old.login()).toEqual(denied);
  });

  it("that is the last of many leaves a mount with valid tokens, and frees all earlier paths", async () => {
    await enable("here");
    const tokens: string[] = [];
    for (const [from, to] of [
      ["here", "there"],
      ["there", "here"],
      ["here", "there"],
    ] as const) {
      tokens.push(await (await issuingMount(from, ["default"])).token());
      await move(from, to);
    }
    const token = await (await issuingMount("there", ["default"])).token();
    expect(await Promise.all([...tokens, token].map(isAlive))).toEqual([false, false, false, true]);
    expect((await enable("here")).status).toBe(204);
    expect((await call("DELETE", "sys/auth/there", { token: root })).status).toBe(204);
    expect(await isAlive(token)).toBe(false);
  });

  it("refuses a path of half a million slashes before it costs anything", async () => {
    const long = `auth/a${"/".repeat(500_000)}b`;
    const post = async (body: object) => (await call("POST", "sys/remount", { token: root, body })).body.errors;
    expect(await post({ from: long, to: "auth/b" })).toEqual(["'from' path is too long"]);
    expect(await post({ from: "auth/a", to: long })).toEqual(["'to' path is too long"]);
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

describe("a move that crashes", () => {
  it("before the system knew is ended by its walk", async () => {
    await enable("early");
    const old = await issuingMount("early", ["default"]);
    const token = await old.token();
    const held = holdWalks();
    const crashing = failing(System, "moveMount", "the process ends here");
    const starting = callsTo(LeaseWalk, "endTokens");
    expect((await post("sys/remount", { from: "auth/early", to: "auth/early-moved" })).status).toBe(500);
    const id = starting.calls[0]?.args[0].mount?.move?.id ?? "";
    expect(await isAlive(token)).toBe(true);
    crashing.end();
    held.end();
    await walkOn(id);
    expect(await old.login()).toEqual({ ok: false, error: { code: "permission_denied" } });
    expect(await isAlive(token)).toBe(false);
    const mount = await systemOf(bindings).findMount("early-moved/");
    expect(mount).toMatchObject({ uuid: old.mount.uuid, move: { id } });
    expect(await systemOf(bindings).findMount("early/")).toBeNull();
  });

  it("before the system knew moves no other mount that is at the place by then", async () => {
    await enable("given-up");
    const held = holdWalks();
    const crashing = failing(System, "moveMount", "the process ends here");
    const starting = callsTo(LeaseWalk, "endTokens");
    expect((await post("sys/remount", { from: "auth/given-up", to: "auth/nowhere" })).status).toBe(500);
    const id = starting.calls[0]?.args[0].mount?.move?.id ?? "";
    crashing.end();
    await call("DELETE", "sys/auth/given-up", { token: root });
    await enable("given-up");
    const token = await (await issuingMount("given-up", ["default"])).token();
    held.end();
    await walkOn(id);
    expect(await isAlive(token)).toBe(true);
    expect(await systemOf(bindings).findMount("nowhere/")).toBeNull();
  });

  it("after the system knew is repeated without effect", async () => {
    await enable("late");
    const { uuid: issuer } = (await issuingMount("late")).mount;
    const id = await move("late", "late-moved");
    const token = await (await issuingMount("late-moved", ["default"])).token();
    const request = { id, issuer, from: "late/", to: "late-moved/", asked: NO_ORIGIN };
    const again = () => systemOf(bindings).moveMount(request, Date.now());
    const first = await again();
    expect(first.ok).toBe(true);
    expect(await again()).toEqual(first);
    // Nor when the mount is back by then, and another watermark has taken the place of the first.
    await move("late-moved", "late");
    const then = (await issuingMount("late", ["default"])).token;
    const tokens = [await then()];
    expect(await again()).toEqual(first);
    await move("late", "late-moved");
    await move("late-moved", "late");
    expect((await again()).ok).toBe(false);
    tokens.push(await (await issuingMount("late", ["default"])).token());
    await walkOn(id);
    expect(await Promise.all([token, ...tokens].map(isAlive))).toEqual([false, false, true]);
  });
});
