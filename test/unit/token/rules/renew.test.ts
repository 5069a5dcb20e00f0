import { describe, expect, it } from "vitest";
import type { TokenView } from "../../../../src/token/record.ts";
import type { TokenRole } from "../../../../src/token/role.ts";
import { ownTerms, planRenew, roleTerms } from "../../../../src/token/rules/renew.ts";

const NOW = Date.UTC(2026, 10, 1);
const HOUR = 3600;

const TOKEN: TokenView = {
  policies: ["default"],
  meta: null,
  displayName: "token",
  path: "auth/token/create",
  role: null,
  createdAt: NOW,
  creationTtl: HOUR,
  explicitMaxTtl: 0,
  period: 0,
  renewable: true,
  entityId: "",
  boundCidrs: [],
  numUses: 0,
  leased: true,
  customIdKey: null,
  login: null,
  treeId: "",
  row: 1,
  accessor: "",
  orphan: true,
  usesLeft: 0,
  grantedTtl: HOUR,
  expiresAt: NOW + HOUR * 1000,
  renewedAt: null,
};

interface Case {
  readonly token?: Partial<TokenView>;
  readonly role?: Partial<Pick<TokenRole, "tokenPeriod">>;
  readonly increment?: number;
  /** Seconds since the creation. */
  readonly age?: number;
  readonly maxSeconds?: number;
}

/** The granted seconds, or the text of the refusal. */
function renew({ token, role, increment = 0, age = 0, maxSeconds = 768 * HOUR }: Case): number | string {
  const mount = { defaultSeconds: maxSeconds, maxSeconds };
  const view = { ...TOKEN, ...token };
  const terms = role ? roleTerms(view, { tokenPeriod: 0, ...role }) : ownTerms(view);
  const result = planRenew(view, terms, increment, mount, NOW + age * 1000);
  if (result.ok) return result.value.ttl;
  return result.error.code === "invalid_request" ? result.error.message : result.error.code;
}

describe("a renewal", () => {
  it.each<[string, Case, number | string]>([
    ["the first root token", { token: { leased: false } }, "invalid lease ID"],
    ["not renewable", { token: { renewable: false } }, "lease is not renewable"],
    ["never expires", { token: { expiresAt: null } }, "lease is not renewable"],
    ["the increment", { increment: 2 * HOUR }, 2 * HOUR],
    ["a small increment shortens", { increment: 5 }, 5],
    ["nothing asked: the last grant again", { token: { grantedTtl: 77 } }, 77],
    ["the mount's maximum counts from the creation", { increment: HOUR, age: 70, maxSeconds: 100 }, 30],
    ["past the maximum", { increment: HOUR, age: 100, maxSeconds: 100 }, "past the max TTL, cannot renew"],
    ["the period of the call, whatever is asked", { token: { period: 60 }, increment: HOUR }, 60],
    ["for ever", { token: { period: 60 }, age: 100 * 768 * HOUR }, 60],
    ["below the explicit maximum", { token: { period: 5, explicitMaxTtl: 4 } }, 4],
    ["until its end", { token: { period: 5, explicitMaxTtl: 4 }, age: 2 }, 2],
    ["the same with the period of a role", { token: { explicitMaxTtl: 4 }, role: { tokenPeriod: 5 }, age: 2 }, 2],
    ["the period of the role", { role: { tokenPeriod: 5 }, increment: 300, maxSeconds: 10, age: 100 }, 5],
    ["without a role the mount's maximum holds", { increment: 300, maxSeconds: 10, age: 5 }, 5],
    ["the explicit maximum on the token", { token: { explicitMaxTtl: 10 }, role: {}, increment: 300, age: 4 }, 6],
    [
      "and its end",
      { token: { explicitMaxTtl: 10 }, role: {}, increment: 300, age: 10 },
      "past the max TTL, cannot renew",
    ],
    ["a role without limits", { role: {}, increment: 300 }, 300],
    ["the period of the call holds with a role", { token: { period: 60 }, role: {}, increment: HOUR }, 60],
    ["the lesser period, of the token", { token: { period: 30 }, role: { tokenPeriod: 60 }, increment: HOUR }, 30],
    ["the lesser period", { token: { period: 60 }, role: { tokenPeriod: 30 }, increment: HOUR }, 30],
  ])("%s", (_, input, expected) => {
    expect(renew(input)).toBe(expected);
  });
});
