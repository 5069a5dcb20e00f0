import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MAX_ENTRIES, MAX_VALUE_BYTES } from "../../../src/tree/cubbyhole.ts";
import { costOf } from "../../support/costs.ts";
import { fillCubbyhole } from "../../support/cubbyholes.ts";
import { rowsOf, storedText } from "../../support/rows.ts";
import { call, createToken, initialized } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";
import { holdInventory, holdSweeps, locate, sweep } from "../../support/trees.ts";

let root: string;
let token: string;

beforeEach(holdSweeps);
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
  token = (await createToken(root, { policies: ["default"], ttl: "1h" })).client_token;
});

const read = (path: string, as = token) => call("GET", `cubbyhole/${path}`, { token: as });
const write = (path: string, body: unknown, as = token) => call("POST", `cubbyhole/${path}`, { token: as, body });
const list = (path: string, query = "") => call("GET", `cubbyhole/${path}?list=true${query}`, { token });

describe("the cubbyhole of a token", () => {
  it("stores any JSON, replaces it completely, and deletes it", async () => {
    const value = { text: "x", number: 1.5, deep: { list: [1, null, { a: true }] }, __proto_: "y" };
    expect((await write("a", value)).status).toBe(204);
    expect((await read("a")).body.data).toEqual(value);
    await write("a", { other: 1 });
    expect((await read("a")).body.data).toEqual({ other: 1 });
    expect((await call("DELETE", "cubbyhole/a", { token })).status).toBe(204);
    const gone = await read("a");
    expect([gone.status, gone.body]).toEqual([404, { errors: [] }]);
    expect((await call("DELETE", "cubbyhole/a", { token })).status).toBe(204);
  });

  it("refuses an empty body and no path", async () => {
    expect((await write("a", {})).status).toBe(400);
    for (const path of ["cubbyhole", "cubbyhole/"]) {
      const answer = await call("GET", path, { token: root });
      expect([answer.status, answer.body.errors]).toEqual([400, ["missing path"]]);
      expect((await call("DELETE", path, { token: root })).status).toBe(204);
    }
    expect((await call("POST", "cubbyhole", { token: root, body: { a: 1 } })).body.errors).toEqual(["missing path"]);
  });

  it("lists one level, folders with a slash, in order, by page", async () => {
    for (const path of ["b/1", "b/2/x", "b/2/y", "b/3", "b0", "c"]) await write(path, { v: 1 });
    expect((await list("")).body.data.keys).toEqual(["b/", "b0", "c"]);
    expect((await list("b")).body.data.keys).toEqual(["1", "2/", "3"]);
    expect((await list("b/2/")).body.data.keys).toEqual(["x", "y"]);
    expect((await list("b", "&limit=2")).body.data.keys).toEqual(["1", "2/"]);
    expect((await list("b", "&after=2/")).body.data.keys).toEqual(["3"]);
    expect((await list("", "&after=b/&limit=1")).body.data.keys).toEqual(["b0"]);
    const none = await list("nothing");
    expect([none.status, none.body]).toEqual([404, { errors: [] }]);
  });

  it("costs a folder one row in a list, whatever is in it", async () => {
    for (let i = 0; i < 50; i++) await write(`big/folder/${i}`, { v: 1 });
    const { stub } = await locate(token);
    const cost = await costOf(stub, () => list("big"));
    expect(cost.rowsRead).toBeLessThan(8);
  });

  it("can't be reached by anybody else, root and parents included", async () => {
    await write("private", { v: "mine" });
    expect((await read("private", root)).status).toBe(404);
    const child = (await createToken(root, { policies: ["default"] })).client_token;
    expect((await read("private", child)).status).toBe(404);
    await write("private", { v: "another" }, child);
    expect((await read("private")).body.data).toEqual({ v: "mine" });
  });

  it("is sealed in the storage, and opens only where it was written", async () => {
    await write("sealed", { password: "swordfish" });
    await write("other", { password: "carp" });
    const { stub, row } = await locate(token);
    expect(await storedText(stub)).not.toContain("swordfish");
    const stored = await rowsOf(stub, "cubbyhole");
    const sealed = stored.find((one) => one.row === row && one.path === "sealed")?.value;
    if (!(sealed instanceof Uint8Array)) throw new Error("nothing is stored");
    await changeRows(stub, "cubbyhole", { value: sealed }, { row, path: "other" });
    const moved = await read("other");
    expect(moved.status).toBe(500);
    expect(JSON.stringify(moved.body)).not.toContain("swordfish");
  });

  it("needs create for a new path and update for an old one", async () => {
    const policy = (capability: string) => `path "cubbyhole/*" { capabilities = ["${capability}", "read"] }`;
    for (const name of ["create", "update"]) {
      await call("POST", `sys/policies/acl/${name}-only`, { token: root, body: { policy: policy(name) } });
    }
    const creator = (await createToken(root, { policies: ["create-only"], no_default_policy: true })).client_token;
    expect((await write("x", { v: 1 }, creator)).status).toBe(204);
    expect((await write("x", { v: 2 }, creator)).status).toBe(403);
    expect((await read("x", creator)).body.data).toEqual({ v: 1 });
    const updater = (await createToken(root, { policies: ["update-only"], no_default_policy: true })).client_token;
    expect((await write("x", { v: 1 }, updater)).status).toBe(403);
    expect((await read("x", updater)).status).toBe(404);
  });

  it("has a limit of values for each token, and counts those of no other token", async () => {
    const full = (await createToken(root, { policies: ["default"] })).client_token;
    await fillCubbyhole(full, MAX_ENTRIES - 1);
    expect((await write("last", { v: 1 }, full)).status).toBe(204);
    const more = await write("more", { v: 1 }, full);
    expect([more.status, more.body.errors]).toEqual([400, ["a token can keep at most 1000 values in its cubbyhole"]]);
    expect((await write("last", { v: 2 }, full)).status).toBe(204);
    expect((await write("more", { v: 1 }, (await createToken(root)).client_token)).status).toBe(204);
    await call("DELETE", "cubbyhole/n1", { token: full });
    expect((await write("more", { v: 1 }, full)).status).toBe(204);
  });

  it("has a limit of bytes", async () => {
    const full = (await createToken(root, { policies: ["default"] })).client_token;
    await fillCubbyhole(full, 9, MAX_VALUE_BYTES - 100_000);
    const body = { text: "x".repeat(900_000) };
    const more = await write("more", body, full);
    expect([more.status, more.body.errors]).toEqual([400, ["a token can keep at most 16 MiB in its cubbyhole"]]);
    expect((await write("n1", body, full)).status).toBe(204);
    expect((await write("small", { v: 1 }, full)).status).toBe(204);
  });

  it("is gone with its token", async () => {
    const tokens = await Promise.all(
      Array.from({ length: 10 }, async () => (await createToken(root, { policies: ["default"] })).client_token),
    );
    for (const each of tokens) await write("x", { v: 1 }, each);
    for (const each of tokens) await call("POST", "auth/token/revoke-self", { token: each });
    const { stub } = await locate(root);
    await sweep(stub);
    const rows = await Promise.all(tokens.map(async (each) => (await locate(each)).row));
    const left = (await rowsOf(stub, "cubbyhole")).filter(({ row }) => rows.includes(Number(row)));
    expect(left).toEqual([]);
  });

  it("survives a renewal", async () => {
    await write("kept", { v: 1 });
    await call("POST", "auth/token/renew-self", { token });
    expect((await read("kept")).body.data).toEqual({ v: 1 });
  });
});
