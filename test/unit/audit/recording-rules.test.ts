import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TABLES } from "../../../src/app/routes.ts";
import { MAX_MENTIONS, MAX_RECORD_LENGTH } from "../../../src/audit/entry.ts";
import {
  type AnsweredRequest,
  fateOf,
  holdsAnswer,
  mentionsOf,
  onlyReads,
  recordText,
} from "../../../src/audit/recording-rules.ts";
import type { AuditAuth, AuditLine } from "../../../src/wire/audit.ts";

const READ: AnsweredRequest = {
  acts: false,
  via: "http",
  path: "auth/token/lookup-self",
  hasCaller: true,
  failure: null,
};
const OPENAPI = "sys/internal/specs/openapi";
const CHANGE: AnsweredRequest = { ...READ, acts: true, path: "auth/token/create" };

describe("an answered request", () => {
  it.each<[string, Partial<AnsweredRequest>, string, boolean]>([
    ["a read", READ, "use", false],
    ["a read of what is not there", { ...READ, failure: "not_found" }, "use", false],
    ["a read of what no mount serves", { ...READ, failure: "no_route" }, "record", false],
    ["a read of what a mount does not serve", { ...READ, failure: "unsupported_path" }, "record", false],
    ["the same without a caller", { ...READ, failure: "no_route", hasCaller: false }, "refusal", false],
    ["a read that policies refuse", { ...READ, failure: "permission_denied" }, "record", false],
    ["a read that fails", { ...READ, failure: "internal" }, "record", false],
    ["an open read", { ...READ, hasCaller: false }, "nothing", false],
    ["a read without a valid token", { ...READ, hasCaller: false, failure: "unauthenticated" }, "refusal", false],
    ["a read by a token that can't be used", { ...READ, failure: "unauthenticated" }, "refusal", false],
    ["a change", CHANGE, "record", true],
    ...["sys/init", "sys/restore/finish", "sys/generate-root/attempt", "sys/generate-root-token/update"].map(
      (path): [string, Partial<AnsweredRequest>, string, boolean] => [
        `a change without a caller at ${path}`,
        { ...CHANGE, path, hasCaller: false },
        "record",
        true,
      ],
    ),
    ["a change by another Worker", { ...CHANGE, via: "rpc", hasCaller: false }, "record", true],
    ["a change that was refused", { ...CHANGE, failure: "permission_denied" }, "record", false],
    ["a change of what is not there", { ...CHANGE, failure: "not_found" }, "record", false],
    ["a change that failed halfway", { ...CHANGE, failure: "internal" }, "record", true],
    ["a change whose object did not answer", { ...CHANGE, failure: "unavailable" }, "record", true],
    ["a login", { ...CHANGE, path: "auth/jwt/login" }, "record", true],
    ["a step of a login", { ...CHANGE, path: "auth/jwt/oidc/auth_url", hasCaller: false }, "refusal", false],
    ["a read by anybody that is sent as a write", { ...CHANGE, path: OPENAPI, hasCaller: false }, "refusal", false],
    ["a poll of a login that waits", { ...CHANGE, hasCaller: false, failure: "pending" }, "nothing", false],
    ["a question about a login", { ...CHANGE, path: "auth/jwt/explain/login" }, "use", false],
    [
      "a refused question about a login",
      { ...CHANGE, path: "auth/jwt/explain/login", failure: "permission_denied" },
      "record",
      false,
    ],
    [
      "a login at a mount whose path ends with explain",
      { ...CHANGE, path: "auth/a/explain/login", response: {} },
      "record",
      true,
    ],
    ["a refused login", { ...CHANGE, hasCaller: false, failure: "forbidden" }, "refusal", false],
    ["a look-up by a write", { ...CHANGE, path: "auth/token/lookup" }, "use", false],
    [
      "a look-up by a write with a wrapped answer",
      { ...CHANGE, path: "auth/token/lookup", response: {} },
      "record",
      true,
    ],
    ["a dry run", { ...CHANGE, revocation: { dry_run: true, fields: [] } }, "use", false],
    ["a dry run that began a job", { ...CHANGE, revocation: { dry_run: true, fields: [], job: "j" } }, "record", true],
    ["a revocation", { ...CHANGE, revocation: { dry_run: false, fields: [], job: "j" } }, "record", true],
    [
      "a look-up of what is not there by a write",
      { ...CHANGE, path: "auth/token/lookup", failure: "not_found" },
      "use",
      false,
    ],
    [
      "a look-up by a write without a caller",
      { ...CHANGE, path: "sys/wrapping/lookup", hasCaller: false },
      "nothing",
      false,
    ],
    ["anything while there are no keys", { ...CHANGE, failure: "sealed" }, "nothing", false],
    [
      "anything before there is an installation",
      { ...READ, hasCaller: false, failure: "uninitialized" },
      "nothing",
      false,
    ],
  ])("%s", (_, request, fate, holds) => {
    const answered = { ...READ, ...request };
    expect(fateOf(answered)).toBe(fate);
    expect(holdsAnswer(fateOf(answered), answered)).toBe(holds);
  });

  it("is a read despite its method at these endpoints only", () => {
    const paths = [...TABLES.byMountType]
      .flatMap(([type, { routes }]) => routes.map((route) => ({ ...route, path: `auth/${type}/${route.path}` })))
      .concat(TABLES.fixed.routes, ...TABLES.apis.map(({ routes }) => routes))
      .filter(({ operations }) => operations.includes("update"))
      .map(({ path }) => path);
    expect([...new Set(paths.filter(onlyReads))].sort()).toMatchInlineSnapshot(`
      [
        "auth/approle/explain/login",
        "auth/approle/role/:role_name{\\w(?:[\\w.-]*\\w)?}/secret-id-accessor/lookup",
        "auth/approle/role/:role_name{\\w(?:[\\w.-]*\\w)?}/secret-id/find",
        "auth/approle/role/:role_name{\\w(?:[\\w.-]*\\w)?}/secret-id/lookup",
        "auth/aws/explain/login",
        "auth/cloud/explain/login",
        "auth/jwt/explain/login",
        "auth/kubernetes/explain/login",
        "auth/oidc/explain/login",
        "auth/token/lookup",
        "auth/token/lookup-accessor",
        "identity/lookup/entities",
        "identity/lookup/entity",
        "identity/lookup/group",
        "identity/oidc/introspect",
        "sys/audit-hash/:path{.+}",
        "sys/audit/events",
        "sys/capabilities",
        "sys/capabilities-accessor",
        "sys/capabilities-policy",
        "sys/capabilities-self",
        "sys/explain/access",
        "sys/explain/access-self",
        "sys/explain/policy",
        "sys/explain/rules",
        "sys/leases/lookup",
        "sys/tokens/find",
        "sys/tokens/verify-ended",
        "sys/wrapping/lookup",
      ]
    `);
  });
});

