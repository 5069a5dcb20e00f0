import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BatchedReads } from "../../../console/batched-reads.ts";

const FRESH_MS = 30_000;

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

/** Reads, and the requests to the server, which the test answers. */
function setUp() {
  const asked: { keys: readonly string[]; answer(value: Readonly<Record<string, number>> | null): void }[] = [];
  const reads = new BatchedReads<number>((keys) => new Promise((answer) => asked.push({ keys, answer })), 0, FRESH_MS);
  return { reads, asked };
}

describe("the reads of a page", () => {
  it("share one request when they are made together, and keep its answer for a while", async () => {
    const { reads, asked } = setUp();
    const done = Promise.all([reads.ask(["a", "b"]), reads.ask(["b", "c"])]);
    await vi.runAllTimersAsync();
    expect(asked.map(({ keys }) => keys)).toEqual([["a", "b", "c"]]);
    asked[0]?.answer({ a: 1, b: 2 });
    await done;
    expect(["a", "b", "c"].map((key) => reads.of(key))).toEqual([1, 2, 0]);
    vi.setSystemTime(Date.now() + FRESH_MS - 1);
    await reads.ask(["a"]);
    expect(asked).toHaveLength(1);
    vi.setSystemTime(Date.now() + 1);
    void reads.ask(["a"]);
    await vi.runAllTimersAsync();
    expect(asked[1]?.keys).toEqual(["a"]);
  });

  it("that are made during a request have one of their own", async () => {
    const { reads, asked } = setUp();
    const first = reads.ask(["a"]);
    await vi.runAllTimersAsync();
    const second = reads.ask(["b"]);
    await vi.runAllTimersAsync();
    expect(asked.map(({ keys }) => keys)).toEqual([["a"], ["b"]]);
    asked[1]?.answer({ b: 2 });
    await second;
    expect(reads.of("b")).toBe(2);
    asked[0]?.answer({ a: 1 });
    await first;
    expect(reads.of("a")).toBe(1);
  });

  it("leave what is known when the server refuses, and ask again", async () => {
    const { reads, asked } = setUp();
    for (const [at, answer] of [{ a: 1 }, null, { a: 3 }].entries()) {
      vi.setSystemTime(Date.now() + FRESH_MS);
      const done = reads.ask(["a"]);
      await vi.runAllTimersAsync();
      asked[at]?.answer(answer);
      await done;
      expect(reads.of("a")).toBe(answer?.a ?? 1);
    }
  });
});
