import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fillPage } from "../../../scripts/docs/page.ts";
import { monthlyBill } from "../../../scripts/scale/bill.ts";
import { firstToBreak, overloaded, sharedLoads, updateCalls } from "../../../scripts/scale/load.ts";
import { scaleTables } from "../../../scripts/scale/tables.ts";
import { FLEET, grown, loginsPerSecond, WORLDS } from "../../../scripts/scale/world.ts";

describe("the load of what all clients share", () => {
  it("of 2,000 logins a second through one mount is nowhere above half the ceiling", () => {
    expect(loginsPerSecond(FLEET)).toBe(2_000);
    expect(FLEET.mounts).toBe(1);
    expect(overloaded(FLEET)).toEqual([]);
  });

  it.each(WORLDS)("reaches the ceiling where $title breaks, and not before", (world) => {
    const { type, factor } = firstToBreak(world);
    const at = (share: number) => sharedLoads(grown(world, factor * share))[0];
    expect(at(1.01)).toMatchObject({ type });
    expect(at(1.01)?.utilisation).toBeGreaterThan(1);
    expect(at(0.99)?.utilisation).toBeLessThan(1);
  });

  it("counts updates of one isolate for one shard once a second, and never more calls than updates", () => {
    const world = { isolates: 10 };
    expect(updateCalls(world, 0.001, 0)).toBeCloseTo(0.001, 5);
    expect(updateCalls(world, 1e9, 1e9)).toBeCloseTo(10 * 16, 3);
    for (const updates of [1, 100, 10_000]) {
      expect(updateCalls(world, updates, 0)).toBeLessThan(updates);
      // What can wait for other updates costs a call when there are none.
      expect(updateCalls(world, updates, 10) - updateCalls(world, updates, 0)).toBeLessThan(10);
    }
    expect(updateCalls(world, 0, 0.001)).toBeCloseTo(0.001, 4);
  });

  it("costs about twice as much at twice the rates", () => {
    for (const world of WORLDS) {
      expect(monthlyBill(grown(world, 2)).total / monthlyBill(world).total).toBeCloseTo(2, 2);
    }
  });
});

it("docs/scale.md has the tables of these sources: npm run scale writes them", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/scale.md"), "utf8");
  expect(fillPage(page, scaleTables())).toBe(page);
  expect(page).not.toMatch(/NaN|undefined|Infinity/);
});
