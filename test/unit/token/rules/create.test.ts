import { describe, expect, it } from "vitest";
import type { TokenPlan } from "../../../../src/token/record.ts";
import type { TokenRole } from "../../../../src/token/role.ts";
import { newRole } from "../../../../src/token/roles/change-role.ts";
import { type CreateRequest, type Creator, displayName, planCreate } from "../../../../src/token/rules/create.ts";

const NOW = Date.UTC(2026, 10, 1);
const HOUR = 3600;

interface Case {
  readonly request?: Partial<CreateRequest>;
  readonly creator?: Partial<Creator> & { readonly sudo?: boolean };
  readonly role?: Partial<TokenRole>;
  readonly maxSeconds?: number;
  readonly watermark?: number;
}

const CREATOR: Creator = {
  policies: ["default", "p"],
  entityId: "e1",
  boundCidrs: ["10.0.0.0/8"],
  numUses: 0,
  expiresAt: NOW + HOUR,
};

/** The plan, or the text of the refusal. */
function plan({ request, creator, role, maxSeconds = 768 * HOUR, watermark = 0 }: Case): TokenPlan | string {
  const { sudo = false, ...by } = creator ?? {};
  const input = {
    request: {
      id: "",
      displayName: "",
      policies: null,
      meta: null,
      noParent: false,
      noDefaultPolicy: false,
      renewable: true,
      lease: 0,
      ttl: 0,
      explicitMaxTtl: 0,
      period: 0,
      numUses: 0,
      type: "",
      entityAlias: "",
      orphanEndpoint: false,
      ...request,
    },
    role: role ? { ...newRole("test"), ...role } : null,
    mount: { defaultSeconds: Math.min(768 * HOUR, maxSeconds), maxSeconds },
  };
  const result = planCreate(input, { ...CREATOR, ...by }, sudo, watermark, NOW);
  if (result.ok) return result.value;
  return result.error.code === "invalid_request" ? result.error.message : result.error.code;
}

function made(input: Case): TokenPlan {
  const result = plan(input);
  if (typeof result === "string") throw new Error(result);
  return result;
}

const ROOT = { policies: ["root"], sudo: true, expiresAt: null, boundCidrs: [] };
const batchRole = { tokenType: "batch", orphan: true, renewable: false } as const;

