import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linesOfRules, policyErrorText } from "../../../src/policy/parse.ts";
import { MAX_RULE_PATH_LENGTH } from "../../../src/policy/path-block.ts";
import { CAPABILITIES, type ParameterRule, type PathRule } from "../../../src/policy/rule.ts";
import { MAX_POLICY_LENGTH } from "../../../src/policy/syntax.ts";
import { errorOf, NOW, rulesOf } from "./helpers.ts";

const FUTURE = "2099-01-02T03:04:05.500Z";

describe("keys that mean nothing", () => {
  test("at the top level, two at once", () => {
    const error = errorOf('# c\nbad_one = 1\npath "a" {}\n  other {}\n');
    expect(error).toEqual({
      message: 'invalid key "bad_one" on line 2; invalid key "other" on line 4',
      line: 2,
      column: 1,
    });
  });

  test("are a mistake in a block", () => {
    const error = errorOf('path "a" {\n  capabilities = ["read"]\n\tcapabilites = ["deny"]\n}');
    expect(error).toEqual({ message: 'path "a": invalid key "capabilites" on line 3', line: 3, column: 2 });
  });

  test("case counts", () => {
    expect(errorOf('path "a" { Capabilities = ["read"] }').message).toContain('invalid key "Capabilities"');
    expect(errorOf('PATH "a" {}').message).toContain('invalid key "PATH"');
  });

  test("many mistakes give a short answer", () => {
    const error = errorOf(`${"x { }\n".repeat(1000)}${"y".repeat(10_000)} = 1`);
    expect(error.message.length).toBeLessThan(500);
    expect(errorOf(`${"y".repeat(10_000)} = 1`).message.length).toBeLessThan(200);
  });
});

describe("values that mean nothing", () => {
  test.each([
    ['path "p" { policy = "banana" }', 'path "p": invalid policy "banana"', 1, 12],
    ['path "p" {\n capabilities = ["read", "banana"]\n}', 'path "p": invalid capability "banana"', 2, 26],
    ['path "p" { capabilities = ["root"] }', 'path "p": invalid capability "root"', 1, 28],
    ['path "p" { capabilities = ["Read"] }', 'path "p": invalid capability "Read"', 1, 28],
    [
      'path "p" {\n min_wrapping_ttl = 400\n max_wrapping_ttl = 200\n}',
      'path "p": max_wrapping_ttl cannot be less than min_wrapping_ttl',
      3,
      2,
    ],
    ['path "foo/+*" {}', `path "foo/+*": invalid use of wildcards ('+*' is forbidden)`, 1, 6],
    ["name{}", "name must be a string", 1, 1],
    ['path "p" { capabilities = "read" }', 'path "p": capabilities must be a list of strings', 1, 12],
    ['path "p" { capabilities = ["deny", "banana"] }', 'path "p": invalid capability "banana"', 1, 36],
    ['path "p" { capabilities = [1] }', 'path "p": capabilities must be a list of strings', 1, 12],
    ['path "p" { policy = 1 }', 'path "p": policy must be a string', 1, 12],
    ['path "p" { allowed_parameters = ["a"] }', 'path "p": allowed_parameters must be an object of lists', 1, 12],
    ['path "p" { denied_parameters = { "a" = 1 } }', 'path "p": denied_parameters must be an object of lists', 1, 34],
    ['path "p" { required_parameters = [true] }', 'path "p": required_parameters must be a list of strings', 1, 12],
    [
      'path "p" { expiration = "tomorrow" }',
      'path "p": invalid expiration time: neither RFC 3339 nor seconds since 1970',
      1,
      12,
    ],
    [
      'path "p" { expiration = "2027-02-30T00:00:00Z" }',
      'path "p": invalid expiration time: neither RFC 3339 nor seconds since 1970',
      1,
      12,
    ],
    [
      'path "p" { expiration = true }',
      'path "p": invalid expiration time: neither RFC 3339 nor seconds since 1970',
      1,
      12,
    ],
    ['path "p" { pagination_limit = -1 }', 'path "p": pagination_limit must be a whole number, not negative', 1, 12],
    ['path "p" { pagination_limit = 1.5 }', 'path "p": pagination_limit must be a whole number, not negative', 1, 12],
    [
      'path "p" { min_wrapping_ttl = "-5m" }',
      'path "p": min_wrapping_ttl must be a duration in seconds or like 5m, not negative',
      1,
      12,
    ],
    [
      'path "p" { max_wrapping_ttl = "soon" }',
      'path "p": max_wrapping_ttl must be a duration in seconds or like 5m, not negative',
      1,
      12,
    ],
    [
      'path "p" { max_wrapping_ttl = 1e30 }',
      'path "p": max_wrapping_ttl must be a duration in seconds or like 5m, not negative',
      1,
      12,
    ],
    ['path "p/{{identity.entity.id" {}', 'path "p/{{identity.entity.id": unbalanced templating characters', 1, 6],
    ['path "p/}}{{" {}', 'path "p/}}{{": unbalanced templating characters', 1, 6],
    ['path "p}}" {}', 'path "p}}": unbalanced templating characters', 1, 6],
    ['path "p/{{a}}b}}" {}', 'path "p/{{a}}b}}": unbalanced templating characters', 1, 6],
    ['path "p/{{a{{b}}}}" {}', 'path "p/{{a{{b}}}}": unbalanced templating characters', 1, 6],
    ['path = "p"', 'path must be a block: path "..." { ... }', 1, 1],
    ['path "p" "q" {}', 'path "p": invalid key "q" on line 1', 1, 10],
    ['path { capabilities = ["read"] }', 'path "capabilities": must be a block', 1, 8],
  ])("%s is refused", (text, message, line, column) => {
    expect(errorOf(text)).toEqual({ message, line, column });
  });

  test("the text for clients has the prefix and the place", () => {
    expect(policyErrorText(errorOf('path "p" {\n policy = "banana" }'))).toBe(
      'failed to parse policy: path "p": invalid policy "banana" (line 2, column 2)',
    );
  });

  test.each([
    ["mfa_methods", '["totp"]'],
    ["mfa_methods", "true"],
    ["list_scan_response_keys_filter_path", '"{{.path}}{{.key}}"'],
  ])("%s = %s, which would restrict and can't be enforced, is refused", (key, value) => {
    expect(errorOf(`path "p" { ${key} = ${value} }`).message).toContain(`path "p": ${key} is not supported`);
  });

  test("control_group is not a key", () => {
    expect(errorOf('path "p" { control_group = { ttl = "1h" } }').message).toContain('invalid key "control_group"');
  });

  test("empty settings that restrict nothing are fine", () => {
    expect(rulesOf('path "p" { mfa_methods = []\n list_scan_response_keys_filter_path = "" }')).toEqual([
      { path: "p", capabilities: [] },
    ]);
  });
});

