import { createExecutionContext } from "cloudflare:test";
import type { AuthorizeRequest } from "grove/types";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { LeaseAuthority } from "../../../src/rpc/lease-authority.ts";
import { TokenAuthority } from "../../../src/rpc/token-authority.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { failing } from "../../support/calls.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { type ApiResource, api, createOrganization, generateToken, resource } from "../../support/teams.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;
let authority: TokenAuthority;
let leases: LeaseAuthority;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
  authority = new TokenAuthority(createExecutionContext(), bindings);
  leases = new LeaseAuthority(createExecutionContext(), bindings);
  await post("sys/policies/acl/engine", {
    policy: `
      path "kv/data/*" { capabilities = ["read", "create"] }
      path "kv/list/*" { capabilities = ["list"] pagination_limit = 10 }
      path "kv/admin" { capabilities = ["update", "sudo"] }
      path "kv/limited" { capabilities = ["update"] allowed_parameters = { "size" = ["small"] } }
      path "kv/wrapped" { capabilities = ["read"] min_wrapping_ttl = "1m" }`,
  });
});

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });
const token = async (fields: Record<string, unknown> = {}) =>
  (await createToken(root, { policies: ["engine"], ...fields })).client_token;

describe("authorize", () => {
  it("lets the policies decide, and returns the holder and the rights of the deciding rule", async () => {
    const text = await token({ meta: { team: "red" }, display_name: "ci" });
    expect(await authority.authorize(text, { path: "kv/data/x", operation: "read" })).toEqual({
      allowed: true,
      sudo: false,
      create: false,
      update: false,
      limit: null,
      holder: {
        type: "service",
        accessor: expect.any(String) as unknown,
        displayName: "token-ci",
        policies: ["default", "engine"],
        identityPolicies: [],
        entityId: "",
        meta: { team: "red" },
        path: "auth/token/create",
        createdAt: expect.any(Number) as unknown,
        expiresAt: expect.any(Number) as unknown,
        usesLeft: 0,
      },
    });
  });

  it("refuses a path that a policy denies by another name of the same list", async () => {
    await post("sys/auth/machines", { type: "aws" });
    const policy = `path "auth/machines/*" { capabilities = ["read"] }
      path "auth/machines/identity-accesslist/*" { capabilities = ["deny"] }`;
    await post("sys/policies/acl/no-list", { policy });
    const text = await token({ policies: ["no-list"] });
    const reads = async (path: string) => (await authority.authorize(text, { path, operation: "read" })).allowed;
    expect(await reads("auth/machines/role/web")).toBe(true);
    expect(await reads("auth/machines/identity-whitelist/i-1")).toBe(false);
  });

  it.each<[AuthorizeRequest, unknown]>([
    [
      { path: "kv/data/x", operation: "create_or_update" },
      { allowed: true, create: true, update: false },
    ],
    [{ path: "/kv/data/x", operation: "read" }, { allowed: true }],
    [
      { path: "kv/admin", operation: "update" },
      { allowed: true, sudo: true },
    ],
    [
      { path: "kv/list/a", operation: "list" },
      { allowed: true, limit: 10 },
    ],
    [
      { path: "kv/list/a/", operation: "list", data: { limit: 3 } },
      { allowed: true, limit: 3 },
    ],
    [
      { path: "kv/list/a", operation: "list", data: { limit: 11 } },
      { allowed: false, reason: "denied" },
    ],
    [{ path: "kv/limited", operation: "update", data: { size: "small" } }, { allowed: true }],
    [
      { path: "kv/limited", operation: "update", data: { size: "large" } },
      { allowed: false, reason: "denied" },
    ],
    [
      { path: "kv/wrapped", operation: "read" },
      { allowed: false, reason: "denied" },
    ],
    [{ path: "kv/wrapped", operation: "read", wrapTtlSeconds: 60 }, { allowed: true }],
    [
      { path: "kv/data/x", operation: "delete" },
      { allowed: false, reason: "denied" },
    ],
    [
      { path: "sys/auth/x", operation: "update" },
      { allowed: false, reason: "denied" },
    ],
    [
      { path: "kv/data/../admin", operation: "read" },
      { allowed: false, reason: "invalid" },
    ],
    [
      { path: "kv/data/\u0000", operation: "read" },
      { allowed: false, reason: "invalid" },
    ],
    [
      { path: "x".repeat(3000), operation: "read" },
      { allowed: false, reason: "invalid" },
    ],
    [
      { path: "", operation: "read" },
      { allowed: false, reason: "invalid" },
    ],
    [
      { path: "kv/data/x", operation: "help" as never },
      { allowed: false, reason: "invalid" },
    ],
    [
      { path: 7 as never, operation: "read" },
      { allowed: false, reason: "invalid" },
    ],
    [null as never, { allowed: false, reason: "invalid" }],
  ])("decides about %j", async (request, expected) => {
    expect(await authority.authorize(await token(), request)).toMatchObject(expected as object);
  });

  it("gives tokens of teams and organizations the policies of the team alone: other paths are not Grove's", async () => {
    await createOrganization(root, "acme");
    const teams = await api<readonly ApiResource[]>("GET", "organizations/acme/teams", { token: root });
    const owners = teams.body.data[0]?.id ?? "";
    await api("PATCH", `teams/${owners}`, { token: root, body: resource("teams", { "token-policies": ["engine"] }) });
    const { text: ofOwners } = await generateToken(root, owners);
    const made = await api("POST", "organizations/acme/authentication-token", { token: root });
    for (const text of [ofOwners, String(made.body.data.attributes.token)]) {
      for (const path of ["organizations/acme", "organizations/acme/teams/x", "account/details", `teams/${owners}`]) {
        const decided = await authority.authorize(text, { path, operation: "read" });
        expect([path, decided]).toMatchObject([path, { allowed: false, reason: "denied" }]);
      }
      const written = { path: "organizations/acme/teams/x", operation: "update" } as const;
      expect(await authority.authorize(text, written)).toMatchObject({ allowed: false, reason: "denied" });
    }
    expect(await authority.authorize(ofOwners, { path: "kv/data/x", operation: "read" })).toMatchObject({
      allowed: true,
    });
    expect((await api("GET", "organizations/acme", { token: ofOwners })).status).toBe(200);
  });

  it("refuses every token that is not valid, whatever its type", async () => {
    const revoked = await token();
    await post("auth/token/revoke", { token: revoked });
    for (const bad of ["", "s.x", "b.x", revoked, 7, null, undefined, {}, "x".repeat(9000)]) {
      expect(await authority.authorize(bad as string, { path: "kv/data/x", operation: "read" })).toEqual({
        allowed: false,
        reason: "unauthenticated",
        message: "permission denied",
      });
      expect(await authority.lookup(bad as string)).toMatchObject({ found: false, reason: "unauthenticated" });
    }
  });

  it("counts one use, also when the policies refuse, and a look-up none", async () => {
    const text = await token({ num_uses: 2 });
    for (let i = 0; i < 3; i++) expect(await authority.lookup(text)).toMatchObject({ holder: { usesLeft: 2 } });
    expect(await authority.authorize(text, { path: "kv/x", operation: "read" })).toMatchObject({ reason: "denied" });
    expect(await authority.authorize(text, { path: "kv/data/x", operation: "read" })).toMatchObject({
      allowed: true,
      holder: { usesLeft: -1 },
    });
    expect(await authority.authorize(text, { path: "kv/data/x", operation: "read" })).toMatchObject({
      reason: "unauthenticated",
    });
  });

  it("asks where the request comes from when the token is bound to networks", async () => {
    await post("auth/token/roles/bound", { token_bound_cidrs: "10.0.0.0/8", allowed_policies: "engine" });
    const text = (await post("auth/token/create/bound", {})).body.auth.client_token;
    const request = { path: "kv/data/x", operation: "read" } as const;
    expect(await authority.authorize(text, { ...request, clientAddress: "10.1.1.1" })).toMatchObject({ allowed: true });
    for (const elsewhere of [request, { ...request, clientAddress: "192.0.2.1" }]) {
      expect(await authority.authorize(text, elsewhere)).toMatchObject({ allowed: false, reason: "unauthenticated" });
    }
  });

  it("also evaluates the policies of the entity, and ends with it", async () => {
    await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies: "default" });
    const made = (await post("auth/token/create/person", { entity_alias: "ada" })).body.auth;
    const request = { path: "kv/data/x", operation: "read" } as const;
    expect(await authority.authorize(made.client_token, request)).toMatchObject({ reason: "denied" });
    await post(`identity/entity/id/${made.entity_id}`, { policies: "engine" });
    const holder = { entityId: made.entity_id, policies: ["default"], identityPolicies: ["engine"] };
    expect(await authority.authorize(made.client_token, request)).toMatchObject({ allowed: true, holder });
    expect(await authority.lookup(made.client_token)).toMatchObject({ found: true, holder });
    await post(`identity/entity/id/${made.entity_id}`, { disabled: true });
    expect(await authority.authorize(made.client_token, request)).toMatchObject({ reason: "unauthenticated" });
    expect(await authority.lookup(made.client_token)).toMatchObject({ reason: "unauthenticated" });
  });

  it("takes batch tokens", async () => {
    const text = await token({ type: "batch", ttl: "1h" });
    const request = { path: "kv/data/x", operation: "read" } as const;
    const holder = { type: "batch", accessor: "", policies: ["default", "engine"] };
    expect(await authority.authorize(text, request)).toMatchObject({ allowed: true, holder });
    expect(await authority.lookup(text)).toMatchObject({ found: true, holder });
  });

  it("refuses when it can't decide", async () => {
    const text = await token();
    const busy = failing(TokenTree, "run", Object.assign(new Error("busy"), { overloaded: true }));
    vi.spyOn(console, "error").mockReturnValue();
    const verdict = await authority.authorize(text, { path: "kv/data/x", operation: "read" });
    busy.end();
    expect(verdict).toMatchObject({ allowed: false, reason: "unavailable" });
  });
});

