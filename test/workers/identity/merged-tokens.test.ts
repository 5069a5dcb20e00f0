import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { forgetEntities, loadEntity } from "../../../src/identity/entity-copies.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { homeOf } from "../../../src/identity/stubs.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { atNth, failing } from "../../support/calls.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { holdInventory, holdSweeps } from "../../support/trees.ts";

// A token names its entity for ever. When that was merged into another one, the token is one of the other.

let root: string;
let made = 0;

beforeEach(holdSweeps);
beforeEach(holdInventory);

beforeAll(async () => {
  root = await initialized();
  await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies: "default,mine" });
  await policy("mine", 'path "sys/capabilities-self" { capabilities = ["update"] }');
  for (const name of ["old", "new", "group"]) {
    await policy(name, `path "cubbyhole/${name}/*" { capabilities = ["read"] }`);
  }
  await policy("denies", 'path "cubbyhole/group/*" { capabilities = ["deny"] }');
});

afterEach(() => {
  vi.restoreAllMocks();
});

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });
const policy = (name: string, text: string) => post(`sys/policies/acl/${name}`, { policy: text });
const merge = (to: string, ...from: string[]) =>
  post("identity/entity/merge", { to_entity_id: to, from_entity_ids: from });
const status = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;
const remove = (id: string) => call("DELETE", `identity/entity/id/${id}`, { token: root });

/** An entity with a token of each type. */
async function person(policies: string[]) {
  const alias = `person ${made++}`;
  const create = async (type: string) => {
    const body = { entity_alias: alias, type, policies: ["mine"] };
    const { auth } = (await post("auth/token/create/person", body)).body;
    return { token: String(auth.client_token), id: String(auth.entity_id) };
  };
  const { token, id } = await create("service");
  const { token: batch } = await create("batch");
  const read = await call("GET", `identity/entity/id/${id}`, { token: root });
  // An entity has one alias of a mount.
  for (const alias of dataOf<{ aliases: { id: string }[] }>(read).aliases) {
    await call("DELETE", `identity/entity-alias/id/${alias.id}`, { token: root });
  }
  await post(`identity/entity/id/${id}`, { policies });
  return { id, token, batch };
}

async function reach(token: string): Promise<string[]> {
  const names = ["old", "new", "group"];
  const { body } = await post("sys/capabilities-self", { paths: names.map((name) => `cubbyhole/${name}/x`) }, token);
  return names.filter((name) => JSON.stringify(body.data?.[`cubbyhole/${name}/x`]) === '["read"]');
}

