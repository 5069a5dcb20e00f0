import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";
import { countRows, holdSweeps, locate, runAlarm, sweep } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/maker", {
    token: root,
    body: { policy: 'path "auth/token/create" { capabilities = ["update", "sudo"] }' },
  });
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const self = (token: string) => call("GET", "auth/token/lookup-self", { token });
const orphan = async (fields: Record<string, unknown>) =>
  (await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["maker"], ...fields } })).body.auth;

describe("expiry", () => {
  it("is exact: a token works until its last moment and not after, before any sweep", async () => {
    const { client_token: token } = await orphan({ ttl: "60s" });
    pass(59.999);
    expect((await self(token)).status).toBe(200);
    pass(0.001);
    expect((await self(token)).status).toBe(403);
    const seen = await call("POST", "auth/token/lookup", { token: root, body: { token } });
    expect([seen.status, seen.body.errors]).toEqual([403, ["bad token"]]);
    const renewed = await call("POST", "auth/token/renew", { token: root, body: { token } });
    expect([renewed.status, renewed.body.errors]).toEqual([400, ["token not found"]]);
  });

  it("takes everything below along at the same moment, whatever its own TTL", async () => {
    const { client_token: top } = await orphan({ ttl: "60s" });
    const { client_token: child } = await createToken(top, { ttl: "10h" });
    const { client_token: grandchild } = await createToken(child, { ttl: "20h" });
    pass(60);
    expect((await self(child)).status).toBe(403);
    expect((await self(grandchild)).status).toBe(403);
    const { stub } = await locate(top);
    await sweep(stub);
    expect(await countRows(stub)).toBe(0);
  });

  it("a renewal of the top keeps what is below alive", async () => {
    const { client_token: top } = await orphan({ ttl: "60s" });
    const { client_token: child } = await createToken(top, { ttl: "10h" });
    pass(50);
    expect(
      (await call("POST", "auth/token/renew", { token: root, body: { token: top, increment: "1h" } })).status,
    ).toBe(200);
    pass(1000);
    expect((await self(child)).status).toBe(200);
  });

  it("sets one alarm at the earliest end of the tree", async () => {
    const { client_token: top } = await orphan({ ttl: "1h" });
    const { stub } = await locate(top);
    const alarm = () => runInDurableObject(stub, (_, state) => state.storage.getAlarm());
    const end = Date.now() + 3_600_000;
    expect(Math.abs(((await alarm()) ?? 0) - end)).toBeLessThan(1000);
    // Before it the alarm makes sure that the shards know of a child.
    await createToken(top, { ttl: "2h" });
    expect(Math.abs(((await alarm()) ?? 0) - Date.now() - 5_000)).toBeLessThan(1000);
    await runAlarm(stub);
    expect(Math.abs(((await alarm()) ?? 0) - end)).toBeLessThan(1000);
    await createToken(top, { ttl: "1m" });
    await runAlarm(stub);
    expect(Math.abs(((await alarm()) ?? 0) - Date.now() - 60_000)).toBeLessThan(1000);
  });

  it("root without a TTL never expires", async () => {
    pass(20 * 365 * 86_400);
    expect((await self(root)).status).toBe(200);
  });
});

describe("renewal", () => {
  it("an omitted increment repeats the last grant", async () => {
    const { client_token: token } = await orphan({ ttl: "1h" });
    const renew = (body: object) => call("POST", "auth/token/renew", { token: root, body: { token, ...body } });
    expect((await renew({})).body.auth.lease_duration).toBe(3600);
    expect((await renew({ increment: "30m" })).body.auth.lease_duration).toBe(1800);
    expect((await renew({})).body.auth.lease_duration).toBe(1800);
  });

  it("a small increment shortens what is left", async () => {
    const { client_token: token } = await orphan({ ttl: "1h" });
    await call("POST", "auth/token/renew", { token: root, body: { token, increment: 10 } });
    pass(11);
    expect((await self(token)).status).toBe(403);
  });

  it("T54, X7: a periodic token is renewed to its period, whatever is asked; an explicit maximum ends it", async () => {
    const { client_token: token } = await orphan({ period: "5s", explicit_max_ttl: "8s" });
    const renew = () => call("POST", "auth/token/renew", { token: root, body: { token, increment: "10h" } });
    expect((await renew()).body.auth.lease_duration).toBe(5);
    pass(4);
    const capped = await renew();
    expect(capped.body.auth.lease_duration).toBe(4);
    expect(capped.body.warnings).toEqual([
      'TTL of "5s" exceeded the effective max_ttl of "4s"; TTL value is capped accordingly',
    ]);
    pass(4);
    expect((await self(token)).status).toBe(403);
  });

  it("T38: a token that is not periodic can't pass the mount's maximum from its creation", async () => {
    const { client_token: token } = await orphan({ ttl: "767h" });
    pass(766 * 3600);
    const renewed = await call("POST", "auth/token/renew", { token: root, body: { token, increment: "10h" } });
    expect(renewed.body.auth.lease_duration).toBe(2 * 3600);
    pass(2 * 3600);
    expect((await self(token)).status).toBe(403);
  });

  it("T46, T51, T52: shows when it was; by accessor without the token", async () => {
    const auth = await orphan({ ttl: "1h" });
    expect((await self(auth.client_token)).body.data.last_renewal_time).toBeUndefined();
    pass(100);
    const answer = await call("POST", "auth/token/renew-accessor", {
      token: root,
      body: { accessor: auth.accessor, increment: "3600s" },
    });
    expect(answer.body.auth).toMatchObject({ client_token: "", accessor: auth.accessor, lease_duration: 3600 });
    const { data } = (await self(auth.client_token)).body;
    expect(data.last_renewal_time).toBe(Math.floor(Date.now() / 1000));
    expect(data.ttl).toBe(3600);
    expect(data.creation_ttl).toBe(3600);
  });

  it("T53, X13: the first root token has no lease", async () => {
    const answer = await call("POST", "auth/token/renew-self", { token: root });
    expect([answer.status, answer.body.errors]).toEqual([400, ["invalid lease ID"]]);
    const made = (await createToken(root)).client_token;
    const never = await call("POST", "auth/token/renew-self", { token: made });
    expect([never.status, never.body.errors]).toEqual([400, ["lease is not renewable"]]);
  });

  it("takes the token in the URL", async () => {
    const { client_token: token } = await orphan({ ttl: "1h" });
    const answer = await call("POST", `auth/token/renew/${token}`, { token: root, body: { increment: "2h" } });
    expect(answer.body.auth).toMatchObject({ client_token: token, lease_duration: 7200 });
  });
});
