import { describe, expect, it } from "vitest";
import { missingFrom } from "../../../src/app/openapi/undescribed.ts";
import { AUTH_METHODS } from "../../../src/methods/registry.ts";
import { ROUTES } from "../../support/routes.ts";

const ALL = [...new Set([...ROUTES, ...[...AUTH_METHODS.values()].flatMap(({ routes }) => routes)])];

describe("descriptions of routes", () => {
  it("are complete", () => {
    const incomplete = ALL.flatMap((route) => {
      const missing = missingFrom(route);
      return missing.length > 0 ? [`${route.operations.join()} ${route.path}: ${missing.join(", ")}`] : [];
    });
    expect(incomplete).toEqual([]);
  });
});
