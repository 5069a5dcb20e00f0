import { describe, expect, test } from "vitest";
import { compileAcl, resultantAcl } from "../../../src/policy/acl.ts";
import { mergeParameters } from "../../../src/policy/parameters.ts";
import { aclOf, allows, check, NOW, rulesOf } from "./helpers.ts";

const WRITES = ["create", "update", "patch"] as const;
const FULL = 'capabilities = ["create", "read", "update", "delete", "list", "patch", "scan"]';

function fields(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, ""]));
}

describe("merged wrapping limits", () => {
  const acl = aclOf(
    `path "hello" { ${FULL}\n max_wrapping_ttl = 300\n min_wrapping_ttl = 100 }`,
    `path "hello" { ${FULL}\n max_wrapping_ttl = 200\n min_wrapping_ttl = 50 }`,
  );

  test.each([
    [undefined, false],
    [49, false],
    [50, true],
    [200, true],
    [201, false],
  ])("wrap for %s: %s", (wrapTtlSeconds, allowed) => {
    const extra = wrapTtlSeconds === undefined ? {} : { wrapTtlSeconds };
    expect(allows(acl, "read", "hello", extra)).toBe(allowed);
  });

  test("a minimum above the maximum refuses everything", () => {
    const crossed = aclOf(
      `path "hello" { ${FULL}\n max_wrapping_ttl = 10 }`,
      `path "hello" { ${FULL}\n min_wrapping_ttl = 20 }`,
    );
    for (const wrapTtlSeconds of [5, 10, 15, 20, 30]) {
      expect(allows(crossed, "read", "hello", { wrapTtlSeconds })).toBe(false);
    }
  });
});

describe("merged parameters", () => {
  test("many lists of one name are merged in a time that grows with their number", () => {
    const lists = Array.from({ length: 200_000 }, (_, n) => [{ name: "a", values: [n] }]);
    const values = mergeParameters(lists).get("a");
    expect(values?.slice(0, 2)).toEqual([199_999, 199_998]);
    expect(values).toHaveLength(200_000);
    expect(mergeParameters([...lists, [{ name: "a", values: [] }], ...lists]).get("a")).toEqual([]);
  });

  const block = (path: string, body: string) => `path "${path}" { policy = "write"\n ${body} }\n`;
  const text = [
    block("foo/bar", 'denied_parameters = { "baz" = [] }\n required_parameters = ["baz"]'),
    block("foo/bar", 'denied_parameters = { "zip" = [] }'),
    block("hello", 'allowed_parameters = { "foo" = [] }\n required_parameters = ["foo"]'),
    block("hello", 'allowed_parameters = { "bar" = [] }\n required_parameters = ["bar", "foo"]'),
    block("allow/all", 'allowed_parameters = { "test" = []\n "test1" = ["foo"] }'),
    block("allow/all", 'allowed_parameters = { "*" = [] }'),
    block("value/merge", 'allowed_parameters = { "test" = [1, 2] }\n denied_parameters = { "test" = [1, 2] }'),
    block("value/merge", 'allowed_parameters = { "test" = [3, 4] }\n denied_parameters = { "test" = [3, 4] }'),
    block("value/empty", 'allowed_parameters = { "empty" = [] }\n denied_parameters = { "empty" = [1] }'),
    block("value/empty", 'allowed_parameters = { "empty" = [1] }\n denied_parameters = { "empty" = [] }'),
    block("erased", 'allowed_parameters = { "a" = [] }\n pagination_limit = 5'),
    'path "erased" { policy = "deny"\n max_wrapping_ttl = 5 }\n',
  ].join("");

  test.each([
    ["foo/bar", { denied_parameters: { baz: [], zip: [] }, required_parameters: ["baz"] }],
    ["hello", { allowed_parameters: { foo: [], bar: [] }, required_parameters: ["foo", "bar"] }],
    ["allow/all", { allowed_parameters: { "*": [], test: [], test1: ["foo"] } }],
    ["value/merge", { allowed_parameters: { test: [3, 4, 1, 2] }, denied_parameters: { test: [3, 4, 1, 2] } }],
    ["value/empty", { allowed_parameters: { empty: [] }, denied_parameters: { empty: [] } }],
    ["erased", {}],
  ])("of all rules at %s are what they allow together", (path, expected) => {
    const one = compileAcl([{ name: "p", rules: rulesOf(text) }], { now: NOW });
    const summary = resultantAcl(one, NOW);
    const { capabilities, ...limits } = summary.root ? { capabilities: [] } : (summary.exact_paths[path] ?? {});
    expect(limits).toEqual(expected);
  });
});

