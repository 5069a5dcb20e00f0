import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Copies, type CopyOwner, type CopyUse, useOfCopy } from "../../../src/base/copies.ts";

const MAX_AGE_MS = 5_000;
/** Without a grace. */
const FRESH = { maxAgeMs: MAX_AGE_MS, graceMs: 0 };
const NONE = { maxAgeMs: 0, graceMs: 0 };

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
    const copies = new Copies<string, number>(10);
    const first = delayed<number>();
    const loaded = copies.load("a", FRESH, () => first.answer);
    vi.advanceTimersByTime(400);
    first.arrive(1);
    expect(await loaded).toBe(1);
    vi.advanceTimersByTime(4_599);
    expect(await copies.load("a", FRESH, async () => 2)).toBe(1);
    expect(copies.find("a", 4_000)).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(copies.find("a", MAX_AGE_MS)).toBeUndefined();
    expect(await copies.load("a", FRESH, async () => 2)).toBe(2);
  });

  it("is never used where none may be kept, nor when the clock went back", async () => {
    const copies = new Copies<string, number>(10);
    expect(await copies.load("a", NONE, async () => 1)).toBe(1);
    expect(await copies.load("a", NONE, async () => 2)).toBe(2);
    vi.setSystemTime(Date.now() - 1);
    expect(copies.find("a", MAX_AGE_MS)).toBeUndefined();
  });

  it("is not used after the clock was set back by more than is waited for, however young it looks", async () => {
    const copies = new Copies<string, number>(10);
    await copies.load("a", FRESH, async () => 1);
    vi.advanceTimersByTime(4_900);
    expect(await copies.load("a", FRESH, async () => 2)).toBe(1);
    vi.setSystemTime(Date.now() - 2_000);
    expect(copies.find("a", MAX_AGE_MS)).toBeUndefined();
    expect(await copies.load("a", FRESH, async () => 3)).toBe(3);
    expect(await copies.load("a", FRESH, async () => 4)).toBe(3);
  });

  it("that was too old is not used again when the clock is set back", async () => {
    const copies = new Copies<string, number>(10);
    await copies.load("a", FRESH, async () => 1);
    vi.advanceTimersByTime(20_000);
    await expect(copies.load("a", FRESH, () => Promise.reject(new Error("away")))).rejects.toThrow("away");
    vi.setSystemTime(Date.now() - 18_000);
    await expect(copies.load("a", FRESH, () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  });

  it("that was being read while the clock was set back is of unknown age", async () => {
    const copies = new Copies<string, number>(10);
    const first = delayed<number>();
    const loaded = copies.load("a", FRESH, () => first.answer);
    vi.advanceTimersByTime(900);
    copies.find("b", MAX_AGE_MS);
    vi.setSystemTime(Date.now() - 2_000);
    vi.advanceTimersByTime(100);
    copies.find("b", MAX_AGE_MS);
    const second = copies.load("a", FRESH, async () => 2);
    first.arrive(1);
    expect([await loaded, await second]).toEqual([1, 2]);
    expect(copies.find("a", MAX_AGE_MS)).toBe(2);
  });

  it("is not kept when it is undefined, and is kept when it is null", async () => {
    const copies = new Copies<string, number | null | undefined>(10);
    expect(await copies.load("a", FRESH, async () => undefined)).toBeUndefined();
    expect(await copies.load("a", FRESH, async () => null)).toBeNull();
    expect(await copies.load("a", FRESH, async () => 1)).toBeNull();
  });

  it("of a deleted record is dropped, and others stay", async () => {
    const copies = new Copies<string, number | undefined>(10);
    const reading = copies.begin();
    copies.keep("a", 1, reading);
    copies.keep("b", 2, reading);
    copies.keep("a", undefined, copies.begin());
    copies.keep("c", 3, reading);
    expect(["a", "b", "c"].map((key) => copies.find(key, MAX_AGE_MS))).toEqual([undefined, 2, 3]);
  });

  it("makes room for others when it was not used for long", async () => {
    const copies = new Copies<number, number>(3);
    for (let key = 0; key < 100; key++) {
      await copies.load(key, FRESH, async () => key);
      expect(copies.find(0, MAX_AGE_MS)).toBe(0);
    }
    const kept = Array.from({ length: 100 }, (_, key) => copies.find(key, MAX_AGE_MS)).filter(
      (value) => value !== undefined,
    );
    expect(kept.length).toBeLessThanOrEqual(6);
  });
});

