import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Identity } from "../../../src/identity/directory/identity.ts";
import { forgetEntities, loadEntity } from "../../../src/identity/entity-copies.ts";
import { entityForLogin } from "../../../src/identity/entity-for-login.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { homeOf, identityOf } from "../../../src/identity/stubs.ts";
import { atCalls, atNth, failing } from "../../support/calls.ts";
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
    [
      { to_entity_id: "ID", from_entity_ids: Array.from({ length: 101 }, (_, at) => `nobody ${at}`) },
      "from_entity_ids must not have more than 100 ids",
    ],
  ])("of %j is refused", async (fields, message) => {
    const { id } = await entity({});
    const body = JSON.parse(JSON.stringify(fields).replaceAll('"ID"', JSON.stringify(id)));
    const refused = await merge(body);
    expect([refused.status, refused.body.errors]).toEqual([400, [message]]);
  });

  it.each([
    ["the groups", () => failing(Identity, "beginMerge", "crash")],
    ["the first alias", () => failing(EntityShard, "reserveAlias", "crash")],
    ["the name of an alias", () => failing(EntityShard, "claimAlias", "crash")],
    ["the new place of an alias", () => failing(EntityShard, "activateAlias", "crash")],
    ["the old place of an alias", () => failing(EntityShard, "dropAlias", "crash")],
    ["the list of merged entities", () => failing(EntityShard, "addMerged", "crash")],
    ["the merged entity", () => failing(EntityShard, "mergeInto", "crash")],
    ["what was merged before", () => failing(EntityShard, "redirectMerged", "crash")],
    ["its name", () => failing(Identity, "forgetEntities", "crash")],
  ])(
    "that a crash interrupts at %s lets the alias log in, and is completed by the same request",
    async (what, crash) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const target = await entity({ [first]: `eve ${what}` });
      const source = await entity({ [second]: `eve ${what}` });
      const earlier = await entity({});
      await merge({ to_entity_id: source.id, from_entity_ids: [earlier.id] });
      const group = (await post("group", { name: `g ${what}`, member_entity_ids: source.id })).body.data.id;
      const fault = crash();
      const body = { to_entity_id: target.id, from_entity_ids: [source.id] };
      expect((await merge(body)).status).toBeGreaterThanOrEqual(500);
      fault.end();
      expect([target.id, source.id]).toContain(await login(second, `eve ${what}`));
      expect([(await merge(body)).status, (await merge(body)).status]).toEqual([204, 204]);
      expect((await read(target.id)).merged_entity_ids).toEqual([earlier.id, source.id]);
      expect(await login(second, `eve ${what}`)).toBe(target.id);
      expect((await read(target.id)).group_ids).toEqual([group]);
      expect(await read(source.id)).toBeUndefined();
    },
  );
});

/** The id of the entity whose policies a token of this entity has; undefined when it is refused. */
async function standsFor(id: string): Promise<string | undefined> {
  forgetEntities();
  return (await loadEntity(bindings, id))?.entity.id;
}

