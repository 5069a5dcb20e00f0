import { createExecutionContext, SELF } from "cloudflare:test";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../../src/app/app.ts";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/index.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

const create = (options: Parameters<typeof call>[2]) => call("POST", "auth/token/create", { token: root, ...options });
const listed = async () => (await call("GET", "auth/token/accessors?list=true", { token: root })).body.data.keys.length;

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
/** `count` names without values, as a query or a form. */
const manyNames = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`).join("&");

/** The namespace of trees, as when the platform refuses to start or to reach further objects. */
const refusingTrees = new Proxy(bindings.TOKEN_TREE, {
  get: (namespace, name) => {
    const member = Reflect.get(namespace, name);
    if (name !== "get") return typeof member === "function" ? member.bind(namespace) : member;
    return (id: DurableObjectId) => {
      const stub = namespace.get(id);
      const refuse = () => Promise.reject(Object.assign(new Error("too many objects"), { overloaded: true }));
      return new Proxy(stub, { get: (of, call) => (call === "create" ? refuse : Reflect.get(of, call)) });
    };
  },
});

it("a creation that the platform has no room for is a 503 that says when to come again", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  const request = new Request("https://grove.example.com/v1/auth/token/create-orphan", {
    method: "POST",
    headers: { "X-Vault-Token": root },
    body: "{}",
  });
  const answer = await app.fetch(request, { ...bindings, TOKEN_TREE: refusingTrees }, createExecutionContext());
  expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "1"]);
  expect(await answer.text()).not.toContain("too many objects");
});

describe("malformed requests are refused and change nothing", () => {
  it.each<[string, number, Parameters<typeof call>[2]]>([
    ["not JSON", 400, { raw: '{"policies":[' }],
    ["not an object", 400, { raw: "[1]" }],
    ["not UTF-8 text", 400, { raw: '{"a":"\ud800' }],
    ["too deep", 400, { raw: `{"a":${"[".repeat(5000)}` }],
    ["too many strings", 400, { body: { policies: Array.from({ length: 1001 }, () => "x") } }],
    ["too large", 413, { raw: `{"a":"${"x".repeat(1_048_576)}"}` }],
    ["CVE-2025-52893: an object as a number", 400, { body: { num_uses: { secret: "swordfish" } } }],
    ["an object as a duration", 400, { body: { ttl: { secret: "swordfish" } } }],
    ["a text as a duration", 400, { body: { ttl: "swordfish" } }],
    ["a list as a text", 400, { body: { display_name: ["swordfish"] } }],
    ["a text as a bool", 400, { body: { renewable: "swordfish" } }],
    ["objects in a list", 400, { body: { policies: [{ a: "swordfish" }] } }],
    ["objects in metadata", 400, { body: { meta: { a: { b: "swordfish" } } } }],
    ["metadata too large", 400, { body: { meta: { a: "x".repeat(70_000) } } }],
    ["too many fields of a form", 400, { raw: manyNames(1001), headers: FORM }],
    ["a number out of range", 400, { body: { num_uses: 1e12 } }],
    ["a duration out of range", 400, { body: { ttl: "99999999999h" } }],
    ["a negative ttl", 400, { body: { ttl: "-1h" } }],
    ["a negative use count", 400, { body: { num_uses: -1 } }],
    ["an unknown type", 400, { body: { type: "swordfish" } }],
    ["a long display name", 400, { body: { display_name: "x".repeat(600) } }],
    ["a long custom id", 400, { body: { id: "x".repeat(300) } }],
    ["a custom id with a line break", 400, { body: { id: "a\nb" } }],
    ["a bad wrap TTL", 400, { headers: { "X-Vault-Wrap-TTL": "swordfish" } }],
    ["a negative wrap TTL", 400, { headers: { "X-Vault-Wrap-TTL": "-1s" } }],
    ["another namespace", 404, { headers: { "X-Vault-Namespace": "swordfish" } }],
    ["GHSA-mwr2: a namespace that looks like the root", 404, { headers: { "X-Vault-Namespace": "a/root" } }],
  ])("%s", async (_, status, options) => {
    const before = await listed();
    const answer = await create(options);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body)).not.toContain("swordfish");
    expect(await listed()).toBe(before);
  });

  it("a form or query of very many names is refused before anything is made of it, also without a token", async () => {
    const answers = [
      await call("POST", "auth/token/lookup", { raw: manyNames(100_000), headers: FORM }),
      await call("GET", `auth/token/lookup?${manyNames(1001)}`),
    ];
    for (const { status, body } of answers) expect([status, body.errors]).toEqual([400, ["there are too many fields"]]);
    expect((await call("GET", `auth/token/lookup?${manyNames(1000)}`)).status).toBe(403);
  });

  it("CVE-2025-4166: a type failure names the field, not the value", async () => {
    const answer = await create({ body: { num_uses: { secret: "x-y-z" } } });
    expect(answer.body.errors[0]).toContain('"num_uses"');
    expect(JSON.stringify(answer.body)).not.toContain("x-y-z");
  });

  it("only for callers with rights: without them the answer is a 403, whatever the body", async () => {
    const { client_token } = await createToken(root, { policies: ["default"] });
    const answer = await call("POST", "auth/token/create", { token: client_token, body: { ttl: "swordfish" } });
    expect([answer.status, answer.body.errors]).toEqual([403, ["permission denied"]]);
  });
});

describe("paths and methods", () => {
  it.each([
    ["GET", "auth/token/nothing-here", 404, ["unsupported path"]],
    ["GET", "sys/nothing-here", 404, ["unsupported path"]],
    ["GET", "nope/x", 404, ['no handler for route "nope/x". route entry not found.']],
    ["GET", "auth/nope/login", 404, ['no handler for route "auth/nope/login". route entry not found.']],
    ["DELETE", "auth/token/create", 405, ["unsupported operation"]],
    ["GET", "auth/token/create", 405, ["unsupported operation"]],
    ["PATCH", "auth/token/lookup", 405, ["unsupported operation"]],
    ["POST", "auth/token/create/", 400, ["cannot write to a path ending in '/'"]],
    ["GET", "sys/policies/acl/%2e%2e%2fx", 400, ["relative paths not supported"]],
    ["GET", "sys/policies/acl/a%00b", 400, ["the path holds characters that are not printable"]],
    ["GET", "sys/policies/acl/a%E2%80%AEb", 400, ["the path holds characters that are not printable"]],
    ["GET", "cubbyhole/a%E2%80%8Bb", 400, ["the path holds characters that are not printable"]],
    ["GET", `sys/${"a".repeat(3000)}`, 400, ["the path is too long"]],
    ["GET", "auth/token/accessors?list=maybe", 400, ["list and scan must be true or false"]],
  ])("%s %s is %i", async (method, path, status, errors) => {
    const headers = { "Content-Type": "application/merge-patch+json" };
    const answer = await call(method, path, { token: root, ...(method === "PATCH" && { headers }) });
    expect([answer.status, answer.body.errors]).toEqual([status, errors]);
  });

  it.each([
    ...["", "root", "/", "root/", "/root", "/root/"].map((name) => [name, 200] as const),
    ...["ROOT", "Root", "root/x", "x/root", "//", "//root", "root//", "/root/x", "ro ot"].map(
      (name) => [name, 404] as const,
    ),
  ])("X-Vault-Namespace %j is answered %i, also of the interface of teams", async (name, status) => {
    const headers = { "X-Vault-Namespace": name };
    for (const path of ["auth/token/lookup-self", "account/details"]) {
      expect([path, (await call("GET", path, { token: root, headers })).status]).toEqual([path, status]);
    }
  });

  it("an unknown method is a 405 without a text", async () => {
    const response = await SELF.fetch("http://grove.test/v1/auth/token/create", { method: "OPTIONS" });
    expect([response.status, await response.json()]).toEqual([405, { errors: [] }]);
  });

  it("an unknown path is a 404 only for callers whose policies reach it", async () => {
    const { client_token } = await createToken(root, { policies: ["default"] });
    expect((await call("GET", "nope/x", { token: client_token })).status).toBe(403);
    expect((await call("GET", "nope/x")).status).toBe(403);
  });

  it("a list without names is a 404, or the list for a client that prefers that", async () => {
    const list = (headers: Record<string, string>, token = root) =>
      call("GET", "identity/group/name?list=true", { token, headers });
    expect((await list({})).status).toBe(404);
    expect((await list({ Prefer: "respond-async" })).status).toBe(404);
    for (const Prefer of ["empty-list", "respond-async, Empty-List"]) {
      const answer = await list({ Prefer });
      expect([answer.status, answer.body.data]).toEqual([200, { keys: [] }]);
    }
    const nobody = (await createToken(root, { policies: ["default"] })).client_token;
    expect((await list({ Prefer: "empty-list" }, nobody)).status).toBe(403);
  });

  it("all base paths serve the same", async () => {
    for (const base of ["", "/v1", "/api/v2"]) {
      const response = await SELF.fetch(`http://grove.test${base}/auth/token/lookup-self`, {
        headers: { "X-Vault-Token": root },
      });
      expect(response.status).toBe(200);
      await response.text();
    }
  });

  it.each([
    ["/v1/%73ys/health", 200],
    ["/sys/health?x=%2F", 200],
    ["/%73ys%2Fhealth", 200],
    ["/api/v2/auth%2Ftoken/lookup-self", 200],
    // Nothing encoded is a base path, or the console's.
    ["/%76%31/sys/health", 404],
    ["/%75i/", 404],
    ["/ui/tokens/a%20b", 200],
    ["/v1/sys/%zz", 400],
    ["/v1/organizations/%2e%2e%2fx", 400],
    ["/v1/sys/a%0Ab", 400],
  ])("%s is read decoded, below a base path as it was sent: %i", async (path, status) => {
    const response = await SELF.fetch(`http://grove.test${path}`, { headers: { "X-Vault-Token": root } });
    expect(response.status).toBe(status);
    await response.text();
  });

  it("takes the token from either header or as a bearer", async () => {
    for (const headers of [
      { "X-Vault-Token": root },
      { "X-Service-Token": root },
      { Authorization: `Bearer ${root}` },
      { "X-Vault-Token": root, Authorization: "Bearer something-else" },
    ]) {
      const response = await SELF.fetch("http://grove.test/v1/auth/token/lookup-self", { headers });
      expect(response.status).toBe(200);
      await response.text();
    }
    const basic = await SELF.fetch("http://grove.test/v1/auth/token/lookup-self", {
      headers: { Authorization: `bearer ${root}` },
    });
    expect([basic.status, await basic.json()]).toEqual([403, { errors: ["permission denied"] }]);
  });

  it("reads a form body", async () => {
    const response = await SELF.fetch("http://grove.test/v1/auth/token/create", {
      method: "POST",
      headers: { "X-Vault-Token": root, "Content-Type": "application/x-www-form-urlencoded" },
      body: "policies=default&ttl=1h",
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ auth: { policies: ["default"], lease_duration: 3600 } });
  });

  it("no answer may be kept on the way", async () => {
    const answer = await create({ body: {} });
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect((await call("GET", "nope")).headers.get("Cache-Control")).toBe("no-store");
  });

  it("an unknown field is only warned about", async () => {
    const answer = await create({ body: { surprise: 1, another: "x" } });
    expect(answer.status).toBe(200);
    expect(answer.body.warnings).toEqual(["Endpoint ignored these unrecognized parameters: [another surprise]"]);
  });
});