const AUTH: AuditAuth = {
  accessor: "accessor-of-caller",
  display_name: "token",
  policies: ["default"],
  entity_id: "entity",
  token_type: "service",
  metadata: {},
};
const LINE: AuditLine = {
  type: "response",
  time: "2026-01-01T00:00:00.000Z",
  via: "http",
  request_id: "request",
  operation: "update",
  path: "auth/token/create",
  mount: "auth/token/",
  client_address: "192.0.2.1",
  token_hash: "hmac-sha256:00",
  status: 200,
};

describe("a record is found by", () => {
  it("its caller, the token that it made, entities, address and request", () => {
    const made = { ...AUTH, accessor: "accessor-of-child", entity_id: "" };
    expect(mentionsOf({ ...LINE, auth: AUTH, response: { auth: made } })).toEqual([
      "request:request",
      "accessor:accessor-of-child",
      "accessor:accessor-of-caller",
      "entity:entity",
      "address:192.0.2.1",
    ]);
  });

  it("the organization in its path, or that of the team in it", () => {
    const team = { ...LINE, path: "teams/team-x" };
    expect(mentionsOf({ ...LINE, path: "organizations/acme/teams" })).toContain("organization:acme");
    expect(mentionsOf(team, { alternatePath: "organizations/acme/teams/team-x" })).toContain("organization:acme");
    expect(mentionsOf(team).filter((mention) => mention.startsWith("organization:"))).toEqual([]);
  });

  it("the token that a login gave, which made nothing itself, and the role", () => {
    const line = {
      ...LINE,
      path: "auth/aws/login",
      mount: "auth/aws/",
      role: "web",
      auth: AUTH,
      response: { auth: { ...AUTH } },
    };
    expect(mentionsOf(line)).toEqual([
      "request:request",
      "accessor:accessor-of-caller",
      "entity:entity",
      "address:192.0.2.1",
      "role:auth/aws/ web",
    ]);
  });

  it("the secret-id of a login, given or refused", () => {
    const refused = { ...LINE, path: "auth/approle/login", mount: "auth/approle/", role: "web" };
    const given = { ...refused, auth: AUTH, response: { auth: { ...AUTH } } };
    for (const line of [refused, given])
      expect(mentionsOf({ ...line, principal: "id" }, { secretId: "id" })).toContain("accessor:id");
    // The subject of a JWT is chosen by its issuer, and names no token.
    expect(mentionsOf({ ...given, principal: "id" })).not.toContain("accessor:id");
  });

  it("the keyed hash of a token without an accessor, and of one that is not valid", () => {
    const batch = { ...AUTH, accessor: "", entity_id: "" };
    expect(mentionsOf({ ...LINE, auth: batch })).toContain("accessor:hmac-sha256:00");
    expect(mentionsOf(LINE)).toContain("accessor:hmac-sha256:00");
    const made = { ...batch, token_hash: "hmac-sha256:11" };
    expect(mentionsOf({ ...LINE, auth: AUTH, response: { auth: made } })).toContain("accessor:hmac-sha256:11");
  });

  it.each([
    ["auth/aws/", "role/web", "role:auth/aws/ web"],
    ["auth/aws/", "role/WEB", "role:auth/aws/ web"],
    ["auth/aws/role/b/", "role/web", "role:auth/aws/role/b/ web"],
    ["auth/approle/", "role/Web/secret-id", "role:auth/approle/ web"],
    ["auth/token/", "roles/Web", "role:auth/token/ Web"],
    ["auth/token/", "create/web", "role:auth/token/ web"],
    ["", "organizations/acme/authentication-token", "organization:acme"],
  ])("what its path names: %s%s", (mount, below, mention) => {
    expect(mentionsOf({ ...LINE, path: `${mount}${below}`, mount })).toContain(mention);
  });

  it("the role in the body of a creation", () => {
    expect(mentionsOf(LINE, { alternatePath: "auth/token/create/web" })).toContain("role:auth/token/ web");
  });

  it("the role of a login in lower case", () => {
    const login = { ...LINE, path: "auth/jwt/login", mount: "auth/jwt/", role: "Web" };
    expect(mentionsOf(login)).toContain("role:auth/jwt/ web");
  });

  it("a bounded number of things, each once", () => {
    const targets = Array.from({ length: 900 }, (_, at) => `accessor-${at % 800}`);
    const mentions = mentionsOf({ ...LINE, auth: AUTH, target_accessors: targets });
    expect(mentions).toHaveLength(MAX_MENTIONS);
    expect(new Set(mentions).size).toBe(MAX_MENTIONS);
  });
});