describe("what a block means", () => {
  test("one leading slash is stripped", () => {
    expect(rulesOf('path "/a/b" {}\npath "//c" {}\npath "/*" {}').map(({ path }) => path)).toEqual(["a/b", "/c", "*"]);
  });

  test.each([
    ["deny", ["deny"]],
    ["read", ["list", "read"]],
    ["write", ["create", "delete", "list", "read", "update"]],
    ["sudo", ["create", "delete", "list", "read", "sudo", "update"]],
  ])("policy = %j stands for its capabilities", (policy, capabilities) => {
    expect(rulesOf(`path "p" { policy = "${policy}" }`)).toEqual([{ path: "p", capabilities }]);
  });

  test("an old policy adds to capabilities, and deny drops everything else of the block", () => {
    expect(rulesOf('path "p" { policy = "read"\n capabilities = ["sudo", "read"] }')).toEqual([
      { path: "p", capabilities: ["list", "read", "sudo"] },
    ]);
    for (const deny of ['policy = "deny"\n capabilities = ["read"]', 'policy = "read"\n capabilities = ["deny"]']) {
      const text = `path "p" { ${deny}\n allowed_parameters = { "a" = [] }\n max_wrapping_ttl = 5 }`;
      expect(rulesOf(text)).toEqual([{ path: "p", capabilities: ["deny"] }]);
    }
  });

  test("a wrapping limit as a number and as text", () => {
    const [number, text, seconds] = ["90", '"1m30s"', '"90"'].map((ttl) =>
      rulesOf(`path "p" { min_wrapping_ttl = ${ttl}\n max_wrapping_ttl = ${ttl} }`),
    );
    expect(number).toEqual([{ path: "p", capabilities: [], minWrappingTtlSeconds: 90, maxWrappingTtlSeconds: 90 }]);
    expect(text).toEqual(number);
    expect(seconds).toEqual(number);
    expect(rulesOf('path "p" { min_wrapping_ttl = 0\n max_wrapping_ttl = "0s" }')).toEqual([
      { path: "p", capabilities: [] },
    ]);
    expect(rulesOf('path "p" { max_wrapping_ttl = 0\n min_wrapping_ttl = 9 }')).toEqual([
      { path: "p", capabilities: [], minWrappingTtlSeconds: 9 },
    ]);
  });

  test("parameters: names in lower case, values with their types", () => {
    const text = `path "p" {
      allowed_parameters = {
        "Foo" = ["a", 1, -2.5, true, ["x", {}], { "k" = [1] }]
        bar   = []
        "*"   = []
      }
      denied_parameters { "__proto__" = [{ "__proto__" = 1 }] }
      required_parameters = ["Foo", "foo", "B"]
      pagination_limit = "25"
    }`;
    const [rule] = rulesOf(text);
    expect(rule).toMatchObject({
      allowedParameters: [
        { name: "foo", values: ["a", 1, -2.5, true, ["x", {}], { k: [1] }] },
        { name: "bar", values: [] },
        { name: "*", values: [] },
      ],
      requiredParameters: ["foo", "b"],
      paginationLimit: 25,
    });
    const [denied] = rule?.deniedParameters ?? [];
    expect(denied?.name).toBe("__proto__");
    expect(Object.entries(denied?.values[0] ?? {})).toEqual([["__proto__", 1]]);
  });

  test("an expired block is dropped, one that lasts keeps its moment", () => {
    const text = `
path "gone" { expiration = "2001-01-01T00:00:00Z" }
path "gone2" { expiration = "1000" }
path "gone3" { expiration = 0 }
path "lasts" { expiration = "${FUTURE}" }
path "seconds" { expiration = 4102444800 }
path "zone" { expiration = "2099-01-01T00:00:00+02:00" }
path "denies" {
  capabilities = ["deny"]
  expiration = "${FUTURE}"
}`;
    expect(rulesOf(text)).toEqual([
      { path: "lasts", capabilities: [], expiresAt: Date.parse(FUTURE) },
      { path: "seconds", capabilities: [], expiresAt: 4_102_444_800_000 },
      { path: "zone", capabilities: [], expiresAt: Date.parse("2098-12-31T22:00:00Z") },
      { path: "denies", capabilities: ["deny"], expiresAt: Date.parse(FUTURE) },
    ]);
    expect(rulesOf('path "p" { expiration = "2027-03-01T12:00:00Z" }', NOW)).toHaveLength(1);
    expect(rulesOf('path "p" { expiration = "2027-03-01T12:00:00Z" }', NOW + 1)).toHaveLength(0);
  });

  test("comment and name are for people", () => {
    expect(rulesOf('name = "x"\npath "p" { comment = "why"\n capabilities = [] }')).toEqual([
      { path: "p", capabilities: [] },
    ]);
  });

  test("spellings of one parameter are merged, as are the blocks of one path", () => {
    const text = `path "p" { allowed_parameters = { "a" = [1], "A" = [2], "b" = [] } }
    path "p" { capabilities = ["deny"] }`;
    expect(rulesOf(text)).toEqual([
      {
        path: "p",
        capabilities: [],
        allowedParameters: [
          { name: "a", values: [2, 1] },
          { name: "b", values: [] },
        ],
      },
      { path: "p", capabilities: ["deny"] },
    ]);
  });

  test("a block without a policy, and a policy without a block", () => {
    expect(rulesOf('path "p" {}')).toEqual([{ path: "p", capabilities: [] }]);
    for (const empty of ["", " \n", "# nothing", "{}", "// x\n/* y */"]) expect(rulesOf(empty)).toEqual([]);
  });
});

