import { beforeAll, describe, expect, it } from "vitest";
import { call, dataOf, initialized } from "../../support/service.ts";

let root: string;
let token: string;
let machines: string;

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/auth/machines", { token: root, body: { type: "aws" } });
  const { data } = (await call("GET", "sys/auth", { token: root })).body;
  token = data["token/"]?.accessor ?? "";
  machines = data["machines/"]?.accessor ?? "";
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const get = (path: string) => call("GET", `identity/${path}`, { token: root });

const entity = async (name: string): Promise<string> => (await post("entity", { name })).body.data.id;

describe("an alias", () => {
  it("belongs to an entity and a mount, and is shown with both", async () => {
    const id = await entity("one");
    const added = await post("entity-alias", {
      name: "One@example",
      mount_accessor: machines,
      entity_id: id,
      custom_metadata: { a: "b" },
    });
    expect([added.status, added.body.data]).toEqual([
      200,
      { id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown, canonical_id: id },
    ]);
    const read = (await get(`entity-alias/id/${added.body.data.id}`)).body.data;
    expect(read).toMatchObject({
      canonical_id: id,
      name: "One@example",
      mount_accessor: machines,
      mount_path: "auth/machines/",
      mount_type: "aws",
      metadata: null,
      custom_metadata: { a: "b" },
      merged_from_canonical_ids: null,
      local: false,
    });
    const [inEntity] = dataOf<{ aliases: [object] }>(await get(`entity/id/${id}`)).aliases;
    expect({ ...inEntity, namespace_id: "root", custom_metadata: {} }).toEqual({
      ...Object(read),
      custom_metadata: {},
    });
    const listed = (await call("GET", "identity/entity-alias/id?list=true", { token: root })).body.data;
    expect(listed.keys).toContain(added.body.data.id);
    const { canonical_id, name, mount_accessor, mount_path, mount_type, metadata, custom_metadata, local } =
      Object(read);
    expect(Object(listed.key_info)[added.body.data.id]).toEqual({
      ...{ canonical_id, name, mount_accessor, mount_path, mount_type, metadata, custom_metadata, local },
    });
    expect((await call("GET", "identity/entity/id?list=true", { token: root })).body.data.key_info).toMatchObject({
      [id]: { name: "one", aliases: [{ id: added.body.data.id, mount_type: "aws" }] },
    });
  });

  it("without an entity makes one", async () => {
    const added = await post("entity-alias", { name: "lonely", mount_accessor: machines });
    expect((await get(`entity/id/${added.body.data.canonical_id}`)).body.data).toMatchObject({
      name: expect.stringMatching(/^entity_/) as unknown,
      aliases: [{ name: "lonely" }],
    });
  });

  it("CVE-2025-54998: written again as it is changes nothing; in other case it is the same alias", async () => {
    const id = await entity("same");
    const fields = { name: "same-alias", mount_accessor: machines, canonical_id: id, custom_metadata: { k: "v" } };
    const added = await post("entity-alias", fields);
    expect((await post("entity-alias", fields)).status).toBe(204);
    const renamed = await post("entity-alias", { ...fields, name: "SAME-alias" });
    expect([renamed.status, renamed.body.data.id]).toEqual([200, added.body.data.id]);
    const other = await entity("same-other");
    const moved = await post("entity-alias", { ...fields, canonical_id: other });
    expect(moved.body.data).toEqual({ id: added.body.data.id, canonical_id: other });
    expect((await get(`entity/id/${id}`)).body.data.aliases).toEqual([]);
  });

  it("is one for each entity and mount, and each name one on its mount", async () => {
    const [first, second] = [await entity("first"), await entity("second")];
    await post("entity-alias", { name: "first-m", mount_accessor: machines, canonical_id: first });
    const held = await post("entity-alias", { name: "second-m", mount_accessor: machines, canonical_id: second });
    await post("entity-alias", { name: "first-t", mount_accessor: token, canonical_id: first });
    const refusals = [
      [
        await post("entity-alias", { name: "another", mount_accessor: machines, canonical_id: first }),
        "Alias already exists for requested entity and mount accessor",
      ],
      [
        await post(`entity-alias/id/${held.body.data.id}`, { canonical_id: first }),
        "Alias already exists for requested entity and mount accessor",
      ],
      [
        await post("entity-alias", { id: held.body.data.id, name: "FIRST-m" }),
        "alias with combination of mount accessor and name already exists",
      ],
      [
        await post("entity-alias", { id: held.body.data.id, canonical_id: "unknown" }),
        "given 'canonical_id' is not associated with an entity",
      ],
    ] as const;
    for (const [answer, message] of refusals) {
      expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
    }
    expect((await get(`entity/id/${first}`)).body.data.aliases).toHaveLength(2);
    expect((await get(`entity/id/${second}`)).body.data.aliases).toMatchObject([{ name: "second-m" }]);
  });

  it.each([
    [{}, "'id' or 'mount_accessor' and 'name' must be provided"],
    [{ name: "x" }, "'id' or 'mount_accessor' and 'name' must be provided"],
    [{ name: "x", mount_accessor: "auth_nowhere_1" }, "invalid mount accessor"],
    [{ id: "unknown", name: "x" }, "invalid alias ID provided"],
  ])("refuses %j", async (body, message) => {
    const answer = await post("entity-alias", body);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("refuses an entity that is none", async () => {
    const answer = await post("entity-alias", { name: "x", mount_accessor: machines, canonical_id: "unknown" });
    expect([answer.status, answer.body.errors]).toEqual([400, ["invalid canonical ID"]]);
  });

  it("goes by itself or with its entity", async () => {
    const id = await entity("leaving");
    const one = await post("entity-alias", { name: "leaving-m", mount_accessor: machines, canonical_id: id });
    const two = await post("entity-alias", { name: "leaving-t", mount_accessor: token, canonical_id: id });
    for (let i = 0; i < 2; i++) {
      const gone = await call("DELETE", `identity/entity-alias/id/${one.body.data.id}`, { token: root });
      expect(gone.status).toBe(204);
    }
    expect((await get(`entity/id/${id}`)).body.data.aliases).toHaveLength(1);
    await call("DELETE", `identity/entity/id/${id}`, { token: root });
    expect((await get(`entity-alias/id/${two.body.data.id}`)).status).toBe(404);
  });
});
