import { runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { writeEntity } from "../../../src/identity/entities.ts";
import { Identity, identityOf } from "../../../src/identity/identity.ts";
import { entityForLogin } from "../../../src/identity/login.ts";
import type { EntityWrite, GroupWrite } from "../../../src/identity/model.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { shardThatTells } from "../../../src/identity/shard/place.ts";
import { entityShard } from "../../../src/identity/shard/stub.ts";
import { forgetEntities, loadEntity } from "../../../src/identity/standing.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { System } from "../../../src/system/system.ts";
import { costOf } from "../../support/costs.ts";
import { bindings, call, initialized } from "../../support/service.ts";

let root: string;
/** The accessor of the mount that logins come from. */
let mount: string;

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/auth/people", { token: root, body: { type: "jwt" } });
  mount = (await call("GET", "sys/auth/people", { token: root })).body.data.accessor;
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const post = (path: string, body: unknown) => call("POST", `identity/${path}`, { token: root, body });
const drop = (path: string) => call("DELETE", `identity/${path}`, { token: root });
const identity = () => identityOf(bindings);
const shardOf = (id: string) => entityShard(bindings, shardThatTells(id));
let made = 0;

/** A new entity that an operator wrote. */
async function written(fields: Record<string, unknown> = {}): Promise<string> {
  return (await post("entity", { name: `written ${made++}`, ...fields })).body.data.id;
}

async function group(fields: Record<string, unknown>): Promise<string> {
  return (await post("group", { name: `group ${made++}`, ...fields })).body.data.id;
}

/** What an isolate learns that knows nothing. */
async function told(id: string) {
  const entity = await shardOf(id).entity(id, null, Date.now());
  if (entity === "unchanged") throw new Error("the shard takes this isolate for another one");
  return entity;
}

/** The policies of an entity and its groups in an isolate that knows nothing. */
async function policiesOf(id: string): Promise<readonly string[] | null> {
  forgetEntities();
  return (await loadEntity(bindings, id))?.policies ?? null;
}

/** How often objects are asked while `work` runs. */
async function asked(work: () => Promise<unknown>): Promise<{ shards: number; lent: number; groups: number }> {
  const spies = [
    vi.spyOn(EntityShard.prototype, "entity"),
    vi.spyOn(Identity.prototype, "lendEntity"),
    vi.spyOn(Identity.prototype, "groupsAbove"),
  ];
  await work();
  const [shards = 0, lent = 0, groups = 0] = spies.map((spy) => spy.mock.calls.length);
  for (const spy of spies) spy.mockRestore();
  return { shards, lent, groups };
}

/** Changes an entity as another isolate would. */
async function change(id: string, fields: Partial<EntityWrite>): Promise<void> {
  const write = { name: null, metadata: null, policies: null, disabled: null, ...fields };
  expect((await writeEntity(bindings, id, write, "", "", Date.now())).ok).toBe(true);
}

describe("an entity that operators wrote", () => {
  it("is told by its shard, which asks the one object once; a look at the copy reads one row", async () => {
    const id = await written({ policies: ["e"] });
    expect(await asked(() => told(id))).toEqual({ shards: 1, lent: 1, groups: 0 });
    const again = async () => {
      forgetEntities();
      expect((await loadEntity(bindings, id))?.policies).toEqual(["e"]);
    };
    expect(await asked(again)).toEqual({ shards: 1, lent: 0, groups: 0 });
    expect(await costOf(shardOf(id), again)).toEqual({ rowsRead: 1, rowsWritten: 0 });
  });

  it("is found by a login without the one object, in an isolate that knows nothing", async () => {
    const id = await written();
    const login = async (aliasName: string) => {
      forgetEntities();
      const found = await entityForLogin(bindings, { mountAccessor: mount, aliasName, metadata: null });
      return found.ok ? found.value.entity.id : null;
    };
    await post("entity-alias", { name: "Clerk", mount_accessor: mount, canonical_id: id });
    await told(id);
    const logins = vi.spyOn(Identity.prototype, "logIn");
    expect(await login("clerk")).toBe(id);
    expect(await login("CLERK")).toBe(id);
    expect(logins).not.toHaveBeenCalled();
    // The alias moves to somebody else: what the shard of the alias remembers is a hint.
    const other = await written();
    await post("entity-alias", { name: "clerk", mount_accessor: mount, canonical_id: other });
    expect(await login("clerk")).toBe(other);
    await told(other);
    logins.mockClear();
    expect(await login("clerk")).toBe(other);
    expect(logins).not.toHaveBeenCalled();
  });

  it("is not there for anybody when it does not exist, and the one object is asked each time", async () => {
    const id = crypto.randomUUID();
    expect(await told(id)).toBeNull();
    expect(await asked(() => told(id))).toMatchObject({ lent: 1 });
  });
});

describe("a change of an entity of which a shard has a copy", () => {
  const alias = async (id: string) => {
    const body = { name: `alias of ${id}`, mount_accessor: mount, canonical_id: id };
    return (await post("entity-alias", body)).body.data.id as string;
  };
  const login = (id: string, fields: { metadata?: Record<string, string>; groups?: string[] }) =>
    entityForLogin(bindings, { mountAccessor: mount, aliasName: `alias of ${id}`, metadata: null, ...fields });

  it.each<[string, (id: string) => Promise<{ before?: () => Promise<unknown>; write: () => Promise<unknown> }>]>([
    ["its policies", async (id) => ({ write: () => post(`entity/id/${id}`, { policies: "e" }) })],
    ["its state", async (id) => ({ write: () => post(`entity/id/${id}`, { disabled: true }) })],
    ["a new alias", async (id) => ({ write: () => alias(id) })],
    [
      "what an operator says of its alias",
      async (id) => {
        const aliasId = await alias(id);
        return { write: () => post(`entity-alias/id/${aliasId}`, { custom_metadata: { a: "b" } }) };
      },
    ],
    [
      "its alias goes",
      async (id) => {
        const aliasId = await alias(id);
        return { write: () => drop(`entity-alias/id/${aliasId}`) };
      },
    ],
    [
      "its alias goes to another one",
      async (id) => {
        const aliasId = await alias(id);
        const other = await written();
        return { write: () => post(`entity-alias/id/${aliasId}`, { canonical_id: other }) };
      },
    ],
    [
      "what a login says of its alias",
      async (id) => {
        await alias(id);
        return { write: () => login(id, { metadata: { zone: "a" } }) };
      },
    ],
    ["it joins a group", async (id) => ({ write: () => group({ member_entity_ids: [id] }) })],
    [
      "it leaves a group",
      async (id) => {
        const groupId = await group({ member_entity_ids: [id, await written()] });
        return { write: () => post(`group/id/${groupId}`, { member_entity_ids: [] }) };
      },
    ],
    [
      "a login takes it out of a group",
      async (id) => {
        await alias(id);
        const groupId = await group({ type: "external" });
        await post("group-alias", { name: `team of ${id}`, mount_accessor: mount, canonical_id: groupId });
        await login(id, { groups: [`team of ${id}`] });
        return { write: () => login(id, { groups: [] }) };
      },
    ],
    [
      "the name that a mount knows its group by goes",
      async (id) => {
        await alias(id);
        const groupId = await group({ type: "external" });
        const body = { name: `crew of ${id}`, mount_accessor: mount, canonical_id: groupId };
        const aliasId = (await post("group-alias", body)).body.data.id;
        await login(id, { groups: [`crew of ${id}`] });
        return { write: () => drop(`group-alias/id/${aliasId}`) };
      },
    ],
    ["it goes", async (id) => ({ write: () => drop(`entity/id/${id}`) })],
  ])("is told by the shard from the answer on: %s", async (_, prepare) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const id = await written();
    const { write } = await prepare(id);
    vi.setSystemTime(Date.now() + 20_000);
    const before = await told(id);
    // The shard has a copy.
    expect(await asked(() => told(id))).toMatchObject({ lent: 0 });
    await write();
    const after = await told(id);
    expect(after?.revision).not.toBe(before?.revision);
    const truth = await identity().lendEntity(id, Date.now());
    expect(after && { ...after, revision: "" }).toEqual(truth && { ...truth.entity, revision: "" });
    const { revision: _r1, ...contentBefore } = before ?? { revision: "" };
    const { revision: _r2, ...contentAfter } = after ?? { revision: "" };
    expect(contentAfter).not.toEqual(contentBefore);
  });

  it("is not made while the copy can't be recalled, and is made when it can", async () => {
    const id = await written({ policies: ["e"] });
    await told(id);
    const recalls = vi.spyOn(EntityShard.prototype, "forgetCopies").mockRejectedValueOnce(new Error("away"));
    expect((await post(`entity/id/${id}`, { disabled: true })).status).toBe(500);
    recalls.mockRestore();
    expect((await call("GET", `identity/entity/id/${id}`, { token: root })).body.data.disabled).toBe(false);
    expect((await told(id))?.disabled).toBe(false);
    expect((await post(`entity/id/${id}`, { disabled: true })).status).toBe(204);
    expect((await told(id))?.disabled).toBe(true);
  });

  it("that is broken off after the recall leaves what was true, and the next one is made", async () => {
    const id = await written({ policies: ["e"] });
    await told(id);
    const original = EntityShard.prototype.forgetCopies;
    vi.spyOn(EntityShard.prototype, "forgetCopies").mockImplementationOnce(async function (this: EntityShard, ids) {
      await original.call(this, ids);
      throw new Error("the connection was lost");
    });
    expect((await post(`entity/id/${id}`, { policies: "g" })).status).toBe(500);
    expect((await told(id))?.policies).toEqual(["e"]);
    await post(`entity/id/${id}`, { policies: "g" });
    expect((await told(id))?.policies).toEqual(["g"]);
  });

  it("is not undone by a copy that was on its way to the shard meanwhile", async () => {
    const id = await written({ policies: ["e"] });
    const original = Identity.prototype.lendEntity;
    vi.spyOn(Identity.prototype, "lendEntity").mockImplementationOnce(async function (this: Identity, ...asking) {
      const lent = await original.apply(this, asking);
      await change(id, { policies: ["g"] });
      return lent;
    });
    expect((await told(id))?.policies).toEqual(["e"]);
    expect((await told(id))?.policies).toEqual(["g"]);
  });

  it("is not followed by another recall at once: for some seconds nobody keeps a copy", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const id = await written();
    await told(id);
    await change(id, { policies: ["e"] });
    const recalls = vi.spyOn(EntityShard.prototype, "forgetCopies");
    await told(id);
    await change(id, { policies: ["g"] });
    expect(recalls).not.toHaveBeenCalled();
    vi.setSystemTime(Date.now() + 10_000);
    await told(id);
    await change(id, { policies: ["e"] });
    expect(recalls).toHaveBeenCalledTimes(1);
  });

  it("that nobody recalled the copy for, as when the one object was restored, is seen within an hour", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const id = await written({ policies: ["e"] });
    const first = await told(id);
    await runInDurableObject(identity(), (_, { storage: { sql } }) => {
      sql.exec("DELETE FROM lent WHERE entity_id = ?", id);
    });
    await change(id, { policies: ["g"] });
    expect((await told(id))?.policies).toEqual(["e"]);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect((await told(id))?.policies).toEqual(["g"]);
    // One that has not changed is not sent to isolates again.
    const second = await told(id);
    expect(second?.revision).not.toBe(first?.revision);
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(await shardOf(id).entity(id, second?.revision ?? null, Date.now())).toBe("unchanged");
  });
});