describe("names of parameters", () => {
  const acl = aclOf(`
path "dev/*" { ${FULL}
  allowed_parameters = { "zip" = [] } }
path "broken/phone" { ${FULL}
  allowed_parameters = { "steve" = [] }
  denied_parameters  = { "steve" = [] } }
path "hello/world" { ${FULL}
  allowed_parameters = { "*" = [] }
  denied_parameters  = { "*" = [] } }
path "tree/fort" { ${FULL}
  allowed_parameters = { "*" = [] }
  denied_parameters  = { "foo" = [] } }
path "fruit/apple" { ${FULL}
  allowed_parameters = { "pear" = [] }
  denied_parameters  = { "*" = [] } }
path "cold/weather" { ${FULL}
  allowed_parameters = {}
  denied_parameters  = {} }
path "var/aws" { ${FULL}
  allowed_parameters = { "*" = [] }
  denied_parameters  = { "soft" = []
    "warm" = []
    "kitty" = [] } }
path "var/req" { ${FULL}
  required_parameters = ["FOO"] }
path "proto" { ${FULL}
  allowed_parameters = { "__proto__" = [] } }`);

  test.each([
    ["dev/ops", ["zip"], true],
    ["dev/ops", ["zap"], false],
    ["dev/ops", ["zip", "zap"], false],
    ["dev/ops", [], true],
    ["broken/phone", ["steve"], false],
    ["hello/world", ["one"], false],
    ["hello/world", [], true],
    ["tree/fort", ["one"], true],
    ["tree/fort", ["foo"], false],
    ["fruit/apple", ["pear"], false],
    ["fruit/apple", ["one"], false],
    ["cold/weather", ["four"], true],
    ["var/aws", ["cold", "warm", "kitty"], false],
    ["var/aws", ["cold"], true],
    ["var/req", ["cold", "warm"], false],
    ["var/req", ["cold", "warm", "foo"], true],
    ["var/req", [], false],
    ["proto", ["__proto__"], true],
    ["proto", ["constructor"], false],
    ["proto", ["hasOwnProperty"], false],
  ])("%s with %j: %s", (path, names, allowed) => {
    for (const operation of [...WRITES, "read"] as const) {
      expect(allows(acl, operation, path, { data: fields(names) })).toBe(allowed);
    }
    for (const operation of ["delete", "list", "scan"] as const) {
      expect(allows(acl, operation, path, { data: fields(names) })).toBe(true);
    }
  });

  test("a field that is only inherited does not satisfy a required one", () => {
    const inherited = aclOf(`path "a" { ${FULL}\n required_parameters = ["constructor"] }`);
    expect(allows(inherited, "update", "a", { data: { x: 1 } })).toBe(false);
  });
});

describe("the window of wrapping", () => {
  const acl = aclOf(`
path "both" { ${FULL}
  denied_parameters = { "zap" = [] }
  min_wrapping_ttl  = 300
  max_wrapping_ttl  = 400 }
path "min" { ${FULL}
  allowed_parameters = { "hello" = [] }
  min_wrapping_ttl   = 300 }
path "max" { ${FULL}
  max_wrapping_ttl = 400 }`);

  test.each([
    ["both", undefined, "zap", false],
    ["both", undefined, "zip", false],
    ["both", 50, "zip", false],
    ["both", 450, "zip", false],
    ["both", 350, "zip", true],
    ["both", 350, "zap", false],
    ["min", undefined, "hello", false],
    ["min", 50, "hello", false],
    ["min", 450, "hello", true],
    ["min", 450, "zap", false],
    ["max", undefined, "", false],
    ["max", 450, "", false],
    ["max", 350, "", true],
  ])("%s, wrapped for %s, field %j: %s", (path, wrapTtlSeconds, name, allowed) => {
    const extra = wrapTtlSeconds === undefined ? {} : { wrapTtlSeconds };
    for (const operation of WRITES) {
      expect(allows(acl, operation, path, { data: fields([name]), ...extra })).toBe(allowed);
    }
  });

  test("wrapping is demanded of every operation", () => {
    for (const operation of ["delete", "list", "scan"] as const) {
      expect(allows(acl, operation, "max")).toBe(false);
      expect(allows(acl, operation, "max", { wrapTtlSeconds: 400 })).toBe(true);
    }
  });
});

