import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SweepTurns } from "../../../../src/base/shared-thread.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 5, 1) });
});
afterEach(() => {
  vi.useRealTimers();
});

const passes = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("the turns of sweeps", () => {
  it("let one piece at a time have the thread, however many trees sweep, with pauses in between", async () => {
    const turns = new SweepTurns();
    const [first, began] = [Date.now(), [] as number[]];
    let underWay = 0;
    let most = 0;
    const pieces = Array.from({ length: 20 }, () =>
      turns.piece(async () => {
        began.push(Date.now() - first);
        most = Math.max(most, ++underWay);
        await passes(4);
        underWay--;
      }),
    );
    await vi.runAllTimersAsync();
    await Promise.all(pieces);
    expect(most).toBe(1);
    const distances = began.slice(1).map((at, index) => at - (began[index] ?? 0));
    expect(Math.min(...distances)).toBeGreaterThan(4);
  });

  it("do not wait for a piece whose object is gone, nor for a clock that went back", async () => {
    const turns = new SweepTurns();
    void turns.piece(() => new Promise(() => {}));
    const next = turns.piece(() => Date.now());
    await vi.advanceTimersByTimeAsync(900);
    const early = await Promise.race([next, Promise.resolve(null)]);
    expect(early).toBeNull();
    await vi.advanceTimersByTimeAsync(200);
    expect(await next).not.toBeNull();

    void turns.piece(() => new Promise(() => {}));
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(20);
    const back = turns.piece(() => "done");
    await vi.advanceTimersByTimeAsync(20);
    expect(await back).toBe("done");
  });

  it("put no alarm off by the time that a clock went back", () => {
    const turns = new SweepTurns();
    const began = (count: number) => {
      for (let tree = 0; tree < count; tree++) turns.began(`tree ${tree}`);
    };
    began(32);
    expect(turns.putOffTo()).toBe(Date.now() + 10);
    vi.setSystemTime(Date.now() - 3_600_000);
    // Those sweeps may have ended with their objects: each that has not takes a step again.
    expect(turns.putOffTo()).toBeNull();
    began(32);
    expect([turns.putOffTo(), turns.putOffTo()]).toEqual([Date.now() + 10, Date.now() + 20]);
  });

  it("pass on what a piece ends in, and are free after one that failed", async () => {
    const turns = new SweepTurns();
    await expect(turns.piece(() => Promise.reject(new Error("no answer")))).rejects.toThrow("no answer");
    expect(await turns.piece(() => 5)).toBe(5);
  });

  it("leave two thirds of the thread to requests for some time after one has come, and nearly nothing when none does", async () => {
    const turns = new SweepTurns();
    const pause = async (): Promise<number> => {
      const began = Date.now();
      const rested = turns.piece(() => passes(4)).then(() => Date.now() - began - 4);
      await vi.runAllTimersAsync();
      return rested;
    };
    expect(await pause()).toBe(1);
    turns.requestCame();
    expect(await pause()).toBe(8);
    await vi.advanceTimersByTimeAsync(200);
    expect(await pause()).toBe(1);
    turns.requestCame();
    vi.setSystemTime(Date.now() - 3_600_000);
    expect(await pause()).toBe(1);
  });

  it("give each alarm a moment of its own while 32 trees sweep", () => {
    const turns = new SweepTurns();
    const now = Date.now();
    for (let tree = 0; tree < 32; tree++) {
      expect(turns.putOffTo()).toBeNull();
      turns.began(`${tree}`);
    }
    const later = Array.from({ length: 1000 }, () => turns.putOffTo() ?? 0);
    expect(later[0]).toBeGreaterThan(now);
    expect(new Set(later).size).toBe(1000);
    turns.ended("3");
    expect(turns.putOffTo()).toBeNull();
  });

  it("keep up with trees that end all the time: none waits for longer because others did", async () => {
    const turns = new SweepTurns();
    const waits: number[] = [];
    const sweep = async (tree: string, due: number): Promise<void> => {
      for (let at = turns.putOffTo(); at !== null; at = turns.putOffTo()) await passes(at - Date.now());
      waits.push(Date.now() - due);
      turns.began(tree);
      await passes(400);
      turns.ended(tree);
    };
    for (let tree = 0; tree < 1000; tree++) {
      void sweep(`${tree}`, Date.now());
      await vi.advanceTimersByTimeAsync(15);
    }
    expect(Math.max(...waits)).toBeLessThan(1000);
  });

  it("forget a sweep that has taken no step for a minute: its object is gone", () => {
    const turns = new SweepTurns();
    for (let tree = 0; tree < 32; tree++) turns.began(`${tree}`);
    vi.setSystemTime(Date.now() + 61_000);
    expect(turns.putOffTo()).toBeNull();
  });
});
