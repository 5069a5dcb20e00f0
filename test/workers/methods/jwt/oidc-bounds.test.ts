import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { JwtAuth, jwtAuthAt } from "../../../../src/methods/jwt/jwt-auth.ts";
import {
  MAX_PENDING,
  MAX_PENDING_OF_NETWORK,
  type PendingRow,
} from "../../../../src/methods/jwt/oidc/pending-login-table.ts";
import { holdAlarmsOf, ringAlarm } from "../../../support/calls.ts";
import { mountRow } from "../../../support/cloud.ts";
import { costOf } from "../../../support/costs.ts";
import { FakeProvider } from "../../../support/fake-provider.ts";
import { crash } from "../../../support/objects.ts";
import { mountOidc, serveProviders } from "../../../support/oidc.ts";
import { rowsOf, storedText } from "../../../support/rows.ts";
import { bindings, call, initialized } from "../../../support/service.ts";

let root: string;
let provider: FakeProvider;

beforeAll(async () => {
  root = await initialized();
  provider = await FakeProvider.start();
});

beforeEach(() => {
  holdAlarmsOf(JwtAuth);
  serveProviders(provider);
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

const EXPIRED = "Vault login failed. Expired or missing OAuth state.";
const objectOf = async (path: string) => jwtAuthAt(bindings, await mountRow(path));
const hashes = async (path: string) => (await rowsOf(await objectOf(path), "pending_logins")).map(({ hash }) => hash);

/** Begins logins in the object, one ms apart. @param network of each. */
async function flood(path: string, count: number, network: (at: number) => string): Promise<void> {
  const began = Date.now();
  await runInDurableObject(await objectOf(path), async (object: JwtAuth) => {
    for (let at = 0; at < count; at++) {
      const value = new Uint8Array([0, 1, 0, 0]);
      const row: PendingRow = {
        ...{ hash: `flood-${String(at).padStart(6, "0")}`, role: "web", client: "", value },
        ...{ network: network(at), expiresAt: began + 600_000 + at },
      };
      await object.beginLogin(row, began);
    }
  });
}

describe("logins that are begun and never ended", () => {
  it("of one network end its own oldest ones, and not those of others", async () => {
    const mount = await mountOidc(root, "one-network", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    await flood("one-network", MAX_PENDING_OF_NETWORK + 50, () => "203.0.113.7");
    const left = await hashes("one-network");
    expect(left.length).toBe(MAX_PENDING_OF_NETWORK + 1);
    expect(left).not.toContain("flood-000049");
    expect(left).toContain("flood-000050");
    expect((await mount.callback({ state, code })).status).toBe(200);
  });

  it("of many networks take a bounded part of the storage, and others log in meanwhile", async () => {
    const mount = await mountOidc(root, "many-networks", provider);
    const early = provider.signIn(await mount.authUrl());
    await flood("many-networks", MAX_PENDING + 500, (at) => `198.51.100.${at}`);
    expect((await hashes("many-networks")).length).toBe(MAX_PENDING);
    // One more ends one, without a look at the others.
    const more = await costOf(await objectOf("many-networks"), () => flood("many-networks", 1, () => "192.0.2.1"));
    expect(more.rowsRead).toBeLessThan(20);
    expect((await hashes("many-networks")).length).toBe(MAX_PENDING);
    // The oldest ones have ended, and whoever begins now has time.
    expect((await mount.callback({ state: early.state, code: early.code })).error).toBe(EXPIRED);
    expect((await mount.login()).status).toBe(200);
    expect((await mount.login({ sub: "bob" })).status).toBe(200);
    expect((await hashes("many-networks")).length).toBe(MAX_PENDING - 1);
  });

  it("of a few networks that fill the mount end the oldest ones of these networks alone", async () => {
    const mount = await mountOidc(root, "few-networks", provider);
    const early = provider.signIn(await mount.authUrl());
    await flood("few-networks", MAX_PENDING, (at) => `203.0.113.${at % 10}`);
    await crash(await objectOf("few-networks"));
    const late = provider.signIn(await mount.authUrl());
    const left = await hashes("few-networks");
    expect(left.length).toBe(MAX_PENDING);
    expect(left.filter((hash) => String(hash).startsWith("flood-00000")).length).toBe(8);
    expect((await mount.callback({ state: early.state, code: early.code })).status).toBe(200);
    expect((await mount.callback({ state: late.state, code: late.code })).status).toBe(200);
    // The count of a network falls when its logins end.
    await flood("few-networks", 1, () => "192.0.2.1");
    expect((await hashes("few-networks")).length).toBe(MAX_PENDING - 1);
  });

  it("are deleted when they have ended, by the next ones and by an alarm", async () => {
    const mount = await mountOidc(root, "ended", provider);
    await flood("ended", 150, () => "");
    vi.setSystemTime(Date.now() + 700_000);
    await mount.authUrl();
    expect((await hashes("ended")).length).toBe(51);
    vi.setSystemTime(Date.now() + 3_600_000);
    await ringAlarm(await objectOf("ended"));
    expect(await hashes("ended")).toEqual([]);
  });
});

describe("a login that is pending", () => {
  it("survives the end of its object, and one that was taken does not come back", async () => {
    const mount = await mountOidc(root, "killed", provider);
    const [one, two] = [provider.signIn(await mount.authUrl()), provider.signIn(await mount.authUrl(), { sub: "bob" })];
    expect((await mount.callback({ state: one.state, code: one.code })).status).toBe(200);
    await crash(await objectOf("killed"));
    expect((await mount.callback({ state: one.state, code: one.code })).error).toBe(EXPIRED);
    expect((await mount.callback({ state: two.state, code: two.code })).status).toBe(200);
  });

  it("is stored without its state, its nonce and what proves who began it", async () => {
    const mount = await mountOidc(root, "sealed", provider);
    const url = new URL(await mount.authUrl({ client_nonce: "secret-of-the-client" }));
    const stored = await storedText(await objectOf("sealed"));
    expect(stored).toContain("web");
    const { state = "", nonce = "", code_challenge = "" } = Object.fromEntries(url.searchParams);
    for (const secret of [state, nonce, code_challenge, "secret-of-the-client", "s3cret"]) {
      expect(secret.length).toBeGreaterThan(5);
      expect(stored).not.toContain(secret);
    }
  });

  it("ends with its mount", async () => {
    const mount = await mountOidc(root, "removed", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    await mountOidc(root, "removed-later", provider);
    await call("DELETE", "sys/auth/removed", { token: root });
    const again = await mountOidc(root, "removed", provider);
    expect((await again.callback({ state, code })).error).toBe(EXPIRED);
  });
});
