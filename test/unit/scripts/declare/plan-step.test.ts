import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compare } from "../../../../scripts/declare/compare-fields.ts";
import type { DeclaredRequest } from "../../../../scripts/declare/declaration.ts";
import { linesOfRefusal, linesOfStep } from "../../../../scripts/declare/plan-lines.ts";
import { applyRequests, type Service, stepFor } from "../../../../scripts/declare/plan-step.ts";
import type { Json } from "../../../../scripts/declare/value-references.ts";
import { failed } from "../../../../scripts/grove/client.ts";
import { parseDuration } from "../../../../src/base/duration.ts";
import { err, ok } from "../../../../src/base/result.ts";

const request = (path: string, data: Readonly<Record<string, Json>>, name = path): DeclaredRequest => ({
  ...{ name, path, data, line: 1, origins: new Map() },
});

describe("a field is as declared", () => {
  it.each<[string, Json, unknown]>([
    ["token_ttl", "1h", 3600],
    ["token_ttl", 3600, 3600],
    ["token_ttl", "3600", 3600],
    ["token_policies", "Admin, ops", ["admin", "ops"]],
    ["token_policies", ["b", "a"], ["a", "b"]],
    ["token_bound_cidrs", ["10.0.0.1/32", "::1/128"], ["10.0.0.1", "::1"]],
    ["bound_audiences", "grove", ["grove"]],
    ["bound_claims", { a: "b", c: ["d"] }, { a: ["b"], c: ["d"] }],
    ["policy", "cGF0aCAiKiIge30=", 'path "*" {}'],
    ["token_num_uses", 0, undefined],
    ["bound_subject", "", undefined],
    ["token_no_default_policy", false, undefined],
    ["rate", "7.5", 7.5],
    ["orphan", "true", true],
    ["orphan", "T", true],
    ["orphan", "False", false],
    ["orphan", "f", false],
    ["claim_mappings", ["a=b", "c=d"], { a: "b", c: "d" }],
    ["metadata", "team=a", { team: "a" }],
    ["ignored", null, "anything"],
    ["token_policies", "p1,,p2", ["p1", "p2"]],
    ["token_type", "", "default"],
    ["callback_mode", "", "direct"],
    ["not_before", "2026-01-02T04:04:05+01:00", "2026-01-02T03:04:05.000Z"],
  ])("%s: %j and %j", (field, declared, current) => {
    const { differences } = compare({ path: "auth/a/role/r", data: { [field]: declared } }, { [field]: current });
    expect(differences).toEqual([]);
  });

  it.each<[string, Json, unknown]>([
    ["token_ttl", "1h", 3601],
    ["token_ttl", "an hour", 3600],
    ["token_policies", ["a"], ["a", "b"]],
    ["token_policies", [], ["a"]],
    ["user_claim", "Sub", "sub"],
    ["token_bound_cidrs", ["10.0.0.0/8"], ["10.0.0.0/9"]],
    ["bound_claims", { a: "b" }, { a: ["b"], c: ["d"] }],
    ["policy", 'path "*" {}', 'path "*" {} '],
    ["orphan", false, true],
    ["orphan", "maybe", false],
    ["metadata", ["team=b"], { team: "a" }],
    ["bind_secret_id", true, undefined],
    ["listing_visibility", "unauth", undefined],
    ["token_type", "", "batch"],
    ["not_before", "tomorrow", undefined],
    ["not_before", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06.000Z"],
    ["bound_subject", "", "a"],
    ["issuer", "https://a/", "https://a"],
  ])("%s: not %j and %j", (field, declared, current) => {
    const { differences } = compare({ path: "auth/a/role/r", data: { [field]: declared } }, { [field]: current });
    expect(differences).toEqual([{ field, declared, current }]);
  });

  it.each<[path: string, field: string, declared: Json, current: unknown]>([
    ["sys/quotas/rate-limit/q", "path", "auth/jj", "auth/jj/"],
    ["sys/quotas/rate-limit/q", "interval", "0s", 1],
    ["auth/a/config", "default_role", "D", "d"],
    ["auth/a/config", "oidc_discovery_url", "https://a/", "https://a"],
    ["identity/oidc/config", "issuer", "https://a/", "https://a"],
    ["auth/a/config/identity", "iam_metadata", "default", ["account_id", "auth_type"]],
  ])("at %s is as declared, %s: %j and %j", (path, field, declared, current) => {
    expect(compare({ path, data: { [field]: declared } }, { [field]: current }).differences).toEqual([]);
  });

  it("with a path of its own is compared there, if the caller may read it", async () => {
    const service = new FakeService();
    const role = request("auth/a/role/r", { token_ttl: 60, role_id: "fixed" });
    service.kept.set(role.path, { token_ttl: 60 });
    expect(await stepFor(service, role)).toMatchObject({ value: { action: "none", unread: ["role_id"] } });
    service.kept.set(`${role.path}/role-id`, { role_id: "fixed" });
    expect(await stepFor(service, role)).toMatchObject({ value: { action: "none", unread: [] } });
    service.kept.set(`${role.path}/role-id`, { role_id: "other" });
    const differences = [{ field: "role_id", declared: "fixed", current: "other" }];
    expect(await stepFor(service, role)).toMatchObject({ value: { action: "change", differences } });
  });

  it("that no answer shows can't be compared", () => {
    const compared = compare({ path: "auth/a/config", data: { oidc_client_secret: "x" } }, { oidc_client_id: "y" });
    expect(compared).toEqual({ differences: [], unread: ["oidc_client_secret"] });
  });

  it("of a mount is compared one by one; other objects as a whole", () => {
    const current = { type: "jwt", description: "", config: { default_lease_ttl: 60, max_lease_ttl: 120 } };
    const data = { type: "jwt", config: { max_lease_ttl: "3m" } };
    expect(compare({ path: "sys/auth/a", data }, current).differences).toEqual([
      { field: "config.max_lease_ttl", declared: "3m", current: 120 },
    ]);
  });
});

/** A service that keeps what it is sent, as its answers have it, and refuses to enable a mount twice. */
class FakeService implements Service {
  readonly kept = new Map<string, Record<string, unknown>>();
  writes = 0;
  /** The number of the write that gets no answer, and whether it is kept. */
  fault: { readonly at: number; readonly isKept: boolean } | null = null;

  async call(method: string, path: string, body?: unknown) {
    const at = decodeURIComponent(path);
    if (method === "GET") {
      const data = this.kept.get(at);
      return data ? ok({ status: 200, body: { data } }) : err({ status: 404, message: "" });
    }
    const isLost = ++this.writes === this.fault?.at;
    if (isLost && !this.fault?.isKept) return failed("no answer");
    const mount = /^sys\/auth\/[^/]+$/.test(at);
    if (mount && this.kept.has(at)) return err({ status: 400, message: "path is already in use" });
    const tuned = /^(sys\/auth\/[^/]+)\/tune$/.exec(at)?.[1];
    const fields = normalized(body as Record<string, unknown>);
    if (tuned === undefined) this.kept.set(at, { ...this.kept.get(at), ...fields });
    else {
      const { description, ...config } = fields;
      const before = this.kept.get(tuned) ?? {};
      this.kept.set(tuned, {
        ...before,
        ...(description !== undefined && { description }),
        config: { ...(before.config as object), ...config },
      });
    }
    return isLost ? failed("no answer") : ok({ status: 204, body: null });
  }
}

/** Fields as an answer has them: seconds, sorted lists, nothing that is empty. */
function normalized(fields: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, value]) => {
    if (name === "config") return [name, normalized(value as Record<string, unknown>)];
    if (name.endsWith("ttl")) {
      const duration = parseDuration(String(value));
      return [name, duration.ok ? duration.value : value];
    }
    if (name.endsWith("policies"))
      return [
        name,
        (Array.isArray(value) ? value : String(value).split(","))
          .map((one) => String(one).trim().toLowerCase())
          .filter((one) => one !== "")
          .sort(),
      ];
    return [name, value];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== "" && value !== 0 && value !== false));
}

