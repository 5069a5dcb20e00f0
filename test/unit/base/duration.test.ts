import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, MAX_DURATION_SECONDS, parseDuration } from "../../../src/base/duration.ts";

describe("parseDuration", () => {
  it.each([
    ["", 0],
    ["0", 0],
    ["90", 90],
    ["-5", -5],
    ["30s", 30],
    ["1h", 3600],
    ["1h30m", 5400],
    ["1h5s", 3605],
    ["1.5h", 5400],
    ["2d", 172_800],
    ["-1h", -3600],
    ["1.1s900ms", 2],
    ["9223372036", MAX_DURATION_SECONDS],
    ["-9223372036", -MAX_DURATION_SECONDS],
    ["1s".repeat(32), 32],
  ])("%j is %i s", (text, seconds) => expect(parseDuration(text)).toEqual({ ok: true, value: seconds }));

  it("never turns a short duration into 0, which would mean no limit", () => {
    expect(parseDuration("1ns")).toEqual({ ok: true, value: 1 });
    expect(parseDuration("500ms")).toEqual({ ok: true, value: 1 });
    expect(parseDuration("-500ms")).toEqual({ ok: true, value: -1 });
  });

  it.each([
    "soon",
    " ",
    " 1h",
    "1h ",
    " 90",
    "1 h",
    "h",
    "1x",
    "1h soon",
    "--1h",
    "+",
    "-",
    "1d12h",
    "1e9",
    "9223372037",
    "-9223372037",
    "0x10",
    `${"1s".repeat(31)}10s`,
  ])("%j is refused", (text) => expect(parseDuration(text).ok).toBe(false));

  it("reads back what formatDuration prints", () => {
    fc.assert(
      fc.property(fc.integer({ min: -MAX_DURATION_SECONDS, max: MAX_DURATION_SECONDS }), (seconds) => {
        expect(parseDuration(formatDuration(seconds))).toEqual({ ok: true, value: seconds });
      }),
    );
  });

  it("never throws and never takes long", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        parseDuration(text);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0s"],
    [90, "1m30s"],
    [1800, "30m"],
    [3605, "1h5s"],
    [5400, "1h30m"],
    [2_764_800, "768h"],
  ])("%i s is %s", (seconds, text) => expect(formatDuration(seconds)).toBe(text));
});
