import { describe, expect, test } from "vitest";
import { compileAcl } from "../../../src/policy/acl.ts";
import { DEFAULT_POLICY_TEXT, RESPONSE_WRAPPING_POLICY_TEXT } from "../../../src/policy/builtin.ts";
import { parsePolicy } from "../../../src/policy/parse.ts";
import {
  isHiddenPolicy,
  policyAssignRefusal,
  policyDeleteRefusal,
  policyWriteRefusal,
} from "../../../src/policy/policy-names.ts";
import type { TemplateContext } from "../../../src/policy/template.ts";

function aclOf(text: string, context: TemplateContext = { now: 0 }) {
  const rules = parsePolicy(text, 0);
  if (!rules.ok) throw new Error(rules.error.message);
  return compileAcl([{ name: "builtin", rules: rules.value }], context);
}

const ENTITY = { id: "e1", name: "ann", metadata: {}, aliases: {} };

describe("the default policy", () => {
  const acl = aclOf(DEFAULT_POLICY_TEXT, { now: 0, entity: ENTITY });

  test.each([
    ["auth/token/lookup-self", ["read"]],
    ["auth/token/renew-self", ["update"]],
    ["auth/token/revoke-self", ["update"]],
    ["sys/capabilities-self", ["update"]],
    ["sys/leases/renew", ["update"]],
    ["sys/leases/lookup", ["update"]],
    ["sys/wrapping/wrap", ["update"]],
    ["sys/wrapping/lookup", ["update"]],
    ["sys/wrapping/unwrap", ["update"]],
    ["sys/wrapping/rewrap", ["deny"]],
    ["sys/tools/hash", ["deny"]],
    ["sys/internal/ui/resultant-acl", ["read"]],
    ["identity/entity/id/e1", ["read"]],
    ["identity/entity/id/e2", ["deny"]],
    ["identity/entity/name/ann", ["read"]],
    ["identity/entity/name/{{identity.entity.name}}", ["deny"]],
    ["identity/oidc/provider/p/authorize", ["deny"]],
    ["cubbyhole/x", ["create", "delete", "list", "read", "update"]],
    ["auth/token/create", ["deny"]],
    ["auth/foo", ["deny"]],
    ["foo/bar", ["deny"]],
  ])("%s grants %j", (path, capabilities) => {
    expect(acl.capabilities(path, 0)).toEqual(capabilities);
  });

  test("a token without an entity has no entity to read", () => {
    const anonymous = aclOf(DEFAULT_POLICY_TEXT);
    expect(anonymous.capabilities("identity/entity/id/", 0)).toEqual(["deny"]);
    expect(anonymous.capabilities("identity/entity/id/e1", 0)).toEqual(["deny"]);
    expect(anonymous.capabilities("auth/token/lookup-self", 0)).toEqual(["read"]);
  });
});

test("a wrapping token reaches its answer and unwrap, nothing else", () => {
  const acl = aclOf(RESPONSE_WRAPPING_POLICY_TEXT);
  expect(acl.capabilities("cubbyhole/response", 0)).toEqual(["create", "read"]);
  expect(acl.capabilities("sys/wrapping/unwrap", 0)).toEqual(["update"]);
  expect(acl.capabilities("cubbyhole/other", 0)).toEqual(["deny"]);
  expect(acl.capabilities("auth/token/lookup-self", 0)).toEqual(["deny"]);
});

describe("policies that are not the operator's", () => {
  test.each([
    ["root", 'cannot update "root" policy', 'cannot delete "root" policy'],
    ["response-wrapping", 'cannot update "response-wrapping" policy', 'cannot delete "response-wrapping" policy'],
    ["default", null, "cannot delete default policy"],
    ["app", null, null],
  ])("%s can be neither written nor deleted", (name, write, remove) => {
    expect(policyWriteRefusal(name)).toBe(write);
    expect(policyDeleteRefusal(name)).toBe(remove);
  });

  test("response-wrapping is given to no token and left out of listings", () => {
    expect(policyAssignRefusal(["app", "response-wrapping"])).toBe('cannot assign policy "response-wrapping"');
    expect(policyAssignRefusal(["app", "default"])).toBeNull();
    expect(["default", "response-wrapping", "root"].filter(isHiddenPolicy)).toEqual(["response-wrapping"]);
  });
});
