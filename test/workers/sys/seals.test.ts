import { evictDurableObject } from "cloudflare:test";
import { beforeAll, expect, it, vi } from "vitest";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });
const policy = (name: string, rules: string) => post(`sys/policies/acl/${name}`, { policy: rules });
const allow = (path: string) => `path "${path}" { capabilities = ["read", "sudo"] }`;

/** Writes to the database of a stopped server. */
async function tamper(statement: string, ...values: SqlStorageValue[]): Promise<void> {
  const system = systemOf(bindings);
  await alter(system, statement, ...values);
  await evictDurableObject(system);
  forgetInstallation();
}

it("rules that were changed in the storage grant nothing, and nothing else that their holder has does", async () => {
  await policy("weak", allow("sys/key-status"));
  await policy("other", allow("sys/mounts"));
  const { client_token: token } = await createToken(root, { policies: ["weak", "other"] });
  const { client_token: unaffected } = await createToken(root, { policies: ["other"] });
  const status = async (path: string, of = token) => (await call("GET", path, { token: of })).status;
  expect([await status("sys/key-status"), await status("sys/mounts")]).toEqual([200, 200]);

  const log = vi.spyOn(console, "error").mockReturnValue(undefined);
  await tamper("UPDATE policies SET rules = replace(rules, 'sys/key-status', 'sys/auth') WHERE name = 'weak'");
  expect(await Promise.all(["sys/auth", "sys/key-status", "sys/mounts"].map((path) => status(path)))).toEqual([
    403, 403, 403,
  ]);
  expect([await status("sys/mounts", unaffected), await status("sys/auth", root)]).toEqual([200, 200]);
  expect(log.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('"policy"'))).toHaveLength(1);

  // A patch does not take over what it did not write; a write of the whole policy mends it.
  expect((await call("GET", "sys/policies/acl/weak", { token: root })).status).toBe(404);
  expect((await policy("weak", allow("sys/key-status"))).status).toBe(204);
  expect([await status("sys/key-status"), await status("sys/auth")]).toEqual([200, 403]);
});

it.each([
  ["its seal removed", "UPDATE policies SET seal = NULL WHERE name = ?"],
  [
    "the seal of another",
    "UPDATE policies SET seal = (SELECT seal FROM policies WHERE name = 'default') WHERE name = ?",
  ],
  ["a later end", "UPDATE policies SET expires_at = 9e12 WHERE name = ?"],
  ["another name", "UPDATE policies SET name = 'renamed' WHERE name = ?"],
])("a policy with %s is refused", async (_, statement) => {
  await policy("sealed", allow("sys/mounts"));
  const { client_token: token } = await createToken(root, { policies: ["sealed", "renamed"] });
  await tamper(statement, "sealed");
  expect((await call("GET", "sys/mounts", { token })).status).toBe(403);
  await tamper("DELETE FROM policies WHERE name IN ('sealed', 'renamed')");
});

it("a mount that was changed in the storage is out of service, and its place can be taken again", async () => {
  await post("sys/auth/machines", { type: "aws" });
  await tamper("UPDATE mounts SET mount = replace(mount, 'default-service', 'batch') WHERE path = 'machines/'");
  const mounts = await call("GET", "sys/auth", { token: root });
  expect(Object.keys(mounts.body.data)).toEqual(["token/"]);
  expect((await post("auth/machines/login", { role: "x" })).status).not.toBe(200);
  expect((await post("sys/auth/machines", { type: "aws" })).status).toBe(204);
  expect((await call("GET", "sys/auth/machines", { token: root })).body.data.config?.token_type).toBe(
    "default-service",
  );
});