describe("what is set twice is refused at its second place", () => {
  const KEYS = [
    ["capabilities", '["read"]'],
    ["policy", '"read"'],
    ["allowed_parameters", '{ "a" = [] }'],
    ["denied_parameters", "{}"],
    ["required_parameters", '["a"]'],
    ["min_wrapping_ttl", "5"],
    ["max_wrapping_ttl", '"5s"'],
    ["pagination_limit", "5"],
    ["expiration", `"${FUTURE}"`],
    ["comment", '"x"'],
    ["mfa_methods", "[]"],
  ] as const;

  test.each(KEYS)("%s of a rule, in HCL and in JSON", (key, value) => {
    const message = `path "p": "${key}" is already set on line 2`;
    expect(errorOf(`path "p" {\n  ${key} = ${value}\n   ${key} = ${value}\n}`)).toEqual({
      message,
      line: 3,
      column: 4,
    });
    const json = value.replace("=", ":");
    const text = `{"path": {"p": {\n "${key}": ${json},\n  "${key}": ${json}}}}`;
    expect(errorOf(text)).toEqual({ message, line: 3, column: 3 });
    expect(errorOf(btoa(text))).toEqual({ message, line: 3, column: 3 });
  });

  test.each([
    ['path "p" { allowed_parameters = { a = [1]\n a = [2] } }', 'path "p": allowed_parameters: "a"', 2, 2],
    ['path "p" { denied_parameters { a = []\n "a" = [] } }', 'path "p": denied_parameters: "a"', 2, 2],
    ['path "p" { denied_parameters { a = [] }\n denied_parameters { b = [] } }', 'path "p": "denied_parameters"', 2, 2],
    ['path "p" { allowed_parameters = [{ a = [1] },\n { a = [2] }] }', 'path "p": allowed_parameters: "a"', 2, 4],
    ['path "p" { allowed_parameters = { a = [[{ x = 1\n x = 2 }]] } }', 'path "p": allowed_parameters: "x"', 2, 2],
    ['{"path": {"p": {"allowed_parameters": {"a": [],\n"a": []}}}}', 'path "p": allowed_parameters: "a"', 2, 1],
    ['name = "a"\nname = "b"', '"name"', 2, 1],
    ['{"name": "a",\n"name": "b"}', '"name"', 2, 1],
  ])("%s", (text, what, line, column) => {
    expect(errorOf(text)).toEqual({ message: `${what} is already set on line 1`, line, column });
  });

  test("blocks of paths may stand in any number", () => {
    const block = { path: "p", capabilities: [] };
    expect(rulesOf('path "p" {}\npath "p" {}')).toEqual([block, block]);
    expect(rulesOf('{"path": {"p": {}, "p": {}}, "path": [{"p": [{}, {}]}]}')).toEqual([block, block, block, block]);
  });
});

