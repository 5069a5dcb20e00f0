import { beforeAll, describe, expect, it } from "vitest";
import { entityForLogin } from "../../../src/identity/login.ts";
import { bindings, call, initialized } from "../../support/service.ts";

let root: string;
let accessor: string;
let other: string;

beforeAll(async () => {
  root = await initialized();
  for (const path of ["one", "two"]) await call("POST", `sys/auth/${path}`, { token: root, body: { type: "jwt" } });
  accessor = (await call("GET", "sys/auth/one", { token: root })).body.data.accessor;
  other = (await call("GET", "sys/auth/two", { token: root })).body.data.accessor;
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const get = (path: string) => call("GET", `identity/${path}`, { token: root });
const external = async (name: string): Promise<string> =>
  (await post("group", { name, type: "external" })).body.data.id;

/** The groups of whoever logs in under `aliasName` at a mount that says these. */
async function login(aliasName: string, groups: readonly string[], mountAccessor = accessor) {
  const view = await entityForLogin(bindings, { mountAccessor, aliasName, metadata: null, groups });
  if (!view.ok) throw new Error("the entity is disabled");
  return view.value.groups.map(({ name }) => name);
}

describe("an external group", () => {
  it("has an alias that is read with it, found by it, listed and deleted", async () => {
    const group = await external("readers");
    const made = await post("group-alias", { name: "Readers", mount_accessor: accessor, canonical_id: group });
    expect([made.status, made.body.data.canonical_id]).toEqual([200, group]);
    const { id } = made.body.data;
    const shown = { id, canonical_id: group, name: "Readers", mount_accessor: accessor, mount_path: "auth/one/" };
    expect((await get(`group-alias/id/${id}`)).body.data).toMatchObject({ ...shown, mount_type: "jwt" });
    expect((await get(`group/id/${group}`)).body.data).toMatchObject({ type: "external", alias: shown });
    expect((await get("group-alias/id?list=true")).body.data.keys).toContain(id);
    for (const key of [{ alias_id: id }, { alias_name: "readers", alias_mount_accessor: accessor }]) {
      expect((await post("lookup/group", key)).body.data.id).toBe(group);
    }
    expect((await post(`group-alias/id/${id}`, { name: "Readers", mount_accessor: accessor })).status).toBe(204);
    expect((await post(`group-alias/id/${id}`, { name: "Others", mount_accessor: accessor })).status).toBe(200);
    expect((await call("DELETE", `identity/group-alias/id/${id}`, { token: root })).status).toBe(204);
    expect((await get(`group-alias/id/${id}`)).status).toBe(404);
    expect((await get(`group/id/${group}`)).body.data.alias).toEqual({});
  });

  it("is made with its alias when none is named", async () => {
    const { canonical_id: group } = (await post("group-alias", { name: "fresh", mount_accessor: accessor })).body.data;
    expect((await get(`group/id/${group}`)).body.data).toMatchObject({
      type: "external",
      member_entity_ids: null,
      member_group_ids: null,
    });
  });

  it.each([
    [{ mount_accessor: "x" }, "missing alias name"],
    [{ name: "x" }, "missing mount_accessor"],
    [{ name: "x", mount_accessor: "x" }, "invalid mount accessor"],
    [{ name: "x", mount_accessor: "one", canonical_id: "x" }, "invalid group ID given in 'canonical_id'"],
    [{ name: "taken", mount_accessor: "one" }, "combination of mount and group alias name is already in use"],
    [{ id: "x", name: "x", mount_accessor: "one" }, "invalid group alias ID"],
  ])("refuses the alias %j", async (fields, message) => {
    await post("group-alias", { name: "TAKEN", mount_accessor: accessor });
    const body = {
      ...fields,
      ...("mount_accessor" in fields && fields.mount_accessor === "one" && { mount_accessor: accessor }),
    };
    const answer = await post("group-alias", body);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("stays external, and takes no members by hand; an internal one takes no alias", async () => {
    const group = await external("fixed");
    const inner = (await post("group", { name: "inner" })).body.data.id;
    const refusals = [
      [`group/id/${group}`, { type: "internal" }, "group type cannot be changed"],
      [`group/id/${group}`, { member_entity_ids: ["x"] }, "member_entity_ids holds an id that is no entity"],
      [`group/id/${group}`, { member_entity_ids: [] }, "member entities can't be set manually for external groups"],
      [`group/id/${group}`, { member_group_ids: [inner] }, "member groups can't be set for external groups"],
      [
        "group-alias",
        { name: "y", mount_accessor: accessor, canonical_id: inner },
        "alias can't be set on an internal group",
      ],
    ] as const;
    for (const [path, body, message] of refusals) expect((await post(path, body)).body.errors).toEqual([message]);
  });

  it("has the members that its mount named at their last login", async () => {
    const groups = { a: await external("group-a"), b: await external("group-b"), c: await external("group-c") };
    await post("group-alias", { name: "a", mount_accessor: accessor, canonical_id: groups.a });
    await post("group-alias", { name: "b", mount_accessor: accessor, canonical_id: groups.b });
    await post("group-alias", { name: "a", mount_accessor: other, canonical_id: groups.c });
    expect((await login("ada", ["A", "b", "unknown"])).toSorted()).toEqual(["group-a", "group-b"]);
    expect(await login("bob", ["a"])).toEqual(["group-a"]);
    expect(await login("ada", ["b"])).toEqual(["group-b"]);
    expect((await get(`group/id/${groups.a}`)).body.data.member_entity_ids).toHaveLength(1);
    // Another mount's word does not count for this one's groups.
    expect(await login("eve", ["a"], other)).toEqual(["group-c"]);
    expect(await login("ada", [])).toEqual([]);
  });

  it("passes on to the groups that it is in, and loses its members with its alias", async () => {
    const group = await external("member");
    await post("group", { name: "outer", member_group_ids: [group] });
    const { id } = (await post("group-alias", { name: "m", mount_accessor: accessor, canonical_id: group })).body.data;
    expect((await login("deep", ["m"])).toSorted()).toEqual(["member", "outer"]);
    await call("DELETE", `identity/group-alias/id/${id}`, { token: root });
    expect((await get(`group/id/${group}`)).body.data.member_entity_ids).toBeNull();
  });
});
