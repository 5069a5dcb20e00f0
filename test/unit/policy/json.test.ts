import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/policy/json.ts";
import { locate, MAX_POLICY_DEPTH, type SyntaxValue } from "../../../src/policy/syntax.ts";

function plain(value: SyntaxValue): unknown {
  if (value.kind === "object") return Object.fromEntries(value.entries.map((entry) => [entry.key, plain(entry.value)]));
  if (value.kind === "list") return value.items.map(plain);
  return value.kind === "null" ? null : value.value;
}

function problem(text: string) {
  const parsed = parseJson(text);
  if (parsed.ok) throw new Error("the text was accepted");
  const { message, line, column } = locate(text, parsed.error);
  return [message, line, column];
}

describe("beside the platform's parser", () => {
  test("every object that is written as JSON is read as the same object", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 5 })),
        fc.nat(3),
        (object, indent) => {
          const text = JSON.stringify(object, null, indent);
          const parsed = parseJson(text);
          expect(parsed.ok && plain(parsed.value)).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  test("of damaged JSON the two accept the same", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
        fc.nat(),
        fc.constantFrom("", '"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e1", "null", " ", "\n", "\u0001"),
        fc.nat(2),
        (object, position, insert, cut) => {
          const text = JSON.stringify(object);
          const at = position % text.length;
          const damaged = text.slice(0, at) + insert + text.slice(at + cut);
          expect(parseJson(damaged).ok, damaged).toBe(isJsonObject(damaged));
        },
      ),
      { numRuns: 1000 },
    );
  });
});

test("entries keep their order and their repeats", () => {
  const parsed = parseJson('{"b": 1, "a": 2, "b": 3}');
  expect(parsed.ok && parsed.value.entries.map(({ key }) => key)).toEqual(["b", "a", "b"]);
});

describe("mistakes and where they are", () => {
  test.each<[string, string, number, number]>([
    ["", "expected a value", 1, 1],
    ["[]", "expected an object", 1, 1],
    ["{", "expected a string", 1, 2],
    ['{"a"}', "expected ':'", 1, 5],
    ['{"a": }', "expected a value", 1, 7],
    ['{"a": 1,}', "expected a string", 1, 9],
    ['{"a": [1,]}', "expected a value", 1, 10],
    ['{"a": [1 2]}', "expected ',' or ']'", 1, 10],
    ['{"a": 1 "b": 2}', "expected ',' or '}'", 1, 9],
    ['{"a": 1}\n x', "unexpected text after the object", 2, 2],
    ['{"a":\n  "x\n"}', "invalid string", 2, 5],
    ['{"a": "\\x"}', "invalid string", 1, 8],
    ['{"a": 1e999}', "invalid number", 1, 7],
    ["{'a': 1}", "expected a string", 1, 2],
    ['{"a": 01}', "expected ',' or '}'", 1, 8],
    ["{ // c\n}", "expected a string", 1, 3],
  ])("%j: %s at %i:%i", (text, message, line, column) => {
    expect(problem(text)).toEqual([message, line, column]);
  });
});

test("nesting is read to a depth and refused below it", () => {
  // As in HCL, the document itself does not count.
  const write = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  expect(parseJson(write(MAX_POLICY_DEPTH)).ok).toBe(true);
  expect(problem(write(MAX_POLICY_DEPTH + 1))[0]).toBe("nested too deeply");
  expect(problem('{"a":'.repeat(40_000))[0]).toBe("nested too deeply");
});

test("a very long string is read", () => {
  const long = "\\n".repeat(100_000) + "x".repeat(50_000);
  const parsed = parseJson(`{"a": "${long}"}`);
  expect(parsed.ok && plain(parsed.value)).toEqual({ a: "\n".repeat(100_000) + "x".repeat(50_000) });
});

/** Judged by the platform, except that a number beyond all bounds is no number. */
function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text, (_key, part: unknown) => {
      if (part === Infinity || part === -Infinity) throw new RangeError();
      return part;
    });
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
