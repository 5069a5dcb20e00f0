import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { advance, leaseFor, leaseRows, register, runAlarm } from "../../support/leases.ts";
import { call, initialized } from "../../support/service.ts";
import { standInForTargets } from "../../support/targets.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  holdSweeps();
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
/** The first token of a tree of its own. */
const holder = async (fields: Record<string, unknown> = {}) =>
  (await post("auth/token/create-orphan", { policies: ["default"], ttl: "2h", ...fields })).body.auth.client_token;

describe("a lease of a secret", () => {
  it("begins with its path, is longer, and shows what it is (X1)", async () => {
    const answer = await register(root, await holder(), { ttl: "90s" });
    expect(answer).toMatchObject({
      status: 200,
      body: { renewable: true, lease_duration: 90, auth: null, data: null },
    });
    const id = answer.body.lease_id as string;
    expect(id).toMatch(/^db\/creds\/app\/[\w-]{84}$/);
    const seen = await post("sys/leases/lookup", { lease_id: id });
    expect(seen.body.data).toEqual({
      id,
      path: "db/creds/app",
      renewable: true,
      issue_time: expect.any(String),
      expire_time: expect.any(String),
      last_renewal: null,
      ttl: 90,
    });
  });

  it("is renewed with the same id, by its last grant or by what is asked, never past its maximum (H14)", async () => {
    const id = await leaseFor(root, await holder(), { ttl: "60s", max_ttl: "100s" });
    advance(10);
    const renewed = await post("sys/leases/renew", { lease_id: id });
    expect(renewed.body).toMatchObject({ lease_id: id, lease_duration: 60, renewable: true });
    expect((await post(`sys/leases/renew/${id}`, { increment: "30s" })).body).toMatchObject({ lease_duration: 30 });
    const capped = await post(`sys/leases/renew/${id}`, { lease_id: id, increment: 1000 });
    expect(capped.body).toMatchObject({ lease_duration: 90 });
    expect(capped.body.warnings[0]).toContain("exceeded the effective max_ttl");
    expect((await post("sys/leases/lookup", { lease_id: id })).body.data).toMatchObject({
      last_renewal: expect.any(String),
      ttl: 90,
    });
  });

  it("dies with its token: the target gets one signed request (T60)", async () => {
    const received = standInForTargets();
    const token = await holder();
    const id = await leaseFor(root, token, { data: { username: "v-app-1" } });
    await post("auth/token/revoke", { token });
    expect((await post("sys/leases/lookup", { lease_id: id })).body.errors).toEqual(["invalid lease"]);
    expect((await post("sys/leases/renew", { lease_id: id })).body.errors).toEqual(["lease not found"]);
    await runAlarm(token);
    expect(received).toHaveLength(1);
    expect(received[0]?.body).toMatchObject({ lease_id: id, path: "db/creds/app", data: { username: "v-app-1" } });
    expect(await leaseRows(token)).toEqual([]);
  });
});
