import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Identity } from "../../../src/identity/directory/identity.ts";
import { entityForLogin } from "../../../src/identity/login.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { forgetEntities } from "../../../src/identity/standing.ts";
import { identityOf } from "../../../src/identity/stubs.ts";
import { failing } from "../../support/calls.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";

let root: string;
/** Accessors of two mounts. */
let first: string;
let second: string;
let made = 0;

beforeAll(async () => {
  root = await initialized();
  for (const path of ["first", "second"])
    await call("POST", `sys/auth/${path}`, { token: root, body: { type: "jwt" } });
  const { data } = (await call("GET", "sys/auth", { token: root })).body;
  first = String(data["first/"]?.accessor);
  second = String(data["second/"]?.accessor);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const read = async (id: string) => (await call("GET", `identity/entity/id/${id}`, { token: root })).body?.data;
const merge = (body: Record<string, unknown>) => post("entity/merge", body);

/** An entity with an alias of this name on each of the mounts. */
async function entity(aliases: Record<string, string>) {
  const id: string = (await post("entity", { name: `entity ${made++}` })).body.data.id;
  const ids: string[] = [];
  for (const [mount_accessor, name] of Object.entries(aliases)) {
    ids.push((await post("entity-alias", { name, mount_accessor, canonical_id: id })).body.data.id);
  }
  return { id, aliases: ids };
}

async function aliasesOf(id: string): Promise<string[]> {
  const answer = await call("GET", `identity/entity/id/${id}`, { token: root });
  const { aliases } = dataOf<{ aliases: { name: string }[] | null }>(answer);
  return (aliases ?? []).map(({ name }) => name).sort();
}

async function login(mountAccessor: string, name: string): Promise<string> {
  forgetEntities();
  const found = await entityForLogin(bindings, { mountAccessor, name, metadata: null });
  if (!found.ok) throw new Error("the login was refused");
  return found.value.entity.id;
}

describe("a merge of entities", () => {
  it("moves aliases and memberships, and deletes what was merged; duplicate ids count once", async () => {
    const target = await entity({ [first]: "ann" });
    const source = await entity({ [second]: "Ann@example" });
    const group = (await post("group", { name: "g-moved", member_entity_ids: source.id })).body.data.id;
    const merged = await merge({ to_entity_id: target.id, from_entity_ids: [source.id, source.id] });
    expect([merged.status, merged.body]).toEqual([204, null]);
    expect(await aliasesOf(target.id)).toEqual(["Ann@example", "ann"]);
    expect((await read(target.id)).group_ids).toEqual([group]);
    expect(await read(source.id)).toBeUndefined();
    expect(await login(second, "ann@EXAMPLE")).toBe(target.id);
  });

  it("is refused while two of them have an alias on one mount, and changes nothing", async () => {
    const target = await entity({ [first]: "bob" });
    const source = await entity({ [first]: "robert", [second]: "bob@example" });
    const refused = await merge({ to_entity_id: target.id, from_entity_ids: [source.id] });
    expect([refused.status, refused.body.errors[0]]).toEqual([400, expect.stringContaining(String(source.aliases[0]))]);
    expect([await aliasesOf(target.id), await aliasesOf(source.id)]).toEqual([["bob"], ["bob@example", "robert"]]);
  });

  it("is denied while a membership of either is tampered with, and changes nothing", async () => {
    for (const tampered of ["target", "source"] as const) {
      const name = `fay ${tampered}`;
      const entities = { target: await entity({}), source: await entity({ [second]: name }) };
      await post("group", { name: `g ${name}`, member_entity_ids: entities[tampered].id });
      const where = `entity_id = '${entities[tampered].id}'`;
      await alter(identityOf(bindings), `UPDATE group_entities SET seal = x'00' WHERE ${where}`);
      const refused = await merge({ to_entity_id: entities.target.id, from_entity_ids: [entities.source.id] });
      expect(refused.status).toBe(403);
      expect([await aliasesOf(entities.target.id), await aliasesOf(entities.source.id)]).toEqual([[], [name]]);
    }
  });

  it("keeps the alias of the target when it is forced", async () => {
    const target = await entity({ [first]: "cat" });
    const source = await entity({ [first]: "catherine", [second]: "cat@example" });
    expect((await merge({ to_entity_id: target.id, from_entity_ids: [source.id], force: true })).status).toBe(204);
    expect(await aliasesOf(target.id)).toEqual(["cat", "cat@example"]);
    expect(await login(first, "catherine")).not.toBe(target.id);
  });

  it("keeps the alias that is named", async () => {
    const target = await entity({ [first]: "dan" });
    const source = await entity({ [first]: "daniel" });
    const keep = { conflicting_alias_ids_to_keep: source.aliases };
    expect((await merge({ to_entity_id: target.id, from_entity_ids: [source.id], ...keep })).status).toBe(204);
    expect(await aliasesOf(target.id)).toEqual(["daniel"]);
    expect(await login(first, "daniel")).toBe(target.id);
  });

  it.each([
    [{}, "missing entity id to merge to"],
    [{ to_entity_id: "ID" }, "missing entity ids to merge from"],
    [{ to_entity_id: "ID", from_entity_ids: ["ID"] }, "to_entity_id should not be present in from_entity_ids"],
    [{ to_entity_id: "ID", from_entity_ids: ["nobody"] }, "entity id to merge from is invalid"],
    [{ to_entity_id: "nobody", from_entity_ids: ["ID"] }, "entity id to merge to is invalid"],
  ])("of %j is refused", async (fields, message) => {
    const { id } = await entity({});
    const body = JSON.parse(JSON.stringify(fields).replaceAll('"ID"', JSON.stringify(id)));
    const refused = await merge(body);
    expect([refused.status, refused.body.errors]).toEqual([400, [message]]);
  });

  it.each([
    ["the groups", () => failing(Identity, "copyMemberships", "crash")],
    ["the first alias", () => failing(EntityShard, "reserveAlias", "crash")],
    ["the name of an alias", () => failing(EntityShard, "claimAlias", "crash")],
    ["the new place of an alias", () => failing(EntityShard, "activateAlias", "crash")],
    ["the old place of an alias", () => failing(EntityShard, "dropAlias", "crash")],
    ["the merged entity", () => failing(EntityShard, "deleteEntities", "crash")],
    ["its name", () => failing(Identity, "forgetEntities", "crash")],
  ])(
    "that a crash interrupts at %s lets the alias log in, and is completed by the same request",
    async (what, crash) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const target = await entity({ [first]: `eve ${what}` });
      const source = await entity({ [second]: `eve ${what}` });
      const group = (await post("group", { name: `g ${what}`, member_entity_ids: source.id })).body.data.id;
      const fault = crash();
      const body = { to_entity_id: target.id, from_entity_ids: [source.id] };
      expect((await merge(body)).status).toBeGreaterThanOrEqual(500);
      fault.end();
      expect([target.id, source.id]).toContain(await login(second, `eve ${what}`));
      const again = await merge(body);
      if (again.status !== 204) expect(await read(source.id)).toBeUndefined();
      expect(await login(second, `eve ${what}`)).toBe(target.id);
      expect((await read(target.id)).group_ids).toEqual([group]);
      expect(await read(source.id)).toBeUndefined();
    },
  );
});
