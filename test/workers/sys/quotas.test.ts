import { createExecutionContext } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/index.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { newIssuer } from "../../support/issuer.ts";
import { bindings, call, createToken, initialized, keysOf } from "../../support/service.ts";

const NOW = Date.now();

let root: string;
let operations = 0;
let address = 0;
/** An address that has sent nothing yet. */
let from: Record<string, string>;

beforeAll(async () => {
  root = await initialized();
  await write("sys/auth/machines", { type: "jwt" });
  await write("sys/auth/others", { type: "jwt" });
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  address++;
  from = { "CF-Connecting-IP": `192.0.2.${address}` };
});

afterEach(async () => {
  vi.useRealTimers();
  for (const name of await names()) await operate("DELETE", `sys/quotas/rate-limit/${name}`);
  await write("sys/quotas/config", { rate_limit_exempt_paths: ["sys/health"] });
});

/** A call by an operator whom no quota holds: each comes from an address of its own. */
const operate = (method: string, path: string, body?: unknown) => {
  operations++;
  const headers = { "CF-Connecting-IP": `10.0.${operations >> 8}.${operations & 255}` };
  return call(method, path, { token: root, headers, ...(body !== undefined && { body }) });
};
const write = (path: string, body: unknown) => operate("PUT", path, body);
const quota = (fields: Record<string, unknown>, name = "q") => write(`sys/quotas/rate-limit/${name}`, fields);
const read = (name = "q") => operate("GET", `sys/quotas/rate-limit/${name}`);
const names = async (): Promise<string[]> => {
  const listed = await operate("GET", "sys/quotas/rate-limit?list=true");
  return listed.body.data ? keysOf(listed) : [];
};
const get = (path: string, headers = from) => call("GET", path, { token: root, headers });
const logIn = (body: unknown = { role: "web" }, mount = "machines", headers = from) =>
  call("POST", `auth/${mount}/login`, { body, headers });
const statuses = async (times: number, send: () => ReturnType<typeof call>) => {
  const got: number[] = [];
  for (let i = 0; i < times; i++) got.push((await send()).status);
  return got;
};

describe("sys/quotas/rate-limit", () => {
  it("writes, shows, lists and deletes quotas, with the fields in every form that clients send", async () => {
    expect((await read()).status).toBe(404);
    const fields = { path: "/auth/machines/login", rate: "897.3", interval: "2m", block_interval: "5m" };
    expect((await quota(fields)).status).toBe(204);
    expect((await read()).body.data).toEqual({
      type: "rate-limit",
      name: "q",
      path: "auth/machines/login",
      role: "",
      rate: 897.3,
      interval: 120,
      block_interval: 300,
      inheritable: false,
    });
    await quota({ path: "", rate: 10, interval: 60 }, "a.b-c");
    expect((await read("a.b-c")).body.data).toMatchObject({ path: "", interval: 60, inheritable: true });
    expect(await names()).toEqual(["a.b-c", "q"]);
    expect((await quota({ rate: 3 })).body.errors).toEqual([
      'quota rule with similar properties exists under the name "a.b-c"',
    ]);
    expect((await read()).body.data).toMatchObject({ rate: 897.3 });
    expect((await operate("DELETE", "sys/quotas/rate-limit/q")).status).toBe(204);
    expect((await operate("DELETE", "sys/quotas/rate-limit/q")).status).toBe(204);
    expect((await read()).status).toBe(404);
  });

  it.each([
    [{ rate: 0 }, "'rate' is invalid"],
    [{ rate: 1, path: "nope" }, "invalid mount path: no mount serves it"],
    [{ rate: "many" }, 'Field validation failed: error converting input for field "rate": expected a number'],
  ])("refuses %j", async (fields, message) => {
    const answer = await quota(fields);
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });

  it("is for callers whose policies reach it", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    expect((await call("PUT", "sys/quotas/rate-limit/q", { token, body: { rate: 1 } })).status).toBe(403);
    expect((await call("PUT", "sys/quotas/config", { token, body: {} })).status).toBe(403);
    expect((await call("GET", "sys/quotas/rate-limit/q", { token })).status).toBe(403);
    expect((await read()).status).toBe(404);
  });

  it("follows a mount to another place, and goes with it", async () => {
    await write("sys/auth/moving", { type: "jwt" });
    await quota({ path: "auth/moving", role: "a", rate: 1 });
    const move = await write("sys/remount", { from: "auth/moving", to: "auth/moved" });
    await vi.waitFor(async () => {
      const status = await operate("GET", `sys/remount/status/${move.body.migration_id}`);
      expect(status.body.data.migration_info?.status).toBe("success");
    }, 60_000);
    expect((await read()).body.data).toMatchObject({ path: "auth/moved/", role: "a" });
    await operate("DELETE", "sys/auth/moved");
    await vi.waitFor(async () => expect((await read()).status).toBe(404), 60_000);
  });
});