describe("leases", () => {
  const target = "service://SECRET_ENGINE/revoke";

  it("are registered, looked up, renewed and revoked", async () => {
    const text = await token();
    const made = await leases.register({ token: text, path: "kv/data/x", ttl: 60, target, data: { name: "x" } });
    if (!made.done) throw new Error(made.message);
    expect(made.lease).toMatchObject({ path: "kv/data/x", renewable: true });
    expect(await leases.lookup(made.lease.id)).toMatchObject({ done: true, lease: { id: made.lease.id } });
    const renewed = await leases.renew(made.lease.id, 600);
    expect(renewed.done && (renewed.lease.expiresAt ?? 0) > (made.lease.expiresAt ?? 0)).toBe(true);
    expect(await leases.revoke(made.lease.id)).toEqual({ done: true });
    expect(await leases.lookup(made.lease.id)).toMatchObject({ done: false, reason: "invalid" });
    expect(await leases.revoke(made.lease.id)).toEqual({ done: true });
  });

  it.each([
    [{ path: "kv/x", target }],
    [{ token: "s.unknown", path: "kv/x", target }],
    [{ token: 7, path: "kv/x", target }],
    [{ accessor: "unknown", path: "kv/x", target: "http://127.0.0.1/" }],
    [{ accessor: "unknown", path: "kv/x", target, ttl: -1 }],
    [{ accessor: "unknown", path: "kv/x", target, ttl: "1h" }],
  ])("refuse %j", async (lease) => {
    expect(await leases.register(lease as never)).toMatchObject({ done: false, reason: "invalid" });
  });

  it.each([
    ["is tried again", 500],
    ["was given up", 400],
  ])("are not found when the revocation %s", async (_, status) => {
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(null, { status }));
    const text = await token();
    const made = await leases.register({ token: text, path: "kv/x", ttl: 60, target: "https://engine.example.com/" });
    if (!made.done) throw new Error(made.message);
    expect(await leases.lookup(made.lease.id)).toMatchObject({ done: true });
    expect(await leases.revoke(made.lease.id)).toMatchObject({ done: false });
    expect(await leases.lookup(made.lease.id)).toMatchObject({ done: false, reason: "invalid" });
  });

  it("are revoked to the end, also when the caller disconnects", async () => {
    const context = createExecutionContext();
    const kept = vi.spyOn(context, "waitUntil");
    const made = await leases.register({ token: await token(), path: "kv/x", ttl: 60, target, data: { name: "y" } });
    if (!made.done) throw new Error(made.message);
    const revoked = await new LeaseAuthority(context, bindings).revoke(made.lease.id);
    expect(revoked).toEqual({ done: true });
    expect(await Promise.all(kept.mock.calls.flat())).toEqual([{ ok: true, value: true }]);
  });

  it("refuse ids that are none", async () => {
    for (const id of ["", "x", 7, null, "y".repeat(5000)]) {
      expect(await leases.lookup(id as string)).toMatchObject({ done: false });
      expect(await leases.renew(id as string)).toMatchObject({ done: false });
    }
  });
});

