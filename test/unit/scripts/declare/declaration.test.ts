import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_DECLARATION, MAX_REQUESTS, readDeclaration } from "../../../../scripts/declare/declaration.ts";
import type { Sources } from "../../../../scripts/declare/value-references.ts";
import { err, ok } from "../../../../src/base/result.ts";

const ENVIRONMENT: Readonly<Record<string, string>> = { SECRET: "s3cr3t-value" };

const SOURCES: Sources = {
  environment(name, required) {
    const value = ENVIRONMENT[name];
    if (value !== undefined) return ok(value);
    return required ? err(`the environment variable ${name} is not set`) : ok("");
  },
  file: (path) => (path === "policy.hcl" ? ok("the policy") : err(`the file ${path} does not exist`)),
};

const read = (text: string) => readDeclaration(text, SOURCES);

/** What is wrong, each with its line before it. */
function problemsOf(text: string): string[] {
  const declared = read(text);
  return declared.ok ? [] : declared.error.problems.map(({ line, message }) => `${line}: ${message}`);
}

/** A declaration of one request with these fields in the place of its own. */
function request(fields: Readonly<Record<string, string>>): string {
  const all = { operation: '"update"', path: '"sys/policies/acl/p"', data: "{}", ...fields };
  const lines = Object.entries(all).map(([name, value]) => `    ${name} = ${value}`);
  return `initialize "one" {\n  request "r" {\n${lines.join("\n")}\n  }\n}`;
}

