import { createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import worker from "../../../src/index.ts";
import { Tidy } from "../../../src/tidy/tidy.ts";
import { failing } from "../../support/calls.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

async function scrape(headers: Record<string, string>, env = bindings, query = "?format=prometheus") {
  const request = new Request(`http://grove.test/v1/sys/metrics${query}`, { headers });
  const response = await worker.fetch(request, env, createExecutionContext());
  return { status: response.status, type: response.headers.get("Content-Type"), text: await response.text() };
}

/** The value of the sample that begins with `name`, with its labels. */
function sample(text: string, name: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
}

describe("sys/metrics", () => {
  it("is for callers whose policies allow it", async () => {
    expect((await scrape({})).status).toBe(403);
    const { client_token } = await createToken(root, { policies: ["default"] });
    expect((await scrape({ "X-Vault-Token": client_token })).status).toBe(403);
    await call("POST", "sys/policies/acl/scraper", {
      token: root,
      body: { policy: 'path "sys/metrics" { capabilities = ["read"] }' },
    });
    const scraper = await createToken(root, { policies: ["scraper"] });
    const { status, type } = await scrape({ "X-Vault-Token": scraper.client_token });
    expect([status, type]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  });

  it("needs no token where the deployment says so", async () => {
    const open = { ...bindings, METRICS_UNAUTHENTICATED: "true" };
    expect((await scrape({}, open)).status).toBe(200);
    expect((await scrape({}, { ...bindings, METRICS_UNAUTHENTICATED: "yes" })).status).toBe(403);
  });

  it("counts logins by the roles of their mounts; unknown roles share one count, since anybody can send a thousand names", async () => {
    const write = (path: string, body: unknown) => call("POST", path, { token: root, body });
    await write("sys/auth/aws", { type: "aws" });
    await write("auth/aws/role/web", {
      auth_type: "iam",
      bound_iam_principal_arn: "arn:aws:iam::111111111111:user/*",
      resolve_aws_unique_ids: false,
    });
    await write("sys/auth/jwt", { type: "jwt" });
    const proof = { iam_http_request_method: "POST", iam_request_url: btoa("x"), iam_request_headers: btoa("{}") };
    for (const role of ["web", "made-up-1", "made-up-2", "x/y\nz"]) {
      const body = { role, ...proof, iam_request_body: btoa("x") };
      expect((await call("POST", "auth/aws/login", { body })).status).toBe(400);
    }
    await call("POST", "auth/jwt/login", { body: { role: "made-up-3" } });
    const { text } = await scrape({ "X-Vault-Token": root });
    const logins = text.split("\n").filter((line) => line.startsWith("grove_logins_total{"));
    expect(logins.sort()).toEqual([
      'grove_logins_total{mount="auth/aws/",role="",result="refused"} 3',
      'grove_logins_total{mount="auth/aws/",role="web",result="refused"} 1',
      'grove_logins_total{mount="auth/jwt/",role="",result="refused"} 1',
    ]);
  });

  it("counts requests by endpoint and status, and creations under the names of the reference", async () => {
    const before = (await scrape({ "X-Vault-Token": root })).text;
    await createToken(root, { policies: ["default"], ttl: "1m" });
    await call("GET", "sys/policies/acl/secret-name", { token: root });
    await call("GET", "auth/token/lookup-self", { token: "s.unknown" });
    const { text } = await scrape({ "X-Vault-Token": root });
    const grown = (name: string) => sample(text, name) - (sample(before, name) || 0);
    expect(grown("vault_token_create_count")).toBe(1);
    expect(grown("vault_token_lookup_count")).toBe(1);
    expect(
      grown('grove_http_request_duration_seconds_count{route="sys/policies/acl/:name",operation="read",status="404"}'),
    ).toBe(1);
    expect(grown("vault_core_handle_request_count")).toBe(4);
    expect(text).not.toContain("secret-name");
    expect(sample(text, "grove_http_requests_in_flight")).toBe(1);
  });

  it("shows the counts of the installation's objects", async () => {
    const { text } = await scrape({ "X-Vault-Token": root });
    expect(sample(text, "vault_core_unsealed")).toBe(1);
    expect(sample(text, "vault_expire_num_irrevocable_leases")).toBe(0);
    expect(sample(text, "vault_identity_num_entities")).toBe(0);
    expect(sample(text, 'grove_token_count_by_end{within="never"}')).toBeGreaterThanOrEqual(0);
    expect(sample(text, "grove_snapshot_age_seconds")).toBeLessThanOrEqual(5);
  });

  it("is JSON in the shape of the reference without a format, and refuses others", async () => {
    const { body } = await call("GET", "sys/metrics", { token: root });
    expect(Object.keys(body)).toEqual(["Timestamp", "Gauges", "Points", "Counters", "Samples"]);
    expect(body.Samples).toContainEqual(expect.objectContaining({ Name: "vault.token.create", Labels: {} }));
    expect((await call("GET", "sys/metrics?format=xml", { token: root })).status).toBe(400);
  });
});

describe("sys/internal/counters", () => {
  it("counts entities and service tokens", async () => {
    await call("POST", "identity/entity", { token: root, body: { name: "somebody" } });
    const entities = await call("GET", "sys/internal/counters/entities", { token: root });
    expect(entities.body.data).toEqual({ counters: { entities: { total: 1 } } });
    const tokens = await call("GET", "sys/internal/counters/tokens", { token: root });
    expect(tokens.body.data).toEqual({ counters: { service_tokens: { total: expect.any(Number) as unknown } } });
  });
});

describe("sys/ready", () => {
  it("answers 200 while the objects behind the service answer, and names none that fails", async () => {
    const { status, body } = await call("GET", "sys/ready");
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ ready: true, initialized: true, sealed: false, failing_objects: [] }),
    ]);
  });

  it("answers 503 with the names of objects that do not answer, and 200 when they do again", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6_000 });
    const broken = failing(Tidy, "status", "the disk of this object is gone");
    try {
      const failing = await call("GET", "sys/ready");
      expect([failing.status, failing.body]).toEqual([
        503,
        expect.objectContaining({ ready: false, failing_objects: ["tidy"] }),
      ]);
      expect(JSON.stringify(failing.body)).not.toContain("disk");
      broken.end();
      // Objects are called at most every five seconds, so that clients without a token can not keep them busy.
      expect((await call("GET", "sys/ready")).status).toBe(503);
      expect((await call("GET", "sys/health")).body).toMatchObject({ failing_objects: ["tidy"] });
      vi.setSystemTime(Date.now() + 6_000);
      expect((await call("GET", "sys/ready")).status).toBe(200);
    } finally {
      broken.end();
      vi.useRealTimers();
    }
  });

  it("sys/health tells the age of what the isolate knows", async () => {
    const { body } = await call("GET", "sys/health");
    expect(body).toMatchObject({ snapshot_age_seconds: expect.any(Number) as unknown, failing_objects: [] });
  });
});
