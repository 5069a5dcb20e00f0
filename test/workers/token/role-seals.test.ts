import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { tokenRoles } from "../../../src/token/roles/token-roles.ts";
import { bindings, call, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const write = (name: string) =>
  call("POST", `auth/token/roles/${name}`, { token: root, body: { allowed_policies: "default" } });
const read = async (name: string) => (await call("GET", `auth/token/roles/${name}`, { token: root })).status;

/** Writes to the database of a stopped server. */
async function tamper(statement: string): Promise<void> {
  const roles = tokenRoles(bindings);
  await runInDurableObject(roles, (_, { storage: { sql } }) => {
    sql.exec(statement);
  });
  await evictDurableObject(roles);
}

it.each([
  ["another policy", `UPDATE roles SET role = replace(role, '"default"', '"root"') WHERE name = 'r'`],
  ["another name", "UPDATE roles SET name = 'other' WHERE name = 'r'"],
  ["no seal", "UPDATE roles SET seal = NULL WHERE name = 'r'"],
])("a role with %s, written to the storage, makes no token and is counted", async (_, statement) => {
  expect((await write("r")).status).toBe(204);
  expect(await read("r")).toBe(200);
  await tamper(statement);
  for (const name of ["r", "other"]) {
    expect(await read(name)).toBe(404);
    expect((await call("POST", `auth/token/create/${name}`, { token: root })).status).toBe(400);
  }
  expect(await tokenRoles(bindings).sealRows()).toBe(1);
  expect((await write("r")).status).toBe(204);
  expect(await read("r")).toBe(200);
  await tamper("DELETE FROM roles");
});