describe("values of parameters", () => {
  const acl = aclOf(`
path "dev/*" { ${FULL}
  allowed_parameters = { "allow" = ["good"] } }
path "foo/bar" { ${FULL}
  denied_parameters = { "deny" = ["bad*"] } }
path "foo/baz" { ${FULL}
  allowed_parameters = { "ALLOW" = ["good"] }
  denied_parameters  = { "dEny" = ["bad"] } }
path "fizz/buzz" { ${FULL}
  allowed_parameters = {
    "allow_multi" = ["good", "good1", "good2", "*good3"]
    "allow"       = ["good"] }
  denied_parameters = { "deny_multi" = ["bad", "bad1", "bad2"] } }
path "test/types" { ${FULL}
  allowed_parameters = {
    "map"  = [{ "good" = "one" }]
    "list" = [["a", 1]]
    "keys" = [{ "0" = "a" }]
    "int"  = [1, 2]
    "bool" = [false]
    "both" = ["*mid*", "*"] } }
path "test/star" { ${FULL}
  allowed_parameters = { "*" = []
    "foo" = []
    "bar" = [false] } }
path "no/numbers" { ${FULL}
  denied_parameters = { "n" = [1] } }`);
  const nullable = aclOf(`{"path": {"a": {"capabilities": ["update"], "allowed_parameters": {"x": [null]}}}}`);

  test.each<[string, Record<string, unknown>, boolean]>([
    ["dev/ops", { allow: "good" }, true],
    ["dev/ops", { allow: "bad" }, false],
    ["dev/ops", { allow: "good " }, false],
    ["foo/bar", { deny: "bad" }, false],
    ["foo/bar", { deny: "bad glob" }, false],
    ["foo/bar", { DENY: "bad glob" }, false],
    ["foo/bar", { deny: "good" }, true],
    ["foo/bar", { allow: "good" }, true],
    ["foo/bar", { deny: null }, true],
    ["foo/baz", { aLLow: "good" }, true],
    ["foo/baz", { deny: "bad" }, false],
    ["foo/baz", { deny: "good" }, false],
    ["foo/baz", { allow: "good", deny: "bad" }, false],
    ["foo/baz", { deNy: "bad", allow: "good" }, false],
    ["foo/baz", { aLLow: "bad" }, false],
    ["foo/baz", { Neither: "bad" }, false],
    ["foo/baz", { allow: null }, false],
    ["fizz/buzz", { allow_multi: "good" }, true],
    ["fizz/buzz", { allow_multi: "good1" }, true],
    ["fizz/buzz", { allow_multi: "glob good2" }, false],
    ["fizz/buzz", { allow_multi: "glob good3" }, true],
    ["fizz/buzz", { allow_multi: "bad" }, false],
    ["fizz/buzz", { allow_multi: "good1", allow: "good" }, true],
    ["fizz/buzz", { deny_multi: "bad2" }, false],
    ["fizz/buzz", { deny_multi: "good", allow_multi: "good2" }, false],
    ["test/types", { map: { good: "one" } }, true],
    ["test/types", { map: { bad: "one" } }, false],
    ["test/types", { map: { good: "one", more: "two" } }, false],
    ["test/types", { map: {} }, false],
    ["test/types", { map: ["one"] }, false],
    ["test/types", { map: null }, false],
    ["test/types", { list: ["a", 1] }, true],
    ["test/types", { list: ["a"] }, false],
    ["test/types", { list: ["a", 1, 2] }, false],
    ["test/types", { list: { 0: "a", 1: 1 } }, false],
    ["test/types", { keys: { 0: "a" } }, true],
    ["test/types", { keys: ["a"] }, false],
    ["test/types", { int: 1 }, true],
    ["test/types", { int: 3 }, false],
    ["test/types", { int: "1" }, false],
    ["test/types", { int: [1] }, true],
    ["test/types", { int: true }, false],
    ["test/types", { bool: false }, true],
    ["test/types", { bool: true }, false],
    ["test/types", { bool: "false" }, false],
    ["test/types", { bool: 0 }, false],
    ["test/types", { both: "a mid b" }, true],
    ["test/types", { both: "*" }, true],
    ["test/types", { both: "anything" }, false],
    ["test/star", { anything: true }, true],
    ["test/star", { foo: true }, true],
    ["test/star", { bar: false }, true],
    ["test/star", { bar: true }, false],
    ["no/numbers", { n: 1 }, false],
    ["no/numbers", { n: 2 }, true],
  ])("%s with %j: %s", (path, data, allowed) => {
    for (const operation of WRITES) expect(allows(acl, operation, path, { data })).toBe(allowed);
  });

  const teams = aclOf(`
path "create" { ${FULL}
  allowed_parameters = { "allowed_policies" = ["one", "two", "team-*", ["x", ["y"]], { "k" = "v" }] } }`);

  test.each<[unknown, boolean]>([
    [["one"], true],
    [["one", "two"], true],
    [["two", "team-a"], true],
    [["team-a", "team-a"], true],
    [["x", ["y"]], true],
    [["one", "three"], false],
    [["three"], false],
    [[], false],
    [["one", null], false],
    [["one", 1], false],
    // Lists and objects within a list match only as a part of the whole.
    [[["one"]], false],
    [[["x", ["y"]]], false],
    [[{ k: "v" }], false],
    [["one", { k: "v" }], false],
    [{ k: "v" }, true],
    [{ one: "one" }, false],
    [Array.from({ length: 1000 }, () => "one"), true],
    [Array.from({ length: 1001 }, () => "one"), false],
  ])("a list is allowed as a whole, or when each of its items is: %j, %s", (allowed_policies, allowed) => {
    for (const operation of WRITES) {
      expect(allows(teams, operation, "create", { data: { allowed_policies } })).toBe(allowed);
    }
  });

  test("null in a policy equals null only", () => {
    expect(allows(nullable, "update", "a", { data: { x: null } })).toBe(true);
    for (const x of ["", "null", 0, false, {}, []]) {
      expect(allows(nullable, "update", "a", { data: { x } })).toBe(false);
    }
  });
});

