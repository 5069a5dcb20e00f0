import { describe, expect, it } from "vitest";
import { helpOf } from "../../../src/app/help.ts";
import { RouteTable } from "../../../src/app/route-tables.ts";
import { openRoute, simpleRoute } from "../../../src/auth/route.ts";
import { KEYS, NO_CONTENT } from "../../../src/auth/route-description.ts";
import { ok } from "../../../src/base/result.ts";
import { fieldSchema, NO_FIELDS } from "../../../src/wire/field-schema.ts";
import { flag, text } from "../../../src/wire/fields.ts";
import { exactInteger, orNull } from "../../../src/wire/json-type-fields.ts";
import { EMPTY } from "../../../src/wire/reply.ts";

const handle = async () => ok(EMPTY);
const ROLE = { name: "The name of the role" };
const FIELDS = fieldSchema({
  orphan: flag(false).describe("True: without a parent"),
  allowed: text().describe("What it may be"),
  most: orNull(exactInteger("must be a whole number", 1, 9)).describe("The most; null: no limit"),
});
const table = new RouteTable([
  simpleRoute("list", "roles", {
    summary: "Lists.",
    operationId: "list",
    answers: KEYS,
    input: NO_FIELDS,
    handle,
  }),
  simpleRoute(["read", "delete"], "roles/:name{[a-z]+}", {
    summary: "Shows or deletes.",
    operationId: { read: "read", delete: "delete" },
    parameters: ROLE,
    answers: NO_CONTENT,
    input: NO_FIELDS,
    handle,
  }),
  simpleRoute("update", "roles/:name{[a-z]+}", {
    summary: "Writes.",
    operationId: "write",
    parameters: ROLE,
    answers: NO_CONTENT,
    input: FIELDS,
    handle,
  }),
  openRoute(["read", "head"], "health", {
    summary: "Tells.",
    operationId: "health",
    fields: {},
    answers: NO_CONTENT,
    handle,
  }),
]);

const textOf = (path: string) => helpOf(table, path, "", "1.0.0")?.text ?? null;

describe("path-help", () => {
  it("tells methods and parameters of an endpoint", () => {
    expect(textOf("roles/ci")).toBe(`Request:        roles/ci
Matching Route: roles/:name

Shows or deletes.

## METHODS

    GET
        Shows or deletes.

    DELETE
        Shows or deletes.

    POST
        Writes.

## PARAMETERS

    allowed (string)

        What it may be

    most (int)

        The most; null: no limit

    name (string)

        The name of the role

    orphan (bool)

        True: without a parent`);
  });

  it("leaves out the parameters of an endpoint that has none", () => {
    expect(textOf("health")).toMatch(/HEAD\n {8}Tells\.$/);
  });

  it("lists the endpoints of a mount", () => {
    expect(textOf("")).toBe(`## PATHS

    health
        GET, HEAD: Tells.

    roles
        LIST: Lists.

    roles/:name
        GET, DELETE: Shows or deletes.
        POST: Writes.`);
  });

  it("has the OpenAPI document of what it tells about, for programs", () => {
    expect(helpOf(table, "roles", "ci-", "1.0.0")?.openapi).toMatchObject({
      info: { version: "1.0.0" },
      paths: { "/roles": { get: { operationId: "ci-list" } } },
    });
    const { paths = {} } = helpOf(table, "roles/ci", "", "1.0.0")?.openapi ?? {};
    expect(Object.keys(paths as object)).toEqual(["/roles/{name}"]);
  });

  it("takes a slash at the end for the same path", () => {
    expect(textOf("roles/")).toBe(textOf("roles"));
  });

  it("has nothing to say where nothing is", () => {
    expect(textOf("rolesx")).toBeNull();
    expect(textOf("roles/CI")).toBeNull();
  });
});
