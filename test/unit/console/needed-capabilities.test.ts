import { describe, expect, it } from "vitest";
import { Capabilities } from "../../../console/capabilities.ts";
import { needsOf, refusalOf } from "../../../console/needed-capabilities.ts";
import { requiresSudo } from "../../../src/policy/operation.ts";

describe("what a button of the console needs", () => {
  it.each([
    "sys/auth/aws",
    "sys/auth/aws/tune",
    "sys/tokens/revoke",
    "sys/tokens/verify-ended",
    "sys/rotate",
    "sys/rotate/config",
    "sys/audit/events",
    "sys/leases/revoke",
    "sys/leases/revoke-force/db/creds/app",
    "sys/policies/acl/web",
    "sys/quotas/rate-limit/logins",
    "auth/token/create",
    "auth/token/revoke-accessor",
    "auth/token/tidy",
    "auth/aws/role/web",
    "auth/aws/tidy/identity-whitelist",
    "identity/entity/id/1",
    "identity/oidc/key/services/rotate",
  ])("is sudo for %s where the service asks for it", (path) => {
    expect(needsOf(path).includes("sudo")).toBe(requiresSudo("update", path));
    expect(needsOf(path, "DELETE").includes("sudo")).toBe(requiresSudo("delete", path));
  });

  it("is said of the path as policies have it", () => {
    expect(needsOf("/api/v2/teams/team%2D1", "PATCH")).toEqual(["teams/team-1", "patch"]);
    expect(needsOf("auth/token/roles/a%20b")).toEqual(["auth/token/roles/a b", "create or update"]);
  });

  it("is refused only when it is known what there is, and names what is missing", () => {
    const needs = needsOf("sys/auth/aws");
    expect(refusalOf(needs, undefined)).toBe("");
    expect(refusalOf(needs, ["root"])).toBe("");
    expect(refusalOf(needs, ["create", "sudo"])).toBe("");
    expect(refusalOf(needs, ["read", "update"])).toBe("your policies lack sudo on sys/auth/aws");
    expect(refusalOf(needs, ["deny"])).toBe("your policies lack create or update and sudo on sys/auth/aws");
  });

  it("is asked for in one call for all that a page shows, and not again while the answer counts", async () => {
    const asked: (readonly string[])[] = [];
    const capabilities = new Capabilities(async (paths) => {
      asked.push(paths);
      return Object.fromEntries(paths.map((path) => [path, ["read"]]));
    });
    await Promise.all([capabilities.ask(["a"]), capabilities.ask(["b", "a"])]);
    await capabilities.ask(["a", "c"]);
    expect(asked).toEqual([["a", "b"], ["c"]]);
    expect([capabilities.of("b"), capabilities.of("d")]).toEqual([["read"], undefined]);
  });

  it("stays unknown after a refused question, which is asked again", async () => {
    const answers = [null, { a: ["read"] }];
    const capabilities = new Capabilities(async () => answers.shift() ?? null);
    for (const known of [undefined, ["read"]]) {
      await capabilities.ask(["a"]);
      expect(capabilities.of("a")).toEqual(known);
    }
  });
});
