import { beforeAll, describe, expect, it, vi } from "vitest";
import { bodyOf, call, createToken, initialized } from "../../support/service.ts";
import { rewriteRecord } from "../../support/trees.ts";

const MOUNTS = "sys/internal/ui/mounts";
let root: string;

beforeAll(async () => {
  root = await initialized();
});

const keysOf = (value: unknown) => Object.keys(value as object);
const withPolicy = async (policy: string) => {
  await call("POST", "sys/policies/acl/tested", { token: root, body: { policy } });
  return (await createToken(root, { policies: ["tested"], no_default_policy: true })).client_token;
};

describe("mounts for user interfaces", () => {
  it("without a token mounts that are hidden before login are not shown", async () => {
    const { status, body } = await call("GET", MOUNTS);
    expect([status, body.data]).toEqual([200, { auth: {}, secret: {} }]);
  });

  it("without a token a method that is to be seen before login shows its type, and nothing that it is set to", async () => {
    const enabled = await call("POST", "sys/auth/machines", {
      token: root,
      body: { type: "aws", description: "for machines", config: { listing_visibility: "unauth" } },
    });
    expect(enabled.status).toBe(204);
    const { body } = await call("GET", MOUNTS);
    expect(body.data).toEqual({
      auth: { "machines/": { type: "aws", description: "for machines", options: {} } },
      secret: {},
    });
    // Anybody knows of it.
    const token = await withPolicy('path "x" { capabilities = ["read"] }');
    const all = (await call("GET", MOUNTS, { token })).body.data;
    expect([keysOf(all.auth), keysOf(all.secret)]).toEqual([["machines/"], []]);
    await call("DELETE", "sys/auth/machines", { token: root });
  });

  it("says without a token of a listed method whether people can log in at its provider", async () => {
    const listed = { listing_visibility: "unauth" };
    const enable = (path: string, type: string, config: object) =>
      call("POST", `sys/auth/${path}`, { token: root, body: { type, config } });
    const answers = [enable("keys", "jwt", listed), enable("people", "oidc", listed), enable("other", "jwt", {})];
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([204, 204, 204]);
    const provider = {
      ...{ oidc_discovery_url: "https://login.example.com", oidc_client_id: "grove", oidc_client_secret: "hidden" },
      skip_jwks_validation: true,
    };
    vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("no network"));
    const written = await call("POST", "auth/people/config", { token: root, body: provider });
    expect(written.status).toBeLessThan(300);
    const { body } = await call("GET", MOUNTS);
    const shown = { description: "", options: {} };
    expect(body.data.auth).toEqual({
      "keys/": { type: "jwt", ...shown, browser_login: false },
      "people/": { type: "oidc", ...shown, browser_login: true },
    });
    for (const path of ["keys", "people", "other"]) await call("DELETE", `sys/auth/${path}`, { token: root });
  });

  it("with a token every mount where anything is granted, at it or below", async () => {
    const all = (await call("GET", MOUNTS, { token: root })).body.data;
    expect([keysOf(all.auth), keysOf(all.secret)]).toEqual([["token/"], ["cubbyhole/", "identity/", "sys/"]]);
    expect(all.auth["token/"]).toMatchObject({
      type: "token",
      description: "token based credentials",
      accessor: expect.stringMatching(/^auth_token_[0-9a-f]{8}$/) as unknown,
      config: { default_lease_ttl: 0, max_lease_ttl: 0, token_type: "default-service" },
    });
    const token = await withPolicy('path "identity/entity/id/x" { capabilities = ["read"] }');
    const some = (await call("GET", MOUNTS, { token })).body.data;
    expect([keysOf(some.auth), keysOf(some.secret)]).toEqual([[], ["identity/"]]);
  });

  it("a bad token is refused rather than taken for none", async () => {
    expect((await call("GET", MOUNTS, { token: "s.bad" })).status).toBe(403);
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    expect((await call("GET", MOUNTS, { token })).status).toBe(403);
  });

  it("asking does not count as a use", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"], num_uses: 2 });
    for (let i = 0; i < 3; i++) expect((await call("GET", MOUNTS, { token })).status).toBe(200);
    expect((await call("GET", "auth/token/lookup-self", { token })).body.data.num_uses).toBe(1);
  });

  it("a token that is bound to other networks is refused", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    await rewriteRecord(token, (record) => ({ ...record, boundCidrs: ["10.0.0.0/8"] }));
    const from = (address: string) => call("GET", MOUNTS, { token, headers: { "CF-Connecting-IP": address } });
    expect([(await from("10.1.2.3")).status, (await from("192.0.2.1")).status]).toEqual([200, 403]);
  });
});

