import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IsolateCopy } from "../../../src/base/isolate-copy.ts";

const MAX_AGE_MS = 5_000;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** An answer that arrives when the test says so. */
function delayed<T>() {
  let arrive: (value: T) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const answer = new Promise<T>((resolve, reject) => {
    arrive = resolve;
    fail = reject;
  });
  return { answer, arrive, fail };
}

describe("a copy", () => {
  it("is used until it is as old as the caller allows, counted from when it was asked for", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const first = delayed<number>();
    const loaded = copies.load("a", MAX_AGE_MS, () => first.answer);
    vi.advanceTimersByTime(400);
    first.arrive(1);
    expect(await loaded).toBe(1);
    vi.advanceTimersByTime(4_599);
    expect(await copies.load("a", MAX_AGE_MS, async () => 2)).toBe(1);
    expect(copies.find("a", 4_000)).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(copies.find("a", MAX_AGE_MS)).toBeUndefined();
    expect(await copies.load("a", MAX_AGE_MS, async () => 2)).toBe(2);
  });

  it("is never used where none may be kept, nor when the clock went back", async () => {
    const copies = new IsolateCopy<string, number>(10);
    expect(await copies.load("a", 0, async () => 1)).toBe(1);
    expect(await copies.load("a", 0, async () => 2)).toBe(2);
    vi.setSystemTime(Date.now() - 1);
    expect(copies.find("a", MAX_AGE_MS)).toBeUndefined();
  });

  it("of nothing is not kept, of null is", async () => {
    const copies = new IsolateCopy<string, number | null>(10);
    expect(await copies.load("a", MAX_AGE_MS, async () => undefined)).toBeUndefined();
    expect(await copies.load("a", MAX_AGE_MS, async () => null)).toBeNull();
    expect(await copies.load("a", MAX_AGE_MS, async () => 1)).toBeNull();
  });

  it("of what is gone is dropped, and others stay", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const reading = copies.begin();
    copies.keep("a", 1, reading);
    copies.keep("b", 2, reading);
    copies.keep("a", undefined, copies.begin());
    copies.keep("c", 3, reading);
    expect(["a", "b", "c"].map((key) => copies.find(key, MAX_AGE_MS))).toEqual([undefined, 2, 3]);
  });

  it("makes room for others when it was not used for long", async () => {
    const copies = new IsolateCopy<number, number>(3);
    for (let key = 0; key < 100; key++) {
      await copies.load(key, MAX_AGE_MS, async () => key);
      expect(copies.find(0, MAX_AGE_MS)).toBe(0);
    }
    const kept = Array.from({ length: 100 }, (_, key) => copies.find(key, MAX_AGE_MS)).filter(
      (value) => value !== undefined,
    );
    expect(kept.length).toBeLessThanOrEqual(6);
  });
});

describe("a copy that is nearly too old", () => {
  it("is read anew once while requests go on with it", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const background: Promise<unknown>[] = [];
    const load = (read: () => Promise<number>) => copies.load("a", MAX_AGE_MS, read, (work) => background.push(work));
    await load(async () => 1);
    vi.advanceTimersByTime(3_999);
    expect(await load(async () => 2)).toBe(1);
    expect(background).toHaveLength(0);
    vi.advanceTimersByTime(1);
    const renewal = delayed<number>();
    expect(await load(() => renewal.answer)).toBe(1);
    expect(await load(async () => 3)).toBe(1);
    expect(background).toHaveLength(1);
    renewal.arrive(2);
    await background[0];
    vi.advanceTimersByTime(3_999);
    expect(await load(async () => 3)).toBe(2);
    expect(background).toHaveLength(1);
  });

  it("is waited for when the reading in the background takes until it is, and tried again when it failed", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const load = (read: () => Promise<number>) => copies.load("a", MAX_AGE_MS, read, () => undefined);
    await load(async () => 1);
    vi.advanceTimersByTime(4_900);
    expect(await load(() => Promise.reject(new Error("away")))).toBe(1);
    await vi.advanceTimersByTimeAsync(0);
    const renewal = delayed<number>();
    expect(await load(() => renewal.answer)).toBe(1);
    vi.advanceTimersByTime(100);
    const waiting = load(async () => 3);
    renewal.arrive(2);
    expect(await waiting).toBe(2);
  });
});

