import { describe, expect, test } from "vitest";
import { parseHcl } from "../../../src/policy/hcl.ts";
import { locate, MAX_POLICY_DEPTH, type SyntaxValue } from "../../../src/policy/syntax.ts";

/** The top level as plain pairs, so that order and repeats show. */
function read(text: string): unknown {
  const parsed = parseHcl(text);
  if (!parsed.ok) throw new Error(parsed.error.message);
  return plain(parsed.value);
}

function plain(value: SyntaxValue): unknown {
  if (value.kind === "object") return value.entries.map((entry) => [entry.key, plain(entry.value)]);
  if (value.kind === "list") return value.items.map(plain);
  return value.kind === "null" ? null : value.value;
}

function problem(text: string) {
  const parsed = parseHcl(text);
  if (parsed.ok) throw new Error("the text was accepted");
  const { message, line, column } = locate(text, parsed.error);
  return [message, line, column];
}

describe("values", () => {
  test.each([
    ["a = 1", 1],
    ["a = -2.5e2", -250],
    ["a = 0x1F", 31],
    ["a = -0x10", -16],
    ["a = 0.5", 0.5],
    ["a = true", true],
    ["a = false", false],
    ['a = ""', ""],
    ['a = "b # c // d /* e"', "b # c // d /* e"],
    ['a = "{{x}} \u0024{y}"', "{{x}} \u0024{y}"],
    [String.raw`a = "\a\b\f\n\r\t\v\"\\"`, '\u0007\b\f\n\r\t\v"\\'],
    [String.raw`a = "\x41\u00e9\U0001F600\101"`, "Aé😀A"],
    ["a = []", []],
    ['a = [1, true, "x", [], ]', [1, true, "x", []]],
    ["a = [\n1,\n2 # two\n]", [1, 2]],
    ["a = {}", []],
    [
      "a = { b = 1, c = 2, }",
      [
        ["b", 1],
        ["c", 2],
      ],
    ],
    [
      "a = { b = 1 c = 2 }",
      [
        ["b", 1],
        ["c", 2],
      ],
    ],
    ['a = { "b c" = 1 }', [["b c", 1]]],
    ["a {\n b = 1\n}", [["b", 1]]],
    ["a b { c = 1 }", [["b", [["c", 1]]]]],
    ['a "b" "c" {}', [["b", [["c", []]]]]],
  ])("%s is read", (text, value) => {
    expect(read(text)).toEqual([["a", value]]);
  });

  test("entries keep their order and their repeats", () => {
    expect(read("b = 1\na = 2\nb = 3")).toEqual([
      ["b", 1],
      ["a", 2],
      ["b", 3],
    ]);
  });

  test("names may hold dots, dashes and letters of any script", () => {
    expect(read("a-b.c_1 = 1\nünï = 2\ntrue = 3")).toEqual([
      ["a-b.c_1", 1],
      ["ünï", 2],
      ["true", 3],
    ]);
  });
});

describe("comments and blanks", () => {
  test("are allowed between all tokens", () => {
    expect(read("/* a */ x /* b\n */ = // c\n # d\r\n [ /**/ 1 # e\n , /***/ 2 ] // end")).toEqual([["x", [1, 2]]]);
  });
});

describe("heredocs", () => {
  test.each([
    ["a = <<EOF\none\n  two\nEOF\n", "one\n  two\n"],
    ["a = <<EOF\none\n  EOF\n", "one\n"],
    ["a = <<EOF\n  one\n  EOF\n", "  one\n"],
    ["a = <<EOF\nEOF", ""],
    ['a = <<EOF\n"quoted" \\n {{x}}\nEOF\n', '"quoted" \\n {{x}}\n'],
    ["a = <<EOF\r\none\r\nEOF\r\n", "one\n"],
    ["a = <<-EOF\n    one\n      two\n    EOF\n", "one\n  two\n"],
    ["a = <<-EOF\n  one\n    EOF\n", "  one\n"],
    ["a = <<EOF\nEOFF\nEOF x\nEOF\n", "EOFF\nEOF x\n"],
  ])("%j is read", (text, value) => {
    expect(read(text)).toEqual([["a", value]]);
  });

  test("what follows is read on", () => {
    expect(read("a = <<X\n1\nX\nb = 2")).toEqual([
      ["a", "1\n"],
      ["b", 2],
    ]);
  });
});