describe("a copy that is nearly too old", () => {
  it("is read again once while requests continue with it", async () => {
    const copies = new Copies<string, number>(10, { inBackground: () => undefined });
    await copies.load("a", FRESH, async () => 1);
    vi.advanceTimersByTime(3_999);
    const early = vi.fn(async () => 2);
    expect(await copies.load("a", FRESH, early)).toBe(1);
    expect(early).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    const renewal = delayed<number>();
    const read = vi.fn(() => renewal.answer);
    expect([await copies.load("a", FRESH, read), await copies.load("a", FRESH, read)]).toEqual([1, 1]);
    expect(read).toHaveBeenCalledTimes(1);
    renewal.arrive(2);
    await vi.advanceTimersByTimeAsync(3_999);
    expect(await copies.load("a", FRESH, early)).toBe(2);
    expect(early).not.toHaveBeenCalled();
  });

  it("is not read again where nothing works in the background", async () => {
    const copies = new Copies<string, number>(10);
    await copies.load("a", FRESH, async () => 1);
    vi.advanceTimersByTime(4_999);
    const read = vi.fn(async () => 2);
    expect(await copies.load("a", FRESH, read)).toBe(1);
    expect(read).not.toHaveBeenCalled();
  });

  it("is waited for when the reading in the background takes until it is, and tried again when it failed", async () => {
    const copies = new Copies<string, number>(10, { inBackground: () => undefined });
    const load = (read: () => Promise<number>) => copies.load("a", FRESH, read);
    await load(async () => 1);
    vi.advanceTimersByTime(4_300);
    expect(await load(() => Promise.reject(new Error("away")))).toBe(1);
    await vi.advanceTimersByTimeAsync(600);
    const renewal = delayed<number>();
    expect(await load(() => renewal.answer)).toBe(1);
    vi.advanceTimersByTime(100);
    const waiting = load(async () => 3);
    renewal.arrive(2);
    expect(await waiting).toBe(2);
  });
});

/** An owner that remembers its last trouble. */
function anOwner() {
  const owner = {
    troubleAt: Number.NEGATIVE_INFINITY,
    renewalBegan: Number.NEGATIVE_INFINITY,
    noteAnswer() {
      owner.troubleAt = Number.NEGATIVE_INFINITY;
    },
    noteTrouble() {
      owner.troubleAt = Date.now();
    },
  };
  return owner satisfies CopyOwner;
}

describe("a copy with a grace", () => {
  const policy = { maxAgeMs: MAX_AGE_MS, graceMs: 60_000 };
  const away = () => Promise.reject<number>(new Error("away"));

  it("is used beyond its age only after its owner was asked, and failed or was late", async () => {
    const copies = new Copies<string, number>(10);
    const owner = anOwner();
    const load = (read: () => Promise<number>) => copies.load("a", policy, read, owner);
    await load(async () => 1);
    vi.advanceTimersByTime(5_000);
    expect(await load(away)).toBe(1);
    vi.advanceTimersByTime(2_000);
    const late = delayed<number>();
    const read = vi.fn(() => late.answer);
    const waiting = [load(read), load(read)];
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all(waiting)).toEqual([1, 1]);
    expect(read).toHaveBeenCalledTimes(1);
    // For a moment nobody waits any more.
    expect(await load(read)).toBe(1);
    late.arrive(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(await load(away)).toBe(2);
    expect(owner.troubleAt).toBe(Number.NEGATIVE_INFINITY);
  });

  it("is not used beyond that, nor where its policy by its answer has none", async () => {
    const copies = new Copies<string, number>(10);
    const byAnswer = (answer?: number) => (answer === 1 ? policy : FRESH);
    for (const [answer, ms] of [
      [1, 65_000],
      [2, 5_000],
    ] as const) {
      await copies.load("a", byAnswer, async () => answer);
      vi.advanceTimersByTime(ms - 1);
      expect(await copies.load("a", byAnswer, away, anOwner())).toBe(answer);
      vi.advanceTimersByTime(1);
      await expect(copies.load("a", byAnswer, away, anOwner())).rejects.toThrow("away");
    }
  });
});