describe("the first rule that refuses wins", () => {
  it.each<[string, Case, string]>([
    [
      "a token with counted uses makes no tokens",
      { creator: { numUses: 1 }, request: { type: "x" } },
      "restricted use token cannot generate child tokens",
    ],
    ["an unknown type is refused", { request: { type: "x", numUses: -1 } }, "invalid 'token_type' value"],
    [
      "a batch token has no explicit maximum",
      { request: { type: "batch", explicitMaxTtl: 1, numUses: 1, period: 1 } },
      'batch tokens cannot have "explicit_max_ttl" set',
    ],
    [
      "a batch token has no uses",
      { request: { type: "batch", numUses: 1, period: 1 } },
      'batch tokens cannot have "num_uses" set',
    ],
    ["a batch token has no period", { request: { type: "batch", period: 1 } }, 'batch tokens cannot have "period" set'],
    ["uses are not negative", { request: { numUses: -1, entityAlias: "x" } }, "number of uses cannot be negative"],
    [
      "an alias needs a role",
      { request: { entityAlias: "x", id: "x" } },
      "'entity_alias' is only allowed in combination with token role",
    ],
    [
      "an alias that the role does not list is refused",
      { request: { entityAlias: "x", id: "x" }, role: {} },
      "invalid 'entity_alias' value",
    ],
    [
      "only root chooses an id, whatever else is wrong",
      { request: { id: "x", policies: ["q"] }, creator: { sudo: true } },
      "root or sudo privileges required to specify token id",
    ],
    [
      "a policy that the caller does not have is refused",
      { request: { policies: ["q"], noParent: true } },
      "child policies must be subset of parent",
    ],
    [
      "sudo does not make a root token",
      { request: { policies: ["root"], type: "batch" }, creator: { sudo: true } },
      "root tokens may not be created without parent token being root",
    ],
    [
      "sudo makes no root token through a role that allows it",
      { request: { policies: ["root"] }, role: { allowedPolicies: ["root"] }, creator: { sudo: true } },
      "root tokens may not be created without parent token being root",
    ],
    [
      "sudo makes no root token through a role that allows everything",
      { request: { policies: ["rOOt "] }, role: { allowedPoliciesGlob: ["*"] }, creator: { sudo: true } },
      "root tokens may not be created without parent token being root",
    ],
    [
      "a batch token of root without policies would be root",
      { request: { type: "batch" }, creator: ROOT },
      "batch tokens cannot be root tokens",
    ],
    [
      "an orphan needs root or sudo",
      { request: { noParent: true, explicitMaxTtl: -1 } },
      "root or sudo privileges required to create orphan token",
    ],
    [
      "an explicit maximum is not negative",
      { request: { explicitMaxTtl: -1, period: -1 } },
      "explicit_max_ttl must be positive",
    ],
    ["a period is not negative", { request: { period: -1, ttl: -1 } }, "period must be positive"],
    [
      "a period needs root or sudo",
      { request: { period: 1, ttl: -1 } },
      "root or sudo privileges required to create periodic token",
    ],
    [
      "a period needs root or sudo, with a periodic role too",
      { request: { period: 1 }, role: { tokenPeriod: 10 } },
      "root or sudo privileges required to create periodic token",
    ],
    ["a TTL is not negative", { request: { ttl: -1, lease: -1 } }, "ttl must be positive"],
    ["a lease is not negative", { request: { lease: -1 } }, "lease must be positive"],
    [
      "a root token that expires makes none that does not",
      { request: { policies: ["root"] }, creator: { ...ROOT, expiresAt: NOW } },
      "expiring root tokens cannot create non-expiring root tokens",
    ],
    [
      "a chosen id has no dot",
      { request: { id: "a.b" }, creator: ROOT },
      "custom token ID cannot have a '.' in the value",
    ],
  ])("%s", (_, input, text) => {
    expect(plan(input)).toBe(text);
  });
});

describe("the type", () => {
  const choose = (tokenType: TokenRole["tokenType"] | null, type: string) => {
    const role = tokenType === "batch" ? batchRole : tokenType ? { tokenType } : null;
    return made({ request: { type }, ...(role && { role }) }).spec.type;
  };

  it.each<[TokenRole["tokenType"] | null, string, string, string]>([
    [null, "service", "service", "batch"],
    ["default", "service", "service", "batch"],
    ["default-service", "service", "service", "batch"],
    ["default-batch", "batch", "service", "batch"],
    ["service", "service", "service", "service"],
    ["batch", "batch", "batch", "batch"],
  ])("role %s: %s without a wish, %s and %s with one", (role, none, service, batch) => {
    expect([choose(role, ""), choose(role, "service"), choose(role, "batch")]).toEqual([none, service, batch]);
  });

  it("of a batch token allows no renewal to any caller", () => {
    expect(made({ request: { type: "batch" } }).spec.record.renewable).toBe(false);
  });

  it("batch is no way around a limit of uses", () => {
    const role = { tokenNumUses: 5 };
    expect(plan({ request: { type: "batch" }, role })).toBe('batch tokens cannot have "num_uses" set');
    expect(plan({ request: { type: "batch" }, role: { ...role, tokenType: "service" } })).not.toBeTypeOf("string");
  });
});

