import { authorize } from "grove/client";
import type { Allowed, Authorization, AuthorizeRequest, TokenHolder } from "grove/types";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const HOLDER: TokenHolder = {
  type: "service",
  accessor: "accessor",
  displayName: "token-ci",
  policies: ["default"],
  identityPolicies: [],
  entityId: "",
  meta: null,
  path: "auth/token/create",
  createdAt: 0,
  expiresAt: null,
  usesLeft: 0,
};

const ALLOWED: Allowed = {
  allowed: true,
  holder: HOLDER,
  sudo: false,
  create: false,
  update: false,
  limit: null,
};

/** A binding that gives one answer to everything, and what it was asked. */
function grove(answer: Authorization | Error = ALLOWED) {
  const asked: { token: string; request: AuthorizeRequest }[] = [];
  const binding = {
    async authorize(token: string, request: AuthorizeRequest) {
      asked.push({ token, request });
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  return { binding, asked };
}

/** Each test has tokens of its own: the cache belongs to the isolate. */
let token: string;
let number = 0;

beforeEach(() => {
  token = `s.${number++}`;
});

const request = (path: string, init: RequestInit = {}) =>
  new Request(`https://api.test${path}`, { headers: { "X-Vault-Token": token }, ...init });

async function refusal(decision: Awaited<ReturnType<typeof authorize>>) {
  if (decision.allowed) throw new Error("it was allowed");
  const { status, headers } = decision.response;
  return { status, challenge: headers.get("WWW-Authenticate"), body: await decision.response.json() };
}

describe("what is asked", () => {
  it.each([
    ["GET", "read"],
    ["HEAD", "read"],
    ["POST", "create_or_update"],
    ["PUT", "create_or_update"],
    ["PATCH", "patch"],
    ["DELETE", "delete"],
  ])("%s asks for %s", async (method, operation) => {
    const { binding, asked } = grove();
    await authorize(binding, request("/reports/a", { method }));
    expect(asked).toEqual([{ token, request: { path: "reports/a", operation } }]);
  });

  it.each([
    ["/reports/a%20b?x=1", "reports/a b"],
    ["//reports/a", "reports/a"],
    // Policies must see what the handler sees: an encoded letter would escape a rule for the plain one.
    ["/%72eports/%61", "reports/a"],
    ["/reports/%2561", "reports/%61"],
  ])("the path of %s is %s", async (url, path) => {
    const { binding, asked } = grove();
    await authorize(binding, request(url));
    expect(asked[0]?.request.path).toBe(path);
  });

  it("takes a bearer token, and prefers X-Vault-Token", async () => {
    const { binding, asked } = grove();
    await authorize(binding, request("/a", { headers: { Authorization: "bearer  s.bearer" } }));
    await authorize(binding, request("/a", { headers: { Authorization: "Bearer s.bearer", "X-Vault-Token": token } }));
    expect(asked.map((one) => one.token)).toEqual(["s.bearer", token]);
  });

  it("passes the address of the client, fields and what the caller chose", async () => {
    const { binding, asked } = grove();
    const headers = { "X-Vault-Token": token, "CF-Connecting-IP": "192.0.2.1" };
    await authorize(binding, request("/a", { headers }));
    await authorize(binding, request("/a"), {
      path: "kv/x",
      operation: "list",
      data: { size: 1 },
      clientAddress: "192.0.2.2",
    });
    expect(asked.map((one) => one.request)).toEqual([
      { path: "a", operation: "read", clientAddress: "192.0.2.1" },
      { path: "kv/x", operation: "list", data: { size: 1 }, clientAddress: "192.0.2.2" },
    ]);
  });
});

describe("refusals", () => {
  it("asks for a token when there is none, without a call", async () => {
    const { binding, asked } = grove();
    for (const headers of [
      {},
      { Authorization: "Basic dTpw" },
      { Authorization: "Bearer" },
      { "X-Vault-Token": " " },
    ]) {
      const answer = await refusal(await authorize(binding, request("/a", { headers })));
      expect(answer).toEqual({ status: 401, challenge: "Bearer", body: { errors: ["missing client token"] } });
    }
    expect(asked).toEqual([]);
  });

  it.each([
    ["unauthenticated", 401, 'Bearer error="invalid_token"'],
    ["denied", 403, 'Bearer error="insufficient_scope"'],
    ["invalid", 400, null],
    ["unavailable", 503, null],
  ] as const)("a refusal for the reason %s is a %i", async (reason, status, challenge) => {
    const { binding } = grove({ allowed: false, reason, message: "why" });
    expect(await refusal(await authorize(binding, request("/a")))).toMatchObject({ status, challenge });
  });

  it("lets nobody in when the binding throws", async () => {
    const { binding } = grove(new Error("Network connection lost"));
    const answer = await refusal(await authorize(binding, request("/a"), { cacheSeconds: 60 }));
    expect(answer).toMatchObject({ status: 503, body: { errors: ["the token authority does not answer"] } });
  });

  it("refuses methods without an operation, and paths that can't be decoded", async () => {
    const { binding, asked } = grove();
    expect(await refusal(await authorize(binding, request("/a", { method: "OPTIONS" })))).toMatchObject({
      status: 405,
    });
    expect(await refusal(await authorize(binding, request("/a%ff")))).toMatchObject({ status: 400 });
    expect(asked).toEqual([]);
  });
});

describe("a path that a runtime passes as it was sent", () => {
  const sent = (path: string, like = request("/")) =>
    new Proxy(like, { get: (one, name) => (name === "url" ? `https://api.test${path}` : Reflect.get(one, name)) });

  it.each(["/admin/../reports/a", "/admin/%2e%2E/reports/a", "/reports/./a", "/..", "/admin\\..\\reports\\a"])(
    "%s is refused: routers disagree about it",
    async (path) => {
      const { binding, asked } = grove();
      expect(await refusal(await authorize(binding, sent(path)))).toMatchObject({ status: 400 });
      expect(asked).toEqual([]);
    },
  );

  it.each([
    ["", ""],
    ["?x=/../b", ""],
    ['/reports/a"{b}^|é', 'reports/a"{b}^|é'],
    ["/reports/a%5Cb%20c..d", "reports/a\\b c..d"],
    ["/reports/..%2Fa?x=/../b", "reports/../a"],
  ])("%s is asked for", async (path, asks) => {
    const { binding, asked } = grove();
    await authorize(binding, sent(path));
    expect(asked[0]?.request.path).toBe(asks);
  });
});

describe("the cache", () => {
  const NOW = Date.UTC(2026, 0, 1);

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  /** How often Grove is asked by requests at these moments (seconds). */
  async function callsAt(seconds: readonly number[], holder: Partial<TokenHolder> = {}, cacheSeconds = 5) {
    const { binding, asked } = grove({ ...ALLOWED, holder: { ...HOLDER, ...holder } });
    for (const second of seconds) {
      vi.setSystemTime(NOW + second * 1000);
      await authorize(binding, request("/a"), { cacheSeconds });
    }
    return asked.length;
  }

  it("is off unless asked for", async () => {
    expect(await callsAt([0, 0, 0], {}, 0)).toBe(3);
  });

  it("repeats a permission until its time is over", async () => {
    expect(await callsAt([0, 4.999, 5, 9])).toBe(2);
  });

  it("never outlives the token", async () => {
    expect(await callsAt([0, 1.999, 2], { expiresAt: NOW + 2000 })).toBe(2);
  });

  it("keeps nothing of tokens whose uses are counted", async () => {
    expect(await callsAt([0, 1, 2], { usesLeft: 5 })).toBe(3);
  });

  it("tells tokens, paths, operations and addresses apart", async () => {
    const { binding, asked } = grove();
    const options = { cacheSeconds: 5 };
    const requests = [
      () => request("/a"),
      () => request("/b"),
      () => request("/a", { method: "DELETE" }),
      () => request("/a", { headers: { "X-Vault-Token": `${token}-other` } }),
      () => request("/a", { headers: { "X-Vault-Token": token, "CF-Connecting-IP": "192.0.2.1" } }),
    ];
    for (let round = 0; round < 2; round++) {
      for (const make of requests) await authorize(binding, make(), options);
    }
    expect(asked).toHaveLength(requests.length);
  });

  it("tells the services that are asked apart: each has tokens of its own", async () => {
    const [one, other] = [grove(), grove({ allowed: false, reason: "unauthenticated", message: "invalid token" })];
    const options = { cacheSeconds: 5 };
    expect((await authorize(one.binding, request("/a"), options)).allowed).toBe(true);
    expect((await authorize(other.binding, request("/a"), options)).allowed).toBe(false);
    expect((await authorize(one.binding, request("/a"), options)).allowed).toBe(true);
    expect([one.asked.length, other.asked.length]).toEqual([1, 1]);
  });

  it("keeps nothing beyond its time when the clock is set back", async () => {
    expect(await callsAt([10, 1, 2])).toBe(2);
  });

  it("keeps no refusal and no decision about fields", async () => {
    const refused = grove({ allowed: false, reason: "denied", message: "permission denied" });
    const fields = grove();
    for (let i = 0; i < 2; i++) {
      await authorize(refused.binding, request("/r"), { cacheSeconds: 5 });
      await authorize(fields.binding, request("/f"), { cacheSeconds: 5, data: { size: 1 } });
    }
    expect([refused.asked.length, fields.asked.length]).toEqual([2, 2]);
  });

  it("forgets the oldest of more than 2,000", async () => {
    const { binding, asked } = grove();
    for (let i = 0; i <= 2000; i++) await authorize(binding, request(`/many/${i}`), { cacheSeconds: 5 });
    await authorize(binding, request("/many/2000"), { cacheSeconds: 5 });
    expect(asked).toHaveLength(2001);
    await authorize(binding, request("/many/0"), { cacheSeconds: 5 });
    expect(asked).toHaveLength(2002);
  });
});