describe("requests that need the same at once", () => {
  it("wait for one answer", async () => {
    const copies = new Copies<string, number>(10);
    const read = vi.fn(async () => 1);
    expect(await Promise.all([1, 2, 3].map(() => copies.load("a", FRESH, read)))).toEqual([1, 1, 1]);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it("ask for themselves when the one that asks fails, or is late", async () => {
    const copies = new Copies<string, number>(10);
    for (const happens of ["fails", "is late"]) {
      const first = delayed<number>();
      const leader = copies.load(happens, FRESH, () => first.answer).catch(() => 0);
      const other = copies.load(happens, FRESH, async () => 2);
      if (happens === "fails") first.fail(new Error("away"));
      else await vi.advanceTimersByTimeAsync(1_000);
      expect(await other).toBe(2);
      first.arrive(1);
      await leader;
    }
  });

  it("ask once for all that waited for one that failed or was late, and fail when that fails too", async () => {
    const copies = new Copies<string, number>(10);
    for (const happens of ["fails", "is late"]) {
      const answers = [delayed<number>(), delayed<number>()];
      let readings = 0;
      const read = () => answers[readings++]?.answer ?? Promise.reject<number>(new Error("a third time"));
      const loads = Array.from({ length: 5 }, () => copies.load(happens, FRESH, read).catch(() => 0));
      if (happens === "fails") answers[0]?.fail(new Error("away"));
      await vi.advanceTimersByTimeAsync(happens === "fails" ? 0 : 1_000);
      answers[1]?.fail(new Error("away"));
      await vi.advanceTimersByTimeAsync(0);
      answers[0]?.arrive(1);
      expect((await Promise.all(loads)).slice(1)).toEqual([0, 0, 0, 0]);
      expect(readings).toBe(happens === "fails" ? 2 : 3);
    }
  });

  it("ask for themselves where what was asked for earlier may be too old", async () => {
    const copies = new Copies<string, number>(10);
    const first = delayed<number>();
    const leader = copies.load("a", FRESH, () => first.answer);
    expect(await copies.load("a", NONE, async () => 2)).toBe(2);
    first.arrive(1);
    await leader;
  });
});

describe("an answer that was under way", () => {
  it.each<[string, (copies: Copies<string, number>) => void]>([
    ["of the same key", (copies) => copies.forget("a")],
    ["of all keys", (copies) => copies.clear()],
  ])(
    "during a write of this isolate %s is not kept, and nobody who comes after the write waits for it",
    async (_, write) => {
      const copies = new Copies<string, number>(10);
      const before = delayed<number>();
      const loaded = copies.load("a", FRESH, () => before.answer);
      write(copies);
      expect(await copies.load("a", FRESH, async () => 2)).toBe(2);
      before.arrive(1);
      expect(await loaded).toBe(1);
      expect(copies.find("a", MAX_AGE_MS)).toBe(2);
    },
  );

  it("from before a write leaves later requests to the answer from after the write", async () => {
    const copies = new Copies<string, number>(10);
    const [before, after] = [delayed<number>(), delayed<number>()];
    const first = copies.load("a", FRESH, () => before.answer);
    copies.forget("a");
    const second = copies.load("a", FRESH, () => after.answer);
    before.arrive(1);
    await first;
    const read = vi.fn(async () => 3);
    const third = copies.load("a", FRESH, read);
    after.arrive(2);
    expect(await Promise.all([second, third])).toEqual([2, 2]);
    expect(read).not.toHaveBeenCalled();
  });

  it("is not kept when one that was asked for later has come first", async () => {
    const copies = new Copies<string, number>(10);
    const reading = copies.begin();
    copies.keep("a", 2, copies.begin());
    copies.keep("a", 1, reading);
    expect(copies.find("a", MAX_AGE_MS)).toBe(2);
  });

  it("leaves the copy unchanged when it must not be kept", async () => {
    const copies = new Copies<string, number>(10, { isKept: (answer) => answer > 0 });
    await copies.load("a", FRESH, async () => 1);
    expect(await copies.refresh("a", async () => -1)).toBe(-1);
    expect(copies.find("a", MAX_AGE_MS)).toBe(1);
  });
});

describe("random histories", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("load" as const), maxAgeMs: fc.constantFrom(0, 50, 100), graceMs: fc.constant(0) }),
    fc.record({
      kind: fc.constant("load" as const),
      maxAgeMs: fc.constantFrom(50, 100),
      graceMs: fc.constantFrom(0, 80),
    }),
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
        const copies = new Copies<string, number>(4, { inBackground: () => undefined });
        const owner = anOwner();
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
            const check = (value: number) => {
              expect(value).toBeGreaterThanOrEqual(newest);
              const until = replacedAt[value] ?? Number.POSITIVE_INFINITY;
              const hadTrouble = owner.troubleAt > Number.NEGATIVE_INFINITY;
              expect(beganAt - until).toBeLessThan(Math.max(one.maxAgeMs + (hadTrouble ? one.graceMs : 0), 1));
            };
            loads.push(
              copies.load("key", one, read, owner).then(check, (error: Error) => {
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

describe("what a request does about its isolate's copy", () => {
  const NEVER = Number.NEGATIVE_INFINITY;

  it.each<[number, { renewalBegan?: number; troubleAt?: number }, CopyUse]>([
    [0, {}, "use"],
    [3_999, {}, "use"],
    [4_000, {}, "renew"],
    [4_200, { renewalBegan: 4_000 }, "use"],
    [4_500, { renewalBegan: 4_000 }, "renew"],
    [5_000, {}, "try"],
    [5_000, { renewalBegan: 4_900 }, "try"],
    [60_000, {}, "try"],
    [60_000, { troubleAt: 59_000 }, "renew"],
    [60_000, { troubleAt: 59_000, renewalBegan: 59_900 }, "use"],
    [60_000, { troubleAt: 58_000 }, "try"],
    [65_000, { troubleAt: 64_900 }, "wait"],
    [-1, {}, "wait"],
  ])("at the age of %d ms with %j is: %s", (age, state, expected) => {
    const source = { renewalBegan: NEVER, troubleAt: NEVER, ...state };
    expect(useOfCopy(0, { maxAgeMs: 5_000, graceMs: 60_000 }, source, age)).toBe(expected);
  });

  it("without a grace time no copy is used beyond its maximum age", () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(100_000), fc.nat(100_000), (age, renewalBegan, troubleAt) => {
        const use = useOfCopy(0, FRESH, { renewalBegan, troubleAt }, age);
        expect(use === "wait").toBe(age >= 5_000);
      }),
    );
  });
});
