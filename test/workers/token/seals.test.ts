import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { toHex } from "../../../src/crypto/bytes.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import type { TokenTree } from "../../../src/tree/token-tree.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { holdTidy } from "../../support/tidy.ts";
import { holdInventory, holdSweeps, locate, restartTree } from "../../support/trees.ts";
import { holdWalks } from "../../support/walks.ts";

const HOUR_MS = 3_600_000;

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
const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

/** Writes to the database of a stopped server: the tree has forgotten what it knew of the token. */
async function tamper(token: string, set: string, ...values: SqlStorageValue[]): Promise<DurableObjectStub<TokenTree>> {
  const { stub, row } = await locate(token);
  await alter(stub, `UPDATE tokens SET ${set} WHERE row = ?`, ...values, row);
  return restartTree(stub);
}

const tidied = async (stub: DurableObjectStub<TokenTree>) =>
  (await stub.tidy({ run: Date.now(), from: null, accessors: [], customIds: [], aged: [] })).repairs;

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
    ["no seal", "verifier = substr(verifier, 1, 24)"],
    ["half a seal", "verifier = substr(verifier, 1, 33)"],
    ["less than a verifier", "verifier = x'00'"],
  ])("with %s is refused", async (_, set) => {
    const { client_token: token } = await weak();
    await tamper(token, set);
    expect(await self(token)).toBe(403);
  });

  it("is revoked by tidy while a watermark is open, so that its descendants stay refused after the clean-up", async () => {
    holdWalks();
    vi.spyOn(console, "error").mockReturnValue(undefined);
    const { client_token: parent } = await createToken(root, { policies: ["root"], ttl: "24h" });
    const { client_token: child } = await createToken(parent, { policies: ["default"], ttl: "24h" });
    await call("POST", "sys/leases/revoke-prefix/auth/token/create/elsewhere", { token: root });
    const stub = await tamper(parent, `record = replace(record, '"role":null', '"role":"x"')`);
    expect(await self(child)).toBe(403);
    await tidied(stub);
    const [made] = await systemOf(bindings).watermarks();
    await systemOf(bindings).watermarksCleaned(null, made?.number ?? 0, Date.now());
    forgetInstallation();
    await restartTree(stub);
    expect((await systemOf(bindings).watermarks())[0]?.cleaned).toBe(true);
    expect(await self(child)).toBe(403);
  });

  it("keeps what changes in a token's life out of it: uses, renewal and revocation need no new seal", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"], ttl: "1h", num_uses: 5 });
    expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
    const stub = await restartTree((await locate(token)).stub);
    expect(await self(token)).toBe(200);
    expect(await tidied(stub)).toMatchObject({ sealed: 0 });
  });
});

it("a rotation of the keys has rows sealed again when they are used", async () => {
  const { client_token: token } = await weak();
  await call("PUT", "sys/rotate", { token: root });
  vi.setSystemTime(Date.now() + HOUR_MS);
  const { stub: before, row } = await locate(token);
  const stub = await restartTree(before);
  /** Of the keys that the seal is made with: it stands behind the verifier. */
  const version = async () => {
    const stored = (await rowsOf(stub, "tokens")).find((one) => one.row === row);
    return stored?.verifier instanceof Uint8Array ? toHex(stored.verifier.subarray(24, 26)) : null;
  };
  expect(await version()).toBe("0001");
  expect(await self(token)).toBe(200);
  expect(await version()).toBe("0002");
  expect(await self(token)).toBe(200);
});