describe("groups", () => {
  const cachedEnv = { ...bindings, POLICY_CACHE_SECONDS: "5" };

  it("are asked for once for all entities that are in them, and after that whether they have changed", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const members = [await written(), await written(), await written()];
    const inner = await group({ policies: ["g"], member_entity_ids: members });
    const outer = await group({ policies: ["outer"], member_group_ids: [inner] });
    const look = async () => {
      for (const id of members) expect((await loadEntity(cachedEnv, id))?.policies).toEqual(["g", "outer"]);
    };
    forgetEntities();
    expect(await asked(look)).toMatchObject({ groups: 1 });
    expect(await asked(look)).toEqual({ shards: 0, lent: 0, groups: 0 });
    vi.setSystemTime(Date.now() + 5_000);
    const answers = vi.spyOn(Identity.prototype, "groupsAbove");
    await look();
    expect(answers).toHaveBeenCalledTimes(1);
    expect(await answers.mock.results[0]?.value).toMatchObject({ groups: [] });
    // As another isolate would.
    await identity().deleteGroup({ id: outer });
    await look();
    vi.setSystemTime(Date.now() + 5_000);
    for (const id of members) expect((await loadEntity(cachedEnv, id))?.policies).toEqual(["g"]);
    await identity().deleteGroup({ id: inner });
    vi.setSystemTime(Date.now() + 5_000);
    for (const id of members) expect((await loadEntity(cachedEnv, id))?.policies).toEqual([]);
  });

  it("that answers crossed about are asked for anew", async () => {
    const id = await written();
    const inner = await group({ policies: ["g"], member_entity_ids: [id] });
    forgetEntities();
    const original = Identity.prototype.groupsAbove;
    vi.spyOn(Identity.prototype, "groupsAbove").mockImplementationOnce(async function (this: Identity, ...asking) {
      const answer = await original.apply(this, asking);
      await rewriteGroup(inner, { policies: ["e"] });
      expect((await loadEntity(cachedEnv, id))?.policies).toEqual(["e"]);
      return answer;
    });
    await loadEntity(cachedEnv, id);
    expect((await loadEntity(cachedEnv, id))?.policies).toEqual(["e"]);
  });

  it("one of which was tampered with refuses all that are in it, also through others", async () => {
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const id = await written({ policies: ["e"] });
    const inner = await group({ policies: ["g"], member_entity_ids: [id] });
    const outer = await group({ policies: ["outer"], member_group_ids: [inner] });
    expect(await policiesOf(id)).toEqual(["e", "g", "outer"]);
    const forge = (policies: string) =>
      runInDurableObject(identity(), (_, { storage: { sql } }) => {
        sql.exec("UPDATE groups SET policies = ? WHERE id = ?", policies, outer);
      });
    await forge("[]");
    expect(await policiesOf(id)).toBeNull();
    await forge('["outer"]');
    expect(await policiesOf(id)).toEqual(["e", "g", "outer"]);
  });
});

