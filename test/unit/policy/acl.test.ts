import { describe, expect, test } from "vitest";
import { compileAcl, type Step } from "../../../src/policy/acl.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { aclOf, allows, check, NOW, rulesOf } from "./helpers.ts";

const DEV = `
path "dev/*" { policy = "sudo" }
path "stage/*" { policy = "write" }
path "stage/aws/*" {
  policy       = "read"
  capabilities = ["update", "sudo"]
}
path "stage/aws/policy/*" { policy = "sudo" }
path "prod/*" { policy = "read" }
path "prod/aws/*" { policy = "deny" }
path "sys/*" { policy = "deny" }
path "foo/bar" { capabilities = ["read", "create", "sudo"] }
path "baz/quux" { capabilities = ["read", "create", "patch"] }
path "only/scan" { capabilities = ["scan"] }
path "test/+/segment" { capabilities = ["read"] }
path "+/segment/at/front" { capabilities = ["read"] }
path "test/segment/at/end/+" { capabilities = ["read"] }
path "test/segment/at/end/v2/+/" { capabilities = ["read"] }
path "test/+/wildcard/+/*" { capabilities = ["read"] }
path "1/2/*" { capabilities = ["create"] }
path "1/2/+" { capabilities = ["read"] }
path "1/2/+/+" { capabilities = ["update"] }
`;

const OPS = `
path "dev/hide/*" { policy = "deny" }
path "stage/aws/policy/*" {
  policy       = "deny"
  # no effect beside a deny
  capabilities = ["read", "update", "sudo"]
}
path "prod/*" { policy = "write" }
path "sys/seal" { policy = "sudo" }
path "foo/bar" { capabilities = ["deny"] }
path "baz/quux" { capabilities = ["deny"] }
`;