describe("pages of a listing", () => {
  const acl = aclOf(`
path "a" { capabilities = ["list", "scan"] }
path "b" { capabilities = ["list", "scan"]
  pagination_limit = 10 }
path "c" { capabilities = ["list", "scan"]
  required_parameters = ["limit"] }
path "d" { capabilities = ["list", "scan"]
  pagination_limit    = 10
  required_parameters = ["Limit"] }`);
  const refused = "refused";

  test.each<[string, unknown, number | null | "refused"]>([
    ["a", undefined, null],
    ["a", "5", null],
    ["a", "max", 0],
    ["a", "junk", null],
    ["b", undefined, 10],
    ["b", "5", 5],
    ["b", 5, 5],
    ["b", "10", 10],
    ["b", "11", refused],
    ["b", "max", 10],
    ["b", "0", 10],
    ["b", 0, 10],
    ["b", "", 10],
    ["b", "-1", refused],
    ["b", -1, refused],
    ["b", "junk", refused],
    ["b", "MAX", refused],
    ["b", "1e1", refused],
    ["b", 2.5, refused],
    ["b", ["5"], refused],
    ["b", null, refused],
    ["b", "9".repeat(400), refused],
    ["c", undefined, null],
    ["d", undefined, refused],
    ["d", "3", 3],
    ["d", "max", 10],
    ["d", "-1", refused],
  ])("%s with limit %j: %s", (path, limit, expected) => {
    const data = limit === undefined ? {} : { limit };
    for (const operation of ["list", "scan"] as const) {
      const verdict = check(acl, operation, `${path}/`, { data });
      expect(verdict.allowed ? verdict.limit : refused).toBe(expected);
    }
  });

  test("root has no limit, and may say so", () => {
    const root = compileAcl([{ name: "root", rules: [] }], { now: NOW });
    expect(check(root, "list", "b/", { data: { limit: "max" } })).toMatchObject({ allowed: true, limit: 0 });
    expect(check(root, "list", "b/", { data: { limit: "3" } })).toMatchObject({ allowed: true, limit: null });
  });

  test("the lowest limit of one path holds", () => {
    const merged = aclOf(
      'path "b" { capabilities = ["list"]\n pagination_limit = 10 }',
      'path "b" { pagination_limit = 4 }',
      'path "b" { pagination_limit = 0 }',
    );
    expect(check(merged, "list", "b/").limit).toBe(4);
  });
});

