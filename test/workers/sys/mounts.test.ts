import { beforeAll, describe, expect, it } from "vitest";
import { ONE_PROCESS } from "../../../src/app/deployments.ts";
import { KINDS } from "../../../src/app/registry.ts";
import { runAs } from "../../support/deployments.ts";
import { call, createToken, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  runAs(ONE_PROCESS);
  root = await initialized();
});

const get = (path: string) => call("GET", path, { token: root });
const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const remove = (path: string) => call("DELETE", path, { token: root });

describe("sys/auth", () => {
  it("lists the token method, its data repeated at the top level", async () => {
    const answer = await get("sys/auth");
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body.data)).toEqual(["token/"]);
    expect(answer.body["token/"]).toEqual(answer.body.data["token/"]);
    expect(answer.body.data["token/"]).toEqual({
      type: "token",
      description: "token based credentials",
      accessor: expect.stringMatching(/^auth_token_[0-9a-f]{8}$/),
      uuid: expect.any(String),
      local: false,
      seal_wrap: false,
      external_entropy_access: false,
      options: null,
      plugin_version: "",
      running_plugin_version: "",
      running_sha256: "",
      config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false, token_type: "default-service" },
    });
  });

  it("enables, reads and disables a method at a path of several segments", async () => {
    const enabled = await post("sys/auth/teams/a/cloud", {
      type: "cloud",
      description: "machines of team a",
      local: false,
      options: null,
      config: { default_lease_ttl: "1h", max_lease_ttl: 7200, listing_visibility: "unauth", force_no_cache: false },
    });
    expect(enabled).toMatchObject({ status: 204, body: null });
    const read = await get("sys/auth/teams/a/cloud");
    expect(read.body.data).toMatchObject({
      type: "cloud",
      description: "machines of team a",
      config: { default_lease_ttl: 3600, max_lease_ttl: 7200, listing_visibility: "unauth" },
    });
    expect((await get("sys/auth")).body.data["teams/a/cloud/"]).toEqual(read.body.data);
    expect((await remove("sys/auth/teams/a/cloud")).status).toBe(204);
    expect(await get("sys/auth/teams/a/cloud")).toMatchObject({
      status: 400,
      body: { errors: ["No auth engine at teams/a/cloud/"] },
    });
    expect((await remove("sys/auth/teams/a/cloud")).status).toBe(204);
  });

  it("shows that a method was enabled as a local one: clients compare it with what they sent", async () => {
    expect((await post("sys/auth/near", { type: "aws", local: true })).status).toBe(204);
    expect((await get("sys/auth/near")).body.data).toMatchObject({ local: true });
    await post("sys/auth/near/tune", { description: "tuned" });
    expect((await get("sys/mounts/auth/near")).body.data).toMatchObject({ local: true, description: "tuned" });
    expect((await post("sys/auth/far", { type: "aws", local: "perhaps" })).status).toBe(400);
    await remove("sys/auth/near");
  });

  it.each([
    ["sys/auth/x", {}, "backend type must be specified as a string"],
    ["sys/auth/x", { type: "token" }, "token credential backend cannot be instantiated"],
    [
      "sys/auth/x",
      { type: "nope" },
      `unknown auth method; the type must be one of ${[...KINDS.methods.keys()].join(", ")}`,
    ],
    ["sys/auth/token", { type: "cloud" }, "path is already in use at token/"],
    ["sys/auth/token/below", { type: "cloud" }, "path is already in use at token/"],
    ["sys/auth/x", { type: "cloud", config: { default_lease_ttl: "soon" } }, "unable to parse default TTL"],
    ["sys/auth/x", { type: "cloud", config: { max_lease_ttl: "-1s" } }, "unable to parse max TTL"],
  ])("refuses %s with %j", async (path, body, message) => {
    expect(await post(path, body)).toMatchObject({ status: 400, body: { errors: [message] } });
  });

  it("gives one place to one of two that ask for it at once", async () => {
    const answers = await Promise.all([
      post("sys/auth/race", { type: "cloud" }),
      post("sys/auth/race", { type: "aws" }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
    await remove("sys/auth/race");
  });

  it("never disables the token method", async () => {
    expect(await remove("sys/auth/token")).toMatchObject({
      status: 400,
      body: { errors: ["token credential backend cannot be disabled"] },
    });
  });

  it("serves no path below a method that has none, and says so", async () => {
    await post("sys/auth/empty", { type: "aws" });
    expect(await get("auth/empty/nothing/here")).toMatchObject({
      status: 404,
      body: { errors: ["unsupported path"] },
    });
    await remove("sys/auth/empty");
    expect((await get("auth/empty/nothing/here")).body.errors[0]).toContain("no handler for route");
  });

  it("a rule for a method holds for every spelling of its path", async () => {
    await post("sys/auth/guarded", { type: "cloud" });
    const rules = [
      ["sys/auth/*", '"read", "delete", "sudo"'],
      ["sys/mounts/*", '"read"'],
      ["sys/auth/guarded", '"deny"'],
      ["sys/auth/guarded/tune", '"deny"'],
      ["sys/mounts/auth/guarded/tune", '"deny"'],
    ].map(([path, capabilities]) => `path "${path}" { capabilities = [${capabilities}] }`);
    await post("sys/policies/acl/janitor", { policy: rules.join("\n") });
    const { client_token: token } = await createToken(root, { policies: ["janitor"] });
    for (const path of ["guarded", "guarded/", "guarded//", "/guarded", "%20guarded", "guarded%20"]) {
      expect((await call("GET", `sys/auth/${path}`, { token })).status).toBe(403);
      expect((await call("DELETE", `sys/auth/${path}`, { token })).status).toBe(403);
      expect((await call("GET", `sys/auth/${path}/tune`, { token })).status).toBe(403);
      expect((await call("GET", `sys/mounts/auth/${path}/tune`, { token })).status).toBe(403);
    }
    expect((await call("GET", "sys/auth/token/", { token })).status).toBe(200);
    expect((await call("GET", "sys/mounts/auth/token//tune", { token })).status).toBe(200);
    expect((await get("sys/auth/guarded")).status).toBe(200);
    await remove("sys/auth/guarded");
  });

  it("needs sudo besides the capability", async () => {
    await post("sys/policies/acl/mounter", { policy: 'path "sys/auth/*" { capabilities = ["create", "update"] }' });
    const { client_token } = await createToken(root, { policies: ["mounter"] });
    const answer = await call("POST", "sys/auth/x", { token: client_token, body: { type: "cloud" } });
    expect(answer.status).toBe(403);
  });
});

describe("tuning", () => {
  it("reads its lifetimes, the system's where it sets none, and resets them with system, at either path", async () => {
    await post("sys/auth/tuned", { type: "cloud", config: { max_lease_ttl: "10m" } });
    expect((await get("sys/auth/tuned/tune")).body.data).toEqual({
      description: "",
      default_lease_ttl: 2_764_800,
      max_lease_ttl: 600,
      force_no_cache: false,
      token_type: "default-service",
    });
    expect((await post("sys/mounts/auth/tuned/tune", { default_lease_ttl: "5m", token_type: "batch" })).status).toBe(
      204,
    );
    expect((await get("sys/mounts/auth/tuned/tune")).body.data).toMatchObject({
      default_lease_ttl: 300,
      max_lease_ttl: 600,
      token_type: "batch",
    });
    expect((await post("sys/auth/tuned/tune", { token_type: "" })).status).toBe(204);
    expect((await get("sys/auth/tuned/tune")).body.data.token_type).toBe("default-service");
    expect(await post("sys/auth/tuned/tune", { max_lease_ttl: "1m" })).toMatchObject({
      status: 400,
      body: { errors: ["backend max lease TTL of 60 would be less than backend default lease TTL of 300"] },
    });
    await post("sys/auth/tuned/tune", { default_lease_ttl: "system", max_lease_ttl: "system", description: "d" });
    expect((await get("sys/auth/tuned/tune")).body.data).toMatchObject({
      description: "d",
      default_lease_ttl: 2_764_800,
      max_lease_ttl: 2_764_800,
    });
    await remove("sys/auth/tuned");
    expect((await post("sys/auth/tuned/tune", { description: "x" })).body.errors).toEqual(["No auth engine at tuned/"]);
  });

  it("keeps the keys that the audit log shows plainly, and headers", async () => {
    const settings = {
      audit_non_hmac_request_keys: ["a", "b"],
      audit_non_hmac_response_keys: "c,d",
      passthrough_request_headers: ["X-One"],
      allowed_response_headers: ["X-Two"],
    };
    expect((await post("sys/auth/token/tune", settings)).status).toBe(204);
    expect((await get("sys/auth/token/tune")).body.data).toMatchObject({
      audit_non_hmac_request_keys: ["a", "b"],
      audit_non_hmac_response_keys: ["c", "d"],
      passthrough_request_headers: ["X-One"],
      allowed_response_headers: ["X-Two"],
    });
    await post("sys/auth/token/tune", {
      audit_non_hmac_request_keys: [],
      audit_non_hmac_response_keys: [],
      passthrough_request_headers: [],
      allowed_response_headers: [],
    });
    expect(await get("sys/auth/token/tune")).toMatchObject({
      body: { data: expect.not.objectContaining({ audit_non_hmac_request_keys: expect.anything() }) },
    });
  });

  it("refuses a token type for the token method", async () => {
    expect(await post("sys/auth/token/tune", { token_type: "batch" })).toMatchObject({
      status: 400,
      body: { errors: ["'token_type' cannot be set for 'token' or 'ns_token' auth mounts"] },
    });
  });

  it("drives the lifetimes of tokens at creation and renewal", async () => {
    await post("sys/auth/token/tune", { default_lease_ttl: "100s", max_lease_ttl: "200s" });
    const token = await createToken(root, { policies: ["default"] });
    expect(token.lease_duration).toBe(100);
    expect((await createToken(root, { policies: ["default"], ttl: "1h" })).lease_duration).toBe(200);
    const renewed = await call("POST", "auth/token/renew-self", {
      token: token.client_token,
      body: { increment: "1h" },
    });
    expect(renewed.body.auth.lease_duration).toBeGreaterThan(190);
    expect(renewed.body.auth.lease_duration).toBeLessThanOrEqual(200);
    expect(renewed.body.warnings[0]).toContain("exceeded the effective max_ttl");
    await post("sys/auth/token/tune", { default_lease_ttl: "system", max_lease_ttl: "system" });
    expect((await createToken(root, { policies: ["default"] })).lease_duration).toBe(2_764_800);
  });
});

describe("sys/mounts", () => {
  it("shows what every installation has, without a token type", async () => {
    const { data } = (await get("sys/mounts")).body;
    expect(Object.keys(data)).toEqual(["cubbyhole/", "identity/", "sys/"]);
    expect(data["cubbyhole/"]).toMatchObject({ type: "cubbyhole", local: true });
    expect(data["sys/"]).toMatchObject({ type: "system", seal_wrap: true });
    expect(data["identity/"]?.config).toEqual({
      default_lease_ttl: 0,
      max_lease_ttl: 0,
      force_no_cache: false,
      passthrough_request_headers: ["Authorization"],
    });
    expect((await get("sys/mounts")).body.data).toEqual(data);
    expect((await get("sys/mounts/sys")).body.data).toEqual(data["sys/"]);
    expect((await get("sys/mounts/secret")).body.errors).toEqual(["No secret engine mount at secret/"]);
  });

  it("shows auth mounts too, as clients that manage every kind of mount read them back", async () => {
    await post("sys/auth/managed/a", { type: "aws", description: "managed" });
    const read = (await get("sys/auth/managed/a")).body.data;
    for (const path of ["sys/mounts/auth/managed/a", "sys/mounts/auth/managed/a/"]) {
      const answer = await get(path);
      expect(answer).toMatchObject({ status: 200, body: { data: read, type: "aws" } });
    }
    expect((await get("sys/mounts/auth/token")).body.data.accessor).toMatch(/^auth_token_/);
    await remove("sys/auth/managed/a");
    expect(await get("sys/mounts/auth/managed/a")).toMatchObject({
      status: 400,
      body: { errors: ["No secret engine mount at auth/managed/a/"] },
    });
  });

  it("shows the lifetimes of what every installation has", async () => {
    expect((await get("sys/mounts/cubbyhole/tune")).body.data).toEqual({
      description: "per-token private secret storage",
      default_lease_ttl: 2_764_800,
      max_lease_ttl: 2_764_800,
      force_no_cache: false,
    });
    expect((await get("sys/mounts/identity/tune")).body.data).toMatchObject({
      passthrough_request_headers: ["Authorization"],
    });
    expect((await get("sys/mounts/secret/tune")).status).toBe(400);
    expect((await get("sys/mounts/auth/tune")).status).toBe(400);
    expect((await post("sys/mounts/cubbyhole/tune", { default_lease_ttl: "1h" })).status).toBe(405);
  });
});
