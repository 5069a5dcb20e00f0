import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/policy/operation.ts";
import { noticesBetween } from "../../../src/team/notices/notice-times.ts";
import type { OrganizationRecord, TeamToken } from "../../../src/team/record.ts";
import { organizationTokenMay, tokenHolderOf } from "../../../src/team/rules/organization-token-access.ts";
import { expiryUnder, lifetimeRules } from "../../../src/team/rules/token-lifetime.ts";

const NOW = Date.UTC(2027, 1, 28);
const ORGANIZATION: OrganizationRecord = { name: "acme", organizationId: "org-x", email: "a@b", createdAt: NOW };
const HOLDER = tokenHolderOf(ORGANIZATION, "team-0holder", "team-owners", NOW);

describe("what the token of an organization may do", () => {
  const may = (operation: Operation, path: string, alternatePath?: string) =>
    organizationTokenMay("organization", HOLDER, { operation, path, alternatePath });
  const team = "organizations/acme/teams/team-x";
  const owners = "organizations/acme/teams/team-owners";

  it.each<[Operation, string, string?]>([
    ["read", "organizations/acme"],
    ["read", "organizations/acme/teams"],
    ["update", "organizations/acme/teams"],
    ["read", "organizations/acme/team-tokens"],
    ["read", "organizations/acme/token-ttl-policies"],
    ["read", "organization/audit-trail"],
    ["patch", "teams/team-x", team],
    ["delete", "teams/team-x", team],
    ["update", "teams/team-x/authentication-token", `${team}/authentication-token`],
    ["read", "teams/team-owners", owners],
    ["update", "organizations/acme/authentication-token"],
    ["update", "authentication-tokens/at-0", "organizations/acme/authentication-tokens/at-0"],
  ])("%s %s", (operation, path, alternatePath) => {
    expect(may(operation, path, alternatePath)).toBe(true);
  });

  it.each<[Operation, string, string?]>([
    ["patch", "organizations/acme"],
    ["delete", "organizations/acme"],
    ["delete", "organizations/acme/team-tokens"],
    ["patch", "organizations/acme/token-ttl-policies"],
    ["read", "organizations/acme/notification-configurations"],
    ["read", "organizations"],
    ["read", "organizations/acme2"],
    ["read", "organizations/acme2/teams"],
    ["read", "organizations/Acme"],
    ["read", "organizations/acme/authentication-token2"],
    ["patch", "teams/team-owners", owners],
    ["update", "teams/team-owners/authentication-token", `${owners}/authentication-token`],
    ["delete", "authentication-tokens/at-o", `${owners}/authentication-tokens/at-o`],
    ["read", "teams/team-y", "organizations/acme2/teams/team-y"],
    // A path that only looks like one of the organization counts by what it stands for.
    ["read", "organizations/acme/teams", "organizations/acme2/teams"],
    ["update", "organization/audit-trail"],
    ["delete", "organization/audit-trail"],
    ["read", "organization/audit-trail/x"],
    ["read", "sys/policies/acl/x"],
  ])("not %s %s", (operation, path, alternatePath) => {
    expect(may(operation, path, alternatePath)).toBe(false);
  });

  it("of audit trails: to read these, and nothing else", () => {
    const trails = (operation: Operation, path: string) =>
      organizationTokenMay("audit_trails", HOLDER, { operation, path });
    expect(trails("read", "organization/audit-trail")).toBe(true);
    expect(trails("update", "organization/audit-trail")).toBe(false);
    for (const path of ["organizations/acme", "organizations/acme/teams", "organizations/acme/authentication-token"]) {
      expect(trails("read", path)).toBe(false);
    }
  });

  it("nothing, for the token of a team", () => {
    const access = { operation: "read", path: "organizations/acme" } as const;
    const { holder: _, ...team } = HOLDER;
    expect(organizationTokenMay(undefined, HOLDER, access)).toBe(false);
    expect(organizationTokenMay("organization", team, access)).toBe(false);
  });
});

describe("the end of a token without one", () => {
  const NO_END = { expiresAt: null, expiredAt: null };
  const endUnder = (settings: OrganizationRecord["settings"] = {}, maxTtls: OrganizationRecord["maxTtls"] = {}) =>
    (["team", "organization", "audit_trails"] as const).map((kind) => {
      const rules = lifetimeRules({ ...ORGANIZATION, settings, maxTtls }, kind);
      const expiry = expiryUnder(rules, NO_END, NOW);
      return expiry.ok && expiry.value.expiredAt?.slice(0, 10);
    });

  it("is none, unless the organization has a rule", () => {
    expect(endUnder()).toEqual([undefined, undefined, undefined]);
  });

  it("is 24 months of the calendar later when the organization says so", () => {
    expect(endUnder({ "end-tokens-after-24-months": true })).toEqual(["2029-02-28", "2029-02-28", undefined]);
  });

  it("is the default of teams for these alone", () => {
    const settings = { "end-tokens-after-24-months": true, "default-team-token-ttl-ms": 86_400_000 };
    expect(endUnder(settings)).toEqual(["2027-03-01", "2029-02-28", undefined]);
  });

  it("is never after the greatest lifetime of its kind", () => {
    const settings = { "end-tokens-after-24-months": true, "max-ttl-enabled": true };
    expect(endUnder(settings, { organization: 86_400_000 })).toEqual(["2029-02-27", "2027-03-01", "2029-02-27"]);
  });
});

describe("notices", () => {
  it("are not of the tokens of an organization", () => {
    const token: TeamToken = {
      tokenId: "at-x",
      description: null,
      createdAt: NOW,
      createdBy: { type: "users", id: "user-x", name: "x" },
      expiresAt: NOW + 1000,
      expiredAt: null,
      lastUsedAt: null,
    };
    expect(noticesBetween(token, NOW, NOW + 1000)).toHaveLength(1);
    expect(noticesBetween({ ...token, kind: "organization" }, NOW, NOW + 1000)).toEqual([]);
  });
});
