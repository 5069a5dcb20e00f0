import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { jwtAuthAt } from "../../../src/methods/jwt/jwt-auth.ts";
import { ORIGIN_MIGRATIONS } from "../../../src/storage/stored-object.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { tokenRoles } from "../../../src/token/roles/token-roles.ts";
import { newIssuer } from "../../support/issuer.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { deleteRows, insertRows, tamperingLines, writeStorage } from "../../support/storage-writer.ts";
import { locate } from "../../support/trees.ts";

// Somebody who can write the storage moves sealed rows to another object, and plants what a restore writes.

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
const [ORIGIN_TABLE] = ORIGIN_MIGRATIONS.map(({ sql }) => sql);

/** Makes an object say that its rows were first written by the object `id`. */
const plantOrigin = (stub: DurableObjectStub, id: string, isNew = true) =>
  writeStorage(
    stub,
    ...(isNew && ORIGIN_TABLE ? [ORIGIN_TABLE] : []),
    `INSERT OR REPLACE INTO origin (one, id, next_page) VALUES (1, '${id}', NULL)`,
  );

async function moveRows(table: string, from: DurableObjectStub, to: DurableObjectStub): Promise<void> {
  const rows = await rowsOf(from, table);
  await deleteRows(to, table);
  await insertRows(to, table, rows);
}

async function objectOfMount(path: string) {
  const loaded = await loadInstallation(bindings);
  const mount = loaded.ok && loaded.value.mountAt(path);
  if (!mount) throw new Error(`no mount at ${path}`);
  return jwtAuthAt(bindings, mount);
}

/** A mount with a key of its own, and a role that gives a policy. Logs in with the key of any mount. */
async function mountWithKey(path: string, policy: string) {
  const issuer = await newIssuer("RS256");
  await post(`sys/auth/${path}`, { type: "jwt" });
  await post(`auth/${path}/config`, { jwt_validation_pubkeys: issuer.pem });
  const role = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", token_policies: policy };
  await post(`auth/${path}/role/ci`, role);
  return async (at: string) => {
    const jwt = await issuer.sign({ sub: "job" });
    return (await call("POST", `auth/${at}/login`, { body: { role: "ci", jwt } })).status;
  };
}

describe("rows of one mount in the object of another", () => {
  it.each([false, true])("let no key in that the mount does not have (after a restore: %j)", async (restored) => {
    const [dev, prod] = [`dev-${restored}`, `prod-${restored}`];
    const loginOfDev = await mountWithKey(dev, "default");
    const loginOfProd = await mountWithKey(prod, "default");
    expect([await loginOfDev(dev), await loginOfDev(prod), await loginOfProd(prod)]).toEqual([200, 400, 200]);

    const [from, to] = [await objectOfMount(`${dev}/`), await objectOfMount(`${prod}/`)];
    if (restored) await plantOrigin(to, to.id.toString());
    for (const table of ["settings", "roles"]) await moveRows(table, from, to);
    await plantOrigin(to, from.id.toString(), !restored);
    const lines = tamperingLines();
    expect(await loginOfDev(prod)).toBe(400);
    expect(await loginOfDev(dev)).toBe(200);
    expect(lines()).toContainEqual({ type: "tampering", kind: "origin", object: to.id.toString(), row: 1 });
  });
});

it("a role that is moved with its origin into the object of token roles is refused", async () => {
  await post("auth/token/roles/strong", { allowed_policies: "admin" });
  const roles = tokenRoles(bindings);
  const elsewhere = bindings.TOKEN_ROLES.getByName("elsewhere");
  await writeStorage(
    elsewhere,
    "CREATE TABLE roles (name TEXT PRIMARY KEY, value TEXT NOT NULL, seal BLOB) WITHOUT ROWID",
  );
  await moveRows("roles", roles, elsewhere);
  await plantOrigin(elsewhere, roles.id.toString());
  expect(await elsewhere.read("strong")).toBeNull();
  expect(await roles.read("strong")).not.toBeNull();
});

describe("tokens of one tree in the object of another", () => {
  it("are not alive there, whatever the origin of the object says", async () => {
    const { client_token: token } = await createToken(root, { no_parent: true });
    const { client_token: other } = await createToken(root, { no_parent: true });
    const [mine, theirs] = [await locate(token), await locate(other)];
    await moveRows("tokens", theirs.stub, mine.stub);
    await plantOrigin(mine.stub, theirs.treeId);
    const again = (await locate(token)).stub;
    expect(await again.isAlive(theirs.row)).toBe(false);
    expect(await (await locate(other)).stub.isAlive(theirs.row)).toBe(true);
  });

  it("stay valid in a tree whose name is their id, as a restore makes it", async () => {
    const { client_token: token } = await createToken(root, { no_parent: true });
    const { stub, treeId, row } = await locate(token);
    const named = bindings.TOKEN_TREE.getByName(treeId);
    const [table] = await runInDurableObject(stub, (_, { storage: { sql } }) => [
      ...sql.exec<{ sql: string }>("SELECT sql FROM sqlite_master WHERE name = 'tokens'"),
    ]);
    await writeStorage(named, table?.sql ?? "");
    await moveRows("tokens", stub, named);
    expect(await bindings.TOKEN_TREE.getByName(treeId).isAlive(row)).toBe(false);
    await plantOrigin(named, treeId);
    expect(await bindings.TOKEN_TREE.getByName(treeId).isAlive(row)).toBe(true);
  });
});

it("a planted trigger that undoes revocations stops its tree, and so lets no token in", async () => {
  const { client_token: token } = await createToken(root, { no_parent: true });
  const { stub } = await locate(token);
  const status = async () => (await call("GET", "auth/token/lookup-self", { token })).status;
  expect(await status()).toBe(200);
  await writeStorage(
    stub,
    "CREATE TRIGGER back AFTER UPDATE OF state ON tokens BEGIN UPDATE tokens SET state = 0 WHERE row = new.row; END",
  );
  expect((await call("POST", "auth/token/revoke", { token: root, body: { token } })).status).toBeGreaterThanOrEqual(
    500,
  );
  expect(await status()).toBeGreaterThanOrEqual(500);
});
