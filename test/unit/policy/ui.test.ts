import { expect, test } from "vitest";
import { compileAcl, resultantAcl } from "../../../src/policy/acl.ts";
import { aclOf, NOW } from "./helpers.ts";

test("root is reported as root", () => {
  expect(resultantAcl(compileAcl([{ name: "root", rules: [] }], { now: NOW }), NOW)).toEqual({ root: true });
});

test("rules by path with what they grant and limit; + rules are left out, expired ones too", () => {
  const acl = aclOf(
    `
path "a/b" {
  capabilities = ["read", "create"]
  min_wrapping_ttl = "1m"
  max_wrapping_ttl = 90
  allowed_parameters = { "x" = ["y"], "__proto__" = [] }
  denied_parameters = { "z" = [] }
  required_parameters = ["x"]
}
path "kv/*" { policy = "read" }
path "empty" {}
path "unlimited" {
  capabilities = ["read"]
  allowed_parameters = {}
  denied_parameters = {}
}
path "shut*" { policy = "deny" }
path "some/+/thing" { policy = "read" }
path "soon" {
  policy     = "read"
  expiration = "2027-03-01T12:00:01Z"
}`,
    'path "kv/*" { capabilities = ["update"] }',
  );
  const limited = {
    capabilities: ["create", "read"],
    min_wrapping_ttl: 60,
    max_wrapping_ttl: 90,
    allowed_parameters: JSON.parse('{"x": ["y"], "__proto__": []}') as unknown,
    denied_parameters: { z: [] },
    required_parameters: ["x"],
  };
  expect(resultantAcl(acl, NOW + 1001)).toEqual({
    root: false,
    exact_paths: { "a/b": limited, empty: { capabilities: ["deny"] }, unlimited: { capabilities: ["read"] } },
    glob_paths: { "kv/": { capabilities: ["list", "read", "update"] }, shut: { capabilities: ["deny"] } },
  });
  expect(resultantAcl(acl, NOW)).toMatchObject({ exact_paths: { soon: { capabilities: ["list", "read"] } } });
});
