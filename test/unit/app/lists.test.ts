import { describe, expect, it } from "vitest";
import type { TokenRoute } from "../../../src/auth/route.ts";
import { readFields } from "../../../src/wire/field-schema.ts";
import { ROUTES } from "../../support/routes.ts";

const LISTS = ROUTES.filter(
  (route): route is TokenRoute => route.access === "token" && route.operations.includes("list"),
);

describe("every list", () => {
  it("is known to this test", () => expect(LISTS.length).toBeGreaterThan(20));

  it.each(LISTS.map((route) => [route.path, route] as const))("%s takes after and limit", (_, route) => {
    const read = readFields(route.fields, { after: "x", limit: "7" });
    expect(read.ok && read.value.unknown).toEqual([]);
    // Some have filters besides.
    expect(read.ok && read.value.values).toMatchObject({ after: "x", limit: 7 });
    const all = readFields(route.fields, { limit: "max" });
    expect(all.ok && all.value.values).toMatchObject({ after: "", limit: 0 });
    expect(readFields(route.fields, { limit: "many" }).ok).toBe(false);
  });
});
