import { createExecutionContext, createScheduledController } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { version } from "../../../package.json";
import { app } from "../../../src/app/app.ts";
import worker from "../../../src/index.ts";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { systemOf } from "../../../src/system/system.ts";
import { tidyOf } from "../../../src/tidy/tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { callsTo, failing } from "../../support/calls.ts";
import { bindings, call } from "../../support/service.ts";

async function callWith(overrides: Record<string, unknown>, method: string, path: string, token?: string) {
  const headers = token ? { "X-Vault-Token": token } : undefined;
  const request = new Request(`http://grove.test/v1/${path}`, { method, ...(headers && { headers }) });
  const response = await app.fetch(request, { ...bindings, ...overrides }, createExecutionContext());
  return { status: response.status, body: JSON.parse(await response.text()) as Record<string, unknown> };
}

/** In order: the installation of this file goes through its life. */
describe("a new installation", () => {
  it.each([undefined, "", "short", "1:AAAA"])(
    "without a seal key (%j) every request is a 503 that says what to do",
    async (key) => {
      for (const [method, path] of [
        ["GET", "auth/token/lookup-self"],
        ["GET", "sys/health"],
        ["PUT", "sys/init"],
        ["GET", "nothing"],
      ] as const) {
        const answer = await callWith({ GROVE_SEAL_KEY: key }, method, path, "some-token");
        expect(answer.status).toBe(503);
        expect(String(answer.body.errors)).toContain("GROVE_SEAL_KEY");
      }
      const missing = await callWith({ GROVE_SEAL_KEY: undefined }, "GET", "x");
      expect(String(missing.body.errors)).toContain("npx wrangler secret put GROVE_SEAL_KEY");
      expect(String(missing.body.errors)).toContain("for wrangler dev in the file .dev.vars");
    },
  );

  it("says that it is not initialised, and serves nothing else", async () => {
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
    const health = await call("GET", "sys/health");
    expect([health.status, health.body.initialized, health.body.sealed]).toEqual([501, false, true]);
    expect((await call("GET", "sys/health?uninitcode=299")).status).toBe(299);
    expect((await call("GET", "sys/seal-status")).body).toMatchObject({ initialized: false, sealed: true });
    const answer = await call("GET", "auth/token/lookup-self", { token: "x" });
    expect(answer.status).toBe(503);
    expect(String(answer.body.errors)).toContain("sys/init");
  });

  it("says of stored tokens without keys that a backup must come back, and is not initialized", async () => {
    const stored = { STORED_TOKENS: "true", GROVE_INIT_TOKEN: "the-secret" };
    const answer = await callWith(stored, "GET", "auth/token/lookup-self", "x");
    expect([answer.status, String(answer.body.errors)]).toEqual([503, expect.stringContaining("do not initialize it")]);
    for (const path of ["sys/init", "sys/init/begin"]) {
      const { status, body } = await callWith(stored, "PUT", path, "the-secret");
      expect([status, String(body.errors)]).toEqual([400, expect.stringContaining("an empty data directory")]);
    }
    const root = { STORED_TOKENS: "true", GROVE_DEV_ROOT_TOKEN: "a-root-token-of-a-test" };
    expect((await callWith(root, "GET", "auth/token/lookup-self", root.GROVE_DEV_ROOT_TOKEN)).status).toBe(503);
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
  });

  it("is left alone by the cron trigger", async () => {
    await worker.scheduled(createScheduledController(), bindings);
    expect(await tidyOf(bindings).status()).toMatchObject({ running: null, last: null });
  });

  it("refuses whoever lacks the secret of the deployment, where it has one", async () => {
    const secret = { GROVE_INIT_TOKEN: "the-secret" };
    for (const token of [undefined, "the-secreT", "the-secret1", "the-secre"]) {
      const answer = await callWith(secret, "PUT", "sys/init", token);
      expect(answer.status).toBe(403);
      expect(String(answer.body.errors)).toContain("GROVE_INIT_TOKEN");
      expect(String(answer.body.errors)).not.toContain("the-secre");
    }
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
    // With it the call gets as far as the seal key, which is not good here.
    expect((await callWith({ ...secret, GROVE_SEAL_KEY: "1:AAAA" }, "PUT", "sys/init", "the-secret")).status).toBe(503);
  });

  it("gives the root token once, also when two ask at the same time and no list can store it", async () => {
    const full = failing(AccessorShard, "applyUpdates", "database or disk is full: SQLITE_FULL");
    const answers = await Promise.all([call("PUT", "sys/init"), call("POST", "sys/init"), call("PUT", "sys/init")]);
    full.end();
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    for (const { status, body } of answers.filter((answer) => !winners.includes(answer))) {
      expect([status, body.errors]).toEqual([400, ["Grove is already initialized"]]);
    }
    const root = winners[0]?.body.root_token ?? "";
    const self = await call("GET", "auth/token/lookup-self", { token: root });
    // Exactly these keys; without a lease there is nothing about renewal.
    expect(Object.keys(self.body.data)).toEqual([
      "accessor",
      "creation_time",
      "creation_ttl",
      "display_name",
      "entity_id",
      "expire_time",
      "explicit_max_ttl",
      "id",
      "meta",
      "num_uses",
      "orphan",
      "path",
      "policies",
      "ttl",
      "type",
    ]);
    expect(self.body.data).toMatchObject({ display_name: "root", path: "auth/token/root", policies: ["root"], ttl: 0 });
    const created = callsTo(TokenTree, "create");
    expect((await call("PUT", "sys/init")).status).toBe(400);
    // Strangers may send this all day: it must not make a tree each time.
    expect(created.calls).toEqual([]);
    expect((await call("GET", "auth/token/lookup-self", { token: root })).status).toBe(200);
  });

  it("answers the status endpoints without a token", async () => {
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: true });
    expect((await call("GET", "sys/leader")).body).toEqual({ ha_enabled: false });
    const health = await call("GET", "sys/health");
    expect(health.status).toBe(200);
    expect(health.body).toMatchObject({ initialized: true, sealed: false, standby: false, grove_version: version });
    const built = await callWith({ GROVE_COMMIT: "fcd9c58a" }, "GET", "sys/health");
    expect(built.body.grove_version).toBe(`${version}+fcd9c58a`);
    expect(health.body.performance_standby).toBe(false);
    expect((await call("GET", "sys/health?activecode=204")).status).toBe(204);
    for (const code of ["99", "600", "0x1F4", "5e2", "500.0", "+500", "%20500", "", "x"]) {
      for (const field of ["activecode", "sealedcode", "uninitcode"]) {
        expect((await call("GET", `sys/health?${field}=${code}`)).status, `${field}=${code}`).toBe(400);
      }
    }
    expect((await call("HEAD", "sys/health")).status).toBe(200);
    expect((await call("DELETE", "sys/health")).status).not.toBe(200);
  });
});

