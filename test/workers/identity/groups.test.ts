import { beforeAll, describe, expect, it } from "vitest";
import { entityForLogin } from "../../../src/identity/entity-for-login.ts";
import { identityOf } from "../../../src/identity/stubs.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const get = (path: string) => call("GET", `identity/${path}`, { token: root });
const made = async (kind: string, fields: unknown): Promise<string> => (await post(kind, fields)).body.data.id;

describe("a group", () => {
  it("is answered with id and name when it is new, and with 204 when it is changed", async () => {
    const member = await made("entity", { name: "member" });
    const created = await post("group", {
      name: "Ops",
      type: "internal",
      policies: " B,a",
      metadata: { k: "v" },
      member_entity_ids: [member],
    });
    expect([created.status, Object.keys(dataOf<object>(created))]).toEqual([200, ["id", "name"]]);
    expect((await post("group", { name: "ops", policies: ["c"] })).status).toBe(204);
    expect((await get("group/name/OPS")).body.data).toMatchObject({
      id: created.body.data.id,
      name: "ops",
      type: "internal",
      policies: ["c"],
      metadata: { k: "v" },
      member_entity_ids: [member],
      member_group_ids: [],
      parent_group_ids: [],
    });
    expect((await get(`entity/id/${member}`)).body.data).toMatchObject({
      direct_group_ids: [created.body.data.id],
      inherited_group_ids: [],
      group_ids: [created.body.data.id],
    });
  });

  it("passes on to members of its members, and a circle is refused with nothing changed", async () => {
    const entity = await made("entity", { name: "deep" });
    const inner = await made("group", { name: "inner", member_entity_ids: [entity] });
    const middle = await made("group", { name: "middle", member_group_ids: [inner] });
    const outer = await made("group", { name: "outer", member_group_ids: [middle] });
    expect((await get(`entity/id/${entity}`)).body.data).toMatchObject({
      direct_group_ids: [inner],
      inherited_group_ids: [middle, outer].toSorted(),
      group_ids: [inner, ...[middle, outer].toSorted()],
    });
    expect((await get(`group/id/${inner}`)).body.data.parent_group_ids).toEqual([middle]);
    for (const member of [outer, middle, inner]) {
      const circle = await post(`group/id/${inner}`, { member_group_ids: [member], policies: ["changed"] });
      expect([circle.status, circle.body.errors]).toEqual([
        400,
        ["cyclic relationship detected for a group in member_group_ids"],
      ]);
    }
    expect((await get(`group/id/${inner}`)).body.data).toMatchObject({ member_group_ids: [], policies: [] });
  });

  it("loses a member that is deleted, and its members lose a group that is", async () => {
    const entity = await made("entity", { name: "short" });
    const inner = await made("group", { name: "short inner", member_entity_ids: [entity] });
    const outer = await made("group", { name: "short outer", member_group_ids: [inner], member_entity_ids: [entity] });
    for (let i = 0; i < 2; i++) {
      expect((await call("DELETE", "identity/group/name/SHORT inner", { token: root })).status).toBe(204);
    }
    expect((await get(`group/id/${outer}`)).body.data.member_group_ids).toEqual([]);
    expect((await get(`entity/id/${entity}`)).body.data.group_ids).toEqual([outer]);
    await call("DELETE", `identity/entity/id/${entity}`, { token: root });
    expect((await get(`group/id/${outer}`)).body.data.member_entity_ids).toEqual([]);
    expect((await call("DELETE", `identity/group/id/${outer}`, { token: root })).status).toBe(204);
    expect((await get(`group/id/${outer}`)).status).toBe(404);
  });

  it.each([
    ["group", { id: "unknown" }, "group not found from id"],
    ["group/id/unknown", { name: "x" }, "group not found from id"],
    ["group", { name: "x", member_entity_ids: ["unknown"] }, "member_entity_ids holds an id that is no entity"],
    ["group", { name: "x", member_group_ids: ["unknown"] }, "member_group_ids holds an id that is no group"],
  ])("%s refuses %j", async (path, body, message) => {
    const answer = await post(path, body);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
    expect((await get("group/name/x")).status).toBe(404);
  });

  it("can't take the name of another", async () => {
    await made("group", { name: "g-taken" });
    const id = await made("group", { name: "g-other" });
    const answer = await post("group", { id, name: "G-Taken" });
    expect([answer.status, answer.body.errors]).toEqual([400, ["group name is already in use"]]);
  });

  it("is listed by id and by name, in pages, and found by either", async () => {
    const below = await made("group", { name: "listed below" });
    const member_entity_ids = [await made("entity", { name: "first" }), await made("entity", { name: "second" })];
    const id = await made("group", { name: "listed", member_entity_ids, member_group_ids: [below] });
    const byId = (await call("GET", "identity/group/id?list=true", { token: root })).body.data;
    expect(byId.key_info).toMatchObject({
      [id]: { name: "listed", num_member_entities: 2, num_parent_groups: 0 },
      [below]: { name: "listed below", num_member_entities: 0, num_parent_groups: 1 },
    });
    const page = await call("GET", "identity/group/name?list=true&after=listec&limit=1", { token: root });
    expect(page.body.data.keys).toEqual(["listed"]);
    expect((await post("lookup/group", { name: "LISTED" })).body.data.id).toBe(id);
    expect((await post("lookup/group", { id })).body.data.name).toBe("listed");
    expect((await post("lookup/group", { id: "unknown" })).status).toBe(204);
    expect((await post("lookup/group", { alias_name: "a", alias_mount_accessor: "b" })).status).toBe(204);
  });

  it("is refused when all of them together would be more than an isolate keeps, with nothing changed", async () => {
    const metadata = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`n${i}`, "x".repeat(512)]));
    const nothing = { type: null, policies: null, memberEntityIds: null, memberGroupIds: null };
    let refused: string | null = null;
    for (let i = 0; i < 200 && refused === null; i++) {
      const write = { ...nothing, name: `large ${i}`, metadata };
      const written = await identityOf(bindings).writeGroup(null, write, Date.now());
      if (!written.ok) refused = write.name;
    }
    expect(refused).not.toBeNull();
    const answer = await post("group", { name: refused, metadata });
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      ["all groups must not have more than 4194304 characters together"],
    ]);
    expect((await get(`group/name/${refused}`)).status).toBe(404);
    await call("DELETE", "identity/group/name/large 0", { token: root });
    expect((await post("group", { name: refused, metadata })).status).toBe(200);
  });
});