describe("fuzz", () => {
  const path = fc.constantFrom(
    "auth/token/create",
    "auth/token/create-orphan",
    "auth/token/lookup",
    "auth/token/renew",
    "auth/token/revoke-orphan",
    "auth/token/lookup-accessor",
    "sys/policies/acl/p",
    "sys/policy/p",
    "cubbyhole/x",
  );
  const field = fc.constantFrom(
    ...[
      "token",
      "accessor",
      "id",
      "policies",
      "meta",
      "ttl",
      "period",
      "num_uses",
      "type",
      "increment",
      "policy",
      "rules",
    ],
  );

  it("no body makes a 500", async () => {
    await fc.assert(
      fc.asyncProperty(path, fc.dictionary(field, fc.jsonValue({ maxDepth: 3 })), async (target, body) => {
        const answer = await call("POST", target, { token: root, body });
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 120 },
    );
  });

  it("no path, query or token makes a 500", async () => {
    const words = fc.array(
      fc.oneof(fc.string(), fc.constantFrom("auth", "token", "sys", "policy", "..", "%2e", "lookup")),
    );
    await fc.assert(
      fc.asyncProperty(
        words,
        fc.string(),
        fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH"),
        async (parts, query, method) => {
          const url = `https://grove.example.com/v1/${parts.map(encodeURIComponent).join("/")}?${encodeURIComponent(query)}`;
          const request = new Request(url, { method, headers: { "X-Vault-Token": root } });
          const answer = await app.fetch(request, bindings, createExecutionContext());
          expect(answer.status).toBeLessThan(500);
          await answer.text();
        },
      ),
      { numRuns: 120 },
    );
  });
});

/** The environment, but for an object that does not answer: it throws this instead. */
function throwing(thrown: unknown): Env {
  const TIDY = new Proxy(bindings.TIDY, {
    get: () => {
      throw thrown;
    },
  });
  return { ...bindings, TIDY };
}

it.each([
  ["an Error", new Error("swordfish")],
  ["a text", "swordfish"],
  ["nothing", undefined],
  ["an object", { secret: "swordfish" }],
])("%s that is thrown becomes a 500 without details, with its last audit line", async (_, thrown) => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const request = new Request("http://grove.test/v1/auth/token/tidy-status", { headers: { "X-Vault-Token": root } });
  const response = await worker.fetch(request, throwing(thrown), createExecutionContext());
  vi.restoreAllMocks();
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("swordfish");
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    type: "response",
    path: "auth/token/tidy-status",
    status: 500,
    request_id: response.headers.get("X-Request-Id"),
  });
});
