import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { PROJECT } from "../../../scripts/local/worker-definition.ts";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { jurisdictionProblem, LOCATION_HINTS, readLocationHint, within } from "../../../src/base/location.ts";

describe("a location hint", () => {
  it("is one of the platform's, or none", () => {
    for (const hint of LOCATION_HINTS) expect(readLocationHint(hint)).toEqual({ ok: true, value: hint });
    expect(readLocationHint("")).toEqual({ ok: true, value: null });
    for (const wrong of ["europe", "WEUR", " weur", "eu", "__proto__"]) {
      expect(readLocationHint(wrong), wrong).toMatchObject({ ok: false });
    }
  });
});

describe("the jurisdiction of an installation", () => {
  interface Objects {
    jurisdiction(name: string): Objects;
  }
  const inside: Objects = { jurisdiction: () => inside };
  const jurisdiction = vi.fn(() => inside);
  const objects: Objects = { jurisdiction };

  it("is anywhere unless it is set", () => {
    expect(within({}, objects)).toBe(objects);
    expect(within({ JURISDICTION: "" }, objects)).toBe(objects);
  });

  it("holds for every object once it is set", () => {
    expect(within({ JURISDICTION: "eu" }, objects)).toBe(inside);
    expect(jurisdiction).toHaveBeenLastCalledWith("eu");
  });

  it("that can't be used is reported to operators, and nothing is written elsewhere", () => {
    expect(jurisdictionProblem({ JURISDICTION: "EU", deployment: NETWORK })).toContain(
      "must be one of eu, fedramp, fedramp-high, us",
    );
    expect(() => within({ JURISDICTION: "EU" }, objects)).toThrow();
    expect(jurisdictionProblem({ JURISDICTION: "eu", deployment: ONE_PROCESS })).toContain("Cloudflare's network");
    for (const good of [{}, { JURISDICTION: "" }, { JURISDICTION: "eu" }]) {
      expect(jurisdictionProblem({ ...good, deployment: NETWORK })).toBeNull();
    }
  });

  it("is passed by no source: each finds objects through `within`", () => {
    const direct = /(?<!within\()\benv\.[A-Z_]+\s*\.(get|getByName|idFromName|idFromString|newUniqueId)\(/;
    const files = globSync(join(PROJECT, "src/**/*.ts"));
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => direct.test(readFileSync(file, "utf8")))).toEqual([]);
  });
});