describe("a request beyond a quota", () => {
  it("is answered 429 with Retry-After until the interval of its client is over", async () => {
    await quota({ path: "sys/auth", rate: 2, interval: 20 });
    expect(await statuses(2, () => get("sys/auth"))).toEqual([200, 200]);
    vi.setSystemTime(NOW + 4_500);
    const refused = await get("sys/auth");
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "16"]);
    expect(refused.body).toEqual({ errors: ['request path "sys/auth": rate limit quota exceeded'] });
    expect((await get("sys/mounts")).status).toBe(200);
    expect((await get("sys/auth", { "CF-Connecting-IP": "198.51.100.9" })).status).toBe(200);
    vi.setSystemTime(NOW + 20_000);
    expect((await get("sys/auth")).status).toBe(200);
  });

  it("is refused in every spelling of its path", async () => {
    await quota({ path: "sys/policies/acl/web", rate: 2, interval: 60 });
    const paths = ["sys/policies/acl/web", "sys/policy/Web", "sys/policies/acl/WEB", "sys/policies/acl/%20web"];
    const answers = await Promise.all(paths.map((path) => get(path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 429, 429]);
  });

  it("shuts its client out for a block interval", async () => {
    await quota({ path: "sys/auth", rate: 1, interval: 1, block_interval: 60 });
    expect(await statuses(2, () => get("sys/auth"))).toEqual([200, 429]);
    vi.setSystemTime(NOW + 59_000);
    expect((await get("sys/auth")).headers.get("Retry-After")).toBe("1");
    vi.setSystemTime(NOW + 60_000);
    expect((await get("sys/auth")).status).toBe(200);
  });

  it("does nothing: no use is counted, and its body is not read", async () => {
    await quota({ path: "auth/token", rate: 1, interval: 60 });
    const { client_token: token } = (await write("auth/token/create", { policies: ["default"], num_uses: 3 })).body
      .auth;
    const self = () => call("GET", "auth/token/lookup-self", { token, headers: from });
    expect(await statuses(4, self)).toEqual([200, 429, 429, 429]);
    const usesLeft = (await write("auth/token/lookup", { token })).body.data.num_uses;
    expect(usesLeft).toBe(2);
    const broken = await call("POST", "auth/token/create", { token: root, headers: from, raw: "{" });
    expect(broken.status).toBe(429);
  });

  it("is refused for the whole /64 network of an IPv6 address", async () => {
    await quota({ rate: 1, interval: 60 });
    const at = (ip: string) => get("sys/auth", { "CF-Connecting-IP": ip });
    expect((await at("2001:db8:1:2::1")).status).toBe(200);
    expect((await at("2001:db8:1:2:ffff::9")).status).toBe(429);
    expect((await at("2001:db8:1:3::1")).status).toBe(200);
  });

  it("stays refused when something else changes, and is let in when its quota does", async () => {
    await quota({ path: "sys/mounts", rate: 1, interval: 60 });
    expect(await statuses(2, () => get("sys/mounts"))).toEqual([200, 429]);
    await write("sys/policies/acl/unrelated", { policy: 'path "a" { capabilities = ["read"] }' });
    forgetInstallation();
    expect((await get("sys/mounts")).status).toBe(429);
    await quota({ path: "sys/mounts", rate: 1, interval: 60 });
    expect((await get("sys/mounts")).status).toBe(200);
  });

  it("of the interface of teams is refused in its format, and one within the limit is not slowed down", async () => {
    await write("sys/quotas/config", { enable_rate_limit_response_headers: true });
    await quota({ rate: 1, interval: 60 });
    const ping = () => call("GET", "organizations/none", { token: root, headers: from });
    const first = await ping();
    expect([first.status, first.headers.get("X-Ratelimit-Limit")]).toEqual([404, null]);
    const second = await ping();
    expect([second.status, second.headers.get("X-Ratelimit-Reset")]).toEqual([429, "60"]);
    expect(second.body.errors[0]).toMatchObject({ status: "429", title: "too many requests" });
  });
});

