import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Duty, ObjectAlarm } from "../../../src/storage/object-alarm.ts";

const NOW = Date.UTC(2026, 0, 1);

/** The alarm that is set (ms), or null. */
let alarmAt: number | null;
/** What was changed in the storage, in order. */
let changes: string[];
let storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm" | "deleteAlarm" | "sync">;
let open: () => Promise<boolean>;
let alarm: ObjectAlarm;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  alarmAt = null;
  changes = [];
  open = async () => true;
  storage = {
    getAlarm: async () => alarmAt,
    setAlarm: async (at) => {
      changes.push("set");
      alarmAt = Number(at);
    },
    deleteAlarm: async () => {
      changes.push("delete");
      alarmAt = null;
    },
    sync: async () => void changes.push("sync"),
  };
  alarm = new ObjectAlarm(storage, () => open());
});

afterEach(() => {
  vi.useRealTimers();
});

/** The platform's alarm goes off. */
function goOff(): Promise<void> {
  alarmAt = null;
  return alarm.run();
}

/** A duty that is due at `at` until it was run. */
function once(at: number | null, run: () => void = () => {}): Duty & { runs: number } {
  const duty = {
    runs: 0,
    pauseMs: (failures: number) => 1000 * failures,
    dueAt: () => (duty.runs === 0 ? at : null),
    run: () => {
      run();
      duty.runs++;
    },
  };
  return duty;
}

it("is set for an earlier time only by a change that asks no duty", async () => {
  alarm.add("duty", { ...once(null), dueAt: () => expect.unreachable("a duty was asked") });
  await alarm.atLatest(NOW + 500);
  await alarm.atLatest(NOW + 600);
  expect(alarmAt).toBe(NOW + 500);
  await alarm.atLatest(NOW + 300);
  expect(alarmAt).toBe(NOW + 300);
  alarm.forget();
  await alarm.atLatest(NOW + 700);
  expect(alarmAt).toBe(NOW + 700);
});

it("is set for the earliest duty, and deleted when there is none", async () => {
  const duties = [once(NOW + 500), once(NOW + 100), once(null)];
  for (const [number, duty] of duties.entries()) alarm.add(`duty ${number}`, duty);
  await alarm.set();
  expect(alarmAt).toBe(NOW + 100);
  vi.setSystemTime(NOW + 100);
  await goOff();
  expect(duties.map(({ runs }) => runs)).toEqual([0, 1, 0]);
  expect(alarmAt).toBe(NOW + 500);
  vi.setSystemTime(NOW + 500);
  await goOff();
  expect(alarmAt).toBeNull();
});

it("tries a duty that failed again after its pause, and keeps no other waiting for it", async () => {
  const log = vi.spyOn(console, "error").mockReturnValue(undefined);
  let fails = true;
  const failing = once(NOW, () => {
    if (fails) throw new Error("away");
  });
  const other = once(NOW);
  alarm.add("failing", failing);
  alarm.add("other", other);
  await goOff();
  expect([other.runs, alarmAt]).toEqual([1, NOW + 1000]);
  expect(log.mock.calls).toEqual([[JSON.stringify({ type: "failing", error: "Error: away" })]]);
  fails = false;
  vi.setSystemTime(NOW + 1000);
  await goOff();
  expect([failing.runs, alarmAt]).toEqual([1, null]);
});

it("keeps new work of a duty waiting no longer once it has succeeded, though its pause is not over", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const due = [NOW, NOW + 20_000];
  let fails = true;
  alarm.add("failing", {
    pauseMs: () => 60_000,
    dueAt: () => due[0] ?? null,
    run: () => {
      if (fails) throw new Error("away");
      due.shift();
    },
  });
  await goOff();
  fails = false;
  // The alarm may ring for something else before.
  vi.setSystemTime(NOW + 10_000);
  await goOff();
  expect(alarmAt).toBe(NOW + 20_000);
});

