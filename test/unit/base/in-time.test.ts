import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { inTime } from "../../../src/base/clock.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("an answer in time", () => {
  it("is what was asked for, or why there is none, and leaves no timer", async () => {
    expect(await inTime(Promise.resolve("here"), 1_000)).toBe("here");
    await expect(inTime(Promise.reject(new Error("away")), 1_000)).rejects.toThrow("away");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that is late is not awaited any longer, and a late failure is no unhandled error", async () => {
    const { promise, reject } = Promise.withResolvers<string>();
    const refused = expect(inTime(promise, 1_000)).rejects.toThrow("no answer in 1000 ms");
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    reject(new Error("too late"));
    await vi.advanceTimersByTimeAsync(0);
  });
});
