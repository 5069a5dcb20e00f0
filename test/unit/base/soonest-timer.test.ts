import { expect, it } from "vitest";
import { SoonestTimer } from "../../../src/base/clock.ts";

/** A timer with its time, and when its work was done. */
function timed() {
  const done: number[] = [];
  const due: { readonly at: number; readonly work: () => void }[] = [];
  let now = 0;
  const timer = new SoonestTimer({ now: () => now, after: (ms, work) => due.push({ at: now + ms, work }) });
  const until = (end: number) => {
    for (const one of due.filter(({ at }) => at > now && at <= end).sort((a, b) => a.at - b.at)) {
      now = one.at;
      one.work();
    }
    now = end;
  };
  return { done, until, in: (ms: number) => timer.in(ms, () => done.push(now)) };
}

it("does the work once, at the soonest moment that was asked for", () => {
  const timer = timed();
  timer.in(1200);
  timer.until(100);
  timer.in(500);
  timer.in(900);
  timer.until(5000);
  expect(timer.done).toEqual([600]);
  timer.in(10);
  timer.until(6000);
  expect(timer.done).toEqual([600, 5010]);
});

it("is set again when the timer was lost with the object that set it", () => {
  const done: number[] = [];
  let now = 0;
  const lost = new SoonestTimer({
    now: () => now,
    after: (ms, work) => void (now > 0 && done.push(now + ms) && work()),
  });
  lost.in(500, () => {});
  now = 1000;
  lost.in(500, () => {});
  expect(done).toEqual([]);
  now = 2000;
  lost.in(500, () => {});
  expect(done).toEqual([2500]);
});
