import { describe, expect, it } from "vitest";
import { monthlyBill } from "../../../scripts/scale/bill.ts";
import { aboveHalf, scalePage } from "../../../scripts/scale/document.ts";
import { playLists } from "../../../scripts/scale/histories/lists.ts";
import { playNonces } from "../../../scripts/scale/histories/nonces.ts";
import { playHistories } from "../../../scripts/scale/histories/play.ts";
import { playRevocations } from "../../../scripts/scale/histories/revocations.ts";
import { Violation } from "../../../scripts/scale/histories/violation.ts";
import { firstToBreak, sharedLoads } from "../../../scripts/scale/load.ts";
import { callsPerSecond } from "../../../scripts/scale/told-together.ts";
import { FLEET, grown, loginsPerSecond, WORLDS } from "../../../scripts/scale/world.ts";
import { ok } from "../../../src/base/result.ts";

const SEEDS = Array.from({ length: 30 }, (_, seed) => seed);
/** Histories of lists take longer. */
const FEW_SEEDS = SEEDS.slice(0, 8);

/** The rules that the histories of some seeds break. */
async function broken(play: (seed: number) => unknown, seeds = SEEDS): Promise<string[]> {
  const found: string[] = [];
  for (const seed of seeds) {
    try {
      await play(seed);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      found.push(error.message);
    }
  }
  return found;
}

describe("the load of what all share", () => {
  it("of 2,000 logins a second through one mount is nowhere above half the ceiling", () => {
    expect(loginsPerSecond(FLEET)).toBe(2_000);
    expect(FLEET.mounts).toBe(1);
    expect(aboveHalf(FLEET, "now")).toEqual([]);
  });

  it("was too much for the mount's object at some 350 logins a second in 0.1.0", () => {
    const { type, factor } = firstToBreak(FLEET, "before");
    expect(type).toBe("CloudAuth");
    expect(Math.round(factor * loginsPerSecond(FLEET))).toBe(348);
  });

  it.each(WORLDS)("reaches the ceiling where $title breaks, and not before", (world) => {
    for (const release of ["before", "now"] as const) {
      const { type, factor } = firstToBreak(world, release);
      const at = (share: number) => sharedLoads(grown(world, factor * share), release)[0];
      expect(at(1.01)).toMatchObject({ type });
      expect(at(1.01)?.utilisation).toBeGreaterThan(1);
      expect(at(0.99)?.utilisation).toBeLessThan(1);
    }
  });

  it("counts news of one isolate for one shard once a second, and never more calls than news", () => {
    const world = { isolates: 10 };
    expect(callsPerSecond(world, 0.001, 0)).toBeCloseTo(0.001, 5);
    expect(callsPerSecond(world, 1e9, 1e9)).toBeCloseTo(10 * 16, 3);
    for (const news of [1, 100, 10_000]) {
      expect(callsPerSecond(world, news, 0)).toBeLessThan(news);
      // What can wait for other news costs a call when there are none.
      expect(callsPerSecond(world, news, 10) - callsPerSecond(world, news, 0)).toBeLessThan(10);
    }
    expect(callsPerSecond(world, 0, 0.001)).toBeCloseTo(0.001, 4);
  });

  it("costs about twice as much at twice the rates", () => {
    for (const world of WORLDS) {
      const ratio = monthlyBill(grown(world, 2), "now").total / monthlyBill(world, "now").total;
      expect(ratio).toBeCloseTo(2, 2);
    }
  });
});

describe("random histories", () => {
  it("break no rule, and are the same for the same seed", async () => {
    expect(await broken(playRevocations)).toEqual([]);
    expect(await broken(playNonces)).toEqual([]);
    expect(await broken(playLists, FEW_SEEDS)).toEqual([]);
    expect(playRevocations(7)).toEqual(playRevocations(7));
    expect(playRevocations(7)).not.toEqual(playRevocations(8));
    expect(await playLists(7)).toEqual(await playLists(7));
  });

  it("find an isolate that goes on with what it knows for ever", async () => {
    const found = await broken((seed) => playRevocations(seed, (copy) => (copy.checkedAt < 0 ? "wait" : "use")));
    expect(found.join()).toContain("a revocation by prefix is in force");
  });

  it("find an isolate that has no grace", async () => {
    const found = await broken((seed) =>
      playRevocations(seed, ({ checkedAt }, _, now) => (now - checkedAt < 4_000 ? "use" : "wait")),
    );
    expect(found.join()).toContain("requests go on while the system object is away");
  });

  it("find an access list that takes any nonce", async () => {
    const entry = {
      role: "",
      nonceHash: "",
      createdAt: 0,
      updatedAt: 0,
      expiresAt: 0,
      pendingTime: "",
      pendingTimeMs: 0,
    };
    expect((await broken((seed) => playNonces(seed, () => ok(entry)))).join()).toContain(
      "one nonce counts for an instance",
    );
  });

  it.each([
    ["news that wait for a timer that was set for later", { firstTimerCounts: true }, FEW_SEEDS],
    ["rows that were written after greater ones were read", { skipsLateRows: true }, [3, 13]],
  ])("find %s", async (_, rule, seeds) => {
    const found = await broken((seed) => playLists(seed, rule), seeds);
    expect(found.join()).toContain("a list has every token two seconds after the answer");
  });

  it("find trees that have no alarm for what a crash took", async () => {
    const found = await broken((seed) => playLists(seed, { noBackstop: true }), [6, 9]);
    expect(found.join()).toContain("every token comes onto a list");
  });
});

it("the page has a table and a picture for each question", async () => {
  const { text, charts } = scalePage(await playHistories(1, 2));
  for (const world of WORLDS) expect(text.toLowerCase()).toContain(`### ${world.title}`);
  for (const { name, svg } of charts) {
    expect(text).toContain(`images/${name}.svg`);
    expect(svg).toMatch(/^<svg/);
  }
  expect(text).not.toMatch(/NaN|undefined|Infinity/);
});
