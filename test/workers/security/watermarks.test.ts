import { beforeAll, beforeEach, expect, it } from "vitest";
import { ONE_PROCESS } from "../../../src/app/deployments.ts";
import { systemOf } from "../../../src/system/system.ts";
import { pathScope } from "../../../src/system/watermarks.ts";
import { runAs } from "../../support/deployments.ts";
import { issuingMount } from "../../support/logins.ts";
import { bindings, call, initialized } from "../../support/service.ts";
import { tamperingLines, writeStorage } from "../../support/storage-writer.ts";
import { holdWalks } from "../../support/walks.ts";

const NEWEST = Date.UTC(2026, 4, 1);
const HIGH = Number.MAX_SAFE_INTEGER;

let root: string;

beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initialized();
  await call("POST", "sys/auth/logins", { token: root, body: { type: "aws" } });
  await systemOf(bindings).addWatermark({ id: "newest", scope: pathScope("auth/x/"), createdBefore: null }, NEWEST);
});
beforeEach(holdWalks);

const isAlive = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status === 200;
const revoke = (prefix: string) => call("POST", `sys/leases/revoke-prefix/${prefix}`, { token: root, body: {} });

it.each([
  {
    where: "a row of its own",
    number: HIGH,
    raise: `INSERT INTO watermarks (number, id, scope, made_at, asked, seal)
      SELECT ${HIGH}, 'x', scope, made_at, asked, seal FROM watermarks WHERE id = 'newest'`,
    setBack: `DELETE FROM watermarks WHERE number = ${HIGH}`,
  },
  {
    where: "the newest row",
    number: HIGH - 1,
    raise: `UPDATE watermarks SET number = ${HIGH - 1} WHERE id = 'newest'`,
    setBack: `UPDATE watermarks SET number = ${NEWEST} WHERE id = 'newest'`,
  },
])("a login under a forged number of the newest watermark, in $where, ends with the others", async (forged) => {
  const lines = tamperingLines();
  await writeStorage(systemOf(bindings), forged.raise);
  const { token } = await issuingMount("logins");
  const minted = [await token(), await token("batch")];
  await writeStorage(systemOf(bindings), forged.setBack);
  expect(await Promise.all(minted.map(isAlive))).toEqual([true, true]);

  expect((await revoke("auth/logins")).status).toBe(204);
  expect(await Promise.all(minted.map(isAlive))).toEqual([false, false]);
  const object = systemOf(bindings).id.toString();
  expect(lines()).toContainEqual({ type: "tampering", kind: "watermark", object, row: forged.number });
});