describe("the audit log", () => {
  let lines: string[] = [];

  beforeEach(() => {
    lines = [];
    vi.spyOn(console, "log").mockImplementation((line: unknown) => {
      lines.push(String(line));
    });
  });

  const HASH = expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/);

  it("has a line before a call that acts, and one for what is no request or has no end", async () => {
    const data: Record<string, unknown> = {};
    data.again = data;
    await leases.revoke("nothing");
    await authority.authorize(await token(), { path: "../x", operation: "read" });
    await authority.authorize(await token(), { path: "kv/data/x", operation: "read", data });
    const found = lines.map((line) => JSON.parse(line)).filter(({ via }) => via === "rpc");
    expect(found).toMatchObject([
      { type: "request", path: "sys/leases/revoke", data: { lease_id: HASH } },
      { type: "response", path: "sys/leases/revoke", status: 200 },
      { type: "response", operation: "unknown", status: 400, token_hash: HASH },
      { type: "response", path: "kv/data/x", status: 200 },
    ]);
    expect(found[0].request_id).toBe(found[1].request_id);
  });

  it("has one line a call that reads, without the token and without the data", async () => {
    const text = await token({ meta: { run: "7" } });
    const auth = { metadata: { run: "7" } };
    lines = [];
    await authority.authorize(text, { path: "kv/data/x", operation: "create", data: { secret: "the-value" } });
    await authority.authorize(text, { path: "kv/none", operation: "read", clientAddress: "192.0.2.7" });
    await authority.lookup(text);
    const [name] = Object.keys(JSON.parse(lines[0] ?? "").data);
    expect(name).toEqual(HASH);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      {
        via: "rpc",
        operation: "create",
        path: "kv/data/x",
        status: 200,
        auth: { display_name: "token", token_type: "service", metadata: { run: "7" } },
        data: { [String(name)]: HASH },
      },
      { via: "rpc", operation: "read", path: "kv/none", status: 403, client_address: "192.0.2.7", auth },
      { type: "response", via: "rpc", operation: "read", path: "auth/token/lookup", status: 200, auth },
    ]);
    for (const line of lines) {
      expect(line).not.toContain(text);
      expect(line).not.toContain("the-value");
    }
  });
});