describe("a quota of a role", () => {
  it("counts logins by that role alone, whatever the case of its name", async () => {
    await quota({ path: "auth/machines", role: "Web", rate: 1, interval: 60 });
    expect(await statuses(2, () => logIn({ role: "web" }))).toEqual([400, 429]);
    expect((await logIn({ role: "WEB" })).status).toBe(429);
    expect((await logIn({ role: "other" })).status).toBe(400);
    expect((await logIn({ role: ["web"] })).status).toBe(400);
    expect((await logIn({ role: "web" }, "others")).status).toBe(400);
    expect((await get("auth/machines/role/web")).status).toBe(404);
  });

  it("counts a role that is sent as a number or a bool, which a login reads as its name", async () => {
    await quota({ path: "auth/machines", role: "7", rate: 1, interval: 60 });
    await quota({ path: "auth/machines", role: "1", rate: 1, interval: 60 }, "one");
    expect(await statuses(2, () => logIn({ role: 7 }))).toEqual([400, 429]);
    expect((await logIn({ role: "1" })).status).toBe(400);
    expect((await logIn({ role: true })).status).toBe(429);
  });

  it("counts a login that names none under the default role, whose login it is", async () => {
    await operate("POST", "sys/auth/tokens", { type: "jwt" });
    const key = (await newIssuer("RS256")).pem;
    await operate("POST", "auth/tokens/config", { jwt_validation_pubkeys: key, default_role: "CI" });
    for (const [at, body] of [{}, { role: "" }, { role: null }, { role: "ci" }].entries()) {
      await quota({ path: "auth/tokens", role: "ci", rate: at + 2, interval: 60 });
      expect(await statuses(at + 3, () => logIn(body, "tokens"))).toEqual([...new Array(at + 2).fill(400), 429]);
      expect((await logIn({ role: "other" }, "tokens")).status).toBe(400);
    }
    await quota({ path: "auth/tokens", role: "ci", rate: 1, interval: 60 });
    expect(await statuses(2, () => logIn({ role: ["ci"] }, "tokens"))).toEqual([400, 400]);
    const explain = () => call("POST", "auth/tokens/explain/login", { token: root, body: { jwt: "x" }, headers: from });
    expect(await statuses(2, explain)).toEqual([200, 429]);
  });

  it("leaves the mount's quota to logins whose body can't be read", async () => {
    await quota({ path: "auth/machines", role: "web", rate: 5, interval: 60 });
    await quota({ path: "auth/machines", rate: 2, interval: 60 }, "mount");
    const garbage = () => call("POST", "auth/machines/login", { raw: '{"role":', headers: from });
    expect(await statuses(3, garbage)).toEqual([400, 400, 429]);
    expect((await logIn({ role: "web" })).status).toBe(400);
  });
});

describe("sys/quotas/config", () => {
  it("is replaced completely, and by default shows that health checks are exempt", async () => {
    const config = async () => (await operate("GET", "sys/quotas/config")).body.data;
    await write("sys/quotas/config", {
      rate_limit_exempt_paths: ["sys/auth"],
      enable_rate_limit_audit_logging: "true",
    });
    expect(await config()).toEqual({
      rate_limit_exempt_paths: ["sys/auth"],
      enable_rate_limit_audit_logging: true,
      enable_rate_limit_response_headers: false,
    });
    await write("sys/quotas/config", {});
    expect(await config()).toEqual({
      rate_limit_exempt_paths: [],
      enable_rate_limit_audit_logging: false,
      enable_rate_limit_response_headers: false,
    });
  });

  it("exempts paths from every quota", async () => {
    await write("sys/quotas/config", { rate_limit_exempt_paths: ["sys/health"] });
    await quota({ rate: 1, interval: 60 });
    expect(await statuses(3, () => get("sys/health"))).toEqual([200, 200, 200]);
    expect(await statuses(2, () => get("sys/leader"))).toEqual([200, 429]);
  });

  it("lets answers say what is left", async () => {
    await write("sys/quotas/config", { enable_rate_limit_response_headers: true });
    await quota({ path: "sys/auth", rate: 2, interval: 20 });
    const { headers } = await get("sys/auth");
    const said = ["X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"].map((name) => headers.get(name));
    expect(said).toEqual(["2", "1", "20"]);
    expect((await get("sys/mounts")).headers.get("X-Ratelimit-Limit")).toBeNull();
  });

  it("puts the first refusal of a client on record, or all of them", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    await write("sys/quotas/config", {});
    await quota({ path: "sys/auth", rate: 1, interval: 20 });
    const refusals = () => lines.map((line) => JSON.parse(line)).filter(({ status }) => status === 429);
    await statuses(4, () => get("sys/auth"));
    expect(refusals()).toMatchObject([
      {
        type: "response",
        operation: "read",
        path: "sys/auth",
        error: "rate limit quota exceeded",
        client_address: from["CF-Connecting-IP"],
      },
    ]);
    vi.setSystemTime(NOW + 20_000);
    await statuses(3, () => get("sys/auth"));
    expect(refusals()).toHaveLength(2);
    await write("sys/quotas/config", { enable_rate_limit_audit_logging: true });
    await statuses(3, () => get("sys/auth"));
    expect(refusals()).toHaveLength(5);
  });
});