describe("the seal key", () => {
  const next = `2:${Buffer.from("another-seal-key-of-the-tests-32").toString("base64")}`;
  const fresh = async () => (await import("../../../src/system/installation.ts")).forgetInstallation();

  it("a wrong one keeps the service sealed and says which version is missing", async () => {
    await fresh();
    const answer = await callWith({ GROVE_SEAL_KEY: next }, "GET", "auth/token/lookup-self", "x");
    expect(answer.status).toBe(503);
    expect(String(answer.body.errors)).toContain("version 1");
    const health = await callWith({ GROVE_SEAL_KEY: next }, "GET", "sys/health");
    expect([health.status, health.body.initialized, health.body.sealed]).toEqual([503, true, true]);
  });

  it("is rotated by giving both; then the old one is not needed any more", async () => {
    await fresh();
    const both = { GROVE_SEAL_KEY: next, GROVE_SEAL_KEY_PREVIOUS: bindings.GROVE_SEAL_KEY };
    expect((await callWith(both, "GET", "auth/token/lookup-self", "x")).status).toBe(403);
    await fresh();
    expect((await callWith({ GROVE_SEAL_KEY: next }, "GET", "auth/token/lookup-self", "x")).status).toBe(403);
    await fresh();
    expect((await callWith({}, "GET", "auth/token/lookup-self", "x")).status).toBe(503);
    const snapshot = await systemOf(bindings).snapshot(null);
    expect(snapshot?.parts.keys?.sealedKeyRing).toMatch(/^2\./);
  });
});

describe("a development installation", () => {
  it("never replaces the root token of an installation that exists", async () => {
    await (await import("../../../src/system/installation.ts")).forgetInstallation();
    const env = {
      GROVE_SEAL_KEY: `2:${Buffer.from("another-seal-key-of-the-tests-32").toString("base64")}`,
      GROVE_DEV_ROOT_TOKEN: "dev-root",
    };
    expect((await callWith(env, "GET", "auth/token/lookup-self", "dev-root")).status).toBe(403);
  });
});
