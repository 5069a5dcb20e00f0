import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntityView } from "../../../src/identity/model.ts";
import { claimsFromTemplate, templateProblem } from "../../../src/issuer/template.ts";

const NOW = Date.UTC(2026, 10, 21);

const VIEW: EntityView = {
  revision: "1",
  disabled: false,
  policies: [],
  entity: {
    id: "e-1",
    name: "web",
    metadata: { team: "red" },
    aliases: { aws_1: { id: "a-1", name: "arn:x", metadata: { account: "1" }, customMetadata: { note: "n" } } },
  },
  groups: [
    { id: "g-1", name: "admins", metadata: {} },
    { id: "g-2", name: "ops", metadata: {} },
  ],
};

const claims = (template: string, view = VIEW) => claimsFromTemplate(template, view, NOW);

describe("the claims of a template", () => {
  it.each([
    ["identity.entity.id", "e-1"],
    ["identity.entity.name", "web"],
    ["identity.entity.metadata", { team: "red" }],
    ["identity.entity.metadata.team", "red"],
    ["identity.entity.metadata.absent", ""],
    ["identity.entity.metadata.__proto__", ""],
    ["identity.entity.groups.names", ["admins", "ops"]],
    ["identity.entity.groups.ids", ["g-1", "g-2"]],
    ["identity.entity.aliases.aws_1.id", "a-1"],
    ["identity.entity.aliases.aws_1.name", "arn:x"],
    ["identity.entity.aliases.aws_1.metadata", { account: "1" }],
    ["identity.entity.aliases.aws_1.metadata.account", "1"],
    ["identity.entity.aliases.aws_1.custom_metadata.note", "n"],
    ["identity.entity.aliases.elsewhere.name", ""],
    ["identity.entity.aliases.elsewhere.metadata", {}],
    ["time.now", NOW / 1000],
    ["time.now.plus.1h", NOW / 1000 + 3600],
    ["time.now.minus.30m", NOW / 1000 - 1800],
  ])("%s has its value", (expression, value) => {
    expect(claims(`{"c": {{ ${expression} }}}`)).toEqual({ ok: true, value: { c: value } });
  });

  it("are refused when an expression does not exist", () => {
    for (const expression of [
      "identity.entity.secret",
      "identity.groups.names.admins.id",
      "time.later",
      "a.time.now.plus.1h",
      "x",
      "",
    ]) {
      expect(claims(`{"c": {{${expression}}}}`).ok).toBe(false);
    }
  });

  it("can't be extended by a client that chooses a name", () => {
    const hostile = { ...VIEW, entity: { ...VIEW.entity, name: '", "admin": true, "x": "{{identity.entity.id}}' } };
    const made = claims('{"name": {{identity.entity.name}}}', hostile);
    expect(made).toEqual({ ok: true, value: { name: hostile.entity.name } });
  });

  it("of a key with an expression are refused when it becomes a reserved one, or one that is there", () => {
    const named = (name: string) => ({ ...VIEW, entity: { ...VIEW.entity, name } });
    const template = '{"groups": {{identity.entity.groups.names}}, {{identity.entity.name}}: 1}';
    expect(templateProblem(template)).toBeNull();
    expect(claims(template)).toEqual({ ok: true, value: { groups: ["admins", "ops"], web: 1 } });
    for (const claim of ["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "namespace", "nonce", "auth_time"]) {
      const made = claims(template, named(claim));
      expect(made).toMatchObject({ ok: false, error: expect.stringContaining(`top level key "${claim}" not allowed`) });
    }
    expect(claims(template, named("groups")).ok).toBe(false);
    const nested = claims('{"own": {{{identity.entity.name}}: 1, "nbf": 2}}', named("nbf"));
    expect(nested.ok).toBe(false);
    const proto = claims(template, named("__proto__"));
    expect(proto.ok && Object.keys(proto.value)).toEqual(["groups", "__proto__"]);
  });

  it("are what was accepted when the template was written, whatever the values are", () => {
    const parts = [
      "{{identity.entity.name}}",
      '"{{identity.entity.metadata}}"',
      "{{identity.entity.metadata}}",
      '"{{identity.entity.groups.names}}"',
      "{{identity.entity.groups.names}}",
      '"{{time.now}}"',
      '"x{{identity.entity.name}}"',
      "{{identity.entity.name}}{{identity.entity.id}}",
      "[{{identity.entity.aliases.aws_1.metadata}}]",
      '{"a": {{identity.entity.id}}}',
    ];
    const text = fc.string({ unit: "binary" });
    const view = fc.tuple(text, fc.dictionary(text, text), fc.array(text)).map(([name, metadata, groups]) => ({
      ...VIEW,
      entity: { ...VIEW.entity, name, metadata },
      groups: groups.map((group) => ({ id: group, name: group, metadata: {} })),
    }));
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 3 }), view, (values, of) => {
        const template = `{${values.map((value, at) => `"claim${at}": ${value}`).join(", ")}}`;
        const made = claims(template, of);
        expect(made.ok).toBe(templateProblem(template) === null);
        if (made.ok) expect(Object.keys(made.value)).toEqual(values.map((_, at) => `claim${at}`));
      }),
    );
  });

  it("hold any name as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (name, value) => {
        const view = { ...VIEW, entity: { ...VIEW.entity, name, metadata: { team: value } } };
        const made = claims('{"name": {{identity.entity.name}}, "all": {{identity.entity.metadata}}}', view);
        expect(made).toEqual({ ok: true, value: { name, all: { team: value } } });
      }),
    );
  });
});

describe("a template", () => {
  it("may be absent, plain JSON, or JSON with expressions", () => {
    for (const template of ["", "{}", '{"a": 1}', '{"a": [{{identity.entity.id}}]}']) {
      expect(templateProblem(template)).toBeNull();
    }
  });

  it("is refused when it is no object, no JSON, or has open braces", () => {
    const bad = [
      "[]",
      "1",
      "null",
      "{",
      '{"a": "x{{identity.entity.id}}"}',
      '{"a": {{identity.entity.id}',
      "}}{}",
      "{{{{}}}}",
      '{"a": "{{identity.entity.metadata}}"}',
      '{"a": "{{identity.entity.groups.names}}"}',
      '{"a": "{{time.now}}"}',
      '{"a": {{identity.entity.id}}{{identity.entity.name}}}',
      "{ {{identity.entity.metadata}}: 1 }",
      "{ {{time.now}}: 1 }",
      '{"a": {{identity.entity.id}}, "a": {{identity.entity.name}}}',
      `{"a": ${"[".repeat(100_000)}`,
    ];
    for (const template of bad) expect(templateProblem(template)).toMatch(/^error parsing template/);
  });

  it("can't set a claim that says who the token is for", () => {
    for (const claim of ["iss", "sub", "aud", "exp", "iat", "nbf", "namespace", "nonce"]) {
      expect(templateProblem(`{"${claim}": "x"}`)).toContain(`top level key "${claim}" not allowed`);
    }
    expect(templateProblem('{"deep": {"sub": "x"}}')).toBeNull();
  });
});
