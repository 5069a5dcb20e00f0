import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SingleFlight } from "../../../src/base/single-flight.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

/** A reading of at most 100 ms of age, with a maximum of 50 ms for a read; and a read that the test answers. */
function setUp() {
  const reading = new SingleFlight<string>(100, 50);
  const reads: { answer(value: string): void; fail(): void }[] = [];
  const load = () =>
    reading.load(() => new Promise((answer, fail) => reads.push({ answer, fail: () => fail(new Error("failed")) })));
  return { reading, reads, load };
}

it("reads once until the answer is too old", async () => {
  const { reading, reads, load } = setUp();
  const first = load();
  reads[0]?.answer("a");
  expect(await first).toEqual({ value: "a", readAt: 0 });
  vi.setSystemTime(99);
  expect((await load()).value).toBe("a");
  vi.setSystemTime(100);
  const second = load();
  // A change after the start of a read may not be in its answer.
  vi.setSystemTime(130);
  reads[1]?.answer("b");
  expect(await second).toEqual({ value: "b", readAt: 100 });
  expect(reading.last).toEqual({ value: "b", readAt: 100 });
});

it("answers others with the previous answer while one request reads, and lets another read when that takes too long", async () => {
  const { reads, load } = setUp();
  const first = load();
  reads[0]?.answer("a");
  await first;
  vi.setSystemTime(200);
  void load();
  expect((await load()).value).toBe("a");
  vi.setSystemTime(250);
  const third = load();
  expect(reads).toHaveLength(3);
  reads[2]?.answer("c");
  expect((await third).value).toBe("c");
});

it("keeps the answer of a later read when an earlier one ends after it", async () => {
  const { reading, reads, load } = setUp();
  const slow = load();
  vi.setSystemTime(60);
  const later = load();
  reads[1]?.answer("new");
  await later;
  reads[0]?.answer("old");
  expect(await slow).toEqual({ value: "old", readAt: 0 });
  expect(reading.last).toEqual({ value: "new", readAt: 60 });
});

it("waits for a read that began when an earlier one took too long", async () => {
  const { reads, load } = setUp();
  const first = load();
  reads[0]?.answer("a");
  await first;
  vi.setSystemTime(190);
  const slow = load();
  vi.setSystemTime(250);
  void load();
  reads[1]?.answer("b");
  await slow;
  vi.setSystemTime(295);
  expect((await load()).value).toBe("b");
  expect(reads).toHaveLength(3);
});

it("reads again after a read that failed", async () => {
  const { reads, load } = setUp();
  const failed = load();
  reads[0]?.fail();
  await expect(failed).rejects.toThrow("failed");
  const next = load();
  reads[1]?.answer("a");
  expect((await next).value).toBe("a");
});