describe("one mount", () => {
  it("needs a token, and a mount that is missing answers like one out of reach", async () => {
    expect((await call("GET", `${MOUNTS}/auth/token`)).status).toBe(403);
    const token = await withPolicy('path "auth/token/lookup" { capabilities = ["read"] }');
    const seen = await call("GET", `${MOUNTS}/auth/token`, { token });
    expect([seen.status, seen.body.data.path, seen.body.data.type]).toEqual([200, "auth/token/", "token"]);
    const missing = await call("GET", `${MOUNTS}/kv`, { token });
    const closed = await call("GET", `${MOUNTS}/sys`, { token });
    expect([missing.status, closed.status]).toEqual([403, 403]);
    expect(missing.body.errors[0]).toMatch(/^preflight capability check returned 403/);
    expect(closed.body).toEqual(missing.body);
  });

  it("may be asked for by a path below it", async () => {
    const { body } = await call("GET", `${MOUNTS}/auth/token/lookup`, { token: root });
    expect(body.data.path).toBe("auth/token/");
  });
});

describe("resultant-acl", () => {
  it("of root is root, of others their rules by path", async () => {
    expect((await call("GET", "sys/internal/ui/resultant-acl", { token: root })).body.data).toEqual({ root: true });
    const token = await withPolicy(`
      path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }
      path "kv/*" { capabilities = ["list"] }
      path "kv/+/x" { capabilities = ["read"] }`);
    expect((await call("GET", "sys/internal/ui/resultant-acl", { token })).body.data).toEqual({
      root: false,
      exact_paths: { "sys/internal/ui/resultant-acl": { capabilities: ["read"] } },
      glob_paths: { "kv/": { capabilities: ["list"] } },
    });
  });
});

describe("sys/internal/specs/openapi", () => {
  const SPECS = "sys/internal/specs/openapi";
  const pathsFor = async (token?: string, query = "") =>
    keysOf((await call("GET", SPECS + query, token === undefined ? {} : { token })).body.paths);

  it("describes the whole interface to anyone, without an envelope", async () => {
    const { status, body, headers } = await call("GET", SPECS);
    expect([status, body.openapi, headers.get("Content-Type")]).toEqual([200, "3.0.3", "application/json"]);
    expect(keysOf(body.paths)).toEqual(
      expect.arrayContaining(["/auth/token/create", "/auth/aws/login", "/auth/jwt/login", "/teams/{team}"]),
    );
    expect(await pathsFor(undefined, "?generic_mount_paths=true")).toContain("/auth/{jwt_mount_path}/login");
  });

  it("has the mounts that the caller reaches, where they are", async () => {
    for (const path of ["ci", "people"]) {
      await call("POST", `sys/auth/${path}`, { token: root, body: { type: "jwt" } });
    }
    const all = await pathsFor(root);
    expect(all).toEqual(expect.arrayContaining(["/auth/ci/login", "/auth/people/login"]));
    expect(all).not.toContain("/auth/jwt/login");
    const some = await pathsFor(await withPolicy('path "auth/ci/*" { capabilities = ["read"] }'));
    expect(some).toContain("/auth/ci/login");
    expect(some).not.toContain("/auth/people/login");
    for (const path of ["ci", "people"]) await call("DELETE", `sys/auth/${path}`, { token: root });
  });

  it("answers an invalid token like no token", async () => {
    expect(await pathsFor("s.unknown")).toContain("/auth/jwt/login");
  });

  it("names the operations of two mounts of one type apart", async () => {
    for (const path of ["ci", "people"]) {
      await call("POST", `sys/auth/${path}`, { token: root, body: { type: "jwt" } });
    }
    const { paths } = bodyOf<{
      paths: Record<string, { post: { operationId: string } }>;
    }>(await call("GET", SPECS, { token: root }));
    expect([paths["/auth/ci/login"]?.post.operationId, paths["/auth/people/login"]?.post.operationId].sort()).toEqual([
      "jwt-login",
      "jwt-login-at-auth-people",
    ]);
  });
});