describe("a token of a merged entity", () => {
  it("has the policies of the other one and of its groups, and shows the entity that it was made for", async () => {
    const [target, source] = [await person(["new"]), await person(["old"])];
    await post("identity/group", { policies: ["group"], member_entity_ids: [target.id] });
    expect(await reach(source.token)).toEqual(["old"]);
    expect((await merge(target.id, source.id)).status).toBe(204);
    for (const token of [source.token, source.batch]) {
      expect(await reach(token)).toEqual(["new", "group"]);
      const { data } = (await call("GET", "auth/token/lookup-self", { token })).body;
      expect(data).toMatchObject({ entity_id: source.id, identity_policies: ["group", "new"] });
    }
    await post(`identity/entity/id/${target.id}`, { policies: [] });
    expect(await reach(source.token)).toEqual(["group"]);
  });

  it("never loses what a group of the merged entity denies", async () => {
    const [target, source] = [await person(["group"]), await person(["group"])];
    await post("identity/group", { policies: ["denies"], member_entity_ids: [source.id] });
    const seen: string[][] = [];
    const look = async <T>(proceed: () => Promise<T>): Promise<T> => {
      const answer = await proceed();
      forgetEntities();
      seen.push(await reach(source.token));
      return answer;
    };
    atNth(EntityShard, "addMerged", 1, look);
    atNth(EntityShard, "mergeInto", 1, look);
    expect((await merge(target.id, source.id)).status).toBe(204);
    expect(await reach(source.token)).toEqual([]);
    expect(seen).toEqual([[], []]);
  });

  it("follows a second merge", async () => {
    const [one, two, three] = [await person([]), await person([]), await person(["new"])];
    await merge(two.id, one.id);
    await merge(three.id, two.id);
    expect([await reach(one.token), await reach(two.batch)]).toEqual([["new"], ["new"]]);
    const shown = await call("GET", `identity/entity/id/${three.id}`, { token: root });
    expect(dataOf<{ merged_entity_ids: string[] }>(shown).merged_entity_ids).toEqual([one.id, two.id]);
    // The first one leads there itself: what was merged in between is not asked.
    await alter(home(two.id), "DELETE FROM merged WHERE id = ?", two.id);
    forgetEntities();
    expect([await reach(one.token), await reach(two.token)]).toEqual([["new"], []]);
  });

  it.each([
    ["disabled", (id: string) => post(`identity/entity/id/${id}`, { disabled: true })],
    ["deleted", (id: string) => remove(id)],
    ["deleted with others", (id: string) => post("identity/entity/batch-delete", { entity_ids: [id] })],
    ["told to end its tokens", (id: string) => post(`identity/entity/id/${id}/not-before`, {})],
  ])("is refused when the other one is %s", async (_, end) => {
    const [target, source, earlier] = [await person([]), await person([]), await person([])];
    await merge(source.id, earlier.id);
    await merge(target.id, source.id);
    const tokens = [target, source, earlier].flatMap(({ token, batch }) => [token, batch]);
    expect(await Promise.all(tokens.map(status))).toEqual(tokens.map(() => 200));
    expect((await end(target.id)).status).toBe(204);
    expect(await Promise.all(tokens.map(status))).toEqual(tokens.map(() => 403));
  });

  it("is ended by a time for the other one that a crash interrupted, and the request is repeated", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const [target, source] = [await person([]), await person([])];
    await merge(target.id, source.id);
    const path = `identity/entity/id/${target.id}/not-before`;
    const fault = atNth(System, "addWatermark", 2, () => {
      throw new Error("crash");
    });
    expect((await post(path, {})).status).toBeGreaterThanOrEqual(500);
    fault.end();
    const marked = (await systemOf(bindings).watermarks()).map(({ scope }) => scope);
    expect([marked.includes(`entity:${source.id}`), marked.includes(`entity:${target.id}`)]).toEqual([true, false]);
    expect((await post(path, {})).status).toBe(204);
    expect([await status(source.token), await status(target.token)]).toEqual([403, 403]);
  });

  it("is used in every state in which a crash can leave the merge, with the groups of both", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    for (const step of ["addMerged", "mergeInto", "redirectMerged"] as const) {
      const [target, source, earlier] = [await person(["new"]), await person(["old"]), await person([])];
      await merge(source.id, earlier.id);
      const fault = failing(EntityShard, step, "crash");
      expect((await merge(target.id, source.id)).status).toBeGreaterThanOrEqual(500);
      fault.end();
      forgetEntities();
      const now = step === "redirectMerged" ? ["new"] : ["old"];
      expect([step, await reach(source.token), await reach(earlier.token)]).toEqual([step, now, now]);
      expect((await merge(target.id, source.id)).status).toBe(204);
      expect([await reach(source.token), await reach(earlier.token)]).toEqual([["new"], ["new"]]);
    }
  });
});

describe("the record that an entity was merged", () => {
  it("goes with the entity that it leads to", async () => {
    const [target, source] = [await person([]), await person([])];
    await merge(target.id, source.id);
    expect(await home(source.id).entity(source.id)).toEqual({ mergedInto: target.id });
    await remove(target.id);
    expect(await home(source.id).entity(source.id)).toBeNull();
  });

  it("is followed through no circle", async () => {
    const [one, other] = [await person([]), await person([])];
    await home(one.id).mergeInto(one.id, other.id, []);
    await home(other.id).mergeInto(other.id, one.id, []);
    forgetEntities();
    expect(await loadEntity(bindings, one.id)).toBeNull();
  });
});

function home(id: string) {
  const shard = homeOf(bindings, id);
  if (!shard) throw new Error("no id of an entity");
  return shard;
}