describe("one policy", () => {
  const acl = aclOf(DEV);

  test.each<[string, Operation, string, boolean, boolean]>([
    ["what no rule grants is refused, and help is always given", "read", "root", false, false],
    ["what no rule grants is refused, and help is always given", "help", "root", true, false],
    [
      "the older sudo policy grants everything below its prefix, not the prefix without its slash",
      "read",
      "dev/foo",
      true,
      true,
    ],
    [
      "the older sudo policy grants everything below its prefix, not the prefix without its slash",
      "update",
      "dev/foo",
      true,
      true,
    ],
    [
      "the older sudo policy grants everything below its prefix, not the prefix without its slash",
      "read",
      "dev",
      false,
      false,
    ],
    ["a longer prefix with a policy and capabilities grants both", "list", "stage/aws/foo", true, true],
    ["a longer prefix with a policy and capabilities grants both", "update", "stage/aws/foo", true, true],
    ["a longer prefix with a policy and capabilities grants both", "delete", "stage/aws/foo", false, true],
    ["a longer prefix with a policy and capabilities grants both", "update", "stage/aws/policy/foo", true, true],
    ["a longer prefix with a policy and capabilities grants both", "delete", "stage/foo", true, false],
    ["a prefix that may be read may be listed, and a deny below it wins", "read", "prod/foo", true, false],
    ["a prefix that may be read may be listed, and a deny below it wins", "list", "prod/foo", true, false],
    ["a prefix that may be read may be listed, and a deny below it wins", "update", "prod/foo", false, false],
    ["a prefix that may be read may be listed, and a deny below it wins", "delete", "prod/foo", false, false],
    ["a prefix that may be read may be listed, and a deny below it wins", "read", "prod/aws/foo", false, false],
    ["an exact rule grants what it lists, and says sudo", "read", "foo/bar", true, true],
    ["an exact rule grants what it lists, and says sudo", "create", "foo/bar", true, true],
    ["an exact rule grants what it lists, and says sudo", "list", "foo/bar", false, true],
    ["an exact rule grants what it lists, and says sudo", "update", "foo/bar", false, true],
    ["patch is not update, scan is not list", "patch", "baz/quux", true, false],
    ["patch is not update, scan is not list", "update", "baz/quux", false, false],
    ["patch is not update, scan is not list", "list", "baz/quux", false, false],
    ["patch is not update, scan is not list", "scan", "baz/quux", false, false],
    ["patch is not update, scan is not list", "scan", "only/scan", true, false],
    ["patch is not update, scan is not list", "list", "only/scan", false, false],
    ["a plus stands for one segment", "read", "test/foo/segment", true, false],
    ["a plus stands for one segment", "read", "test//segment", true, false],
    ["a plus stands for one segment", "read", "test/foo/bar/segment", false, false],
    ["a plus stands for one segment", "read", "test/segment/at/front", true, false],
    ["a plus stands for one segment", "read", "test/segment/at/frond", false, false],
    [
      "a plus at the end takes no slash behind it, unless the rule has one",
      "read",
      "test/segment/at/end/foo",
      true,
      false,
    ],
    [
      "a plus at the end takes no slash behind it, unless the rule has one",
      "read",
      "test/segment/at/end/foo/",
      false,
      false,
    ],
    [
      "a plus at the end takes no slash behind it, unless the rule has one",
      "read",
      "test/segment/at/end/v2/foo/",
      true,
      false,
    ],
    [
      "a plus at the end takes no slash behind it, unless the rule has one",
      "read",
      "test/segment/at/end/v2/foo",
      false,
      false,
    ],
    ["a plus and a star match anything after the last slash", "read", "test/segment/wildcard/at/foo/", true, false],
    ["a plus and a star match anything after the last slash", "read", "test/segment/wildcard/at/end", true, false],
    ["a plus and a star match anything after the last slash", "read", "test/segment/wildcard/at/", true, false],
    ["a plus and a star match anything after the last slash", "read", "test/segment/wildcard/at", false, false],
    ["a plus and a star match anything after the last slash", "read", "test/a/wildcard/b/c/d/e", true, false],
    ["the most exact of three rules decides at each depth", "read", "1/2/3", true, false],
    ["the most exact of three rules decides at each depth", "update", "1/2/3", false, false],
    ["the most exact of three rules decides at each depth", "create", "1/2/3", false, false],
    ["the most exact of three rules decides at each depth", "update", "1/2/3/4", true, false],
    ["the most exact of three rules decides at each depth", "read", "1/2/3/4", false, false],
    ["the most exact of three rules decides at each depth", "create", "1/2/3/4/5", true, false],
    ["the most exact of three rules decides at each depth", "update", "1/2/3/4/5", false, false],
  ])("%s (%s %s: allowed %s, sudo %s)", (_rule, operation, path, allowed, sudo) => {
    const verdict = check(acl, operation, path);
    expect({ allowed: verdict.allowed, sudo: verdict.sudo }).toEqual({ allowed, sudo });
  });

  test.each([
    ["what no rule grants is refused, and help is always given", "nothing/here", ["deny"]],
    ["the older sudo policy grants everything below its prefix, not the prefix without its slash", "dev", ["deny"]],
    [
      "the older sudo policy grants everything below its prefix, not the prefix without its slash",
      "dev/",
      ["create", "delete", "list", "read", "sudo", "update"],
    ],
    [
      "a longer prefix with a policy and capabilities grants both",
      "stage/aws/test",
      ["list", "read", "sudo", "update"],
    ],
    ["a prefix that may be read may be listed, and a deny below it wins", "prod/aws/x", ["deny"]],
  ])("%s (capabilities of %s are %j)", (_rule, path, capabilities) => {
    expect(acl.capabilities(path, NOW)).toEqual(capabilities);
  });

  test("leading slashes of a request do not matter", () => {
    expect(allows(acl, "read", "//foo/bar")).toBe(true);
    expect(acl.capabilities("/foo/bar", NOW)).toEqual(["create", "read", "sudo"]);
  });
});

describe("root", () => {
  const root = compileAcl([{ name: "root", rules: [] }], { now: NOW });

  test.each<Operation>(["read", "list", "scan", "create", "update", "patch", "delete", "help", "head"])(
    "may %s what any path names",
    (operation) => {
      expect(check(root, operation, "sys/mounts/x")).toMatchObject({ allowed: true, sudo: true, isRoot: true });
    },
  );

  test("is not a capability of other policies", () => {
    expect(root.capabilities("any/path", NOW)).toEqual(["root"]);
    const everything = aclOf(
      'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo", "patch", "scan"] }',
    );
    expect(everything.capabilities("any/path", NOW)).not.toContain("root");
    expect(check(everything, "read", "any/path").isRoot).toBe(false);
    expect(allows(everything, "head", "any/path")).toBe(false);
  });

  test("a name that only looks like root is not root", () => {
    for (const name of ["ROOT", " root", "root\u0000", "roots"]) {
      expect(compileAcl([{ name, rules: [] }], { now: NOW }).isRoot).toBe(false);
    }
  });
});

