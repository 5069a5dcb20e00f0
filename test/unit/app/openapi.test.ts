import { describe, expect, it } from "vitest";
import { missingFrom } from "../../../src/app/openapi/undescribed.ts";
import { TO_DESCRIBE } from "../../../src/auth/route-description.ts";
import { AUTH_METHODS } from "../../../src/methods/registry.ts";
import { ROUTES } from "../../support/routes.ts";

const ALL = [...new Set([...ROUTES, ...[...AUTH_METHODS.values()].flatMap(({ routes }) => routes)])];

describe("descriptions of routes", () => {
  const described = ALL.filter(({ description }) => description !== TO_DESCRIBE);

  it("are complete", () => {
    const incomplete = described.flatMap((route) => {
      const missing = missingFrom(route);
      return missing.length > 0 ? [`${route.operations.join()} ${route.path}: ${missing.join(", ")}`] : [];
    });
    expect(incomplete).toEqual([]);
  });

  it("are missing for no more routes than before", () =>
    expect(ALL.length - described.length).toBeLessThanOrEqual(347));
});
