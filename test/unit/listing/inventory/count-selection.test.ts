import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type CountState,
  countedSoFar,
  countWithinRequest,
  isCounted,
} from "../../../../src/listing/inventory/count-selection.ts";
import { NO_TALLY } from "../../../../src/listing/inventory/tally.ts";

const STEPS = 24;
/** A tree that is not counted to its end. */
const LEFT = { treeId: "t", accessors: ["a"], from: null, tally: NO_TALLY };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A count whose steps take so many ms each, the last of them again and again, and count so many tokens each. */
function counting({ stepMs, tokens, isRead }: { stepMs: readonly number[]; tokens: number; isRead: boolean }) {
  let taken = 0;
  return async (state: CountState): Promise<CountState> => {
    const ms = stepMs[Math.min(taken, stepMs.length - 1)] ?? 0;
    taken += 1;
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { ...state, isRead, left: [LEFT], tally: { ...NO_TALLY, total: state.tally.total + tokens } };
  };
}

/** What the request has when it answers, and after how many ms. */
async function answer(step: (state: CountState) => Promise<CountState>) {
  const began = Date.now();
  const asked = countWithinRequest(step, began, STEPS).then((state) => ({ state, ms: Date.now() - began }));
  await vi.runAllTimersAsync();
  return asked;
}

describe("a count by one request", () => {
  it.each([
    ["short steps", [100], 1100],
    ["a step that takes long in the end", [300, 300, 300, 5000], 1500],
    ["steps that all take long", [700], 1400],
    ["a second step that takes long", [900, 60_000], 1500],
  ])("of many tokens is left to a job in time, with %s", async (_, stepMs, atMs) => {
    const { state, ms } = await answer(counting({ stepMs, tokens: 2000, isRead: false }));
    expect(ms).toBe(atMs);
    expect(isCounted(state)).toBe(false);
  });

  it("has nothing of a step that it did not wait for: the job repeats that", async () => {
    const { state } = await answer(counting({ stepMs: [300, 300, 300, 5000], tokens: 2000, isRead: false }));
    expect(countedSoFar(state)).toBe(6000);
  });

  it("of few tokens continues, however slow the machine is", async () => {
    const { state, ms } = await answer(counting({ stepMs: [900], tokens: 100, isRead: true }));
    expect(countedSoFar(state)).toBe(2000);
    expect(ms).toBe(20 * 900);
  });

  it("of trees with many tokens is left to a job, though the list is read", async () => {
    const { state, ms } = await answer(counting({ stepMs: [400, 400, 9000], tokens: 1500, isRead: true }));
    expect([countedSoFar(state), ms]).toEqual([3000, 1500]);
  });

  it("ends when all is counted, and after its last step", async () => {
    const done = await answer(async (state) => ({ ...state, isRead: true }));
    expect([isCounted(done.state), done.ms]).toEqual([true, 0]);
    const { state } = await answer(counting({ stepMs: [1], tokens: 10, isRead: false }));
    expect(countedSoFar(state)).toBe(STEPS * 10);
  });

  it("fails as its step does", async () => {
    const failing = countWithinRequest(() => Promise.reject(new Error("a shard is gone")), Date.now(), STEPS);
    await expect(failing).rejects.toThrow("a shard is gone");
  });
});
