import { beforeAll, beforeEach, expect, it } from "vitest";
import { identityOf } from "../../../src/identity/stubs.ts";
import { walkOfMount } from "../../../src/lease/prefix-revocation.ts";
import { LEASE_WALK_MIGRATIONS } from "../../../src/lease/prefix-revocation-job.ts";
import { systemOf } from "../../../src/system/system.ts";
import { ringAlarm } from "../../support/calls.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { tamperingLines, writeStorage } from "../../support/storage-writer.ts";
import { holdWalks } from "../../support/walks.ts";

// Rows that say what an object does next. Somebody who can write the storage has the object seal something by them.

let root: string;

beforeAll(async () => {
  root = await initialized();
});
beforeEach(holdWalks);

const post = async (path: string, body: unknown = {}) => (await call("POST", path, { token: root, body })).body;

it("a planted high version in the directory withholds no later change from an entity", async () => {
  const entity = (await post("identity/entity", { name: "member" })).data.id;
  const group = (await post("identity/group", { name: "admins", policies: "admin" })).data.id;
  const policies = async () => {
    const read = await call("GET", `identity/entity/id/${entity}`, { token: root });
    return read.body.data.group_ids;
  };
  const highest = Number.MAX_SAFE_INTEGER;
  await writeStorage(
    identityOf(bindings),
    `UPDATE state SET version = ${highest}`,
    `UPDATE directory_version SET version = ${highest}`,
  );
  const lines = tamperingLines();
  await post(`identity/group/id/${group}`, { member_entity_ids: [entity] });
  expect(await policies()).toEqual([group]);
  const object = identityOf(bindings).id.toString();
  expect(lines()).toContainEqual({ type: "tampering", kind: "directory version", object, row: 1 });
  await post(`identity/group/id/${group}`, { member_entity_ids: [] });
  expect(await policies()).toEqual([]);
});

it("a directory without its rows of state still gives changes to entities and isolates", async () => {
  const entity = (await post("identity/entity", { name: "other" })).data.id;
  const group = (await post("identity/group", { name: "operators", policies: "operate" })).data.id;
  await post(`identity/group/id/${group}`, { member_entity_ids: [entity] });
  const known = await identityOf(bindings).allGroups(null);
  await writeStorage(identityOf(bindings), "DELETE FROM state", "DELETE FROM directory_version");
  await post(`identity/group/id/${group}`, { member_entity_ids: [], policies: "" });
  const read = await call("GET", `identity/entity/id/${entity}`, { token: root });
  expect(read.body.data.group_ids).toEqual([]);
  for (const revision of [known?.revision ?? 0, 0]) {
    expect(await identityOf(bindings).allGroups(revision)).not.toBeNull();
  }
});

it("a planted walk moves no mount", async () => {
  await post("sys/auth/dev", { type: "jwt" });
  const dev = await systemOf(bindings).findMount("dev/");
  const move = { id: "planted", to: "prod/", issuer: dev?.issuer ?? dev?.uuid };
  const mount = JSON.stringify({ path: "dev/", uuid: dev?.uuid, type: "jwt", move });
  const watermark = JSON.stringify({ id: "planted", createdBefore: null, number: null, knownAt: 0, lastPass: false });
  const walk = walkOfMount(bindings, "planted");
  await writeStorage(
    walk,
    ...LEASE_WALK_MIGRATIONS.map(({ sql }) => sql),
    `CREATE VIEW schema_version AS SELECT ${LEASE_WALK_MIGRATIONS.length} AS version`,
    `INSERT INTO walk (id, generation, mode, prefix, mount, unit, incomplete, seen, watermark, asked)
     VALUES (1, 1, 'revoke', 'auth/dev/', '${mount}', 0, 0, 0, '${watermark}', '{}')`,
  );
  const lines = tamperingLines();
  await ringAlarm(walkOfMount(bindings, "planted"));
  expect(await systemOf(bindings).findMount("prod/")).toBeNull();
  expect(await systemOf(bindings).findMount("dev/")).toEqual(dev);
  const object = walk.id.toString();
  expect(lines()).toContainEqual({ type: "tampering", kind: "lease walk", object, row: 1 });
});
