import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { needsOf } from "../../../console/needed-capabilities.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { requiresSudo } from "../../../src/policy/operation.ts";
import { aclOf, check } from "../policy/helpers.ts";

/** The policy of docs/policies.md for who is on call. */
const PAGE = readFileSync("docs/policies.md", "utf8");
const [, policy = ""] = /\*\*Who is on call\*\*[\s\S]*?```hcl\n([\s\S]*?)```/.exec(PAGE) ?? [];
const acl = aclOf(policy);
const id = "8fbd5f35-e2ad-81e7-a1e8-000000000000";

/** What the pages and commands ask for that docs/runbook.md sends somebody to who is on call. */
const ASKED: readonly (readonly [what: string, operation: Operation, path: string])[] = [
  ["find a text", "update", "sys/tokens/find"],
  ["the list of tokens", "read", "sys/tokens"],
  ["the page of a token", "read", "sys/tokens/7rxq"],
  ["what ended", "read", "sys/tokens/ended"],
  ["count and contain", "update", "sys/tokens/revoke"],
  ["a receipt", "read", "sys/tokens/jobs/j1/receipt"],
  ["check again", "update", "sys/tokens/verify-ended"],
  ["Revoke… on the page of a token", "update", "auth/token/revoke-accessor"],
  ["Try again of a lease", "update", "sys/leases/revoke"],
  ["the page of a lease", "update", "sys/leases/lookup"],
  ["the leases", "list", "sys/leases/lookup/"],
  ["the leases below a path", "list", "sys/leases/lookup/db/"],
  ["irrevocable leases", "read", "sys/leases"],
  ["who ended all of an entity", "read", "sys/leases/revocations"],
  ["the search for an entity by its alias", "list", "identity/entity/id/"],
  ["the list of entities", "list", "identity/entity/name/"],
  ["an entity by its name", "read", "identity/entity/name/alice"],
  ["an entity by its login", "update", "identity/lookup/entity"],
  ["the names of entities", "update", "identity/lookup/entities"],
  ["the page of an entity", "read", `identity/entity/id/${id}`],
  ["End its tokens…", "update", `identity/entity/id/${id}/not-before`],
  ["the clean-up after it", "update", "auth/token/tidy"],
  ["the mounts", "read", "sys/auth"],
  ["a timeline", "read", "sys/audit/events"],
  ["why a request was refused", "update", "sys/explain/access"],
  ["doctor", "read", "sys/doctor"],
];

describe("the documented policy for who is on call", () => {
  it.each(ASKED)("allows %s", (_what, operation, path) => {
    const verdict = check(acl, operation, path);
    expect({ allowed: verdict.allowed, sudo: verdict.sudo || !requiresSudo(operation, path) }).toEqual({
      allowed: true,
      sudo: true,
    });
  });

  it("disables an entity and does not enable it, nor change its policies", () => {
    const path = `identity/entity/id/${id}`;
    expect(check(acl, "update", path, { data: { disabled: true } }).allowed).toBe(true);
    expect(check(acl, "update", path, { data: { disabled: false } }).allowed).toBe(false);
    expect(check(acl, "update", path, { data: { policies: ["root"] } }).allowed).toBe(false);
  });

  it("gives no right to anybody", () => {
    for (const path of [
      "auth/token/create",
      "auth/token/roles/ci",
      "sys/policies/acl/web",
      "identity/entity",
      "sys/leases/register",
    ]) {
      expect(check(acl, "update", path).allowed, path).toBe(false);
    }
  });

  it("is what the buttons of those pages ask for", () => {
    for (const path of ["auth/token/revoke-accessor", "sys/leases/revoke", "sys/tokens/revoke", "auth/token/tidy"]) {
      expect(ASKED.map(([, , asked]) => asked)).toContain(needsOf(path)[0]);
    }
  });
});