describe("the text of a record", () => {
  it("is the line of the log with the fields of its first line", () => {
    const text = recordText(LINE, JSON.stringify(LINE), { ttl: "hmac-sha256:22" });
    expect(JSON.parse(text)).toEqual({ ...LINE, data: { ttl: "hmac-sha256:22" } });
    expect(recordText(LINE, JSON.stringify(LINE), undefined)).toBe(JSON.stringify(LINE));
  });

  it("is bounded whatever a client sent, and keeps who, what and when", () => {
    const long = fc.integer({ min: 0, max: 20_000 }).map((length) => "\\".repeat(length));
    const auth = fc.record({
      accessor: fc.constant("a"),
      display_name: long,
      policies: fc.array(long, { maxLength: 50 }),
      entity_id: fc.constant("e"),
      token_type: fc.constant("service"),
      metadata: fc.dictionary(fc.string(), long),
    });
    const line = fc.record({ path: long, error: long, principal: long, auth, data: fc.dictionary(fc.string(), long) });
    fc.assert(
      fc.property(line, fc.boolean(), ({ data, ...facts }, first) => {
        const whole: AuditLine = { ...LINE, ...facts, response: { auth: facts.auth }, ...(first && { data }) };
        const text = recordText(whole, JSON.stringify(whole), first ? undefined : data);
        expect(text.length).toBeLessThanOrEqual(MAX_RECORD_LENGTH);
        expect(JSON.parse(text)).toMatchObject({ time: LINE.time, request_id: "request", auth: { accessor: "a" } });
      }),
    );
  });
});
