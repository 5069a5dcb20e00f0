import { describe, expect, test } from "vitest";
import { usesClock, usesTemplates } from "../../../src/policy/template.ts";
import { aclFor, NOW, rulesOf } from "./helpers.ts";

const ENTITY = {
  id: "e-1",
  name: "ann",
  metadata: { team: "red", "a.b": "dotted", empty: "", slash: "metadata/x", plus: "+", star: "x*", both: "metadata/+" },
  aliases: {
    acc1: { id: "al-1", name: "ann@x", metadata: { region: "eu" }, customMetadata: { k: "cm" } },
  },
};
const GROUPS = [
  { id: "g-1", name: "ops", metadata: { floor: "3" } },
  { id: "g-2", name: "dev", metadata: {} },
];
const CONTEXT = { entity: ENTITY, groups: GROUPS };

const rule = (path: string) => `path "${path}" { capabilities = ["read"] }`;

describe("templates that resolve", () => {
  test.each([
    ["{{identity.entity.id}}", "e-1"],
    ["{{ identity.entity.name }}", "ann"],
    ["{{identity.entity.metadata.team}}", "red"],
    ["{{identity.entity.metadata.a.b}}", "dotted"],
    ["{{identity.entity.aliases.acc1.id}}", "al-1"],
    ["{{identity.entity.aliases.acc1.name}}", "ann@x"],
    ["{{identity.entity.aliases.acc1.metadata.region}}", "eu"],
    ["{{identity.entity.aliases.acc1.custom_metadata.k}}", "cm"],
    ["{{identity.groups.ids.g-1.name}}", "ops"],
    ["{{identity.groups.ids.g-1.id}}", "g-1"],
    ["{{identity.groups.names.dev.id}}", "g-2"],
    ["{{identity.groups.names.ops.metadata.floor}}", "3"],
    ["{{time.now}}", String(NOW / 1000)],
    ["{{time.now.plus.1h}}", String(NOW / 1000 + 3600)],
    ["{{time.now.minus.90}}", String(NOW / 1000 - 90)],
    ["{{identity.entity.name}}-{{identity.entity.id}}", "ann-e-1"],
  ])("%s becomes %s", (template, value) => {
    const acl = aclFor(CONTEXT, rule(`kv/${template}/x`));
    expect(acl.capabilities(`kv/${value}/x`, NOW)).toEqual(["read"]);
    expect(acl.grants(NOW)).toHaveLength(1);
  });

  test("with the wildcards of the rule", () => {
    const acl = aclFor(CONTEXT, rule("kv/{{identity.entity.name}}/+/x*"));
    expect(acl.capabilities("kv/ann/any/xyz", NOW)).toEqual(["read"]);
    expect(acl.capabilities("kv/bob/any/xyz", NOW)).toEqual(["deny"]);
  });
});

describe("templates that do not resolve take only their rule away", () => {
  test.each([
    "{{identity.entity.metadata.none}}",
    "{{identity.entity.metadata.empty}}",
    "{{identity.entity.metadata}}",
    "{{identity.entity.metadata.constructor}}",
    "{{identity.entity.metadata.__proto__}}",
    "{{identity.entity.aliases.acc2.name}}",
    "{{identity.entity.aliases.constructor.name}}",
    "{{identity.entity.aliases.acc1}}",
    "{{identity.entity.aliases.acc1.custom_metadata.none}}",
    "{{identity.entity.groups.names}}",
    "{{identity.groups.names.admin.id}}",
    "{{identity.groups.names.ops}}",
    "{{identity.groups.other.ops.id}}",
    "{{identity.groups.ids.ops.id}}",
    "{{identity.entity}}",
    "{{other}}",
    "{{}}",
    "{{time.then}}",
    "{{time.now.plus}}",
    "{{time.now.plus.}}",
    "{{time.now.plus.soon}}",
    "{{time.now.times.2}}",
  ])("%s resolves to nothing", (template) => {
    const acl = aclFor(CONTEXT, `${rule(`kv/${template}`)}\n${rule("fine")}`);
    expect(acl.grants(NOW).map(({ pattern }) => pattern.text)).toEqual(["fine"]);
  });

  test("a caller without an entity: rules about entity and groups are absent, the others hold", () => {
    const text = [rule("a/{{identity.entity.id}}"), rule("b/{{identity.groups.names.ops.id}}"), rule("c")].join("\n");
    expect(
      aclFor({}, text)
        .grants(NOW)
        .map(({ pattern }) => pattern.text),
    ).toEqual(["c"]);
  });

  test("joining the group enables the rule", () => {
    const text = rule("kv/{{identity.groups.names.ops.id}}");
    expect(aclFor({ entity: ENTITY, groups: [] }, text).capabilities("kv/g-1", NOW)).toEqual(["deny"]);
    expect(aclFor(CONTEXT, text).capabilities("kv/g-1", NOW)).toEqual(["read"]);
  });

  test("a value is not read as a template", () => {
    const entity = { ...ENTITY, name: "{{identity.entity.id}}" };
    const acl = aclFor({ entity }, rule("kv/{{identity.entity.name}}"));
    expect(acl.capabilities("kv/e-1", NOW)).toEqual(["deny"]);
    expect(acl.capabilities("kv/{{identity.entity.id}}", NOW)).toEqual(["read"]);
  });
});

describe("GHSA-59w7 values that would reach further", () => {
  const all = { allowSlashes: true, allowWildcards: true };

  test.each([
    ["slash", "metadata/x", {}, false],
    ["slash", "metadata/x", { allowWildcards: true }, false],
    ["slash", "metadata/x", { allowSlashes: true }, true],
    ["plus", "any", {}, false],
    ["plus", "any", { allowSlashes: true }, false],
    ["plus", "any", { allowWildcards: true }, true],
    ["star", "xyz", {}, false],
    ["star", "xyz", { allowWildcards: true }, true],
    ["both", "metadata/any", {}, false],
    ["both", "metadata/any", { allowSlashes: true }, false],
    ["both", "metadata/any", { allowWildcards: true }, false],
    ["both", "metadata/any", all, true],
  ])("%s on %s with %j: %s", (key, path, flags, granted) => {
    const acl = aclFor(CONTEXT, rule(`kv/{{identity.entity.metadata.${key}}}`), flags);
    expect(acl.capabilities(`kv/${path}`, NOW)).toEqual([granted ? "read" : "deny"]);
  });

  test("a value that makes +* takes the rule away, even where wildcards are allowed", () => {
    const acl = aclFor(CONTEXT, rule("kv/{{identity.entity.metadata.plus}}*"), all);
    expect(acl.grants(NOW)).toEqual([]);
  });
});

describe("what a compiled ACL may be shared for", () => {
  test.each([
    ["kv/x", false, false],
    ["kv/{{identity.entity.id}}", true, false],
    ["kv/{{ time.now }}", true, true],
  ])("%s: templates %s, clock %s", (path, templates, clock) => {
    const rules = [...rulesOf(rule("plain")), ...rulesOf(rule(path))];
    expect(usesTemplates(rules)).toBe(templates);
    expect(usesClock(rules)).toBe(clock);
  });
});