const word = fc.stringMatching(/^[a-zA-Z]{1,6}$/);
const ttl = fc.oneof(
  fc.nat(9999),
  fc.nat(99).map((n) => `${n}m`),
  fc.nat(99).map((n) => `${n}h30m`),
);
const roleData = fc.record(
  {
    token_ttl: ttl,
    token_policies: fc.oneof(
      fc.array(word, { maxLength: 3 }),
      fc.array(word, { maxLength: 3 }).map((all) => all.join(", ")),
    ),
    user_claim: fc.string(),
    orphan: fc.boolean(),
  },
  { requiredKeys: [] },
);
const mountData = fc.record(
  {
    type: fc.constant("jwt"),
    description: fc.string(),
    config: fc.record({ max_lease_ttl: ttl }, { requiredKeys: [] }),
  },
  { requiredKeys: ["type"] },
);
const requests = fc.uniqueArray(
  fc.oneof(
    fc.tuple(word, roleData).map(([name, data]) => request(`auth/a/role/${name}`, data as Record<string, Json>)),
    fc.tuple(word, mountData).map(([name, data]) => request(`sys/auth/${name}`, data as Record<string, Json>)),
  ),
  { minLength: 1, maxLength: 6, selector: ({ path }) => path },
);

describe("a declaration that was applied", () => {
  it("has no differences, and applying it again writes nothing", async () => {
    await fc.assert(
      fc.asyncProperty(requests, requests, async (before, declared) => {
        const service = new FakeService();
        await applyRequests(service, before);
        expect((await applyRequests(service, declared)).refused).toBeNull();
        for (const one of declared) expect(await stepFor(service, one)).toMatchObject({ value: { action: "none" } });
        const { writes } = service;
        expect(await applyRequests(service, declared)).toEqual({ applied: [], refused: null });
        expect(service.writes).toBe(writes);
      }),
    );
  });

  it("is completed by the next run, wherever the first one ended, also when its last write was kept without an answer", async () => {
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 6 }), fc.boolean(), async (declared, at, isKept) => {
        const [interrupted, whole] = [new FakeService(), new FakeService()];
        interrupted.fault = { at, isKept };
        await applyRequests(interrupted, declared);
        interrupted.fault = null;
        expect((await applyRequests(interrupted, declared)).refused).toBeNull();
        await applyRequests(whole, declared);
        expect(interrupted.kept).toEqual(whole.kept);
      }),
    );
  });

  it("has the setting whose write was kept, although the call that repeated it was refused, and no other", async () => {
    const service = new FakeService();
    const mount = request("sys/auth/b", { type: "approle" });
    service.fault = { at: 1, isKept: true };
    expect(await applyRequests(service, [mount])).toMatchObject({ refused: null });
    service.fault = { at: 2, isKept: false };
    expect(await applyRequests(service, [request("sys/auth/c", { type: "approle" })])).toMatchObject({ refused: {} });
  });

  it("leaves alone what it does not name", async () => {
    const service = new FakeService();
    service.kept.set("auth/a/role/other", { token_ttl: 1 });
    service.kept.set("auth/a/role/r", { token_ttl: 1, user_claim: "sub" });
    await applyRequests(service, [request("auth/a/role/r", { token_ttl: 2 })]);
    expect([...service.kept.values()]).toEqual([{ token_ttl: 1 }, { token_ttl: 2, user_claim: "sub" }]);
  });
});

