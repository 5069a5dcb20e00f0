import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TABLES } from "../../../src/app/routes.ts";
import { capabilitiesOf, evaluateAcl, isDenied } from "../../../src/policy/evaluate.ts";
import { NAMED_IN_BODY, otherSpellings, SPELLINGS, WIDER } from "../../../src/policy/spellings.ts";
import { aclOf, NOW } from "./helpers.ts";

const SEGMENT = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/);
const PART = fc.oneof(
  SEGMENT,
  fc.tuple(SEGMENT, SEGMENT).map((both) => both.join("/")),
);
const ALL = '["create", "read", "update", "patch", "delete", "list", "sudo"]';

/** Two different spellings of one thing: what is asked, and what a policy denies. */
const PAIR = fc
  .tuple(fc.constantFrom(...SPELLINGS), PART, PART)
  .chain(([group, first, second]) => {
    const paths = group.map((template) => {
      const parts = [first, second];
      return template.replaceAll("*", () => parts.shift() ?? "");
    });
    return fc.shuffledSubarray(paths, { minLength: 2, maxLength: 2 });
  })
  .map(([asked = "", denied = ""]) => ({ asked, denied }));

const operationOn = (path: string) => (path.endsWith("/") ? "list" : "update");

describe("two spellings of one path", () => {
  it("deny on one holds at the other, by itself, without its slash and below a wildcard", () => {
    fc.assert(
      fc.property(PAIR, ({ asked, denied }) => {
        const bare = denied.replace(/\/$/, "");
        for (const rule of [denied, bare, `${bare}*`, `${bare.slice(0, bare.lastIndexOf("/") + 1)}*`]) {
          const acl = aclOf(`path "${asked}" { capabilities = ${ALL} } path "${rule}" { capabilities = ["deny"] }`);
          // A rule that stands for the asked path too says nothing about the other one.
          if (acl.capabilities(asked, NOW)[0] === "deny") continue;
          expect(evaluateAcl(acl, { operation: operationOn(asked), path: asked }, NOW).allowed).toBe(false);
          expect(capabilitiesOf(acl, asked, undefined, NOW)).toEqual(["deny"]);
        }
      }),
    );
  });

  it("a grant on one is none at the other", () => {
    fc.assert(
      fc.property(PAIR, ({ asked, denied: granted }) => {
        const acl = aclOf(`path "${granted}" { capabilities = ${ALL} }`);
        expect(evaluateAcl(acl, { operation: operationOn(asked), path: asked }, NOW).allowed).toBe(false);
        expect(capabilitiesOf(acl, asked, undefined, NOW)).toEqual(["deny"]);
      }),
    );
  });

  it("each leads to the other, and none to itself", () => {
    fc.assert(
      fc.property(PAIR, ({ asked, denied }) => {
        expect(otherSpellings(asked, {})).toContain(denied);
        expect(otherSpellings(denied, {})).toContain(asked);
        expect(otherSpellings(asked, {})).not.toContain(asked);
      }),
    );
  });

  it("a deny elsewhere changes nothing", () => {
    fc.assert(
      fc.property(PAIR, ({ asked }) => {
        const acl = aclOf(`path "${asked}" { capabilities = ${ALL} } path "elsewhere/*" { capabilities = ["deny"] }`);
        expect(evaluateAcl(acl, { operation: operationOn(asked), path: asked }, NOW).allowed).toBe(true);
      }),
    );
  });

  it("denies the older read of a list where its names are denied as a list", () => {
    for (const rule of ["sys/policies/acl", "sys/policies/acl/", "sys/policies/acl/*", "sys/policies/*"]) {
      const acl = aclOf(`path "sys/policy" { capabilities = ["read"] } path "${rule}" { capabilities = ["deny"] }`);
      expect(evaluateAcl(acl, { operation: "read", path: "sys/policy" }, NOW).allowed).toBe(false);
    }
  });
});

describe("a path whose last part can be in the body", () => {
  it.each(NAMED_IN_BODY)("$path: deny on either form holds at the other", ({ path, field }) => {
    const data = { [field]: "prod/db/1" };
    const deniedById = aclOf(
      `path "${path}*" { capabilities = ${ALL} } path "${path}/prod/*" { capabilities = ["deny"] }`,
    );
    expect(evaluateAcl(deniedById, { operation: "update", path, data }, NOW).allowed).toBe(false);
    expect(evaluateAcl(deniedById, { operation: "update", path: `${path}/test/1`, data }, NOW).allowed).toBe(false);
    expect(evaluateAcl(deniedById, { operation: "update", path, data: { [field]: "test/1" } }, NOW).allowed).toBe(true);
    expect(evaluateAcl(deniedById, { operation: "update", path: `${path}/test/1` }, NOW).allowed).toBe(true);
    const deniedBare = aclOf(`path "${path}/*" { capabilities = ${ALL} } path "${path}" { capabilities = ["deny"] }`);
    expect(evaluateAcl(deniedBare, { operation: "update", path: `${path}/test/1` }, NOW).allowed).toBe(false);
    expect(capabilitiesOf(deniedBare, `${path}/test/1`, undefined, NOW)).toEqual(["deny"]);
  });

  it("in the spelling of older clients too", () => {
    const acl = aclOf(
      `path "sys/leases/*" { capabilities = ["update"] } path "sys/revoke/prod/*" { capabilities = ["deny"] }`,
    );
    const ask = (path: string, data = {}) => evaluateAcl(acl, { operation: "update", path, data }, NOW).allowed;
    expect(ask("sys/leases/revoke", { lease_id: "prod/1" })).toBe(false);
    expect(ask("sys/leases/revoke/prod/1")).toBe(false);
    expect(ask("sys/leases/revoke/test/1")).toBe(true);
  });
});

describe("a path that does more than another one", () => {
  it.each(WIDER)("$path is denied where $than is, and not the other way round", ({ path, than }) => {
    const [wide, narrow] = [path, than].map((template) => template.replace("*", "aws/creds")) as [string, string];
    const denied = (rule: string, asked: string) =>
      isDenied(
        aclOf(`path "*" { capabilities = ${ALL} } path "${rule}" { capabilities = ["deny"] }`),
        { path: asked },
        NOW,
      );
    expect(denied(narrow, wide)).toBe(true);
    expect(denied(wide, narrow)).toBe(false);
  });
});

describe("the table", () => {
  /** Endpoints that do the same and have no spelling of each other, with why. */
  const APART = [
    // Open: no policy decides about them.
    /^sys\/generate-root/,
    // The same values at every path, with none below.
    /^cubbyhole/,
    // A rule for an entity's id says nothing about a body that names it (docs/security.md).
    /^identity\/(entity|group)$/,
  ];

  it("has every two endpoints that do the same by their own description", () => {
    const bySummary = new Map<string, Set<string>>();
    for (const { path, description } of TABLES.fixed.routes) {
      const plain = path.replace(/:[a-z_]+(\{[^}]*\})?/g, "name");
      bySummary.set(description.summary, (bySummary.get(description.summary) ?? new Set()).add(plain));
    }
    const forgotten = [...bySummary.values()].flatMap(([first = "", ...rest]) => {
      const others = rest.filter((path) => {
        const known = [...otherSpellings(first, {}), ...otherSpellings(path, {})];
        return ![first, path, `${path}/`].some((spelling) => known.includes(spelling));
      });
      return APART.some((pattern) => pattern.test(first)) ? [] : others.map((path) => [first, path]);
    });
    expect(forgotten).toEqual([]);
  });
});
