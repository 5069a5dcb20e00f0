import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TABLES } from "../../../src/app/routes.ts";
import { capabilitiesOf, evaluateAcl, isDenied } from "../../../src/policy/evaluate.ts";
import { RESOURCES, spellingsOf } from "../../../src/policy/path-spellings.ts";
import { aclOf, NOW } from "./helpers.ts";

const MOUNT = "auth/cloud/";
const SEGMENT = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/);
const PART = fc.oneof(
  SEGMENT,
  fc.tuple(SEGMENT, SEGMENT).map((both) => both.join("/")),
);
const ALL = '["create", "read", "update", "patch", "delete", "list", "sudo"]';
/** The paths of each resource, also those without the last part where the body can name it. */
const GROUPS = RESOURCES.flatMap(({ paths, field }) => {
  const atMount = paths.map((path) => path.replace("{mount}", MOUNT));
  return field === undefined ? [atMount] : [atMount, atMount.map((path) => path.slice(0, -2))];
});
const WITH_FIELD = RESOURCES.flatMap(({ paths: [path = ""], field }) =>
  field === undefined ? [] : [{ path: path.slice(0, -2), field }],
);
const INCLUDING = RESOURCES.flatMap(({ paths: [path = ""], includes }) =>
  includes === undefined ? [] : [{ path, than: includes }],
);

/** Two different spellings of one thing: what is asked, and what a policy denies. */
const PAIR = fc
  .tuple(fc.constantFrom(...GROUPS.filter(({ length }) => length > 1)), PART)
  .chain(([group, part]) =>
    fc.shuffledSubarray(
      group.map((template) => template.replace("*", part)),
      { minLength: 2, maxLength: 2 },
    ),
  )
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
          const request = { operation: operationOn(asked), path: asked, mount: MOUNT } as const;
          expect(evaluateAcl(acl, request, NOW).allowed).toBe(false);
          expect(capabilitiesOf(acl, request, NOW)).toEqual(["deny"]);
        }
      }),
    );
  });

  it("a grant on one is none at the other", () => {
    fc.assert(
      fc.property(PAIR, ({ asked, denied: granted }) => {
        const acl = aclOf(`path "${granted}" { capabilities = ${ALL} }`);
        const request = { operation: operationOn(asked), path: asked, mount: MOUNT } as const;
        expect(evaluateAcl(acl, request, NOW).allowed).toBe(false);
        expect(capabilitiesOf(acl, request, NOW)).toEqual(["deny"]);
      }),
    );
  });

  it("have the same spellings, each once", () => {
    fc.assert(
      fc.property(PAIR, ({ asked, denied }) => {
        const spellings = spellingsOf({ path: asked, mount: MOUNT });
        expect(spellingsOf({ path: denied, mount: MOUNT })).toEqual(spellings);
        expect(new Set(spellings.map(({ path }) => path)).size).toBe(spellings.length);
      }),
    );
  });

  it("a deny elsewhere changes nothing", () => {
    fc.assert(
      fc.property(PAIR, ({ asked }) => {
        const acl = aclOf(`path "${asked}" { capabilities = ${ALL} } path "elsewhere/*" { capabilities = ["deny"] }`);
        const request = { operation: operationOn(asked), path: asked, mount: MOUNT } as const;
        expect(evaluateAcl(acl, request, NOW).allowed).toBe(true);
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
  it.each(WITH_FIELD)("$path: deny on either form holds at the other", ({ path, field }) => {
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
    expect(capabilitiesOf(deniedBare, { path: `${path}/test/1` }, NOW)).toEqual(["deny"]);
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
  it.each(INCLUDING)("$path is denied where $than is, and not the other way round", ({ path, than }) => {
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
    // Two lists, of instances and of tags, have the same descriptions here.
    /^auth\/cloud\/(config\/)?tidy\//,
  ];

  const leads = (from: string, to: string) =>
    [from, `${from}/`].some((path) =>
      spellingsOf({ path, mount: MOUNT }).some((one) => [to, `${to}/`].includes(one.path)),
    );

  it("has every two endpoints that do the same by their own description", () => {
    const tables = [
      { routes: TABLES.fixed.routes, mount: "" },
      ...[...TABLES.byMountType.values()].map(({ routes }) => ({ routes, mount: MOUNT })),
    ];
    const forgotten = tables.flatMap(({ routes, mount }) => {
      const bySummary = Map.groupBy(routes, ({ description }) => description.summary);
      return [...bySummary.values()].flatMap((same) => {
        const [first = "", ...others] = same.map(({ path }) => mount + path.replace(/:[a-z_]+(\{[^}]*\})?/g, "name"));
        const unknown = others.filter((path) => path !== first && !leads(first, path) && !leads(path, first));
        return APART.some((pattern) => pattern.test(first)) ? [] : unknown.map((path) => [first, path]);
      });
    });
    expect(forgotten).toEqual([]);
  });

  it("has a path in one resource alone", () => {
    const filled = GROUPS.flat().map((template) => template.replace("*", "name"));
    const resources = filled.map((path) => JSON.stringify(spellingsOf({ path, mount: MOUNT })));
    expect(new Set(resources).size).toBe(GROUPS.length);
  });
});