describe("which of two rules decides", () => {
  test.each([
    ["+/*", "*", "foo/bar/bar/baz"],
    ["+/*", "foo/+/*", "foo/bar/bar/baz"],
    ["foo/+/+/*", "foo/+/bar/baz", "foo/bar/bar/baz"],
    ["foo/+/+/baz", "foo/+/bar/baz", "foo/bar/bar/baz"],
    ["foo/+/(ar/baz", "foo/(ar/+/baz", "foo/(ar/(ar/baz"],
    ["foo/bar/+/baz*", "foo/bar/+/baz", "foo/bar/bar/baz"],
    ["foo/bar/+/b*", "foo/bar/+/ba*", "foo/bar/bar/baz"],
    ["foo/*", "foo/bar/*", "foo/bar/baz"],
    ["foo/*", "foo/+", "foo/bar"],
    ["foo/+", "foo/b*", "foo/bar"],
    ["foo/+/*", "foo/*", "foo/bar/baz"],
    ["foo/+/+/b", "foo/+/b/+", "foo/a/b/b"],
    ["foo/bar*", "foo/bar", "foo/bar"],
    ["foo/+", "foo/bar", "foo/bar"],
    // A literal + counts as the first one, in rules that have a whole segment of it too.
    ["b+/+", "b+/*", "b+/x"],
  ])("%s gives way to %s on %s", (weaker, stronger, path) => {
    const texts = [`path "${weaker}" { capabilities = ["read"] }`, `path "${stronger}" { capabilities = ["update"] }`];
    for (const acl of [aclOf(...texts), aclOf(...texts.reverse())]) {
      expect(allows(acl, "update", path)).toBe(true);
      expect(allows(acl, "read", path)).toBe(false);
    }
  });
});

describe("any grant at or below a mount", () => {
  test.each([
    ["+", "foo/", true],
    ["+/*", "foo/", true],
    ["foo/+/+/*", "foo/", true],
    ["foo/+/+/*", "foo/bar/", true],
    ["foo/+/+/*", "foo/bar/bar/", true],
    ["foo/+/+/*", "foo/bar/bar/baz/", true],
    ["foo/+/+/baz", "foo/bar/bar/baz/", true],
    ["foo/+/bar/baz", "foo/bar/bar/baz/", true],
    ["foo/bar/+/baz*", "foo/bar/bar/baz/", true],
    ["foo/bar/+/b*", "foo/bar/bar/baz/", true],
    ["foo/+", "foo/", true],
    ["foo/deep/thing", "foo/", true],
    ["foo/deep/*", "foo/", true],
    ["f*", "foo/", true],
    ["foo", "foo/bar/", false],
    ["foo/+", "foo/bar/baz/", false],
    ["bar/*", "foo/", false],
    ["foobar/*", "foo/", false],
  ])("%s on %s: %s", (path, mount, expected) => {
    expect(aclOf(`path "${path}" { capabilities = ["read"] }`).grantsAnythingUnder(mount, NOW)).toBe(expected);
    for (const nothing of ['capabilities = ["deny"]', ""]) {
      expect(aclOf(`path "${path}" { ${nothing} }`).grantsAnythingUnder(mount, NOW)).toBe(false);
    }
  });

  test("a deny of the mount hides it, whatever a broader rule gives", () => {
    const acl = aclOf('path "*" { policy = "read" }', 'path "foo/*" { policy = "deny" }');
    expect(acl.grantsAnythingUnder("foo/", NOW)).toBe(false);
    expect(acl.grantsAnythingUnder("bar/", NOW)).toBe(true);
  });
});

