import { describe, expect, test } from "vitest";
import { compileAcl } from "../../../src/policy/acl.ts";
import { evaluateAcl } from "../../../src/policy/evaluate.ts";
import { type Operation, requiresSudo } from "../../../src/policy/operation.ts";
import { aclOf, NOW } from "./helpers.ts";

describe("paths that need sudo", () => {
  test.each<[Operation, string]>([
    ["list", "auth/token/accessors/"],
    ["list", "auth/token/accessors"],
    ["update", "sys/auth/token/tune"],
    ["delete", "sys/auth/x"],
    ["read", "sys/audit"],
    ["read", "sys/policies/usage/acl/x"],
    ["read", "sys/policies/versions/acl/x"],
    ["list", "sys/policies/versions/acl/x/"],
    ["update", "sys/audit/file"],
    ["update", "sys/remount"],
    ["read", "sys/raw"],
    ["list", "sys/raw/"],
    ["read", "sys/raw/core/x"],
    ["update", "sys/rotate"],
    ["update", "sys/rotate/keyring"],
    ["update", "sys/rotate/root"],
    ["read", "sys/config/cors"],
    ["update", "sys/config/auditing/request-headers/x"],
    ["update", "sys/config/ui/headers/x"],
    ["update", "sys/plugins/catalog/auth/x"],
    ["read", "sys/leases"],
    ["list", "sys/leases/"],
    ["list", "sys/leases/lookup/"],
    ["list", "sys/leases/lookup/auth/"],
    ["list", "sys/auth/"],
    ["update", "sys/leases/revoke-prefix/auth"],
    ["update", "sys/leases/revoke-force/auth"],
    ["update", "sys/revoke-prefix/auth"],
    ["update", "sys/revoke-force/auth"],
    ["read", "sys/internal/inspect/router/root"],
    ["update", "sys/seal"],
    ["update", "sys/step-down"],
    ["update", "//sys/seal"],
  ])("%s of %s is one", (operation, path) => {
    expect(requiresSudo(operation, path)).toBe(true);
    expect(requiresSudo("help", path)).toBe(false);
  });

  test.each<[Operation, string]>([
    ["read", "sys/auth"],
    ["read", "sys/mounts"],
    ["update", "sys/mounts/x/tune"],
    ["update", "sys/policy/x"],
    ["update", "sys/policies/acl/x"],
    ["update", "sys/leases/lookup"],
    ["update", "sys/leases/renew"],
    ["update", "sys/leases/revoke"],
    ["update", "sys/leases/tidy"],
    ["read", "sys/leases/count"],
    ["update", "sys/capabilities"],
    ["update", "sys/capabilities-self"],
    ["update", "sys/audit-hash/x"],
    ["update", "auth/token/lookup-accessor"],
    ["update", "auth/token/create"],
    ["read", "cubbyhole/sys/seal"],
    ["read", "sys/sealed"],
  ])("%s of %s is none", (operation, path) => {
    expect(requiresSudo(operation, path)).toBe(false);
  });
});

describe("an ACL, evaluated", () => {
  const plain = aclOf('path "sys/audit" { capabilities = ["read", "create", "update"] }\npath "a" { policy = "read" }');
  const sudo = aclOf('path "sys/audit" { capabilities = ["read", "sudo"] }');
  const read = { operation: "read", path: "sys/audit" } as const;

  test("a protected path needs the capability and sudo", () => {
    expect(evaluateAcl(plain, read, NOW)).toMatchObject({ allowed: false, sudo: false });
    expect(evaluateAcl(sudo, read, NOW)).toMatchObject({ allowed: true, sudo: true });
    expect(evaluateAcl(sudo, { operation: "update", path: "sys/audit" }, NOW)).toMatchObject({
      allowed: false,
      sudo: true,
    });
  });

  test("of a write neither half is left", () => {
    const verdict = evaluateAcl(plain, { operation: "create_or_update", path: "sys/audit" }, NOW);
    expect(verdict).toMatchObject({ allowed: false, create: false, update: false });
  });

  test("other paths, help and root need none", () => {
    expect(evaluateAcl(plain, { operation: "read", path: "a" }, NOW).allowed).toBe(true);
    expect(evaluateAcl(plain, { operation: "help", path: "sys/audit" }, NOW).allowed).toBe(true);
    const root = compileAcl([{ name: "root", rules: [] }], { now: NOW });
    expect(evaluateAcl(root, read, NOW).allowed).toBe(true);
  });
});
