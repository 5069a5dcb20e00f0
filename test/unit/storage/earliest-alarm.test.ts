import { expect, it } from "vitest";
import { EarliestAlarm } from "../../../src/storage/object-alarm.ts";

/** An alarm, and the times that it was set for. */
function newAlarm() {
  const set: number[] = [];
  const setAlarm = async (at: number | Date) => void set.push(Number(at));
  return { set, alarm: new EarliestAlarm({ getAlarm: async () => null, setAlarm, deleteAlarm: async () => {} }) };
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