describe("what a role does", () => {
  it("decides about the parent, and names the path", () => {
    const orphan = made({ role: { orphan: true } }).spec;
    expect([orphan.orphan, orphan.record.path, orphan.record.role]).toEqual([true, "auth/token/create/test", "test"]);
    expect(made({ role: { orphan: false } }).spec.orphan).toBe(false);
    expect(made({ role: { orphan: false }, request: { noParent: true } }).spec.orphan).toBe(false);
    expect(made({ role: { orphan: false }, request: { noParent: true }, creator: ROOT }).spec.orphan).toBe(false);
  });

  it("without orphans refuses the endpoint for orphans", () => {
    const request = { orphanEndpoint: true };
    expect(plan({ request, role: { orphan: false } })).toBe("the role does not create orphan tokens");
    expect(made({ request, role: { orphan: true } }).spec.orphan).toBe(true);
  });

  it("ends the path with its suffix", () => {
    expect(made({ role: { pathSuffix: "happenin" } }).spec.record.path).toBe("auth/token/create/test/happenin");
  });

  it.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, false],
  ])("renewable %s asked and %s by the role is %s", (asked, byRole, expected) => {
    expect(made({ request: { renewable: asked }, role: { renewable: byRole } }).spec.record.renewable).toBe(expected);
  });

  it.each([
    [0, 10, 10],
    [10, 0, 10],
    [5, 10, 5],
    [15, 10, 10],
    [0, 0, 0],
  ])("%i uses asked and %i by the role are %i", (numUses, tokenNumUses, expected) => {
    expect(made({ request: { numUses }, role: { tokenNumUses } }).spec.record.numUses).toBe(expected);
  });

  it.each<[string, Case, string]>([
    ["a child has its parent's", {}, "e1"],
    ["no_parent: none", { request: { noParent: true }, creator: { sudo: true } }, ""],
    ["create-orphan: none", { request: { orphanEndpoint: true } }, ""],
    ["a child by a role has its parent's", { role: {} }, "e1"],
    ["an orphan by a role: none", { role: { orphan: true } }, ""],
  ])("decides about the entity: %s", (_, input, expected) => {
    expect(made(input).spec.record.entityId).toBe(expected);
  });

  it.each<[string, Case, readonly string[]]>([
    ["a child inherits", {}, ["10.0.0.0/8"]],
    ["no_parent: none", { request: { noParent: true }, creator: { sudo: true } }, []],
    ["create-orphan: none", { request: { orphanEndpoint: true } }, []],
    ["a role without networks sets none", { role: {} }, []],
    ["a role with networks replaces", { role: { tokenBoundCidrs: ["1.2.3.4/8"] } }, ["1.2.3.4/8"]],
    ["a root token that never ends has none", { creator: { ...ROOT, boundCidrs: ["10.0.0.0/8"] } }, []],
    ["nor through a role", { creator: ROOT, role: { tokenBoundCidrs: ["10.0.0.0/8"] } }, []],
    [
      "with the period of a role it has them",
      { creator: ROOT, role: { tokenBoundCidrs: ["10.0.0.0/8"], tokenPeriod: 60 } },
      ["10.0.0.0/8"],
    ],
  ])("decides about the networks: %s", (_, input, expected) => {
    expect(made(input).spec.record.boundCidrs).toEqual(expected);
  });

  it.each<[string, readonly string[], string, boolean]>([
    ["an empty list", [], "web", false],
    ["the name", ["web"], "web", true],
    ["the name in another case", ["web"], "WeB", true],
    ["another name", ["web"], "web2", false],
    ["a star at the beginning", ["*-web"], "DB-web", true],
    ["a star at the end", ["web-*"], "web-db", true],
    ["a star in the middle", ["web-*-web"], "web-db-web", true],
    ["a star in the middle needs what follows", ["web-*-web"], "web-db", false],
  ])("alias: %s %j against %s: %s", (_, allowedEntityAliases, entityAlias, allowed) => {
    const result = plan({ request: { entityAlias }, role: { allowedEntityAliases } });
    expect(result === "invalid 'entity_alias' value").toBe(!allowed);
  });
});

