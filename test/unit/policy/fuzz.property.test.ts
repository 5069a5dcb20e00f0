import fc from "fast-check";
import { expect, test } from "vitest";
import { compileAcl, resultantAcl } from "../../../src/policy/acl.ts";
import { DEFAULT_POLICY_TEXT } from "../../../src/policy/builtin.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { parsePolicy } from "../../../src/policy/parse.ts";
import { NOW } from "./helpers.ts";

const OPERATIONS: Operation[] = [
  "read",
  "list",
  "scan",
  "create",
  "update",
  "create_or_update",
  "patch",
  "delete",
  "help",
];

const SAMPLES = [
  DEFAULT_POLICY_TEXT,
  `path "a/+/*" {
  capabilities = ["read", "list"] # why
  allowed_parameters = { "x" = ["y*", 1, true, [2, {}]] }
  comment = <<E
x
E
  min_wrapping_ttl = "1h" /* c */
  pagination_limit = 0x10
  expiration = "2030-01-01T00:00:00Z"
}`,
  '{"path": [{"a/{{identity.entity.id}}": {"policy": "write", "denied_parameters": {"\\u0041": [null, {"b": 1e3}]}}}]}',
  'path b { capabilities = [ "sudo" , ] } path { c { comment = <<-X\n  hi\n  X\n } }',
];
const PIECES = [
  "{",
  "}",
  "[",
  "]",
  '"',
  "\\",
  "=",
  ",",
  "#",
  "/*",
  "*/",
  "//",
  "<<",
  "<<-X\n",
  "\n",
  "+",
  "*",
  "{{",
  "}}",
];

/** Whatever the text is, the engine answers, and a mistake has a place in the text. */
function use(text: string): void {
  const parsed = parsePolicy(text, NOW);
  if (!parsed.ok) {
    expect(parsed.error.message).not.toBe("");
    expect(parsed.error.line).toBeGreaterThanOrEqual(1);
    expect(parsed.error.column).toBeGreaterThanOrEqual(1);
    return;
  }
  expect(JSON.parse(JSON.stringify(parsed.value))).toEqual(parsed.value);
  const acl = compileAcl([{ name: "p", rules: parsed.value }], { now: NOW });
  for (const operation of OPERATIONS) acl.check({ operation, path: "a/b/c/", data: { x: "y" } }, NOW);
  acl.capabilities(text.slice(0, 100), NOW);
  resultantAcl(acl, NOW);
}

test("the samples are right before they are damaged", () => {
  for (const sample of SAMPLES) expect(parsePolicy(sample, NOW)).toMatchObject({ ok: true });
});

test("any text is read or refused, never thrown on", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.base64String()), use),
    { numRuns: 1000 },
  );
});

test("any run of tokens is read or refused, never thrown on", () => {
  const token = fc.oneof(
    fc.constantFrom(...PIECES, "path", "capabilities", "true", "null", "1", "-0x", "1e", '"a"', '"read"', " ", ":"),
    fc.string({ maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 40 }), (tokens) => use(tokens.join(""))),
    { numRuns: 3000 },
  );
});

test("any damaged policy is read or refused, never thrown on", () => {
  const edit = fc.record({
    position: fc.nat(),
    cut: fc.nat(6),
    insert: fc.oneof(fc.constantFrom("", ...PIECES), fc.string({ unit: "binary", maxLength: 3 })),
  });
  fc.assert(
    fc.property(fc.constantFrom(...SAMPLES), fc.array(edit, { minLength: 1, maxLength: 4 }), (sample, edits) => {
      let text = sample;
      for (const { position, cut, insert } of edits) {
        const at = position % (text.length + 1);
        text = text.slice(0, at) + insert + text.slice(at + cut);
      }
      use(text);
    }),
    { numRuns: 2000 },
  );
});

test("texts made to be slow are answered", () => {
  const size = 250_000;
  for (const piece of [
    ...PIECES,
    "a ",
    "a=",
    '"a',
    "[1,",
    '{"a":',
    '{"a":1},',
    "-",
    "0",
    "\\u0061",
    "é",
    "\r",
    "\n\n a{",
  ]) {
    const flood = piece.repeat(Math.floor(size / piece.length));
    for (const text of [flood, `a = ${flood}`, `{"a": ${flood}`, `a = "${flood}`, `a = <<E\n${flood}`]) use(text);
  }
});

test("very many rules of one path are joined", () => {
  const block = 'path "a" { allowed_parameters = { "x" = [1] } }\n';
  const parsed = parsePolicy(block.repeat(5000), NOW);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const acl = compileAcl([{ name: "p", rules: parsed.value }], { now: NOW });
  const summary = resultantAcl(acl, NOW);
  expect(summary.root ? 0 : summary.exact_paths.a?.allowed_parameters?.x?.length).toBe(5000);
});