it("does a duty at once for a caller, and leaves it to the alarm when that fails", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const duty = { ...once(NOW), pauseMs: () => 1000 };
  alarm.add("duty", duty);
  let during: number | null = null;
  const fails = async (): Promise<string> => {
    during = alarmAt;
    throw new Error("away");
  };
  expect(await alarm.attempt("duty", fails)).toEqual({ ok: false, error: "failed" });
  expect([during, alarmAt]).toEqual([NOW + 1000, NOW + 1000]);
  const succeeds = async () => {
    duty.dueAt = () => null;
    return "done";
  };
  expect(await alarm.attempt("duty", succeeds)).toEqual({ ok: true, value: "done" });
  expect(alarmAt).toBeNull();
});

it("comes for the next step of long work after the pause that the step asked for", async () => {
  let steps = 0;
  const duty: Duty = {
    dueAt: () => (steps < 2 ? 0 : null),
    run: () => {
      steps++;
      alarm.pause("duty", 25);
    },
    pauseMs: () => 1000,
  };
  alarm.add("duty", duty);
  await goOff();
  expect([steps, alarmAt]).toEqual([1, NOW + 25]);
  await goOff();
  expect([steps, alarmAt]).toEqual([2, null]);
});

it("comes at once for new work, although earlier work of the duty failed", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const failing = once(NOW, () => {
    throw new Error("away");
  });
  alarm.add("duty", failing);
  await goOff();
  expect(alarmAt).toBe(NOW + 1000);
  alarm.pause("duty", 0);
  await alarm.set();
  expect(alarmAt).toBe(NOW);
});

it("waits while the keys can't be opened, and runs no duty", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const duty = once(NOW);
  alarm.add("duty", duty);
  open = async () => {
    throw new Error("sealed");
  };
  await goOff();
  expect([duty.runs, alarmAt]).toEqual([0, NOW + 30_000]);
  alarmAt = null;
  await alarm.restore();
  expect([duty.runs, alarmAt]).toEqual([0, NOW + 30_000]);
});

it("waits silently during a restore, which is no failure", async () => {
  const logged = vi.spyOn(console, "error").mockReturnValue(undefined);
  const duty = once(NOW);
  alarm.add("duty", duty);
  open = async () => false;
  await goOff();
  expect([duty.runs, alarmAt]).toEqual([0, NOW + 30_000]);
  open = async () => true;
  await goOff();
  expect(duty.runs).toBe(1);
  expect(logged).not.toHaveBeenCalled();
});

it("is restored when it was lost, and left as it is when it was not", async () => {
  alarm.add("duty", once(NOW + 500));
  alarmAt = NOW + 100;
  await alarm.restore();
  expect(alarmAt).toBe(NOW + 100);
  for (const lost of [null, NOW - 3_600_000]) {
    alarmAt = lost;
    await alarm.restore();
    expect(alarmAt).toBe(NOW + 500);
  }
});