/** Accessors of two mounts. */
let accessor: string;
let other: string;

beforeAll(async () => {
  for (const path of ["one", "two"]) await call("POST", `sys/auth/${path}`, { token: root, body: { type: "jwt" } });
  accessor = (await call("GET", "sys/auth/one", { token: root })).body.data.accessor;
  other = (await call("GET", "sys/auth/two", { token: root })).body.data.accessor;
});

const external = async (name: string): Promise<string> =>
  (await post("group", { name, type: "external" })).body.data.id;

/** The groups of a client that logs in as `aliasName` at a mount that reports these. */
async function login(aliasName: string, groups: readonly string[], mountAccessor = accessor) {
  const view = await entityForLogin(bindings, { mountAccessor, name: aliasName, metadata: null, groups });
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
    const inner = (await post("group", { name: "internal" })).body.data.id;
    const entity = (await post("entity", { name: "outsider" })).body.data.id;
    expect((await post(`group/id/${group}`, { member_entity_ids: [], member_group_ids: [] })).status).toBe(204);
    const refusals = [
      [`group/id/${group}`, { type: "internal" }, "group type cannot be changed"],
      [`group/id/${group}`, { member_entity_ids: ["x"] }, "member_entity_ids holds an id that is no entity"],
      [
        `group/id/${group}`,
        { member_entity_ids: [entity] },
        "member entities can't be set manually for external groups",
      ],
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