describe("a second policy", () => {
  const acl = aclOf(DEV, OPS);

  test.each<[Operation, string, boolean, boolean]>([
    ["read", "dev/foo", true, true],
    ["read", "dev/hide/foo", false, false],
    ["update", "dev/hide/foo", false, false],
    ["update", "stage/aws/foo", true, true],
    ["update", "stage/aws/policy/foo", false, false],
    ["delete", "prod/foo", true, false],
    ["list", "prod/foo", true, false],
    ["read", "prod/aws/foo", false, false],
    ["read", "sys/status", false, false],
    ["update", "sys/seal", true, true],
    ["read", "foo/bar", false, false],
    ["create", "foo/bar", false, false],
    ["patch", "baz/quux", false, false],
  ])("%s %s: allowed %s, sudo %s", (operation, path, allowed, sudo) => {
    const verdict = check(acl, operation, path);
    expect({ allowed: verdict.allowed, sudo: verdict.sudo }).toEqual({ allowed, sudo });
  });

  test("the order of the policies does not matter for a deny", () => {
    expect(aclOf(OPS, DEV).capabilities("foo/bar", NOW)).toEqual(["deny"]);
  });
});

describe("who granted", () => {
  const first = `
path "kv/foo" { capabilities = ["update", "read"] }
path "kv/path/*" { capabilities = ["read"] }
path "kv/path/longer" { capabilities = ["update", "read"] }
path "kv/deny" { capabilities = ["deny"] }`;
  const second = `
path "kv/foo" { capabilities = ["update", "read"] }
path "kv/bar" { capabilities = ["update", "read"] }
path "kv/path/*" { capabilities = ["read"] }
path "kv/path/longer" { capabilities = ["read"] }
path "kv/path/longer3" { capabilities = ["read"] }
path "kv/deny" { capabilities = ["update"] }`;

  test.each<[string, Operation, string[], string[]]>([
    ["kv/foo", "read", [first], ["p1"]],
    ["kv/foo", "update", [first], ["p1"]],
    ["kv/bad", "read", [first], []],
    ["kv/deny", "read", [first], []],
    ["kv/path/foo", "read", [first], ["p1"]],
    ["kv/path/longer", "read", [first], ["p1"]],
    ["kv/foo", "read", [first, second], ["p1", "p2"]],
    ["kv/path/longer3", "read", [first, second], ["p2"]],
    ["kv/bar", "read", [first, second], ["p2"]],
    ["kv/deny", "update", [first, second], []],
    ["kv/path/longer", "update", [first, second], ["p1"]],
    ["kv/path/foo", "read", [first, second], ["p1", "p2"]],
  ])("of %s for %s: the policies that allow it", (path, operation, texts, grantedBy) => {
    const steps: Step[] = [];
    const { allowed } = aclOf(...texts).check({ operation, path }, NOW, (step) => steps.push(step));
    const sources = steps.flatMap(({ grant, refusal }) => (refusal === null ? (grant?.sources ?? []) : []));
    const granting = sources.filter(({ rule: { capabilities } }) => capabilities.some((one) => one === operation));
    expect(granting.map(({ policy }) => policy)).toEqual(grantedBy);
    expect(allowed).toBe(grantedBy.length > 0);
  });
});

describe("GHSA-xp3c listing a folder does not dodge a narrower rule", () => {
  const acl = aclOf(`
path "foo/metadata/*" { capabilities = ["list", "scan"] }
path "foo/metadata/private/*" { capabilities = ["deny"] }
path "foo/metadata/private/granted/*" { capabilities = ["list", "scan"] }`);

  for (const operation of ["list", "scan"] as const) {
    test.each([
      ["foo/", false],
      ["foo/metadata/", true],
      ["foo/metadata/open/", true],
      ["foo/metadata/private/", false],
      ["foo/metadata/private/a/", false],
      ["foo/metadata/private/granted/", true],
      ["foo/metadata/private/granted/a/", true],
    ])(`${operation} of %s is allowed: %s`, (path, allowed) => {
      expect(allows(acl, operation, path)).toBe(allowed);
    });
  }
});