describe("an alarm that does not ring any more", () => {
  const LOST = NOW - 61_000;
  beforeEach(() => {
    alarm.add("duty", once(NOW - 500));
  });

  it("is deleted before it is set again, by the next call of the object that stays in memory", async () => {
    alarmAt = NOW - 59_000;
    await alarm.restore();
    await alarm.renewLost();
    expect([alarmAt, changes]).toEqual([NOW - 59_000, []]);
    vi.setSystemTime(NOW + 2000);
    await alarm.renewLost();
    expect([alarmAt, changes]).toEqual([NOW + 2000, ["delete", "sync", "set"]]);
    await alarm.renewLost();
    expect(changes).toHaveLength(3);
  });

  it("is found by the first call of an object that does not look for it at its start", async () => {
    alarmAt = LOST;
    await alarm.renewLost();
    expect([alarmAt, changes]).toEqual([NOW, ["delete", "sync", "set"]]);
  });

  it("is not taken for the one that is set while the time of the alarm is read", async () => {
    const reading = Promise.withResolvers<number | null>();
    vi.spyOn(storage, "getAlarm").mockReturnValueOnce(reading.promise);
    const renewed = alarm.renewLost();
    await alarm.atLatest(NOW + 10);
    reading.resolve(null);
    await renewed;
    await alarm.atLatest(NOW + 500);
    expect(alarmAt).toBe(NOW + 10);
  });

  it("is deleted before another is set for new work, in the same life of the object or at its start", async () => {
    alarmAt = LOST;
    await alarm.set();
    expect([alarmAt, changes]).toEqual([NOW, ["delete", "sync", "set"]]);
    vi.setSystemTime(NOW + 61_000);
    changes = [];
    await alarm.atLatest(NOW + 70_000);
    expect([alarmAt, changes]).toEqual([NOW + 70_000, ["delete", "sync", "set"]]);
  });

  it("is set once for changes that come meanwhile, for the last of them", async () => {
    alarmAt = LOST;
    await alarm.restore();
    vi.setSystemTime(NOW + 61_000);
    changes = [];
    await Promise.all([alarm.atLatest(NOW + 90_000), alarm.atLatest(NOW + 80_000)]);
    expect([alarmAt, changes]).toEqual([NOW + 80_000, ["delete", "sync", "set"]]);
  });

  it("is left alone while it rings", async () => {
    const ringing = Promise.withResolvers<void>();
    alarm.add("slow", { ...once(NOW), run: () => ringing.promise });
    const rung = goOff();
    await alarm.restore();
    expect(changes).toEqual([]);
    ringing.resolve();
    await rung;
  });

  it("does not fail the call that finds it, and the next call tries again", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue(undefined);
    alarmAt = NOW - 59_000;
    await alarm.restore();
    vi.setSystemTime(NOW + 2000);
    vi.spyOn(storage, "sync").mockRejectedValueOnce(new Error("full"));
    await alarm.renewLost();
    expect(log.mock.calls).toEqual([[JSON.stringify({ type: "alarm", error: "Error: full" })]]);
    await alarm.renewLost();
    expect(alarmAt).toBe(NOW + 2000);
  });
});

it("is set for the latest time that the platform accepts when its duty is due later", async () => {
  alarm.add("duty", once(Number.MAX_SAFE_INTEGER));
  await alarm.set();
  expect(alarmAt).toBe(Date.UTC(2189, 0, 1));
});

describe("a job", () => {
  /** A job whose run has so many steps left; null: no run. Steps take `tookMs`. */
  function jobOf(steps: number | null) {
    const job = {
      left: steps,
      tookMs: 0,
      seen: [] as number[],
      running: () => job.left,
      step: async (left: number) => {
        job.seen.push(left);
        vi.setSystemTime(Date.now() + job.tookMs);
        job.left = left > 1 ? left - 1 : null;
      },
      pauseMs: (tookMs: number) => 10 + 2 * tookMs,
      retryMs: (failures: number) => 1000 * failures,
    };
    alarm.addJob("job", job);
    return job;
  }

  it("continues step by step from what is stored, with a pause after each, until its run has ended", async () => {
    const job = jobOf(2);
    job.tookMs = 100;
    await alarm.set();
    expect(alarmAt).toBe(NOW);
    await goOff();
    expect(alarmAt).toBe(NOW + 100 + 210);
    vi.setSystemTime(NOW + 310);
    await goOff();
    expect([job.seen, alarmAt]).toEqual([[2, 1], null]);
  });

  it("repeats a step that failed, later after each failure", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const job = { ...jobOf(null), running: () => 1, step: () => Promise.reject(new Error("away")) };
    alarm.addJob("job", job);
    await goOff();
    expect(alarmAt).toBe(NOW + 1000);
    vi.setSystemTime(NOW + 1000);
    await goOff();
    expect(alarmAt).toBe(NOW + 3000);
  });

  it("without a run is never due", async () => {
    const job = jobOf(null);
    await alarm.set();
    await goOff();
    expect([job.seen, alarmAt]).toEqual([[], null]);
  });
});
