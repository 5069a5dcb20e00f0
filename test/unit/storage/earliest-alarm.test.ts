import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EarliestAlarm } from "../../../src/storage/object-alarm.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 0 }));
afterEach(() => void vi.useRealTimers());

/** An alarm, and the times that it was set for. */
function newAlarm() {
  const set: number[] = [];
  const setAlarm = async (at: number | Date) => void set.push(Number(at));
  const nothing = async () => {};
  return {
    set,
    alarm: new EarliestAlarm({ getAlarm: async () => null, setAlarm, deleteAlarm: nothing, sync: nothing }),
  };
}

it("the alarm is set once, for what is due first", () => {
  const { set, alarm } = newAlarm();
  void alarm.atLatest(3000, null, 2000, 1000);
  expect(set).toEqual([1000]);
});

it("the alarm is never moved later, and not set when nothing is due", () => {
  const { set, alarm } = newAlarm();
  void alarm.atLatest(null, null);
  expect(set).toEqual([]);
  void alarm.atLatest(1000);
  void alarm.atLatest(null, 2000);
  expect(set).toEqual([1000]);
  alarm.clear();
  void alarm.atLatest(2000);
  expect(set).toEqual([1000, 2000]);
});

it("an alarm that was set for a time long past is set once, because it only begins to be late", () => {
  vi.setSystemTime(1_000_000);
  const { set, alarm } = newAlarm();
  void alarm.atLatest(1000);
  void alarm.atLatest(1000);
  void alarm.atLatest(2000);
  expect(set).toEqual([1000]);
});
