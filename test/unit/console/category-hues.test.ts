import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { huesOf, OTHER_HUE } from "../../../console/forest/category-hues.ts";
import { distinctNames, marksOfAlike } from "../../../console/tokens/distinct-names.ts";
import { roundTop } from "../../../console/ui/chart-scale.ts";
import { consoleToken } from "../../support/console-token.ts";

describe("the colours of categories", () => {
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 });

  it("are those of their names: whichever is the largest, each keeps its own", () => {
    fc.assert(
      fc.property(names, (ranked) => {
        const hues = huesOf(ranked, 8);
        expect(new Set(hues.values()).size).toBe(ranked.length);
        const turned = huesOf(ranked.toReversed(), 8);
        for (const name of ranked) expect(turned.get(name)).toBe(hues.get(name));
      }),
    );
  });

  it("change for few when another one comes", () => {
    const before = huesOf(["payments", "search", "checkout"], 8);
    const after = huesOf(["new-service", "payments", "search", "checkout"], 8);
    expect([...before].filter(([name, hue]) => after.get(name) !== hue)).toEqual([]);
  });

  it("stay when another one goes whose colour was wanted too", () => {
    fc.assert(
      fc.property(names, fc.nat(), (ranked, at) => {
        const before = huesOf(ranked, 8);
        const left = ranked.toSpliced(at % ranked.length, 1);
        for (const [name, hue] of huesOf(left, 8, before)) expect(hue).toBe(before.get(name));
      }),
    );
  });

  it("are for the largest alone", () => {
    const ranked = Array.from({ length: 11 }, (_, at) => `service-${at}`);
    expect([...huesOf(ranked, 8).values()].filter((hue) => hue === OTHER_HUE)).toHaveLength(3);
    expect(huesOf(ranked, 8).get("service-10")).toBe(OTHER_HUE);
  });
});

describe("names of tokens beside each other", () => {
  const token = (accessor: string, display_name: string, metadata: Record<string, string> = {}) =>
    consoleToken({ accessor, display_name, metadata });

  it("have the end of the accessor where their details are the same too", () => {
    const marks = marksOfAlike([
      token("a-long-accessor-1", "api", { host: "one" }),
      token("a-long-accessor-2", "api", { host: "two" }),
      token("a-long-accessor-3", "api", { host: "two" }),
      token("a-long-accessor-4", "api"),
    ]);
    expect([...marks]).toEqual([
      ["a-long-accessor-2", "…accessor-2"],
      ["a-long-accessor-3", "…accessor-3"],
    ]);
  });

  it("have what they differ by where they are the same, and nothing else", () => {
    const names = distinctNames([
      token("a-long-accessor-1", "api", { team: "shop", host: "one" }),
      token("a-long-accessor-2", "api", { team: "shop", host: "two" }),
      token("a-long-accessor-3", "api"),
      token("a-long-accessor-4", "web", { host: "one" }),
    ]);
    expect([...names.values()]).toEqual(["api · one", "api · two", "api · …accessor-3", "web"]);
  });
});

it("the top of a scale is round, and so is its half", () => {
  expect([1, 2, 3, 7, 10, 11, 75, 401, 9_999].map(roundTop)).toEqual([1, 2, 4, 8, 10, 20, 80, 600, 10_000]);
});
