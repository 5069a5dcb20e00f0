import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;
let lines: string[];

beforeAll(async () => {
  holdSweeps();
  root = await initialized();
});

beforeEach(() => {
  lines = [];
  for (const level of ["log", "error", "warn", "info", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation((...args: unknown[]) => {
      lines.push(args.map(String).join(" "));
    });
  }
});

afterEach(() => vi.restoreAllMocks());

const parsed = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the audit log", () => {
  it("has one line a request: who, what, where, how it ended", async () => {
    const { client_token, accessor } = await createToken(root, { policies: ["default"], display_name: "ci" });
    lines = [];
    await call("GET", "auth/token/lookup-self", { token: client_token });
    await call("GET", "sys/policy/x", { token: client_token });
    await call("GET", "auth/token/lookup-self", { token: "s.unknown" });
    await call("GET", "sys/health");
    expect(parsed()).toMatchObject([
      {
        type: "request",
        operation: "read",
        path: "auth/token/lookup-self",
        status: 200,
        accessor,
        display_name: "token-ci",
      },
      { operation: "read", path: "sys/policy/x", status: 403, error: "permission denied" },
      { status: 403 },
      { path: "sys/health", status: 200 },
    ]);
    const ids = parsed().map((line) => line.request_id);
    expect(new Set(ids).size).toBe(4);
    expect(parsed()[0]?.token_hash).toMatch(/^hmac-sha256:[0-9a-f]{64}$/);
  });

  it("gives the same token the same hash and another one another", async () => {
    const { client_token } = await createToken(root);
    lines = [];
    await call("GET", "auth/token/lookup-self", { token: client_token });
    await call("POST", "auth/token/renew-self", { token: client_token });
    await call("GET", "auth/token/lookup-self", { token: root });
    const [a, b, c] = parsed().map((line) => line.token_hash);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });

  it("never holds a secret: not of a header, a body, a URL or an answer", async () => {
    const secrets: string[] = [root];
    const { client_token, accessor } = await createToken(root, { ttl: "1h" });
    const batch = (await createToken(root, { type: "batch", ttl: "1h", policies: ["default"] })).client_token;
    const custom = (await createToken(root, { id: "chosen-by-root-1" })).client_token;
    secrets.push(client_token, batch, custom);
    const token = root;
    for (const secret of [client_token, batch, custom]) {
      for (const path of ["lookup", "renew", "revoke-orphan"]) {
        await call("POST", `auth/token/${path}`, { token, body: { token: secret } });
        await call("POST", `auth/token/${path}/${secret}`, { token });
        await call("GET", `auth/token/${path}/${secret}`, { token: client_token });
      }
      // A token that root chose has no shape: where no endpoint expects a token, nothing tells it from a name.
      if (secret !== custom) {
        await call("GET", secret, { token });
        await call("GET", `nope/${secret}/x`);
        await call("POST", `v1/auth/token/lookup/${secret}`, { token });
      }
      await call("GET", "auth/token/lookup-self", { token: secret });
      await call("POST", "auth/token/create", { token, raw: `{"id": "${secret}` });
      // Requests that are refused before they are read all the way.
      await call("POST", `auth/token/renew/${secret}`, { token, raw: "{" });
      await call("POST", `auth/token/revoke-orphan/${secret}/`, { token });
      await call("POST", `/auth/token/renew/${secret}`, { token });
      await call("GET", `auth/token/lookup/${secret.replace(".", "%2e")}?list=maybe`, { token });
    }
    await call("POST", "cubbyhole/x", { token, body: { password: "swordfish" } });
    await call("GET", "cubbyhole/x", { token });
    await call("POST", "sys/policies/acl/p", { token, body: { policy: 'path "swordfish" {' } });
    await call("POST", "auth/token/lookup-accessor", { token, body: { accessor } });
    expect(lines.length).toBeGreaterThan(40);
    const log = lines.join("\n");
    for (const secret of [...secrets, "swordfish"]) expect(log).not.toContain(secret);
  });
});
