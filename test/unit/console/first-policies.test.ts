import { describe, expect, it } from "vitest";
import { ASKED_PATHS } from "../../../console/asked-paths.ts";
import { choiceMistake, FIRST_CHOICE } from "../../../console/presets/chosen-policy.ts";
import { openedText, READER_POLICY } from "../../../console/presets/first-policies.ts";
import { type Operation, requiresSudo } from "../../../src/policy/operation.ts";
import { aclOf, check } from "../policy/helpers.ts";

/** What the pages ask for. */
const ASKED: readonly (readonly [operation: Operation, path: string])[] = [
  ["read", "sys/tokens"],
  ["read", "sys/tokens/map"],
  ["read", "sys/tokens/7rxq"],
  ["update", "sys/tokens/find"],
  ["update", "sys/tokens/verify-ended"],
  ["list", "sys/leases/lookup/"],
  ["list", "sys/leases/lookup/db/"],
  ["update", "sys/leases/lookup"],
  ["read", "sys/leases"],
  ["list", "sys/policies/acl/"],
  ["read", "sys/policies/acl/web"],
  ["read", "sys/policies/usage/acl/web"],
  ["list", "sys/policies/versions/acl/web/"],
  ["read", "sys/auth"],
  ["list", "auth/oidc/role/"],
  ["read", "auth/oidc/role/people"],
  ["read", "auth/oidc/config"],
  ["list", "auth/token/roles/"],
  ["list", "identity/entity/name/"],
  ["read", "identity/entity/name/ann"],
  ["list", "identity/oidc/role/"],
  ["read", "organizations"],
  ["read", "organizations/acme/teams"],
  ["read", "sys/audit/events"],
  ["update", "sys/explain/access"],
  ["read", "sys/doctor"],
  ["read", "sys/metrics/history"],
  ["read", "sys/quotas/rate-limit/clients"],
  ["read", "sys/internal/counters/tokens"],
  ["read", "sys/rotate/config"],
  ["read", "sys/auth/oidc/tune"],
  ["list", "auth/aws/roles/"],
  ["read", "auth/aws/config/client"],
  ["list", "auth/aws/config/certificates/"],
  ["list", "auth/aws/identity-accesslist/"],
  ["update", "auth/oidc/explain/login"],
  ["read", "auth/oidc/explain/refused"],
  ["read", "identity/oidc/config"],
];

/** The paths that pages only write to. */
const WRITTEN: readonly string[] = [
  ASKED_PATHS.revoke,
  ASKED_PATHS.create,
  ASKED_PATHS.tidy,
  ASKED_PATHS.rotate,
  ASKED_PATHS.find,
  ASKED_PATHS.verifyEnded,
  ASKED_PATHS.checkPolicy,
];

describe("a policy for people who read the console", () => {
  it.each(ASKED)("allows %s of %s", (operation, path) => {
    const { allowed, sudo } = check(aclOf(READER_POLICY), operation, path);
    expect([allowed, sudo || !requiresSudo(operation, path)]).toEqual([true, true]);
  });

  it("opens every page, and every part of Health", () => {
    const acl = aclOf(READER_POLICY);
    const refused = Object.values(ASKED_PATHS).filter((path) => {
      const isAllowed = (operation: Operation) => {
        const { allowed, sudo } = check(acl, operation, path);
        return allowed && (sudo || !requiresSudo(operation, path));
      };
      return !WRITTEN.includes(path) && !isAllowed("read") && !isAllowed("list");
    });
    expect(refused).toEqual([]);
  });

  it.each([
    "sys/tokens/revoke",
    "sys/tokens/jobs/j1/stop",
    "sys/policies/acl/people",
    "sys/auth/oidc",
    "sys/auth/oidc/tune",
    "sys/quotas/rate-limit/clients",
    "sys/rotate",
    "sys/rotate/config",
    "auth/aws/config/client",
    "auth/aws/config/rotate-root",
    "sys/leases/revoke",
    "sys/leases/register",
    "auth/token/create",
    "auth/token/revoke-accessor",
    "auth/oidc/role/people",
    "auth/approle/role/backup/secret-id",
    "identity/entity/id/1",
    "identity/entity/name/ann",
    "organizations/acme/teams",
    "teams/team-1/authentication-tokens",
  ])("does not let them write %s", (path) => {
    const acl = aclOf(READER_POLICY);
    for (const operation of ["create", "update", "patch", "delete"] as const) {
      expect(check(acl, operation, path).allowed, operation).toBe(false);
    }
  });

  it("gets no token that proves who they are to others, and no role-id", () => {
    const acl = aclOf(READER_POLICY);
    for (const path of ["identity/oidc/token/role", "auth/approle/role/backup/role-id"])
      expect(check(acl, "read", path).allowed, path).toBe(false);
  });
});

it("a policy that opens no page is said to open none", () => {
  expect(openedText([])).toBe("With it people sign in, and see their own session and nothing else.");
  expect(openedText(["Tokens", "Audit log"])).toBe("With it people open in the console: Tokens, Audit log.");
});

describe("the choice of a policy", () => {
  const problem = { status: 400, messages: ["failed to parse policy: invalid (line 1, column 3)"], requestId: "" };

  it("is a policy that exists, or a text without a mistake", () => {
    expect(choiceMistake({ ...FIRST_CHOICE, kind: "existing" }, { problem })).toBe("Choose one");
    expect(choiceMistake({ ...FIRST_CHOICE, kind: "existing", name: "web" }, { problem })).toBe("");
    expect(choiceMistake({ ...FIRST_CHOICE, text: " " }, { problem: null })).toBe("Needed");
    expect(choiceMistake(FIRST_CHOICE, { problem: null })).toBe("");
    expect(choiceMistake(FIRST_CHOICE, { problem })).toBe("invalid (line 1, column 3)");
  });
});