describe("a denied value", () => {
  const acl = aclOf(`
path "policies" { ${FULL}
  denied_parameters = { "policies" = ["admin", "ops-*"] } }
path "flag" { ${FULL}
  denied_parameters = { "no_parent" = [true] } }
path "text-flag" { ${FULL}
  denied_parameters = { "no_parent" = ["true"] } }
path "off" { ${FULL}
  denied_parameters = { "renewable" = [false] } }
path "life" { ${FULL}
  denied_parameters = { "ttl" = ["1h"] } }
path "uses" { ${FULL}
  denied_parameters = { "num_uses" = [0] } }
path "pair" { ${FULL}
  denied_parameters = { "policies" = [["a", "b"]] } }
path "none" { ${FULL}
  denied_parameters = { "policies" = [[]] } }
path "empty" { ${FULL}
  denied_parameters = { "policies" = [""] } }
path "meta" { ${FULL}
  denied_parameters = { "metadata" = [{ "admin" = "yes", "level" = true }] } }
path "rate" { ${FULL}
  denied_parameters = { "rate" = [1000] } }`);

  test.each<[string, Record<string, unknown>]>([
    ["policies", { policies: ["admin"] }],
    ["policies", { policies: ["dev", "admin"] }],
    ["policies", { policies: "dev, admin" }],
    ["policies", { policies: [" Admin "] }],
    ["policies", { policies: "ADMIN" }],
    ["policies", { policies: ["ops-7"] }],
    ["policies", { policies: Array.from({ length: 1001 }, () => "x") }],
    ["flag", { no_parent: "true" }],
    ["flag", { no_parent: "T" }],
    ["flag", { no_parent: "1" }],
    ["flag", { no_parent: 1 }],
    ["text-flag", { no_parent: true }],
    ["text-flag", { no_parent: "1" }],
    ["off", { renewable: "0" }],
    ["off", { renewable: "" }],
    ["off", { renewable: null }],
    ["life", { ttl: 3600 }],
    ["life", { ttl: "3600" }],
    ["life", { ttl: "60m" }],
    ["uses", { num_uses: "0" }],
    ["uses", { num_uses: "" }],
    ["uses", { num_uses: null }],
    ["pair", { policies: "b,a" }],
    ["pair", { policies: "a,,b" }],
    ["pair", { policies: ["B", "a", "a"] }],
    ["pair", { policies: ["b", "", "a"] }],
    ["none", { policies: [] }],
    ["none", { policies: "" }],
    ["none", { policies: null }],
    ["none", { policies: "," }],
    ["none", { policies: [" "] }],
    ["empty", { policies: [] }],
    ["empty", { policies: null }],
    ["empty", { policies: ", " }],
    ["meta", { metadata: { level: 1, admin: "yes" } }],
    ["meta", { metadata: ["admin=yes", " level = 1 "] }],
    ["rate", { rate: "1000.0" }],
    ["rate", { rate: "+1000" }],
  ])("on %s is denied as %j too", (path, data) => {
    expect(allows(acl, "update", path, { data })).toBe(false);
  });

  test.each<[string, Record<string, unknown>]>([
    ["policies", { policies: ["dev", "administrator"] }],
    ["policies", { policies: { admin: true } }],
    ["policies", { policies: null }],
    ["flag", { no_parent: false }],
    ["flag", { no_parent: "no" }],
    ["off", { renewable: true }],
    ["life", { ttl: "1d" }],
    ["uses", { num_uses: 10 }],
    ["pair", { policies: "a" }],
    ["pair", { policies: ["a", "b", "c"] }],
    ["pair", { policies: null }],
    ["none", { policies: "a" }],
    ["empty", { policies: ["a"] }],
    ["meta", { metadata: { admin: "yes" } }],
    ["meta", { metadata: ["admin=yes", "level=0"] }],
    ["meta", { metadata: "admin=yes" }],
    ["rate", { rate: "1000.5" }],
  ])("on %s says nothing about %j", (path, data) => {
    expect(allows(acl, "update", path, { data })).toBe(true);
  });
});