describe("without a quota", () => {
  it("one address can log in a thousand times in ten seconds at all mounts together", async () => {
    // One without a readable body counts as well, and costs the least.
    const attempt = (i: number) =>
      call("POST", `auth/${i % 2 === 0 ? "machines" : "others"}/login`, { raw: "{", headers: from });
    for (let i = 0; i < 1_000; i++) expect((await attempt(i)).status).toBe(400);
    expect((await logIn()).status).toBe(429);
    expect((await get("sys/auth")).status).toBe(200);
    expect((await logIn({}, "machines", { "CF-Connecting-IP": "198.51.100.7" })).status).toBe(400);
    await quota({ path: "auth/machines", rate: 5, interval: 10 });
    expect((await logIn()).status).toBe(400);
    expect((await logIn({}, "others")).status).toBe(429);
  });

  it("clients without an address are not counted as one that tries to initialise too often", async () => {
    const initialize = () => call("PUT", "sys/init");
    expect(await statuses(11, initialize)).toEqual(Array<number>(11).fill(400));
  });

  it("one address can try to initialise ten times in a minute, and ask as often as it likes", async () => {
    const initialize = () => call("PUT", "sys/init", { headers: from });
    expect(await statuses(11, initialize)).toEqual([...Array<number>(10).fill(400), 429]);
    expect((await get("sys/init")).status).toBe(200);
    vi.setSystemTime(NOW + 60_000);
    expect((await initialize()).status).toBe(400);
  });

  it("one address can guess ten times in a minute at what generates a root token, in every spelling", async () => {
    // Neither the reference's exempt paths nor a wide quota lets more through.
    await write("sys/quotas/config", {
      rate_limit_exempt_paths: ["sys/generate-root/attempt", "sys/generate-root/update"],
    });
    await quota({ path: "", rate: 1000, interval: 1 });
    const paths = ["sys/generate-root/attempt", "sys/generate-root-token/attempt"];
    const ask = (i: number) => call("GET", paths[i % 2] ?? "", { token: "a guess", headers: from });
    for (let i = 0; i < 10; i++) expect((await ask(i)).status).toBe(403);
    expect([(await ask(0)).status, (await ask(1)).status]).toEqual([429, 429]);
  });

  it("a /48 of IPv6 can guess forty times in a minute, from however many networks in it", async () => {
    let guesses = 0;
    for (let i = 0; i < 60; i++) {
      const headers = { "CF-Connecting-IP": `2001:db8:1:${(i * 1024).toString(16)}::1` };
      const { status } = await call("GET", "sys/generate-root/attempt", { token: "a guess", headers });
      if (status !== 429) guesses++;
    }
    expect(guesses).toBe(40);
  });

  it("one address has ten guesses a minute at the secrets of a restore; then a right guess gets the same answer", async () => {
    const ask = async (path: string, token: string) => {
      const headers = { ...from, "X-Vault-Token": token };
      const request = new Request(`http://grove.test/v1/sys/restore/${path}`, { method: "POST", headers, body: "{}" });
      const env = { ...bindings, GROVE_INIT_TOKEN: "the-secret" } as Env;
      return (await worker.fetch(request, env, createExecutionContext())).status;
    };
    // A restore of many parts uses up nothing.
    for (let part = 0; part < 20; part++) expect(await ask("part", "the-secret")).toBe(400);
    for (let guess = 0; guess < 9; guess++)
      expect(await ask(["begin", "part", "finish", "stored/file"][guess % 4] ?? "", "x")).toBe(403);
    expect(await ask("part", "the-secret")).toBe(400);
    expect(await ask("part", "x")).toBe(403);
    for (const path of ["begin", "part", "finish", "stored/file"]) {
      for (const token of ["x", "the-secret"]) expect(await ask(path, token)).toBe(429);
    }
  });

  it("a limit of the network stands behind both", async () => {
    const keys: string[] = [];
    const limit = async ({ key }: RateLimitOptions) => ({ success: keys.push(key) < 2 });
    const send = (path: string) => {
      const request = new Request(`http://grove.test/v1/${path}`, { method: "PUT", headers: from, body: "{}" });
      return worker.fetch(request, { ...bindings, LOGIN_RATE_LIMIT: { limit } } as Env, createExecutionContext());
    };
    expect((await send("auth/machines/login")).status).toBe(400);
    const refused = await send("auth/machines/login");
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "10"]);
    expect((await send("sys/init")).status).toBe(429);
    expect((await send("sys/auth/machines/tune")).status).toBe(403);
    expect(keys).toEqual(Array<string>(3).fill(from["CF-Connecting-IP"] ?? ""));
  });
});
