import { createExecutionContext } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import { BackupRuns, backupRunsOf } from "../../../src/backup/bucket/backup-runs.ts";
import worker from "../../../src/index.ts";
import { LeaseWalk } from "../../../src/lease/prefix-revocation.ts";
import { revocationsOf, TokenRevocations } from "../../../src/listing/inventory/revocation-jobs.ts";
import { JwtAuth } from "../../../src/methods/jwt/jwt-auth.ts";
import { System, systemOf } from "../../../src/system/system.ts";
import { Tidy } from "../../../src/tidy/tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { loseEverything } from "../../support/backups.ts";
import { atCalls, atNth, holdAlarms } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { FakeProvider } from "../../support/fake-provider.ts";
import { mountOidc, serveProviders } from "../../support/oidc.ts";
import { bindings, call, initialized } from "../../support/service.ts";

/* Calls that start, rotate or take something, and are lost in a cluster: once is once. Changes: lost-writes.test.ts. */

const LOST = "Network connection lost.";
const WHEN = ["before", "after"] as const;
const INIT_TOKEN = "the-init-token-of-the-tests";
const SEAL_KEY = bindings.GROVE_SEAL_KEY ?? "";

let root: string;

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const get = (path: string) => call("GET", path, { token: root });
const dataAt = async (path: string) => (await get(path)).body.data;
const term = async () => Number((await dataAt("sys/key-status")).term);
const jobs = async () => Object.keys((await dataAt("sys/tokens/jobs")).jobs ?? {}).length;

/** Stands in for a method whose next call is lost, after it was carried out or before. */
function losing(when: "before" | "after") {
  return async <T>(proceed: () => Promise<T>): Promise<T> => {
    if (when === "after") await proceed();
    throw new Error(LOST);
  };
}

beforeEach(() => {
  runAs(CLUSTER);
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
});

afterEach(() => runAs(NETWORK));