describe("lifetimes", () => {
  const EXPLICIT =
    "Explicit max TTL specified both during creation call and in role; using the lesser value of 10 seconds";
  const PERIOD = "Period specified both during creation call and in role; using the lesser value of 10 seconds";
  const capped = (what: string, limit: string) =>
    `TTL of "${what}" exceeded the effective max_ttl of "${limit}"; TTL value is capped accordingly`;

  it.each<[string, Case, number, readonly string[]]>([
    ["the mount's default", {}, 768 * HOUR, []],
    ["lease is another name of ttl", { request: { lease: HOUR } }, HOUR, []],
    ["ttl before lease", { request: { lease: HOUR, ttl: 60 } }, 60, []],
    ["the mount's maximum", { request: { ttl: 2 * HOUR }, maxSeconds: HOUR }, HOUR, [capped("2h", "1h")]],
    [
      "an explicit maximum below the TTL caps it",
      { request: { ttl: HOUR, explicitMaxTtl: 1800 } },
      1800,
      [capped("1h", "30m")],
    ],
    ["an explicit maximum above the TTL does not", { request: { ttl: HOUR, explicitMaxTtl: 2 * HOUR } }, HOUR, []],
    ["a root token may have a TTL", { creator: ROOT, request: { ttl: 300 } }, 300, []],
    ["root for ever", { creator: ROOT }, 0, []],
    ["root with an explicit maximum", { creator: ROOT, request: { explicitMaxTtl: 60 } }, 60, []],
    ["the period of a role", { request: { ttl: HOUR }, role: { tokenPeriod: 5 }, maxSeconds: 10 }, 5, []],
    [
      "above the mount's maximum",
      { role: { tokenPeriod: 60 }, maxSeconds: 10 },
      10,
      [`period of "1m" exceeded the effective max_ttl of "10s"; period value is capped accordingly`],
    ],
    [
      "the explicit maximum of a role",
      { request: { ttl: HOUR }, role: { tokenExplicitMaxTtl: 10 } },
      10,
      [capped("1h", "10s")],
    ],
    [
      "the lesser explicit maximum",
      { request: { ttl: 5, explicitMaxTtl: 20 }, role: { tokenExplicitMaxTtl: 10 } },
      5,
      [EXPLICIT],
    ],
    [
      "the lesser explicit maximum, other way round",
      { request: { ttl: 5, explicitMaxTtl: 10 }, role: { tokenExplicitMaxTtl: 20 } },
      5,
      [EXPLICIT],
    ],
    [
      "the lesser period",
      { request: { period: 20 }, role: { tokenPeriod: 10 }, creator: { sudo: true } },
      10,
      [PERIOD],
    ],
    [
      "an explicit maximum above the mount's",
      { request: { ttl: 100 * HOUR }, role: { tokenExplicitMaxTtl: 100 * HOUR }, maxSeconds: 5 * HOUR },
      5 * HOUR,
      [capped("100h", "5h")],
    ],
    [
      "period and explicit maximum",
      { role: { tokenPeriod: 5, tokenExplicitMaxTtl: 4 } },
      4,
      [`period of "5s" exceeded the effective max_ttl of "4s"; period value is capped accordingly`],
    ],
    ["batch", { request: { type: "batch", ttl: 60 } }, 60, []],
    [
      "a batch token is not periodic, whatever its role says",
      { request: { type: "batch", ttl: 60 }, role: { tokenPeriod: 5 } },
      60,
      [],
    ],
    [
      "a batch token keeps to the explicit maximum of its role",
      { request: { type: "batch", ttl: 60 }, role: { tokenExplicitMaxTtl: 10 } },
      10,
      [capped("1m", "10s")],
    ],
  ])("%s", (_, input, ttl, warnings) => {
    const result = made(input);
    expect(result.spec.record.creationTtl).toBe(ttl);
    expect(result.spec.expiresAt).toBe(ttl === 0 ? null : NOW + ttl * 1000);
    expect(result.warnings).toEqual(warnings);
  });

  it("the explicit maximum of the role is on the token, the period that the role alone gives is not", () => {
    const { record } = made({ role: { tokenExplicitMaxTtl: 10, tokenPeriod: 5 } }).spec;
    expect([record.explicitMaxTtl, record.period]).toEqual([10, 0]);
  });
});

it("a token has the newest watermark, so that earlier ones do not end it, and none before the first", () => {
  expect(made({ watermark: 7 }).spec.record.watermark).toBe(7);
  expect(made({}).spec.record).not.toHaveProperty("watermark");
});

it("a display name has only letters, digits and hyphens", () => {
  expect(["", "foo_bar.baz!", "ok-1"].map(displayName)).toEqual(["token", "token-foo-bar-baz", "token-ok-1"]);
});