describe("a declaration", () => {
  it("is read in the form of OpenBao's self-initialization, in its order", () => {
    const declared = read(`
      initialize "identity" {
        request "mount-jwt" {
          operation = "update"
          path = "/sys/auth/jwt"
          data = { "type" = "jwt" config { max_lease_ttl = "1h" } }
        }
      }
      initialize "policy" {
        request "add" {
          operation = "create"
          path = "sys/policies/acl/p"
          data { policy = <<-EOF
            path "*" {}
          EOF
          }
        }
        request "empty" { operation = "update" path = "auth/token/roles/r" }
      }`);
    expect(declared).toEqual({
      ok: true,
      value: {
        rootTokenFile: null,
        requests: [
          {
            ...{ name: "identity.mount-jwt", line: 3, path: "sys/auth/jwt", origins: new Map() },
            data: { type: "jwt", config: { max_lease_ttl: "1h" } },
          },
          {
            ...{ name: "policy.add", line: 10, path: "sys/policies/acl/p", origins: new Map() },
            data: { policy: '  path "*" {}\n' },
          },
          { name: "policy.empty", line: 18, path: "auth/token/roles/r", origins: new Map(), data: {} },
        ],
      },
    });
  });

  it("is read in the JSON of the reference", () => {
    const text = `{ "root_token_file": "kept", "initialize": [ { "audit": { "request": [ { "a": {
      "operation": "update", "path": "sys/quotas/config", "data": { "enable_rate_limit_audit_logging": true } } } ] } } ] }`;
    expect(read(text)).toMatchObject({
      ok: true,
      value: {
        rootTokenFile: "kept",
        requests: [{ name: "audit.a", data: { enable_rate_limit_audit_logging: true } }],
      },
    });
  });

  it("takes values from the environment and from files, at any depth, and keeps where they are from", () => {
    const value = (fields: string) => `{ eval_type = "string" ${fields} }`;
    const data = `{
      a = ${value('eval_source = "env" env_var = "SECRET"')}
      b = { c = [${value('eval_source = "file" path = "policy.hcl"')}, "d"] }
      e = ${value('eval_source = "env" env_var = "NOT_SET" require_present = false')}
    }`;
    const declared = read(request({ data }));
    expect(declared).toMatchObject({
      ok: true,
      value: { requests: [{ data: { a: "s3cr3t-value", b: { c: ["the policy", "d"] }, e: "" } }] },
    });
    expect(declared.ok && [...(declared.value.requests[0]?.origins ?? [])]).toEqual([
      ["a", [{ kind: "env", from: "SECRET" }]],
      ["b", [{ kind: "file", from: "policy.hcl" }]],
      ["e", [{ kind: "env", from: "NOT_SET" }]],
    ]);
  });

  it.each([
    ["a key of another product", 'storage "file" {}', '1: the file: "storage" is not known'],
    ["an unknown field of a request", request({ pth: '"x"' }), '6: one.r: "pth" is not known'],
    ["a token", request({ token: '"x"' }), '6: one.r: "token" is not supported'],
    ["allow_failure", request({ allow_failure: "true" }), '6: one.r: "allow_failure" is not supported'],
    [
      "when in a block",
      'initialize "a" {\n when = true\n request "r" { operation = "update" path = "sys/quotas/config" } }',
      '2: initialize "a": "when" is not supported',
    ],
    [
      "another operation",
      request({ operation: '"read"' }),
      "3: one.r: operation must be create or update: a file declares what should be there",
    ],
    ["a missing path", 'initialize "a" {\n request "r" { operation = "update" } }', "2: a.r: path is missing"],
    ["data that is no object", request({ data: '"x"' }), "5: one.r: data must be an object"],
    ["a field twice", request({ data: "{\n a = 1\n a = 2 }" }), "7: one.r: a is set twice"],
    ["a field of a field twice", request({ data: "{\n a = { b = 1\n b = 2 } }" }), '7: one.r: a: "b" is set twice'],
    [
      "two blocks of one name",
      `${request({})}\n${request({ path: '"sys/quotas/config"' })}`,
      '8: there are two blocks of the name "one"',
    ],
    [
      "two requests of one name",
      'initialize "a" {\n request "r" { operation = "update" path = "sys/quotas/config" }\n request "r" { operation = "update" path = "sys/rotate/config" } }',
      '3: there are two blocks of the name "r"',
    ],
    [
      "one path twice",
      'initialize "a" {\n request "r" { operation = "update" path = "sys/quotas/config" }\n request "s" { operation = "update" path = "/sys/quotas/config" } }',
      "3: sys/quotas/config is declared on line 2 already",
    ],
    [
      "a name with a dot",
      'initialize "a.b" {\n request "r" { operation = "update" path = "sys/quotas/config" } }',
      "1: the name of initialize must be letters, digits, _ and -",
    ],
    ["no name", 'initialize {\n operation = "update" }', "2: initialize must be a block with one name"],
    ["nothing", "# nothing yet", "1: the file declares nothing"],
    ["a block without requests", 'initialize "a" {}', "1: initialize must have a request"],
    ["no grammar", 'initialize "a" {\n = }', "2: expected a key"],
    ["no JSON", '{ "initialize": [\n }', "2: expected a value"],
    [
      "a value from an answer",
      request({ data: '{\n a = { eval_type = "string" eval_source = "response" } }' }),
      '6: one.r: a: eval_source must be "env" or "file"; values from requests, answers and templates are not supported',
    ],
    [
      "another type of value",
      request({ data: '{\n a = { eval_type = "int" eval_source = "env" env_var = "SECRET" } }' }),
      '6: one.r: a: eval_type must be "string"',
    ],
    [
      "a misspelled field of a value",
      request({ data: '{\n a = { eval_type = "string" eval_source = "env" env_vra = "SECRET" } }' }),
      '6: one.r: a: a value from env has no "env_vra"',
    ],
    [
      "a variable that is not set",
      request({ data: '{\n a = { eval_type = "string" eval_source = "env" env_var = "NOT_SET" } }' }),
      "6: one.r: a: the environment variable NOT_SET is not set",
    ],
    [
      "a file that is not there",
      request({ data: '{\n a = { eval_type = "string" eval_source = "file" path = "none" } }' }),
      "6: one.r: a: the file none does not exist",
    ],
    ["a root token twice", 'root_token_file = "a"\nroot_token_file = "b"', "2: root_token_file is set twice"],
  ])("is refused with its line for %s", (_, text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });

  it.each([
    "auth/token/create",
    "auth/token/create-orphan",
    "auth/approle/login",
    "auth/work/login/x",
    "auth/approle/role/r/secret-id",
    "auth/approle/role/r/custom-secret-id",
    "auth/aws/role/r/tag",
    "cubbyhole/x",
    "sys/wrapping/wrap",
    "sys/generate-root/attempt",
    "sys/generate-root-token/update",
    "sys/init/begin",
    "identity/oidc/token/r",
  ])("refuses %s, whose answer is a credential or a secret", (path) => {
    expect(problemsOf(request({ path: JSON.stringify(path) }))).toEqual([
      "4: one.r: what this path answers is a credential or a secret, which no client would receive",
    ]);
  });

  it.each([
    "sys/rotate",
    "sys/remount",
    "sys/tokens/revoke",
    "auth/token/revoke",
    "auth/x/tidy/identity-accesslist",
    "secret/data/a",
    "identity/entity/id/1",
  ])("refuses %s, which is no setting", (path) => {
    const [problem] = problemsOf(request({ path: JSON.stringify(path) }));
    expect(problem).toContain("no setting that can be declared");
    expect(problem).not.toContain("did you mean");
  });

  it.each([
    ["sys/aut/approle", "sys/auth/approle"],
    ["sys/polices/acl/ci", "sys/policies/acl/ci"],
    ["auth/jwt/roles/ci", "auth/jwt/role/ci"],
    ["identity/entiti/name/a", "identity/entity/name/a"],
  ])("names the path that %s is most like", (path, meant) => {
    const [problem] = problemsOf(request({ path: JSON.stringify(path) }));
    expect(problem).toMatch(new RegExp(`; did you mean ${meant}\\?$`));
  });

  it.each([
    "sys/policies/acl/../../auth/token/create",
    "sys//policies/acl/a",
    "sys/policies/acl/a?b",
    "sys/policies/acl/a%2Fb",
    "sys/policies/acl/",
    "",
    "sys/policies/acl/\\n",
  ])("refuses %j, which is no plain path", (path) => {
    expect(problemsOf(request({ path: `"${path}"` }))).toHaveLength(1);
  });

  it("is bounded: its length, its requests, the fields of one, the mistakes that are named", () => {
    expect(problemsOf(" ".repeat(MAX_DECLARATION + 1))).toHaveLength(1);
    const many = (count: number) =>
      Array.from(
        { length: count },
        (_, n) => `request "r${n}" { operation = "update" path = "sys/policies/acl/p${n}" }`,
      );
    expect(problemsOf(`initialize "a" { ${many(MAX_REQUESTS).join("\n")} }`)).toEqual([]);
    expect(problemsOf(`initialize "a" { ${many(MAX_REQUESTS + 1).join("\n")} }`)[0]).toContain(
      "more than 512 requests",
    );
    expect(problemsOf(request({ data: `{ a = "${"x".repeat(524_288)}" }` }))[0]).toContain("data is longer than");
    expect(problemsOf(Array.from({ length: 20 }, (_, n) => `x${n} = 1`).join("\n"))).toHaveLength(10);
  });

  it("is read in a time that grows with its length, however many mistakes it has", () => {
    expect(problemsOf('initialize "a" {}\n'.repeat(50_000))).toHaveLength(10);
  });

  it("is no object with a prototype of its author's", () => {
    const declared = read(request({ data: '{ "__proto__" = { a = 1 } }' }));
    expect(declared.ok && Object.hasOwn(declared.value.requests[0]?.data ?? {}, "__proto__")).toBe(true);
  });

  it("never repeats a value that it was given from elsewhere", () => {
    const data = '{ a = { eval_type = "string" eval_source = "env" env_var = "SECRET" } }';
    const path = '"auth/token/create"';
    expect(problemsOf(request({ data, path, operation: '"read"' })).join()).not.toContain("s3cr3t");
  });

  it("is what was written, in either form", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/).filter((text) => !text.startsWith("eval"));
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(word, tie("any"), { maxKeys: 3 }),
      ),
    })).any;
    const data = fc.dictionary(word, value, { maxKeys: 4 });
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(word, data), { minLength: 1, maxLength: 4, selector: ([name]) => name }),
        (all) => {
          const requests = all.map(([name, fields]) => ({
            [name]: { operation: "update", path: `sys/policies/acl/${name}`, data: fields },
          }));
          const json = read(JSON.stringify({ initialize: [{ all: { request: requests } }] }));
          const blocks = all.map(
            ([name, fields]) =>
              `request ${name} { operation = "update" path = "sys/policies/acl/${name}" data = ${hclOf(fields)} }`,
          );
          const hcl = read(`initialize "all" {\n${blocks.join("\n")}\n}`);
          const expected = all.map(([name, fields]) => [`all.${name}`, fields]);
          for (const one of [json, hcl]) {
            expect(one.ok ? one.value.requests.map(({ name, data: fields }) => [name, fields]) : one.error).toEqual(
              expected,
            );
          }
        },
      ),
    );
  });
});

/** A value in HCL. */
function hclOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(hclOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) {
    return typeof value === "string"
      ? `"${[...value].map((one) => (/[\w ]/.test(one) ? one : `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`)).join("")}"`
      : String(value);
  }
  return `{ ${Object.entries(value)
    .map(([name, one]) => `${name} = ${hclOf(one)}`)
    .join("\n")} }`;
}