/** A request with the init token. */
async function asOperator(method: string, path: string, body?: unknown) {
  const request = new Request(`http://grove.test/v1/${path}`, {
    method,
    headers: { "X-Vault-Token": INIT_TOKEN },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const answer = await worker.fetch(request, { ...bindings, GROVE_INIT_TOKEN: INIT_TOKEN }, createExecutionContext());
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
}

describe.each(WHEN)("an installation, of whose start a call is lost %s it was carried out,", (when) => {
  beforeEach(loseEverything);

  it.each([
    ["initialize", System],
    ["create", TokenTree],
  ] as const)("is made once: %s", async (method, type) => {
    atNth(type as never, method as never, 1, losing(when) as never);
    const { status, body } = await asOperator("PUT", "sys/init", { secret_shares: 1, secret_threshold: 1 });
    expect(status).toBe(200);
    expect((await call("GET", "auth/token/lookup-self", { token: body.root_token })).status).toBe(200);
    expect((await asOperator("PUT", "sys/init", {})).status).toBe(400);
  });

  it.each(["initialize", "changeSetup"] as const)("is declared once: %s", async (method) => {
    atNth(System, method, 1, losing(when));
    const first = await asOperator("PUT", "sys/init/begin");
    expect(first.status).toBe(200);
    atNth(System, method, 1, losing(when));
    const second = await asOperator("PUT", "sys/init/begin");
    expect(second.status).toBe(200);
    const finish = (token: string) => call("PUT", "sys/init/finish", { token, body: { root_token: true } });
    expect((await finish(first.body.data.setup_token)).status).toBe(503);
    atNth(System, method, 1, losing(when));
    const finished = await finish(second.body.data.setup_token);
    expect(finished.status).toBe(200);
    expect((await call("GET", "auth/token/lookup-self", { token: finished.body.data.root_token })).status).toBe(200);
  });
});

describe("a running installation in a cluster", () => {
  beforeAll(async () => {
    await loseEverything();
    root = await initialized();
  });

  it.each(WHEN)("begins one term of keys: the call is lost %s it was carried out", async (when) => {
    const before = await term();
    atNth(System, "replaceKeyRing", 1, losing(when));
    expect((await call("PUT", "sys/rotate", { token: root })).status).toBe(204);
    expect(await term()).toBe(before + 1);
  });

  it("says that it does not know whether a System object of 1.0.0-rc.1 has begun a term", async () => {
    const before = await term();
    const { end } = atNth(System, "replaceKeyRing", 1, losing("after"));
    atCalls(System, "replaceKeyRing", ({ args: [from, to], proceed }) => proceed(from, to));
    expect((await call("PUT", "sys/rotate", { token: root })).status).toBe(503);
    end();
    await call("PUT", "sys/rotate", { token: root });
    expect(await term()).toBe(before + 2);
  });

  it("carries out one of two attempts that are there at the same time, and answers both", async () => {
    const system = bindings.SYSTEM.getByName("system");
    const ring = await system.sealedKeyRing();
    const attempt = { callId: "one-call" };
    const both = await Promise.all([1, 2].map(() => system.replaceKeyRing(ring ?? "", ring ?? "", attempt)));
    expect(both).toEqual([true, true]);
    // Another ring under the id of this call has no effect: an id is of one call, with one content.
    expect(await system.replaceKeyRing(ring ?? "", "another", attempt)).toBe(true);
    expect(await system.sealedKeyRing()).toBe(ring);
  });

  it.each(WHEN)("has the settings of rotations that were sent last: lost %s", async (when) => {
    atNth(System, "configureRotation", 1, losing(when));
    expect((await post("sys/rotate/config", { enabled: true, interval: "48h" })).status).toBe(204);
    expect((await dataAt("sys/rotate/config")).interval).toBe("48h");
  });

  const OTP = "o".repeat(86);
  const attempt = "sys/generate-root/attempt";
  const finish = (nonce: string, key = SEAL_KEY) => asOperator("PUT", "sys/generate-root/update", { nonce, key });

  it.each(WHEN)("generates one root token: each call is lost once, %s it was carried out", async (when) => {
    atNth(System, "beginRootGeneration", 1, losing(when));
    const begun = await asOperator("PUT", attempt, { otp: OTP });
    expect(begun.status).toBe(200);
    atNth(System, "cancelRootGeneration", 1, losing(when));
    expect((await asOperator("DELETE", attempt)).status).toBe(204);
    const { nonce } = (await asOperator("PUT", attempt, { otp: OTP })).body;
    atNth(System, "tryRootGeneration", 1, losing(when));
    atNth(System, "closeRootGeneration", 1, losing(when));
    expect((await finish(nonce)).status).toBe(200);
    expect((await finish(nonce)).status).toBe(400);
  });

  it.each(WHEN)("counts a try of the seal key once: its call is lost %s it was counted", async (when) => {
    const { nonce } = (await asOperator("PUT", attempt, { otp: OTP })).body;
    for (let tries = 1; tries <= 5; tries++) {
      atNth(System, "tryRootGeneration", 1, losing(when));
      const { status, body } = await finish(nonce, "1:wrong");
      expect([tries, status, String(body.errors).includes("ends after")]).toEqual([tries, 400, tries === 5]);
    }
    expect((await finish(nonce)).body.errors).toEqual(["no root generation in progress"]);
  });

  it("does not cancel the attempt of another request when a cancellation is repeated", async () => {
    await asOperator("PUT", attempt, { otp: OTP });
    let other = "";
    atNth(System, "cancelRootGeneration", 1, async (proceed) => {
      await proceed();
      other = (await asOperator("PUT", attempt, { otp: OTP })).body.nonce;
      throw new Error(LOST);
    });
    expect((await asOperator("DELETE", attempt)).status).toBe(204);
    expect((await asOperator("GET", attempt)).body.nonce).toBe(other);
    await asOperator("DELETE", attempt);
  });

  it.each(WHEN)("begins one backup: the call is lost %s it was carried out", async (when) => {
    await loseEverything();
    root = await initialized();
    atNth(BackupRuns, "start", 1, losing(when));
    expect((await post("sys/backup/runs")).status).toBe(204);
    expect((await post("sys/backup/runs")).status).toBe(400);
    expect((await backupRunsOf(bindings).status()).running).not.toBeNull();
  });

  it.each(WHEN)("revokes by one job: the calls are lost %s they were carried out", async (when) => {
    const before = await jobs();
    const { calls } = atNth(TokenRevocations, "start", 1, losing(when));
    const body = { role: "none", dry_run: false, expected_count: 0 };
    const { status, body: answer } = await post("sys/tokens/revoke", body);
    expect([status, calls.length]).toEqual([200, 2]);
    expect(await jobs()).toBe(before + 1);
    atNth(TokenRevocations, "stop", 1, losing(when));
    const stopped = await post(`sys/tokens/jobs/${answer.data.job}/stop`);
    expect([stopped.status, stopped.body.data.state]).toEqual([200, "stopped"]);
  });

  it("begins a job for a Worker of 1.0.0-rc.1, which names none", async () => {
    const { calls } = atCalls(TokenRevocations, "start", ({ args: [selection, count, expected], proceed }) =>
      proceed(selection, count, expected),
    );
    const { body } = await post("sys/tokens/revoke", { role: "none", dry_run: false, expected_count: 0 });
    expect(calls).toHaveLength(1);
    expect(await revocationsOf(bindings).read(String(body.data.job))).not.toBeNull();
  });

  it.each([
    ["auth/token/tidy", Tidy, "start", {}],
    ["sys/leases/tidy", LeaseWalk, "startUnlessRunning", {}],
    ["sys/leases/revoke-prefix/database/creds", LeaseWalk, "start", { sync: false }],
  ] as const)("starts a run: %s", async (path, type, method, body) => {
    for (const when of WHEN) {
      const { calls } = atNth(type as never, method as never, 1, losing(when) as never);
      expect((await post(path, body)).status).toBeLessThan(300);
      expect(calls).toHaveLength(2);
    }
  });
});

describe("a login through a browser in a cluster", () => {
  let provider: FakeProvider;

  beforeAll(async () => {
    provider = await FakeProvider.start();
  });
  beforeEach(() => serveProviders(provider));

  it.each(WHEN)("is begun and taken once: each call is lost %s it was carried out", async (when) => {
    const mount = await mountOidc(root, `browser-${when}`, provider);
    const begun = atNth(JwtAuth, "beginLogin", 1, losing(when));
    const taken = atNth(JwtAuth, "takeLogin", 1, losing(when));
    expect((await mount.login({ sub: "ann" })).status).toBe(200);
    expect([begun.calls.length, taken.calls.length]).toEqual([2, 2]);
  });

  it("is taken by one of two requests, also when the first attempt of one is lost", async () => {
    const mount = await mountOidc(root, "browser-twice", provider);
    const { calls } = atNth(JwtAuth, "takeLogin", 1, losing("after"));
    expect((await mount.login({ sub: "ann" })).status).toBe(200);
    const [hash, client, now] = calls[0]?.args ?? ["", null, 0];
    const object = await objectAt("browser-twice");
    expect((await object.takeLogin(hash, client, now)).row).toBeNull();
    expect((await object.takeLogin(hash, client, now, { callId: "of another call" })).row).toBeNull();
    const [, , , attempt] = calls[1]?.args ?? [];
    expect((await object.takeLogin(hash, client, now, attempt)).row?.hash).toBe(hash);
    expect((await object.takeLogin(hash, client, now + 60_000, attempt)).row).toBeNull();
  });

  it("is stored and changed once by two attempts", async () => {
    await mountOidc(root, "browser-direct", provider);
    const object = await objectAt("browser-direct");
    const row = {
      hash: "h",
      role: "web",
      client: "",
      network: "",
      value: new Uint8Array([1]),
      expiresAt: Date.now() + 60_000,
    };
    const [changed, other] = [new Uint8Array([2]), new Uint8Array([3])];
    for (let times = 0; times < 2; times++) await object.beginLogin(row, Date.now());
    const replace = (to: Uint8Array<ArrayBuffer>) => object.replaceLogin("h", row.value, to, Date.now());
    expect([await replace(changed), await replace(changed), await replace(other)]).toEqual([true, true, false]);
  });
});

/** The object of the mount at a path. */
async function objectAt(path: string) {
  const mount = await systemOf(bindings).findMount(`${path}/`);
  return bindings.JWT_AUTH.getByName(mount?.uuid ?? "");
}