describe("a declaration that is refused", () => {
  it("stops there, and says what was written and what was not tried", async () => {
    const service = new FakeService();
    service.kept.set("sys/auth/b", { type: "approle", config: {} });
    const all = [
      request("auth/x/role/r", { token_ttl: 2 }, "a.one"),
      request("sys/auth/b", { type: "jwt" }, "a.two"),
      request("auth/b/role/r", { token_ttl: 2 }, "a.three"),
    ];
    const outcome = await applyRequests(service, all);
    expect(linesOfRefusal(outcome, all)).toEqual([
      "a.two (line 1), sys/auth/b: there is a mount with another type, which can't be changed: disable it first",
      "written before it: a.one; not tried: a.three",
    ]);
    expect(service.writes).toBe(1);
  });
});

describe("what is shown of a step", () => {
  const terminal = { colours: false };

  it("has no value of a secret field, from the environment, or that looks like a token", () => {
    const origins = new Map([["default_role", [{ kind: "env", from: "ROLE" }] as const]]);
    const data = {
      oidc_client_secret: "abc",
      default_role: "def",
      bound_issuer: `hvs.${"x".repeat(30)}`,
      oidc_client_id: "id\u001b[2J",
      secret_id: "ghi",
      bind_secret_id: true,
    };
    const step = {
      action: "add",
      request: { ...request("auth/a/config", data), origins },
      differences: [],
      unread: [],
    } as const;
    expect(linesOfStep(terminal, step).slice(1)).toEqual([
      "    oidc_client_secret: (not shown)",
      "    default_role: (from the environment, ROLE)",
      "    bound_issuer: (not shown)",
      '    oidc_client_id: "id\\u001b[2J"',
      "    secret_id: (not shown)",
      "    bind_secret_id: true",
    ]);
  });

  it("has no value of a secret field within an object", () => {
    const data = { provider_config: { provider: "x", client_secret: "abc" } };
    const step = { action: "add", request: request("auth/a/config", data), differences: [], unread: [] } as const;
    expect(linesOfStep(terminal, step)[1]).toBe('    provider_config: {"provider":"x","client_secret":"(not shown)"}');
  });

  it("has the lines of a text that differ", () => {
    const [declared, current] = ["a\nb2\nc\n", "a\nb1\nc\n"];
    const step = {
      action: "change",
      request: request("sys/policies/acl/p", { policy: declared }),
      differences: [{ field: "policy", declared, current }],
      unread: [],
    } as const;
    expect(linesOfStep(terminal, step)).toEqual([
      "~ sys/policies/acl/p  sys/policies/acl/p (line 1)",
      "    policy:",
      "      - b1",
      "      + b2",
    ]);
  });
});