describe("mistakes and where they are", () => {
  test.each<[string, string, number, number]>([
    ["a", "expected '=' or '{'", 1, 2],
    ["= 1", "expected a key", 1, 1],
    ["{ }", "expected a key", 1, 1],
    ["a = ", "expected a value", 1, 5],
    ["a = b", "expected a value; text must be quoted", 1, 5],
    ["a = }", "expected a value", 1, 5],
    ["a b = 1", "expected '=' or '{'", 1, 5],
    ["a {", "expected a key", 1, 4],
    ["a { b = 1", "expected a key", 1, 10],
    ["a }", "expected '=' or '{'", 1, 3],
    ["}", "expected a key", 1, 1],
    ["a = [1 2]", "expected ',' or ']'", 1, 8],
    ["a = [1,", "expected a value", 1, 8],
    ["a = [,]", "expected a value", 1, 6],
    ["a = 1 = 2", "expected a key", 1, 7],
    ['a = "x', "string is not closed", 1, 5],
    ['a = "x\ny"', "string is not closed", 1, 5],
    ['a = "\\q"', "invalid escape in a string", 1, 6],
    ['a = "\\ud800"', "invalid escape in a string", 1, 6],
    ['a = "\\U00110000"', "invalid escape in a string", 1, 6],
    ["a = 'x'", "unexpected character", 1, 5],
    ["a : 1", "unexpected character", 1, 3],
    ["a = 1\n\n  b = \u0000", "unexpected character", 3, 7],
    ["a = 010", "invalid number", 1, 5],
    ["a = 1x", "invalid number", 1, 5],
    ["a = 1.", "invalid number", 1, 5],
    ["a = 1e999", "invalid number", 1, 5],
    ["a = /* x", "comment is not closed", 1, 5],
    ["a = / 1", "unexpected character", 1, 5],
    ["a = <<EOF\nx\n", "heredoc is not closed", 1, 5],
    ["a = << EOF\nEOF", "invalid heredoc", 1, 5],
    ["a = < 1", "invalid heredoc", 1, 5],
    ['a = "😀" ?', "unexpected character", 1, 9],
  ])("%j: %s at %i:%i", (text, message, line, column) => {
    expect(problem(text)).toEqual([message, line, column]);
  });
});

test.each([
  [0, 1, 1],
  [2, 1, 3],
  [3, 2, 1],
  [4, 3, 1],
  [5, 3, 2],
])("offset %i is line %i, column %i; a line break is the end of its line", (at, line, column) => {
  expect(locate("ab\n\ncd", { message: "m", at })).toEqual({ message: "m", line, column });
});

describe("nesting", () => {
  test.each([
    ["lists", (depth: number) => `a = ${"[".repeat(depth)}${"]".repeat(depth)}`],
    ["blocks", (depth: number) => `${"a {".repeat(depth)}${"}".repeat(depth)}`],
    ["labels", (depth: number) => `${"a ".repeat(depth)}{}`],
    ["objects", (depth: number) => `${"a = {".repeat(depth)}${"}".repeat(depth)}`],
  ])("%s are read to a depth and refused below it", (_kind, write) => {
    expect(parseHcl(write(MAX_POLICY_DEPTH)).ok).toBe(true);
    expect(problem(write(MAX_POLICY_DEPTH + 1))[0]).toBe("nested too deeply");
    expect(problem(write(40_000))[0]).toBe("nested too deeply");
  });
});