describe("merges that meet", () => {
  it("leave one of two entities that are merged into each other", async () => {
    for (let attempt = 0; attempt < 3; attempt++) {
      const one = await entity({ [first]: `left ${attempt}` });
      const other = await entity({ [second]: `right ${attempt}` });
      const answers = await Promise.all([
        merge({ to_entity_id: one.id, from_entity_ids: [other.id] }),
        merge({ to_entity_id: other.id, from_entity_ids: [one.id] }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
      const left = answers[0]?.status === 204 ? one.id : other.id;
      expect(await aliasesOf(left)).toEqual([`left ${attempt}`, `right ${attempt}`]);
      expect([await standsFor(one.id), await standsFor(other.id)]).toEqual([left, left]);
    }
  });

  it("of three entities in a circle leave one of them", async () => {
    const ids = [(await entity({})).id, (await entity({})).id, (await entity({})).id];
    await Promise.all(ids.map((id, at) => merge({ to_entity_id: id, from_entity_ids: [ids.at(at - 1)] })));
    const left: string[] = [];
    for (const id of ids) if (await read(id)) left.push(id);
    expect(left).toHaveLength(1);
    expect(await Promise.all(ids.map((id) => standsFor(id)))).toEqual(ids.map(() => left[0]));
  });

  it("are both answered as done when they ask for the same", async () => {
    const target = await entity({ [first]: "same" });
    const source = await entity({ [second]: "same" });
    const body = { to_entity_id: target.id, from_entity_ids: [source.id] };
    expect((await Promise.all([merge(body), merge(body)])).map(({ status }) => status)).toEqual([204, 204]);
    expect(await aliasesOf(target.id)).toEqual(["same", "same"]);
  });

  it("are refused while a crash has interrupted one of the same entities, until that is repeated", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const [target, source, third] = [await entity({}), await entity({}), await entity({})];
    const fault = failing(EntityShard, "mergeInto", "crash");
    const body = { to_entity_id: target.id, from_entity_ids: [source.id] };
    expect((await merge(body)).status).toBeGreaterThanOrEqual(500);
    fault.end();
    for (const [to, from] of [
      [source, target],
      [source, third],
      [third, source],
      [third, target],
    ]) {
      const refused = await merge({ to_entity_id: to?.id, from_entity_ids: [from?.id] });
      expect([refused.status, refused.body.errors]).toEqual([400, [expect.stringContaining("repeat that merge")]]);
    }
    expect([await standsFor(source.id), await standsFor(third.id)]).toEqual([source.id, third.id]);
    expect((await merge(body)).status).toBe(204);
    expect((await merge({ to_entity_id: third.id, from_entity_ids: [target.id] })).status).toBe(204);
    expect([await standsFor(source.id), await standsFor(target.id)]).toEqual([third.id, third.id]);
    expect((await read(third.id)).merged_entity_ids).toEqual([source.id, target.id]);
  });

  it.each(["source", "target"] as const)(
    "continue after a crash when the %s of the interrupted one is deleted",
    async (gone) => {
      vi.spyOn(console, "error").mockImplementation(() => {});
      const entities = { target: await entity({}), source: await entity({}) };
      const fault = failing(EntityShard, "mergeInto", "crash");
      const body = { to_entity_id: entities.target.id, from_entity_ids: [entities.source.id] };
      expect((await merge(body)).status).toBeGreaterThanOrEqual(500);
      fault.end();
      await call("DELETE", `identity/entity/id/${entities[gone].id}`, { token: root });
      const left = entities[gone === "source" ? "target" : "source"];
      const other = await entity({});
      expect((await merge({ to_entity_id: other.id, from_entity_ids: [left.id] })).status).toBe(204);
      expect(await standsFor(entities[gone].id)).toBeUndefined();
      expect((await merge(body)).status).toBe(400);
    },
  );

  it("that are refused after they began leave nothing of themselves", async () => {
    const target = await entity({ [first]: "refused" });
    const [source, earlier] = [await entity({}), await entity({})];
    expect((await merge({ to_entity_id: source.id, from_entity_ids: [earlier.id] })).status).toBe(204);
    // A second alias of the mount comes when the aliases have been compared.
    const late = atNth(EntityShard, "addMerged", 1, async (proceed) => {
      await post("entity-alias", { name: "too late", mount_accessor: first, canonical_id: source.id });
      return proceed();
    });
    const refused = await merge({ to_entity_id: target.id, from_entity_ids: [source.id] });
    expect([refused.status, late.calls.length]).toEqual([400, 1]);
    expect((await read(target.id)).merged_entity_ids).toBeNull();
    expect((await read(source.id)).merged_entity_ids).toEqual([earlier.id]);
    expect(await aliasesOf(source.id)).toEqual(["too late"]);
    const back = { to_entity_id: source.id, from_entity_ids: [target.id], force: true };
    expect((await merge(back)).status).toBe(204);
  });
});

describe("what is written during a merge", () => {
  /** Merges while something is written, after the aliases have moved and before the source ends. */
  async function mergeWhile(target: string, source: string, write: () => Promise<unknown>): Promise<void> {
    const late = atNth(EntityShard, "mergeInto", 1, async (proceed) => {
      await write();
      return proceed();
    });
    expect((await merge({ to_entity_id: target, from_entity_ids: [source] })).status).toBe(204);
    expect(late.calls.length).toBeGreaterThan(0);
  }

  it("moves too: an alias of the source", async () => {
    const [target, source] = [await entity({}), await entity({ [first]: "moves first" })];
    await mergeWhile(target.id, source.id, () =>
      post("entity-alias", { name: "moves late", mount_accessor: second, canonical_id: source.id }),
    );
    expect(await aliasesOf(target.id)).toEqual(["moves first", "moves late"]);
    expect(await login(second, "moves late")).toBe(target.id);
  });

  it("moves too: an alias that was moved back to the source", async () => {
    const [target, source] = [await entity({}), await entity({ [first]: "to and fro" })];
    await mergeWhile(target.id, source.id, () =>
      post("entity-alias", { id: source.aliases[0], canonical_id: source.id }),
    );
    expect(await aliasesOf(target.id)).toEqual(["to and fro"]);
    expect(await login(first, "to and fro")).toBe(target.id);
  });

  it.each([
    ["is written again: an alias that the source has reserved", "claimAlias", []],
    ["moves too: an alias whose name leads to the source already", "activateAlias", ["held at activateAlias"]],
  ] as const)("%s", async (_, step, moved) => {
    const [target, source] = [await entity({}), await entity({})];
    const name = `held at ${step}`;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let arrived = () => {};
    const reached = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const fault = atCalls(EntityShard, step, async ({ args, proceed }) => {
      if (!JSON.stringify(args).includes(source.id)) return proceed();
      fault.end();
      arrived();
      await held;
      return proceed();
    });
    const written = post("entity-alias", { name, mount_accessor: first, canonical_id: source.id });
    await reached;
    expect((await merge({ to_entity_id: target.id, from_entity_ids: [source.id] })).status).toBe(204);
    release();
    // The source has ended by now.
    expect((await written).status).toBe(400);
    expect(await aliasesOf(target.id)).toEqual(moved);
    const repeated = await post("entity-alias", { name, mount_accessor: first, canonical_id: target.id });
    expect(repeated.status).toBeLessThan(300);
    expect(await aliasesOf(target.id)).toEqual([name]);
    expect(await login(first, name)).toBe(target.id);
  });

  it("counts for the target: a membership of the source", async () => {
    const [target, source, other] = [await entity({}), await entity({}), await entity({})];
    const group = (await post("group", { name: "g-late", member_entity_ids: [other.id] })).body.data.id;
    await mergeWhile(target.id, source.id, () =>
      post(`group/id/${group}`, { member_entity_ids: [source.id, other.id] }),
    );
    expect((await read(target.id)).group_ids).toEqual([group]);
    const { data } = (await call("GET", `identity/group/id/${group}`, { token: root })).body;
    expect(data.member_entity_ids).toEqual([target.id, other.id].sort());
  });

  it("ends the merge: the deletion of the source", async () => {
    const [target, source] = [await entity({}), await entity({})];
    const gone = atNth(EntityShard, "mergeInto", 1, async (proceed) => {
      await call("DELETE", `identity/entity/id/${source.id}`, { token: root });
      return proceed();
    });
    expect((await merge({ to_entity_id: target.id, from_entity_ids: [source.id] })).status).toBe(400);
    expect(gone.calls).toHaveLength(1);
    expect(await standsFor(source.id)).toBeUndefined();
  });
});

it("an entity is merged from 100 others at most", async () => {
  const [target, source, another] = [await entity({}), await entity({}), await entity({})];
  const before = async (id: string, number: number) =>
    homeOf(bindings, id)?.addMerged(
      id,
      Array.from({ length: number }, (_, at) => `${id} ${at}`),
    );
  await before(target.id, 60);
  await before(source.id, 39);
  const both = await merge({ to_entity_id: target.id, from_entity_ids: [source.id, another.id] });
  expect([both.status, both.body.errors[0]]).toEqual([400, expect.stringContaining("100 entities")]);
  expect(await standsFor(source.id)).toBe(source.id);
  expect((await merge({ to_entity_id: target.id, from_entity_ids: [source.id] })).status).toBe(204);
  expect((await merge({ to_entity_id: target.id, from_entity_ids: [another.id] })).status).toBe(400);
});