describe("requests that need the same at once", () => {
  it("wait for one answer", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const read = vi.fn(async () => 1);
    expect(await Promise.all([1, 2, 3].map(() => copies.load("a", MAX_AGE_MS, read)))).toEqual([1, 1, 1]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it("ask for themselves when the one that asks fails, or is late", async () => {
    const copies = new IsolateCopy<string, number>(10);
    for (const happens of ["fails", "is late"]) {
      const first = delayed<number>();
      const leader = copies.load(happens, MAX_AGE_MS, () => first.answer).catch(() => 0);
      const other = copies.load(happens, MAX_AGE_MS, async () => 2);
      if (happens === "fails") first.fail(new Error("away"));
      else await vi.advanceTimersByTimeAsync(1_000);
      expect(await other).toBe(2);
      first.arrive(1);
      await leader;
    }
  });

  it("ask for themselves where what was asked for earlier may be too old", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const first = delayed<number>();
    const leader = copies.load("a", MAX_AGE_MS, () => first.answer);
    expect(await copies.load("a", 0, async () => 2)).toBe(2);
    first.arrive(1);
    await leader;
  });
});

describe("an answer that was under way", () => {
  it.each<[string, (copies: IsolateCopy<string, number>) => void]>([
    ["of the same key", (copies) => copies.forget("a")],
    ["of all keys", (copies) => copies.clear()],
  ])(
    "during a write of this isolate %s is not kept, and nobody who comes after the write waits for it",
    async (_, write) => {
      const copies = new IsolateCopy<string, number>(10);
      const before = delayed<number>();
      const loaded = copies.load("a", MAX_AGE_MS, () => before.answer);
      write(copies);
      expect(await copies.load("a", MAX_AGE_MS, async () => 2)).toBe(2);
      before.arrive(1);
      expect(await loaded).toBe(1);
      expect(copies.find("a", MAX_AGE_MS)).toBe(2);
    },
  );

  it("while another one was kept takes that one with it: which is newer is not known", async () => {
    const copies = new IsolateCopy<string, number>(10);
    const reading = copies.begin();
    copies.keep("a", 2, copies.begin());
    copies.keep("a", 1, reading);
    expect(copies.find("a", MAX_AGE_MS)).toBeUndefined();
  });
});

describe("random histories", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("load" as const), maxAgeMs: fc.constantFrom(0, 50, 100) }),
    fc.record({ kind: fc.constant("load" as const), maxAgeMs: fc.constantFrom(50, 100) }),
    fc.record({ kind: fc.constant("answer" as const), which: fc.nat(3) }),
    fc.record({ kind: fc.constant("deliver" as const), which: fc.nat(3) }),
    fc.record({ kind: fc.constant("fail" as const), which: fc.nat(3) }),
    fc.record({ kind: fc.constant("write here" as const) }),
    fc.record({ kind: fc.constant("write elsewhere" as const) }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 60 }) }),
  );

  it("what is read is at least as new as this isolate's last write, and was true no longer ago than allowed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const copies = new IsolateCopy<string, number>(4);
        /** When each value was replaced (ms); the value is its index. */
        const replacedAt: number[] = [];
        let ownWrite = 0;
        const readings: { answer: number | null; readonly delivery: ReturnType<typeof delayed<number>> }[] = [];
        const loads: Promise<unknown>[] = [];
        const take = (which: number) => readings[which % Math.max(1, readings.length)];
        for (const one of steps) {
          if (one.kind === "load") {
            const [beganAt, newest] = [Date.now(), ownWrite];
            const read = () => {
              const reading = { answer: null, delivery: delayed<number>() };
              readings.push(reading);
              return reading.delivery.answer;
            };
            const check = (value: number | undefined) => {
              expect(value).toBeGreaterThanOrEqual(newest);
              const until = replacedAt[value ?? 0] ?? Number.POSITIVE_INFINITY;
              expect(beganAt - until).toBeLessThan(Math.max(one.maxAgeMs, 1));
            };
            loads.push(
              copies.load("key", one.maxAgeMs, read).then(check, (error: Error) => {
                if (error.message !== "away") throw error;
              }),
            );
          }
          if (one.kind === "answer") {
            const reading = take(one.which);
            if (reading) reading.answer ??= replacedAt.length;
          }
          if (one.kind === "deliver" || one.kind === "fail") {
            const reading = take(one.which);
            if (reading?.answer !== null && one.kind === "deliver") reading?.delivery.arrive(reading.answer);
            if (one.kind === "fail") reading?.delivery.fail(new Error("away"));
          }
          if (one.kind === "write here" || one.kind === "write elsewhere") replacedAt.push(Date.now());
          if (one.kind === "write here") {
            ownWrite = replacedAt.length;
            copies.forget("key");
          }
          if (one.kind === "wait") vi.advanceTimersByTime(one.ms);
          // What was delivered is taken in.
          for (let turn = 0; turn < 10; turn++) await Promise.resolve();
        }
        for (const { delivery } of readings) delivery.fail(new Error("away"));
        for (let turn = 0; turn < 20; turn++) {
          await vi.advanceTimersByTimeAsync(0);
          for (const { delivery } of readings) delivery.fail(new Error("away"));
        }
        await Promise.all(loads);
      }),
      { numRuns: 500 },
    );
  });
});
