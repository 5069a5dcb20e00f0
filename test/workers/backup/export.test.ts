import { beforeAll, expect, it } from "vitest";
import { backUp, textOf } from "../../support/backups.ts";
import { call, createToken, initialized, tokenUnder } from "../../support/service.ts";
import { locate } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

it("a large object is read in pages of one moment, and again from its beginning when it changes meanwhile", async () => {
  await createToken(root, { policies: ["default"] });
  const { stub } = await locate(root);
  const first = await stub.exportPage(null, 1);
  if (first === null || first === "changed" || !first.next) throw new Error("the tree was not read in pages");
  expect(first.page).toMatchObject({ page: 0, isLast: false });
  const second = await stub.exportPage(first.next, 2 ** 20);
  expect(second).toMatchObject({ page: { page: 1, isLast: true, schema: [] }, next: null });
  await createToken(root, { policies: ["default"] });
  expect(await stub.exportPage(first.next, 2 ** 20)).toBe("changed");
});

it("only a caller with sudo reads a backup", async () => {
  const token = await tokenUnder(root, 'path "sys/backup/*" { capabilities = ["create", "update"] }');
  expect((await call("POST", "sys/backup/part", { token, body: {} })).status).toBe(403);
  expect((await call("POST", "sys/backup/part", { token: root, body: { position: "{}" } })).status).toBe(400);
  expect((await call("POST", "sys/backup/part", { token: root, body: { number: 1 } })).status).toBe(400);
  expect((await call("POST", "sys/backup/seal", { token: root, body: { run: "none", parts: 1 } })).status).toBe(400);
});

it("a part ends with the object that fills it", async () => {
  for (let made = 0; made < 4; made++) {
    const { client_token: token } = await createToken(root, { no_parent: true, policies: ["default"] });
    const body = { value: "v".repeat(500_000) };
    expect((await call("POST", "cubbyhole/large", { token, body })).status).toBe(204);
  }
  const { parts } = await backUp(root);
  const sizes = await Promise.all(parts.map(async ({ content }) => (await textOf(content)).length));
  // Each of these objects is of some 700,000 characters: the second one fills a part.
  expect(Math.max(...sizes)).toBeLessThan(1_500_000);
});