describe("HCL and JSON say the same", () => {
  test("by hand, in every form that a path may have", () => {
    const expected = [
      { path: "a", capabilities: ["read"] },
      { path: "b", capabilities: ["list"] },
    ];
    const forms = [
      'path "a" { capabilities = ["read"] }\npath "b" { capabilities = ["list"] }',
      'path = { "a" = { capabilities = ["read"] }, "b" = { capabilities = ["list"] } }',
      'path { a { capabilities = ["read",] }\n b { capabilities = ["list"] } }',
      '"path" "a" { "capabilities" = ["read"] } "path" b { capabilities = ["list"] }',
      ' {"path": {"a": {"capabilities": ["read"]}, "b": {"capabilities": ["list"]}}}\n',
      '{"path": [{"a": {"capabilities": ["read"]}}, {"b": {"capabilities": ["list"]}}]}',
      '{"path": {"a": [{"capabilities": ["read"]}]}, "path": {"b": {"capabilities": ["list"]}}}',
    ];
    for (const form of forms) {
      expect(rulesOf(form)).toEqual(expected);
      expect(rulesOf(btoa(form))).toEqual(expected);
    }
  });

  test("a path that is repeated in JSON does not hide the first one's deny", () => {
    const text = '{"path": {"a": {"capabilities": ["deny"]}, "a": {"capabilities": ["read"]}}}';
    expect(rulesOf(text).map(({ capabilities }) => capabilities)).toEqual([["deny"], ["read"]]);
  });

  const name = fc.string({ unit: "binary", minLength: 1, maxLength: 8 }).map((text) => text.toLowerCase());
  const wellFormed = (text: string) => text.isWellFormed();
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: "binary" }).filter(wellFormed),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
      fc.boolean(),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(fc.string().filter(wellFormed), tie("any"), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).any as fc.Arbitrary<ParameterRule["values"][number]>;
  const parameters = fc.uniqueArray(
    fc.record({ name: name.filter(wellFormed), values: fc.array(value, { maxLength: 3 }) }),
    { selector: (parameter) => parameter.name, maxLength: 3 },
  );
  const rule: fc.Arbitrary<PathRule> = fc
    .record(
      {
        path: fc
          .string({ unit: "binary", maxLength: 12 })
          .filter((path) => wellFormed(path) && !path.startsWith("/") && !/\+\*|\{\{|\}\}/.test(path)),
        capabilities: fc.subarray(CAPABILITIES.filter((capability) => capability !== "deny")),
        expiresAt: fc.integer({ min: NOW / 1000, max: 9_000_000_000 }).map((seconds) => seconds * 1000),
        minWrappingTtlSeconds: fc.integer({ min: 1, max: 100 }),
        maxWrappingTtlSeconds: fc.integer({ min: 100, max: 200 }),
        allowedParameters: parameters,
        deniedParameters: parameters,
        requiredParameters: fc.uniqueArray(name.filter(wellFormed), { minLength: 1, maxLength: 3 }),
        paginationLimit: fc.integer({ min: 1, max: 1000 }),
      },
      { requiredKeys: ["path", "capabilities"] },
    )
    .map((fields) => fields as PathRule);

  test("for any rules, written in both", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), (rules) => {
        expect(rulesOf(writeHcl(rules))).toEqual(rules);
        expect(rulesOf(writeJson(rules))).toEqual(rules);
        expect(JSON.parse(JSON.stringify(rules))).toEqual(rules);
        expect(structuredClone(rules)).toEqual(rules);
      }),
      { numRuns: 300 },
    );
  });
});