describe("an isolate that knows an entity and its groups", () => {
  const cachedEnv = { ...bindings, POLICY_CACHE_SECONDS: "5" };
  const pass = async (ms: number) => {
    vi.setSystemTime(Date.now() + ms);
    await loadInstallation(cachedEnv);
  };
  const policies = async (id: string) => (await loadEntity(cachedEnv, id))?.policies;

  let later = 0;

  /** A member of a group, known here, of which nothing has changed for long. */
  async function member() {
    // Later than whatever another test announced.
    later += 1_000_000;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + later });
    const id = await written({ policies: ["e"] });
    const groupId = await group({ policies: ["g"], member_entity_ids: [id] });
    await pass(200_000);
    forgetEntities();
    expect(await policies(id)).toEqual(["e", "g"]);
    return { id, groupId };
  }

  it("asks nobody for a minute, while nothing of them changes", async () => {
    const { id } = await member();
    const looks = async () => {
      for (const ms of [4_000, 6_000, 20_000, 29_000]) {
        await pass(ms);
        expect(await policies(id)).toEqual(["e", "g"]);
      }
    };
    expect(await asked(looks)).toEqual({ shards: 0, lent: 0, groups: 0 });
    await pass(1_000);
    expect(await asked(() => policies(id))).toEqual({ shards: 1, lent: 0, groups: 1 });
  });

  it.each<[string, (id: string, groupId: string) => Promise<unknown>, readonly string[]]>([
    ["the entity", (id) => change(id, { policies: ["other"] }), ["g", "other"]],
    ["who is in the group", (_, groupId) => rewriteGroup(groupId, { memberEntityIds: [] }), ["e"]],
    ["the group", (_, groupId) => rewriteGroup(groupId, { policies: ["other"] }), ["e", "other"]],
    ["that there is the group", (_, groupId) => identity().deleteGroup({ id: groupId }), ["e"]],
  ])("learns within POLICY_CACHE_SECONDS what another one changes: %s", async (_, write, after) => {
    const { id, groupId } = await member();
    await pass(30_000);
    await write(id, groupId);
    expect(await policies(id)).toEqual(["e", "g"]);
    await pass(5_000);
    expect(await policies(id)).toEqual(after);
  });

  it("learns as soon of what changes next, which is not announced again for a while", async () => {
    const { id } = await member();
    const announced = vi.spyOn(System.prototype, "announceChanges");
    for (const name of ["a", "b", "c", "d"]) {
      await change(id, { policies: [name] });
      await pass(5_000);
      expect(await policies(id)).toEqual([name, "g"].sort());
      await pass(4_000);
    }
    expect(announced).toHaveBeenCalledTimes(1);
    await pass(4_000);
    await change(id, { policies: ["e"] });
    expect(announced).toHaveBeenCalledTimes(2);
    await pass(5_000);
    expect(await policies(id)).toEqual(["e", "g"]);
    // Quiet again.
    await pass(55_000);
    await policies(id);
    await pass(55_000);
    expect(await asked(() => policies(id))).toEqual({ shards: 0, lent: 0, groups: 0 });
  });

  it("goes by POLICY_CACHE_SECONDS alone while its copy of the installation is too old", async () => {
    const { id } = await member();
    vi.setSystemTime(Date.now() + 5_000);
    expect(await asked(() => policies(id))).toMatchObject({ shards: 1 });
  });

  it("is not changed while that can't be announced, unless by a login", async () => {
    const { id } = await member();
    const alias = { mountAccessor: mount, aliasName: `alias of ${id}` };
    await post("entity-alias", { name: alias.aliasName, mount_accessor: mount, canonical_id: id });
    await pass(200_000);
    vi.spyOn(console, "error").mockReturnValue(undefined);
    vi.spyOn(System.prototype, "announceChanges").mockImplementation(() => {
      throw new Error("away");
    });
    expect((await post(`entity/id/${id}`, { disabled: true })).status).toBe(500);
    expect((await told(id))?.disabled).toBe(false);
    const login = await entityForLogin(cachedEnv, { ...alias, metadata: { zone: "a" } });
    expect(login.ok && login.value.entity.aliases[mount]?.metadata).toEqual({ zone: "a" });
    expect((await told(id))?.entity.aliases[mount]?.metadata).toEqual({ zone: "a" });
    vi.mocked(System.prototype.announceChanges).mockRestore();
    expect((await post(`entity/id/${id}`, { disabled: true })).status).toBe(204);
  });
});

