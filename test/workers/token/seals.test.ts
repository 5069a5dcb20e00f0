import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { beginSeals } from "../../../src/system/key-rotation.ts";
import type { TokenTree } from "../../../src/tree/token-tree.ts";
import { forgetSeals } from "../../support/seals.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { holdTidy, tidyNow } from "../../support/tidy.ts";
import { holdInventory, holdSweeps, locate, restartTree } from "../../support/trees.ts";

const HOUR_MS = 3_600_000;
const POLICY_CACHE_MS = 5_000;

let root: string;

beforeEach(holdSweeps);
beforeEach(holdInventory);
beforeEach(holdTidy);

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
});

afterEach(() => {
  vi.useRealTimers();
});

const weak = () => createToken(root, { policies: ["default"], ttl: "24h" });
const orphan = async () => {
  const body = { policies: ["default"], ttl: "24h" };
  return (await call("POST", "auth/token/create-orphan", { token: root, body })).body.auth;
};
const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

/** Writes to the database of a stopped server: the tree has forgotten what it knew of the token. */
async function tamper(token: string, set: string, ...values: unknown[]): Promise<DurableObjectStub<TokenTree>> {
  const { stub, row } = await locate(token);
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    sql.exec(`UPDATE tokens SET ${set} WHERE row = ?`, ...values, row);
  });
  return restartTree(stub);
}

const tidied = async (stub: DurableObjectStub<TokenTree>) =>
  (await stub.tidy({ run: Date.now(), from: null, accessors: [], customIds: [], aged: [] })).repairs;

async function storedSeal(token: string): Promise<number> {
  const { stub, row } = await locate(token);
  return runInDurableObject(
    stub,
    (_, { storage: { sql } }) =>
      sql.exec<{ bytes: number }>("SELECT LENGTH(verifier) - 24 AS bytes FROM tokens WHERE row = ?", row).one().bytes,
  );
}

const WITHOUT_SEAL = "verifier = substr(verifier, 1, 24)";

describe("a row that was changed in the storage", () => {
  it("makes nobody root: it is refused, on record, and counted by tidy", async () => {
    const { client_token: token, accessor } = await weak();
    expect((await call("GET", "sys/auth", { token })).status).toBe(403);
    const log = vi.spyOn(console, "error").mockReturnValue(undefined);
    const stub = await tamper(token, `record = replace(record, '["default"]', '["root"]')`);

    expect((await call("GET", "sys/auth", { token })).status).toBe(403);
    expect(await self(token)).toBe(403);
    expect((await call("POST", "auth/token/lookup-accessor", { token: root, body: { accessor } })).status).toBe(400);
    const { treeId, row } = await locate(token);
    const lines = log.mock.calls.map(([line]) => String(line)).filter((line) => line.includes("tampering"));
    expect(lines).toEqual([JSON.stringify({ type: "tampering", kind: "token", object: treeId, row })]);
    expect(await tidied(stub)).toMatchObject({ tampered: 1, sealed: 0 });
    // Nothing else in the tree suffers.
    expect(await self(root)).toBe(200);
  });

  it.each([
    ["the verifier of another token", "verifier = (SELECT verifier FROM tokens o WHERE o.row <> tokens.row LIMIT 1)"],
    ["the record and the seal of root", "record = (SELECT record FROM tokens o WHERE o.parent IS NULL)"],
    ["another accessor", "accessor = zeroblob(24)"],
    ["no seal", WITHOUT_SEAL],
    ["half a seal", "verifier = substr(verifier, 1, 33)"],
    ["less than a verifier", "verifier = x'00'"],
  ])("with %s is refused", async (_, set) => {
    const { client_token: token } = await weak();
    await tamper(token, set);
    expect(await self(token)).toBe(403);
  });

  it("keeps what changes in a token's life out of it: uses, renewal and revocation need no new seal", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"], ttl: "1h", num_uses: 5 });
    expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
    const stub = await restartTree((await locate(token)).stub);
    expect(await self(token)).toBe(200);
    expect(await tidied(stub)).toMatchObject({ sealed: 0 });
  });
});

describe("an installation of before rows had seals", () => {
  it("seals each row on its first use; rows that are made later must have one", async () => {
    const old = (await orphan()).client_token;
    const unused = (await orphan()).client_token;
    await tamper(old, WITHOUT_SEAL);
    const stub = await tamper(unused, WITHOUT_SEAL);
    await forgetSeals();

    expect(await self(old)).toBe(200);
    expect([await storedSeal(old), await storedSeal(unused)]).toEqual([18, 0]);
    await tamper(old, `record = replace(record, '["default"]', '["root"]')`);
    expect(await self(old)).toBe(403);

    vi.setSystemTime(Date.now() + HOUR_MS + 1);
    const later = (await orphan()).client_token;
    expect(await storedSeal(later)).toBe(18);
    await tamper(later, WITHOUT_SEAL);
    expect(await self(later)).toBe(403);
    expect(await self(unused)).toBe(200);
    expect(await tidied(stub)).toMatchObject({ sealed: 0 });
  });

  it("has the rows that nobody uses sealed by tidy", async () => {
    const token = (await orphan()).client_token;
    await forgetSeals();
    await beginSeals(bindings, Date.now());
    const stub = await tamper(token, WITHOUT_SEAL);
    expect(await tidied(stub)).toMatchObject({ sealed: 1, tampered: 0 });
    expect(await storedSeal(token)).toBe(18);
    expect(await tidied(stub)).toMatchObject({ sealed: 0 });
    expect(await self(token)).toBe(200);
  });

  it("accepts none without a seal any more once a run of tidy has been everywhere", async () => {
    const token = (await orphan()).client_token;
    await forgetSeals();
    await beginSeals(bindings, Date.now());
    await tamper(token, WITHOUT_SEAL);
    vi.setSystemTime(Date.now() + HOUR_MS);
    await tidyNow();
    await tamper(token, WITHOUT_SEAL);
    expect(await self(token)).toBe(200);

    vi.setSystemTime(Date.now() + HOUR_MS);
    await tidyNow();
    vi.setSystemTime(Date.now() + POLICY_CACHE_MS);
    await tamper(token, WITHOUT_SEAL);
    expect(await self(token)).toBe(403);
    expect(await self(root)).toBe(200);
  });
});

it("a rotation of the keys has rows sealed anew when they are used", async () => {
  const { client_token: token } = await weak();
  await call("PUT", "sys/rotate", { token: root });
  vi.setSystemTime(Date.now() + HOUR_MS);
  const { stub: before, row } = await locate(token);
  const stub = await restartTree(before);
  const version = () =>
    runInDurableObject(stub, (_, { storage: { sql } }) =>
      sql
        .exec<{ version: string }>("SELECT hex(substr(verifier, 25, 2)) AS version FROM tokens WHERE row = ?", row)
        .one(),
    );
  expect(await version()).toEqual({ version: "0001" });
  expect(await self(token)).toBe(200);
  expect(await version()).toEqual({ version: "0002" });
  expect(await self(token)).toBe(200);
});
