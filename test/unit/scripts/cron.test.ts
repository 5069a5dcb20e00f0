import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CRON_MINUTE, startCron, untilCron } from "../../../scripts/local/cron.ts";

const HOUR_MS = 3_600_000;

describe("the cron of a server of one's own", () => {
  it("has the minute of the cron trigger in wrangler.toml", () => {
    expect(readFileSync("wrangler.toml", "utf8")).toContain(`crons = ["${CRON_MINUTE} * * * *"]`);
  });

  it("comes next within an hour, at that minute", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(2200, 0) }), (now) => {
        const wait = untilCron(now);
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(HOUR_MS);
        expect((now + wait) % HOUR_MS).toBe(CRON_MINUTE * 60_000);
      }),
    );
  });

  describe("once started", () => {
    beforeEach(() => {
      vi.useFakeTimers({ now: Date.UTC(2026, 0, 1, 12, 16, 59) });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    it("triggers once an hour until it is stopped", async () => {
      const trigger = vi.fn(async () => true);
      const stop = startCron(trigger, () => {});
      expect(trigger).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(trigger).toHaveBeenCalledTimes(1);
      await vi.advanceTimersByTimeAsync(3 * HOUR_MS);
      expect(trigger).toHaveBeenCalledTimes(4);
      stop();
      await vi.advanceTimersByTimeAsync(3 * HOUR_MS);
      expect(trigger).toHaveBeenCalledTimes(4);
    });

    it("reports a trigger that fails, and continues with the next hour", async () => {
      const trigger = vi.fn(async () => false);
      const problems: string[] = [];
      const stop = startCron(trigger, (problem) => problems.push(problem));
      await vi.advanceTimersByTimeAsync(2 * HOUR_MS);
      expect(trigger).toHaveBeenCalledTimes(2);
      expect(problems).toHaveLength(2);
      stop();
    });
  });
});
