import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_JSON_DEPTH, MAX_JSON_STRINGS } from "../../../src/base/limits.ts";
import { jsonObjectOf, parseJsonObject } from "../../../src/wire/json.ts";

const COMPLEX = /^refused JSON input due to high complexity/;

describe("parseJsonObject", () => {
  it("reads an object, and nothing as an empty one", () => {
    expect(parseJsonObject('{"a":[1,"x",null]}')).toEqual({ ok: true, value: { a: [1, "x", null] } });
    expect(parseJsonObject("  ")).toEqual({ ok: true, value: {} });
  });

  it.each(["null", " null\n"])("%j means no data, as Go clients say it", (text) => {
    expect(parseJsonObject(text)).toEqual({ ok: true, value: {} });
  });

  it.each(["[1,2]", "1", "true", '"x"', "nul", "null null", "{", '{"policies":[', '{"a":1}}', "{a:1}"])(
    "%j is refused",
    (text) => {
      const parsed = parseJsonObject(text);
      expect(parsed.ok).toBe(false);
      if (!parsed.ok) expect(parsed.error).toMatch(/^failed to decode JSON input: /);
    },
  );

  it("the exact number of strings passes, one more does not", () => {
    const list = (strings: number) => `{"a":[${Array.from({ length: strings - 1 }, () => '"x"').join(",")}]}`;
    expect(parseJsonObject(list(MAX_JSON_STRINGS)).ok).toBe(true);
    expect(parseJsonObject(list(MAX_JSON_STRINGS + 1))).toEqual({
      ok: false,
      error: "refused JSON input due to high complexity: exceeded maximum number of strings",
    });
  });

  it("the exact depth and number of values pass, one more does not", () => {
    const deep = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
    // Each comma and each opening bracket counts.
    const wide = (values: number) => `{"a":[${"0,".repeat(values - 2)}0]}`;
    expect([64, 65].map((depth) => parseJsonObject(deep(depth)).ok)).toEqual([true, false]);
    expect([20_000, 20_001].map((values) => parseJsonObject(wide(values)).ok)).toEqual([true, false]);
  });

  it("CVE-2025-59043: deep and wide bodies are refused before they are built", () => {
    const deep = `{"a":${"[".repeat(MAX_JSON_DEPTH)}${"]".repeat(MAX_JSON_DEPTH)}}`;
    for (const text of [deep, `{"a":[${"0,".repeat(100_000)}0]}`, `{"a":${"{".repeat(500_000)}`]) {
      const parsed = parseJsonObject(text);
      expect(parsed.ok).toBe(false);
      if (!parsed.ok) expect(parsed.error).toMatch(COMPLEX);
    }
  });

  it("brackets and quotes inside of strings do not count", () => {
    const text = JSON.stringify({ a: '[[["\\"'.repeat(500) });
    expect(parseJsonObject(text)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it.each([
    "9007199254740993",
    "12345678901234567890",
    "-12345678901234567890",
    "1e999",
    "-1E400",
    "9".repeat(400),
    "9".repeat(500_000),
  ])("a number that would become another one is refused: %.30s", (number) => {
    for (const text of [`{"a":${number}}`, `{"a":[{"b":0},${number},1]}`]) {
      expect(parseJsonObject(text)).toEqual({
        ok: false,
        error: "failed to decode JSON input: a number is too large to be kept as it is; send it as a string",
      });
    }
  });

  it.each([
    "9007199254740992",
    "36893488147419103000",
    "-100000000000000000000000",
    "-9007199254740993e0",
    "1e21",
    "1E300",
    "0.12345678901234567890",
    "1234567890123456",
  ])("other long numbers are read, and text is no number: %s", (number) => {
    expect(parseJsonObject(`{"a":${number}}`)).toEqual({ ok: true, value: { a: Number(number) } });
    expect(parseJsonObject(`{"a":"12345678901234567890 1e999","b":"${number}"}`).ok).toBe(true);
  });

  it("agrees with JSON.parse on every object within the limits", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 20 }), (object) => {
        const text = JSON.stringify(object);
        const parsed = parseJsonObject(text);
        if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(text));
        else expect(parsed.error).toMatch(COMPLEX);
      }),
      { numRuns: 300 },
    );
  });
});

const HALVES = ['{"a":"\\ud800"}', '{"a":[{"b":"x\\uDFFFx"}]}', '{"\\udc00":1}', '{"a":"\\ud83d\\\\udca5"}'];

describe("half of a surrogate pair", () => {
  it.each(HALVES)("%s is refused", (text) => {
    expect(parseJsonObject(text)).toEqual({
      ok: false,
      error: "failed to decode JSON input: half of a surrogate pair (\\ud800 to \\udfff) is no character",
    });
    expect(jsonObjectOf(text)).toBeNull();
  });

  it.each(['{"a":"\\ud83d\\udca5"}', '{"a":"\\\\ud800"}', '{"\u{1f4a5}":[null]}'])("%s has none", (text) => {
    expect(parseJsonObject(text)).toEqual({ ok: true, value: JSON.parse(text) });
    expect(jsonObjectOf(text)).toEqual(JSON.parse(text));
  });
});

describe("jsonObjectOf", () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

  it("reads an object with any number of values, and nothing deeper than a body", () => {
    const keys = Array.from({ length: 2 * MAX_JSON_STRINGS }, (_, at) => String(at));
    expect(jsonObjectOf(JSON.stringify({ keys }))).toEqual({ keys });
    expect(jsonObjectOf(nested(MAX_JSON_DEPTH))).toEqual({ a: expect.any(Array) });
    for (const text of [nested(MAX_JSON_DEPTH + 1), nested(6000), "[]", "null", "{"]) {
      expect(jsonObjectOf(text)).toBeNull();
    }
  });
});
