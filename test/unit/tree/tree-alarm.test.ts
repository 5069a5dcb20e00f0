import { expect, it } from "vitest";
import { TreeAlarm } from "../../../src/tree/tree-alarm.ts";

/** The alarm of a tree, and the times that it was set for. */
function newAlarm() {
  const set: number[] = [];
  const setAlarm = async (at: number | Date) => void set.push(Number(at));
  return { set, alarm: new TreeAlarm({ getAlarm: async () => null, setAlarm }) };
}

it("the alarm is set once, for what is due first", () => {
  const { set, alarm } = newAlarm();
  alarm.atLatest(3000, null, 2000, 1000);
  expect(set).toEqual([1000]);
});

it("the alarm is never moved later, and not set when nothing is due", () => {
  const { set, alarm } = newAlarm();
  alarm.atLatest(null, null);
  expect(set).toEqual([]);
  alarm.atLatest(1000);
  alarm.atLatest(null, 2000);
  expect(set).toEqual([1000]);
  alarm.wentOff();
  alarm.atLatest(2000);
  expect(set).toEqual([1000, 2000]);
});