describe("limits", () => {
  test("the length of a text", () => {
    const filler = "#".repeat(MAX_POLICY_LENGTH - 12);
    expect(rulesOf(`path "p" {}\n${filler}`)).toHaveLength(1);
    expect(errorOf(`path "p" {}\n${filler}#`)).toEqual({
      message: "policy is longer than 262144 characters",
      line: 1,
      column: 1,
    });
  });

  test("the length of a path", () => {
    expect(rulesOf(`path "${"a".repeat(MAX_RULE_PATH_LENGTH)}" {}`)).toHaveLength(1);
    expect(errorOf(`path "${"a".repeat(MAX_RULE_PATH_LENGTH + 1)}" {}`).message).toContain("is longer than 4096");
  });
});

/** What the settings of a rule are called in a policy text, in the order of writing. */
function settingsOf(rule: PathRule): [string, unknown][] {
  const settings: [string, unknown][] = [["capabilities", rule.capabilities]];
  if (rule.expiresAt !== undefined) settings.push(["expiration", new Date(rule.expiresAt).toISOString()]);
  if (rule.minWrappingTtlSeconds !== undefined) settings.push(["min_wrapping_ttl", rule.minWrappingTtlSeconds]);
  if (rule.maxWrappingTtlSeconds !== undefined) settings.push(["max_wrapping_ttl", `${rule.maxWrappingTtlSeconds}s`]);
  for (const [key, list] of [
    ["allowed_parameters", rule.allowedParameters],
    ["denied_parameters", rule.deniedParameters],
  ] as const) {
    if (list) settings.push([key, Object.fromEntries(list.map(({ name, values }) => [name, values]))]);
  }
  if (rule.requiredParameters) settings.push(["required_parameters", rule.requiredParameters]);
  if (rule.paginationLimit !== undefined) settings.push(["pagination_limit", rule.paginationLimit]);
  return settings;
}

function writeJson(rules: readonly PathRule[]): string {
  const paths = rules.map((rule) => ({ [rule.path]: Object.fromEntries(settingsOf(rule)) }));
  return JSON.stringify({ path: paths }, null, 1);
}

function writeHcl(rules: readonly PathRule[]): string {
  return rules
    .map((rule) => {
      const settings = settingsOf(rule).map(([key, value]) => `  ${key} = ${hclValue(value)}\n`);
      return `path ${hclString(rule.path)} {\n${settings.join("")}}\n`;
    })
    .join("# next\n");
}

function hclValue(value: unknown): string {
  if (typeof value === "string") return hclString(value);
  if (Array.isArray(value)) return `[${value.map(hclValue).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, item]) => `${hclString(key)} = ${hclValue(item)}`)
      .join("\n")} }`;
  }
  return String(value);
}

function hclString(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}

describe("the lines of rules", () => {
  test("are those where the blocks of a path begin, whatever their number", () => {
    const many = Array.from({ length: 5000 }, (_, at) => `path "a/${at % 100}" { capabilities = ["read"] }`);
    const lines = linesOfRules(`\n\n${many.join("\n")}\npath "/a/7" {}`);
    expect(lines.get("a/7")).toEqual([...Array.from({ length: 50 }, (_, at) => 10 + at * 100), 5003]);
    expect(lines.size).toBe(100);
  });

  test("are found in JSON, in base64 and in one line, and not in a text that can't be read", () => {
    const json = '{\n"path": {\n"b": {}, "/a": {"capabilities": ["read"]},\n"c": {}}}';
    for (const text of [json, btoa(json)])
      expect([...linesOfRules(text)]).toEqual([
        ["b", [3]],
        ["a", [3]],
        ["c", [4]],
      ]);
    expect([...linesOfRules('path "a" {} path "b" {}')]).toEqual([
      ["a", [1]],
      ["b", [1]],
    ]);
    expect(linesOfRules('path "a" {').size).toBe(0);
  });
});