/** Changes a group as another isolate would. */
async function rewriteGroup(id: string, fields: Partial<GroupWrite>): Promise<void> {
  const nothing = {
    name: null,
    type: null,
    metadata: null,
    policies: null,
    memberEntityIds: null,
    memberGroupIds: null,
  };
  expect((await identity().writeGroup(id, { ...nothing, ...fields }, "", "", Date.now())).ok).toBe(true);
}

describe("random histories of views and changes, two at a time", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("view" as const), who: fc.nat(1) }),
    fc.record({ kind: fc.constant("view" as const), who: fc.nat(1) }),
    fc.record({ kind: fc.constant("policies" as const), who: fc.nat(1), names: fc.subarray(["e", "g"]) }),
    fc.record({ kind: fc.constant("members" as const), who: fc.nat(1), members: fc.subarray([0, 1]) }),
    fc.record({ kind: fc.constant("delete group" as const), who: fc.nat(1) }),
    fc.record({ kind: fc.constant("wait" as const), who: fc.constant(0) }),
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  it("what an isolate is told that knows nothing is what the one object has", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, step), { minLength: 3, maxLength: 8 }), async (pairs) => {
        const ids = [await written(), await written()];
        const groups = [await group({ policies: ["g0"] }), await group({ policies: ["g1"] })];
        const run = async (one: Step) => {
          if (one.kind === "view") await told(ids[one.who] ?? "");
          if (one.kind === "policies") await change(ids[one.who] ?? "", { policies: one.names });
          if (one.kind === "members") {
            const members = one.members.map((at) => ids[at]);
            await post(`group/id/${groups[one.who]}`, { member_entity_ids: members });
          }
          if (one.kind === "delete group") await drop(`group/id/${groups[one.who]}`);
          if (one.kind === "wait") vi.setSystemTime(Date.now() + 11_000);
        };
        for (const pair of pairs) {
          await Promise.all(pair.map(run));
          for (const id of ids) {
            const record = await identity().readEntity({ id });
            const ofGroups = groups.flatMap((groupId, at) =>
              record?.directGroupIds.includes(groupId) ? [`g${at}`] : [],
            );
            expect(await policiesOf(id)).toEqual([...(record?.policies ?? []), ...ofGroups].sort());
          }
        }
      }),
      { numRuns: 10 },
    );
  });
});
