import { describe, expect, it } from "vitest";
import * as z from "zod";
import { helpText } from "../../../src/app/help.ts";
import { RouteTable } from "../../../src/app/route-table.ts";
import { openRoute, simpleRoute } from "../../../src/auth/route.ts";
import { NO_CONTENT } from "../../../src/auth/route-description.ts";
import { ok } from "../../../src/base/result.ts";
import { flag, text } from "../../../src/wire/fields.ts";
import { EMPTY } from "../../../src/wire/reply.ts";

const handle = async () => ok(EMPTY);
const NOTHING = { summary: "", operationId: "", answers: NO_CONTENT };
const table = new RouteTable([
  simpleRoute("list", "roles", NOTHING, z.object({}), handle),
  simpleRoute(["read", "delete"], "roles/:name{[a-z]+}", NOTHING, z.object({}), handle),
  simpleRoute("update", "roles/:name{[a-z]+}", NOTHING, z.object({ orphan: flag(false), allowed: text() }), handle),
  openRoute(["read", "head"], "health", NOTHING, handle),
]);

describe("the text of path-help", () => {
  it("names methods and parameters of an endpoint", () => {
    expect(helpText(table, "roles/ci")).toBe(
      [
        "Request:        roles/ci",
        "Matching Route: roles/:name",
        "",
        "## METHODS",
        "",
        "    GET",
        "",
        "    POST",
        "",
        "    DELETE",
        "",
        "## PARAMETERS",
        "",
        "    allowed",
        "",
        "    name",
        "",
        "    orphan",
      ].join("\n"),
    );
  });

  it("leaves out the parameters of an endpoint that has none", () => {
    expect(helpText(table, "health")).toMatch(/GET\n\n {4}HEAD$/);
  });

  it("lists the endpoints of a mount", () => {
    expect(helpText(table, "")).toBe(
      "## PATHS\n\n    health\n        GET, HEAD\n\n    roles\n        LIST\n\n    roles/:name\n        GET, POST, DELETE",
    );
  });

  it("takes a slash at the end for the same path", () => {
    expect(helpText(table, "roles/")).toBe(helpText(table, "roles"));
  });

  it("has nothing to say where nothing is", () => {
    expect(helpText(table, "rolesx")).toBeNull();
    expect(helpText(table, "roles/CI")).toBeNull();
  });
});
