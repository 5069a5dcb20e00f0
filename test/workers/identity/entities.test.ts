import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { newEntityId } from "../../../src/identity/shard/sharding.ts";
import { entityShard, identityOf } from "../../../src/identity/stubs.ts";
import { bindings, call, createToken, dataOf, initialized, keysOf } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const get = (path: string) => call("GET", `identity/${path}`, { token: root });
const list = (path: string, query = "") => call("GET", `identity/${path}?list=true${query}`, { token: root });

async function made(fields: Record<string, unknown>): Promise<string> {
  const answer = await post("entity", fields);
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.data.id;
}

describe("an entity", () => {
  it("is answered with id and name when it is new, and with 204 when it is changed", async () => {
    const fields = { name: "web", policies: "B, a", metadata: { team: "one" } };
    const created = await post("entity", fields);
    expect([created.status, created.body.data]).toEqual([
      200,
      { id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown, name: "web", aliases: null },
    ]);
    expect((await post("entity", { name: "web", metadata: { team: "two" } })).status).toBe(204);
    const { data } = (await get("entity/name/web")).body;
    expect(Object.keys(data)).toEqual([
      "aliases",
      "creation_time",
      "direct_group_ids",
      "disabled",
      "group_ids",
      "id",
      "inherited_group_ids",
      "last_update_time",
      "merged_entity_ids",
      "metadata",
      "name",
      "namespace_id",
      "policies",
    ]);
    expect(data).toMatchObject({ policies: ["a", "b"], metadata: { team: "two" }, disabled: false, aliases: [] });
  });

  it("is looked up with others by their ids, and what is no id of one is left out", async () => {
    const ids = [await made({ name: "first" }), await made({})];
    const looked = (of: unknown) => post("lookup/entities", { ids: of });
    const answer = await looked([...ids, newEntityId(1), "none", ids[0]]);
    const { key_info: info } = dataOf<{ key_info: Record<string, unknown> }>(answer);
    expect(Object.keys(info).sort()).toEqual([...ids].sort());
    expect(info[ids[0] ?? ""]).toEqual({ name: "first", aliases: [] });
    const many = Array.from({ length: 101 }, (_, at) => `id-${at}`);
    for (const refused of [undefined, [], many]) expect((await looked(refused)).status).toBe(400);
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    expect((await call("POST", "identity/lookup/entities", { token, body: { ids } })).status).toBe(403);
  });

  it("without a name gets one", async () => {
    const answer = await post("entity", {});
    expect(answer.body.data.name).toMatch(/^entity_[0-9a-f]{20}\.root$/);
    const { body } = await get(`entity/id/${answer.body.data.id}`);
    expect(body.data).toMatchObject({ metadata: null, policies: [] });
  });

  it("is found by name in any case, and the name stays as it was sent", async () => {
    const id = await made({ name: "MixedCase" });
    expect((await get("entity/name/mixedCASE")).body.data).toMatchObject({ id, name: "MixedCase" });
    expect((await post("entity/name/MIXEDcase", { disabled: true })).status).toBe(204);
    expect((await get(`entity/id/${id}`)).body.data.disabled).toBe(true);
  });

  it("can be made at its name, and renamed at its id", async () => {
    const created = await post("entity/name/by/path", { name: "ignored" });
    expect([created.status, created.body.data.name]).toEqual([200, "by/path"]);
    expect((await post(`entity/id/${created.body.data.id}`, { name: "renamed" })).status).toBe(204);
    expect((await get("entity/name/by/path")).status).toBe(404);
    expect((await get("entity/name/renamed")).body.data.id).toBe(created.body.data.id);
  });

  // A policy that allows the path of one thing must not allow a write of another one.
  it.each(["entity", "entity-alias", "group"])(
    "%s: an id in the body changes nothing but what the path names",
    async (kind) => {
      const mount_accessor = (await call("GET", "sys/auth", { token: root })).body.data["token/"]?.accessor;
      const fields = kind === "entity-alias" ? { mount_accessor } : { metadata: { is: "mine" } };
      const mine = (await post(kind, { name: `mine of ${kind}`, ...fields })).body.data.id;
      const other = (await post(kind, { name: `other of ${kind}`, ...fields })).body.data.id;
      const before = (await get(`${kind}/id/${other}`)).body.data;
      const changed = { id: other, name: `changed ${kind}`, ...fields };
      expect((await post(`${kind}/id/${mine}`, changed)).status).toBeLessThan(300);
      if (kind !== "entity-alias") {
        expect((await post(`${kind}/name/changed ${kind}`, { ...changed, metadata: { is: "new" } })).status).toBe(204);
        expect((await get(`${kind}/id/${mine}`)).body.data.metadata).toEqual({ is: "new" });
      }
      expect((await get(`${kind}/id/${mine}`)).body.data.name).toBe(`changed ${kind}`);
      expect((await get(`${kind}/id/${other}`)).body.data).toEqual(before);
    },
  );

  it.each([
    ["entity", { id: "unknown", name: "x" }, "entity not found from id"],
    ["entity/id/unknown", { name: "x" }, "entity not found from id"],
    ["entity/batch-delete", {}, "missing entity ids to delete"],
    ["entity", { name: "x".repeat(513) }, "entity name must not be longer than 512 characters"],
  ])("%s refuses %j", async (path, body, message) => {
    const answer = await post(path, body);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("can't take the name of another, in any case", async () => {
    await made({ name: "taken" });
    const id = await made({ name: "other" });
    for (const answer of [
      await post("entity", { id, name: "TAKEN" }),
      await post(`entity/id/${id}`, { name: "taken" }),
    ]) {
      expect([answer.status, answer.body.errors]).toEqual([400, ["entity name is already in use"]]);
    }
  });

  it("can't get a name that only its blanks tell from another, and keeps one that it has", async () => {
    const id = await made({ name: "blank name" });
    for (const name of ["blank name ", " blank name", "blank  name", "blank\u00a0name", "blank name\u2800"]) {
      for (const answer of [await post("entity", { name }), await post(`entity/id/${id}`, { name })]) {
        expect([answer.status, String(answer.body.errors)]).toEqual([400, expect.stringMatching(/single blanks/)]);
      }
      const group = await post("group", { name });
      expect([group.status, String(group.body.errors)]).toEqual([400, expect.stringMatching(/single blanks/)]);
    }
    await runInDurableObject(identityOf(bindings), (directory) => directory.nameEntity(id, "blank\u00a0name", null));
    const path = "entity/name/blank%C2%A0name";
    await expect.poll(async () => (await get(path)).body.data?.name).toBe("blank\u00a0name");
    expect((await post(path, { metadata: { a: "b" } })).status).toBe(204);
    expect((await get(`entity/id/${id}`)).body.data).toMatchObject({ name: "blank\u00a0name", metadata: { a: "b" } });
  });

  it("is gone after deletion, which can be repeated", async () => {
    const ids = [await made({ name: "d1" }), await made({ name: "d2" }), await made({ name: "d3" }), await made({})];
    for (let i = 0; i < 2; i++) {
      expect((await call("DELETE", `identity/entity/id/${ids[0]}`, { token: root })).status).toBe(204);
      expect((await call("DELETE", "identity/entity/name/D2", { token: root })).status).toBe(204);
      expect((await post("entity/batch-delete", { entity_ids: ids.slice(2) })).status).toBe(204);
    }
    for (const id of ids) expect((await get(`entity/id/${id}`)).status).toBe(404);
  });

  it("is only for callers whose policies allow it", async () => {
    expect((await call("POST", "identity/entity", { body: { name: "x" } })).status).toBe(403);
    expect((await call("GET", "identity/entity/name/web", { token: "s.x" })).status).toBe(403);
  });
});

describe("a rule holds for every spelling of a name", () => {
  it.each(["entity", "group"])("of an %s", async (kind) => {
    await post(kind, { name: "Guarded", metadata: { kept: "yes" } });
    await post(kind, { name: "Free" });
    await call("POST", "sys/policies/acl/delegate", {
      token: root,
      body: {
        policy: `path "identity/${kind}/name/*" { capabilities = ["create", "read", "update", "delete"] }
          path "identity/${kind}/name/Guarded" { capabilities = ["deny"] }`,
      },
    });
    const token = (await createToken(root, { policies: ["delegate"] })).client_token;
    for (const name of ["Guarded", "guarded", "GUARDED"]) {
      const path = `identity/${kind}/name/${name}`;
      expect((await call("GET", path, { token })).status).toBe(403);
      expect((await call("POST", path, { token, body: { metadata: { kept: "no" } } })).status).toBe(403);
      expect((await call("DELETE", path, { token })).status).toBe(403);
    }
    expect((await get(`${kind}/name/guarded`)).body.data.metadata).toEqual({ kept: "yes" });
    expect((await call("GET", `identity/${kind}/name/FREE`, { token })).status).toBe(200);
    expect((await call("DELETE", `identity/${kind}/name/FREE`, { token })).status).toBe(204);
    expect((await get(`${kind}/name/Free`)).status).toBe(404);
  });
});

describe("CVE-2024-9180, CVE-2025-54996, CVE-2025-64761: root through identity", () => {
  const spellings = ["root", "rooT", ["Root"], ["rOoT"], ["root "], " root", "default,root", ["x", " ROOT "]];

  it.each(["entity", "group"])(
    "no spelling reaches a new or an existing %s, and nothing else is changed",
    async (kind) => {
      const name = `careful ${kind}`;
      await post(kind, { name, policies: ["before"], metadata: { kept: "yes" } });
      const id = (await get(`${kind}/name/${name}`)).body.data.id;
      const before = (await get(`${kind}/id/${id}`)).body.data;
      for (const policies of spellings) {
        const body = { policies, metadata: { kept: "no" } };
        const writes = [
          await post(kind, { name, ...body }),
          await post(kind, { id, ...body }),
          await post(`${kind}/id/${id}`, body),
          await post(`${kind}/name/${name}`, body),
          await post(kind, { name: `new ${kind}`, ...body }),
        ];
        for (const { status, body: answer } of writes) {
          expect([status, answer.errors]).toEqual([400, ["policies cannot contain root"]]);
        }
      }
      expect((await get(`${kind}/id/${id}`)).body.data).toEqual(before);
      expect((await get(`${kind}/name/new ${kind}`)).status).toBe(404);
    },
  );
});

describe("lists of entities", () => {
  it("by id tell name and aliases, by name only names; pages follow each other", async () => {
    for (const name of ["l-a", "l-B", "l-c"]) await made({ name });
    const names = keysOf(await list("entity/name"));
    expect(names.filter((name) => name.startsWith("l-"))).toEqual(["l-a", "l-B", "l-c"]);
    expect((await list("entity/name", "&after=l-a&limit=2")).body.data.keys).toEqual(["l-B", "l-c"]);
    expect((await list("entity/name", "&after=L-A&limit=1")).body.data).toEqual({ keys: ["l-B"] });

    const all = await list("entity/id");
    const ids = keysOf(all);
    expect(ids).toEqual(ids.toSorted());
    const paged: string[] = [];
    for (let after = ""; ; after = paged.at(-1) ?? "") {
      const page = await list("entity/id", `&limit=3&after=${after}`);
      if (page.status === 404) break;
      paged.push(...keysOf(page));
    }
    expect(paged).toEqual(ids);
    const { key_info: info } = dataOf<{ key_info: Record<string, { name: string }> }>(all);
    const first = ids.find((id) => info[id]?.name === "l-B");
    expect((await get(`entity/id/${first}`)).body.data.name).toBe("l-B");
  });

  it("longer than one message are complete", async () => {
    const ids = Array.from({ length: 2100 }, () => newEntityId(7));
    await runInDurableObject(entityShard(bindings, 7), async (shard) => {
      const nothing = { metadata: null, policies: null, disabled: null };
      for (const id of ids) await shard.createEntity(id, nothing, Date.now());
    });
    const keys = keysOf(await list("entity/id"));
    expect(keys).toEqual(expect.arrayContaining(ids));
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("lookup of an entity", () => {
  it("by id, name or alias; nothing found is no error", async () => {
    const id = await made({ name: "sought" });
    const accessor = (await call("GET", "sys/auth", { token: root })).body.data["token/"]?.accessor ?? "";
    const alias = await post("entity-alias", { name: "Sought-Alias", canonical_id: id, mount_accessor: accessor });
    for (const body of [
      { id },
      { name: "SOUGHT" },
      { alias_id: alias.body.data.id },
      { alias_name: "sought-alias", alias_mount_accessor: accessor },
    ]) {
      expect((await post("lookup/entity", body)).body.data.id).toBe(id);
    }
    expect((await post("lookup/entity", { name: "nobody" })).status).toBe(204);
    expect((await post("lookup/entity", { alias_name: "x", alias_mount_accessor: "y" })).status).toBe(204);
  });

  it.each([
    [{}, "query parameter not supplied"],
    [{ id: "a", name: "b" }, "query parameter conflict; please supply distinct set of query parameters"],
    [{ alias_name: "a" }, "both 'alias_name' and 'alias_mount_accessor' needs to be set"],
    [{ alias_mount_accessor: "a" }, "both 'alias_name' and 'alias_mount_accessor' needs to be set"],
    [
      { alias_name: "a", alias_mount_accessor: "b", id: "c" },
      "query parameter conflict; please supply distinct set of query parameters",
    ],
  ])("refuses %j", async (body, message) => {
    for (const path of ["lookup/entity", "lookup/group"]) {
      const answer = await post(path, body);
      expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
    }
  });
});
