import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Outbox, retryDelayMs } from "../../../src/storage/outbox.ts";

interface Waiting {
  readonly id: number;
  readonly attempts: number;
  readonly nextAt: number;
}

const NOW = Date.UTC(2095, 0, 1);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});

afterEach(() => {
  vi.useRealTimers();
});

/** An outbox of so many messages. `send` decides which of a group are delivered. */
function outboxOf(count: number, send: (group: readonly Waiting[]) => readonly number[]) {
  const rows = new Map<number, Waiting>();
  for (let id = 0; id < count; id++) rows.set(id, { id, attempts: 0, nextAt: NOW });
  const groups: number[][] = [];
  const outbox = new Outbox<Waiting, number>({
    pauseMs: 10_000,
    timeoutMs: 5_000,
    due: (now, limit) => [...rows.values()].filter(({ nextAt }) => nextAt <= now).slice(0, limit),
    claim: ({ id }, attempts, nextAt) => {
      if (!rows.has(id)) return null;
      const claimed = { id, attempts, nextAt };
      rows.set(id, claimed);
      return claimed;
    },
    send: async (group) => {
      groups.push(group.map(({ id }) => id));
      const delivered = send(group);
      for (const id of delivered) rows.delete(id);
      return delivered;
    },
  });
  return { outbox, rows, groups };
}

const all = (group: readonly Waiting[]) => group.map(({ id }) => id);

describe("an outbox", () => {
  it("sends at most 60 due messages in groups of six, and the others next time", async () => {
    const { outbox, rows, groups } = outboxOf(64, all);
    expect(await outbox.sendDue()).toEqual(Array.from({ length: 60 }, (_, id) => id));
    expect(groups).toHaveLength(10);
    expect(groups[0]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await outbox.sendDue()).toEqual([60, 61, 62, 63]);
    expect(rows.size).toBe(0);
  });

  it("counts an attempt before it is made, and is due again only after it has ended", async () => {
    const seen: Waiting[] = [];
    const { outbox, rows } = outboxOf(13, (group) => {
      seen.push(...group);
      return [];
    });
    await outbox.sendDue();
    expect(seen.map(({ attempts }) => attempts)).toEqual(Array(13).fill(1));
    // The third group begins after the first two, each of which may take 5 s.
    expect([0, 6, 12].map((id) => (rows.get(id)?.nextAt ?? 0) - NOW)).toEqual([10_000, 15_000, 20_000]);
    await outbox.sendDue();
    expect(seen).toHaveLength(13);
    vi.setSystemTime(NOW + 10_000);
    await outbox.sendDue();
    expect(seen.slice(13).map(({ id, attempts }) => [id, attempts])).toEqual([0, 1, 2, 3, 4, 5].map((id) => [id, 2]));
  });

  it("has counted an attempt that a crash broke off, and makes the next one when it is due", async () => {
    const { outbox, rows } = outboxOf(1, () => {
      throw new Error("the object ended");
    });
    await expect(outbox.sendDue()).rejects.toThrow();
    expect(rows.get(0)).toEqual({ id: 0, attempts: 1, nextAt: NOW + 10_000 });
  });

  it("sends a message before it is due when it is asked to, and none that does not wait any more", async () => {
    const { outbox, rows, groups } = outboxOf(2, all);
    rows.delete(0);
    expect(await outbox.send([0, 1].map((id) => ({ id, attempts: 3, nextAt: NOW + 1 })))).toEqual([1]);
    expect(groups).toEqual([[1]]);
  });
});

describe("the pause after a failed attempt", () => {
  it("begins with the given pause and doubles, with a jitter of one half", () => {
    expect([1, 2, 3, 4, 5].map((attempt) => retryDelayMs(attempt, 10_000, 0.5))).toEqual([
      10_000, 20_000, 40_000, 80_000, 160_000,
    ]);
    expect(retryDelayMs(1, 10_000, 0)).toBe(5_000);
    expect(retryDelayMs(1, 10_000, 1)).toBe(15_000);
  });
});