describe("a listing falls back to the rule without the slash", () => {
  test("after the rule with it", () => {
    const acl = aclOf(`
path "a" { capabilities = ["list", "scan", "read"] }
path "b" { capabilities = ["list"] }
path "b/" { capabilities = ["deny"] }
path "c/+" { capabilities = ["list"] }
path "d" { capabilities = ["list"] }
path "d/*" { capabilities = ["deny"] }`);
    expect(allows(acl, "list", "a/")).toBe(true);
    expect(allows(acl, "scan", "a/")).toBe(true);
    expect(allows(acl, "read", "a/")).toBe(false);
    expect(allows(acl, "list", "b/")).toBe(false);
    expect(allows(acl, "list", "c/x/")).toBe(true);
    expect(allows(acl, "list", "c/x//")).toBe(false);
    expect(allows(acl, "list", "d/")).toBe(true);
  });

  test("capabilities are judged the same way", () => {
    expect(aclOf('path "a" { capabilities = ["read"] }').capabilities("a/", NOW)).toEqual(["read"]);
  });
});

describe("a block that grants nothing", () => {
  test("still hides broader rules", () => {
    const acl = aclOf('path "a/*" { policy = "write" }\npath "a/b" {}');
    expect(allows(acl, "read", "a/c")).toBe(true);
    expect(allows(acl, "read", "a/b")).toBe(false);
    expect(acl.capabilities("a/b", NOW)).toEqual(["deny"]);
  });

  test("no policies at all: nothing is allowed", () => {
    expect(aclOf().capabilities("a", NOW)).toEqual(["deny"]);
    expect(check(aclOf(), "read", "a")).toMatchObject({ allowed: false, sudo: false });
  });
});

describe("a write whose target may or may not exist", () => {
  test.each([
    ['["create"]', true, true, false],
    ['["update"]', true, false, true],
    ['["create", "update"]', true, true, true],
    ['["read", "patch", "sudo"]', false, false, false],
  ])("%s: allowed %s, create %s, update %s", (capabilities, allowed, create, update) => {
    const acl = aclOf(`path "a" { capabilities = ${capabilities} }`);
    expect(check(acl, "create_or_update", "a")).toMatchObject({ allowed, create, update });
  });

  test("limits of the rule bind both", () => {
    const acl = aclOf('path "a" { policy = "write"\n required_parameters = ["x"] }');
    expect(check(acl, "create_or_update", "a")).toMatchObject({ allowed: false, create: false, update: false });
    expect(check(acl, "create_or_update", "a", { data: { x: 1 } })).toMatchObject({ create: true, update: true });
  });
});

describe("expiration of a block", () => {
  const soon = new Date(NOW + 1000).toISOString();
  const later = new Date(NOW + 5000).toISOString();
  const compiled = () =>
    compileAcl(
      [
        {
          name: "p",
          rules: rulesOf(`
path "a" { capabilities = ["read"] }
path "a" {
  capabilities = ["update"]
  expiration   = "${soon}"
}
path "a" {
  capabilities = ["deny"]
  expiration   = "${later}"
}
path "b" {
  capabilities = ["delete"]
  expiration   = "${soon}"
}
path "b*" { capabilities = ["list"] }`),
        },
      ],
      { now: NOW },
    );

  const acl = compiled();

  test("an expired block is as good as absent, also a deny", () => {
    expect(acl.capabilities("a", NOW)).toEqual(["deny"]);
    expect(acl.capabilities("b", NOW)).toEqual(["delete"]);
    expect(acl.capabilities("b", NOW + 1000)).toEqual(["delete"]);
    expect(acl.capabilities("b", NOW + 1001)).toEqual(["list"]);
    expect(acl.capabilities("a", NOW + 5000)).toEqual(["deny"]);
    expect(acl.capabilities("a", NOW + 5001)).toEqual(["read"]);
  });

  test("a block holds up to and including its moment, whenever it is first asked for", () => {
    expect(compiled().capabilities("b", NOW + 1000)).toEqual(["delete"]);
    expect(compiled().capabilities("b", NOW + 1001)).toEqual(["list"]);
  });

  test("a clock that goes back brings the block back", () => {
    expect(acl.capabilities("a", NOW + 9000)).toEqual(["read"]);
    expect(acl.capabilities("a", NOW)).toEqual(["deny"]);
  });
});

test("a path of very many segments is judged without running out of stack", () => {
  const acl = aclOf(`path "${"+/".repeat(2000)}*" { capabilities = ["read"] }`);
  expect(allows(acl, "read", "a/".repeat(200_000))).toBe(true);
  expect(allows(acl, "read", "a/".repeat(1000))).toBe(false);
});
