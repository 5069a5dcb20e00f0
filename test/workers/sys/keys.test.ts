import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { loadInstallation, refreshInstallation } from "../../../src/system/installation.ts";
import { reportKeyUse } from "../../../src/system/key-rotation.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { readServiceToken } from "../../../src/token/ids.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { failing } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf } from "../../support/service.ts";

const POLICY_CACHE_MS = 5_000;

let root: string;

beforeAll(async () => {
  // A record of the audit store would be an encryption too.
  root = await initializedAlone();
});

afterEach(() => vi.useRealTimers());

const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;
const rotate = (path = "sys/rotate") => call("PUT", path, { token: root });
const status = async () => dataOf<KeyStatus>(await call("GET", "sys/key-status", { token: root }));
const create = (fields: Record<string, unknown>) => call("POST", "auth/token/create", { token: root, body: fields });

interface KeyStatus {
  readonly term: number;
  readonly install_time: string;
  readonly encryptions: number;
}

async function keys() {
  const loaded = await loadInstallation(bindings);
  if (!loaded.ok) throw new Error("no installation");
  return loaded.value.keys;
}

describe("rotation of the keys", () => {
  it("needs sudo, and begins a term that key-status shows", async () => {
    const before = await status();
    expect(before.term).toBe(1);
    expect(Date.parse(before.install_time)).toBeGreaterThan(Date.now() - 3_600_000);
    const { client_token: weak } = await createToken(root, { policies: ["default"] });
    for (const path of ["sys/rotate", "sys/rotate/keyring"]) {
      expect((await call("PUT", path, { token: weak })).status).toBe(403);
    }
    expect((await status()).term).toBe(1);
    expect((await rotate()).status).toBe(204);
    expect((await rotate("sys/rotate/keyring")).status).toBe(204);
    expect(await status()).toMatchObject({ term: 3, encryptions: 0 });
  });

  it("keeps every earlier kind of token and value valid, and makes new ones under the new keys", async () => {
    const service = (await createToken(root, { policies: ["default"], ttl: "1h" })).client_token;
    const batch = (await createToken(root, { policies: ["default"], ttl: "1h", type: "batch" })).client_token;
    await create({ id: "chosen-before", policies: ["default"], ttl: "1h" });
    await call("PUT", "cubbyhole/kept", { token: service, body: { a: "b" } });
    const wrapped = await call("GET", "auth/token/lookup-self", { token: root, headers: { "X-Vault-Wrap-TTL": "60" } });
    const before = await keys();

    await rotate();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * POLICY_CACHE_MS });
    const after = await keys();
    expect(await Promise.all([service, batch, "chosen-before"].map(self))).toEqual([200, 200, 200]);
    expect((await call("GET", "cubbyhole/kept", { token: service })).body.data).toEqual({ a: "b" });
    const unwrapped = await call("PUT", "sys/wrapping/unwrap", { token: wrapped.body.wrap_info.token });
    expect(unwrapped.body.data.id).toBe(root);

    const next = (await createToken(root, { policies: ["default"], ttl: "1h" })).client_token;
    expect(await readServiceToken(before, next)).toBeNull();
    const newest = { ...after, terms: [after.terms[0]] as const };
    expect(await readServiceToken(newest, next)).not.toBeNull();
    expect(await readServiceToken(newest, service)).toBeNull();
  });

  it("a chosen id is taken as long as its token of an older term lives", async () => {
    await create({ id: "chosen-once", policies: ["default"], ttl: "1h" });
    await rotate();
    // From now on new tokens are made under the new term.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * POLICY_CACHE_MS });
    const again = await create({ id: "chosen-once", policies: ["root"] });
    expect([again.status, again.body.errors]).toEqual([400, ["cannot create a token with a duplicate ID"]]);
    await call("POST", "auth/token/revoke-self", { token: "chosen-once" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 120_000 });
    expect((await create({ id: "chosen-once", policies: ["default"] })).status).toBe(200);
    expect(await self("chosen-once")).toBe(200);
  });

  it("of two at once loses neither", async () => {
    const { term } = await status();
    const answers = await Promise.all([rotate(), rotate()]);
    expect(answers.map((answer) => answer.status)).toEqual([204, 204]);
    expect((await status()).term).toBe(term + 2);
  });

  it("is begun once by isolates that find at the same moment that it is due", async () => {
    const operations = (max_operations: number) =>
      call("PUT", "sys/rotate/config", { token: root, body: { max_operations } });
    await operations(1_000_000);
    await refreshInstallation(bindings);
    const { term } = await status();
    await systemOf(bindings).noteEncryptions([{ term, count: 1_000_000 }], term);
    const known = await keys();
    await Promise.all([1, 2].map(() => reportKeyUse(bindings, known, Date.now())));
    await refreshInstallation(bindings);
    expect((await status()).term).toBe(term + 1);
    await operations(3_865_470_566);
  });

  it("stops before there are so many terms that refusing garbage gets costly", async () => {
    let answer = await rotate();
    while (answer.status === 204) answer = await rotate();
    expect([answer.status, (await status()).term]).toEqual([400, 16]);
    expect(await self(root)).toBe(200);
  });
});

describe("rotation by itself", () => {
  const config = (path = "sys/rotate/config") => call("GET", path, { token: root });
  const configure = (body: unknown) => call("PUT", "sys/rotate/config", { token: root, body });

  it("is set within bounds, under both paths", async () => {
    const defaults = { enabled: true, max_operations: 3_865_470_566, interval: 0 };
    expect((await config()).body.data).toEqual(defaults);
    expect((await configure({ interval: "1h" })).body.errors).toEqual(["interval must be greater or equal to 24h"]);
    expect((await configure({ max_operations: 5 })).status).toBe(400);
    expect((await config()).body.data).toEqual(defaults);
    expect((await configure({ interval: "720h", max_operations: 2_000_000, enabled: false })).status).toBe(204);
    const changed = { enabled: false, max_operations: 2_000_000, interval: "720h" };
    expect((await config("sys/rotate/keyring/config")).body.data).toEqual(changed);
  });

  it("counts what isolates encrypted", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * POLICY_CACHE_MS });
    const { term, encryptions } = await status();
    for (let i = 0; i < 3; i++) await createToken(root, { policies: ["default"], ttl: "1h", type: "batch" });
    vi.setSystemTime(Date.now() + 61_000);
    await self(root);
    expect(await status()).toMatchObject({ term, encryptions: encryptions + 3 });
    expect(await systemOf(bindings).noteEncryptions([{ term, count: 7 }], term)).toMatchObject({
      encryptions: encryptions + 10,
    });
  });

  it("counts in the next report what could not be reported while the system object was away", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    await self(root);
    const { term, encryptions } = await status();
    for (let i = 0; i < 3; i++) await createToken(root, { policies: ["default"], ttl: "1h", type: "batch" });
    const away = failing(System, "noteEncryptions");
    vi.setSystemTime(Date.now() + 61_000);
    await self(root);
    away.end();
    vi.setSystemTime(Date.now() + 61_000);
    await self(root);
    expect(away.calls).toHaveLength(1);
    expect(await status()).toMatchObject({ term, encryptions: encryptions + 3 });
  });
});

it("seal-status says which seal key wraps the ring", async () => {
  expect((await call("GET", "sys/seal-status")).body.seal_key_version).toBe(1);
});
