import { describe, expect, it } from "vitest";
import { changeRotation, DEFAULT_ROTATION, isRotationDue } from "../../../src/system/automatic-rotation.ts";

const DAY = 86_400;
const NO_CHANGE = { enabled: undefined, maxOperations: undefined, interval: undefined };

describe("settings of key rotation", () => {
  it("keep what a change does not name", () => {
    const changed = changeRotation(DEFAULT_ROTATION, { ...NO_CHANGE, interval: DAY });
    expect(changed).toEqual({ ok: true, value: { ...DEFAULT_ROTATION, interval: DAY } });
    expect(changeRotation(DEFAULT_ROTATION, NO_CHANGE)).toEqual({ ok: true, value: DEFAULT_ROTATION });
  });

  it.each([{ interval: DAY }, { interval: 0 }, { maxOperations: 1_000_000 }, { maxOperations: 3_865_470_566 }])(
    "%j is just allowed",
    (change) => expect(changeRotation(DEFAULT_ROTATION, { ...NO_CHANGE, ...change }).ok).toBe(true),
  );

  it.each([
    [{ interval: DAY - 1 }, "interval must be greater or equal to 24h"],
    [{ interval: -1 }, "interval must be greater or equal to 24h"],
    [{ maxOperations: 999_999 }, "max_operations must be in the range [1000000,3865470566]"],
    [{ maxOperations: 3_865_470_567 }, "max_operations must be in the range [1000000,3865470566]"],
  ])("%j is refused", (change, error) => {
    expect(changeRotation(DEFAULT_ROTATION, { ...NO_CHANGE, ...change })).toEqual({ ok: false, error });
  });
});

describe("a new term of keys begins", () => {
  const settings = { enabled: true, maxOperations: 1_000_000, interval: DAY };
  const now = 10 * DAY * 1000;

  it("when the data key has encrypted as much as it may", () => {
    expect(isRotationDue({ settings, encryptions: 999_999 }, now, now)).toBe(false);
    expect(isRotationDue({ settings, encryptions: 1_000_000 }, now, now)).toBe(true);
  });

  it("when the term has lasted as long as it may", () => {
    expect(isRotationDue({ settings, encryptions: 0 }, now - DAY * 1000 + 1, now)).toBe(false);
    expect(isRotationDue({ settings, encryptions: 0 }, now - DAY * 1000, now)).toBe(true);
    expect(isRotationDue({ settings: { ...settings, interval: 0 }, encryptions: 0 }, 0, now)).toBe(false);
  });

  it("never by itself while that is switched off", () => {
    expect(isRotationDue({ settings: { ...settings, enabled: false }, encryptions: 2_000_000 }, 0, now)).toBe(false);
  });
});
