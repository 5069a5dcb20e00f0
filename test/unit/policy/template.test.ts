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

describe("a rule that takes something away, and does not resolve, denies what begins like it", () => {
  const TEAM = "{{identity.entity.aliases.acc1.metadata.team}}";
  const WIDE = 'path "kv/*" { capabilities = ["create", "read", "update", "list"] }';
  const DENY = 'capabilities = ["deny"]';
  const capabilitiesOf = (team: string | null, text: string, path: string) => {
    const metadata = team === null ? {} : { team };
    const aliases = { acc1: { id: "al-1", name: "ann", metadata, customMetadata: {} } };
    return aclFor({ entity: { ...ENTITY, aliases } }, text).capabilities(path, NOW);
  };

  test.each([null, "", "*", "+", "blue/", "blue/*", "b+e"])("%j in the place of blue", (team) => {
    const text = `${WIDE}\npath "kv/teams/${TEAM}*" { ${DENY} }`;
    for (const path of ["kv/teams/blue", "kv/teams/blue/x", "kv/teams/", "kv/teams/red"]) {
      expect(capabilitiesOf(team, text, path)).toEqual(["deny"]);
    }
    expect(capabilitiesOf(team, text, "kv/other")).toContain("read");
    expect(capabilitiesOf("blue", text, "kv/teams/blue/x")).toEqual(["deny"]);
    expect(capabilitiesOf("blue", text, "kv/teams/red")).toContain("read");
  });

  test.each(["kv/teams/blue", "kv/teams/blue/*", "kv/+/blue", "kv/teams/+"])(
    "also what a rule for %s grants, which a deny that resolves can come before",
    (granted) => {
      const text = `${WIDE}\npath "${granted}" { capabilities = ["read"] }\npath "kv/teams/${TEAM}" { ${DENY} }`;
      expect(capabilitiesOf(null, text, "kv/teams/blue")).toEqual(["deny"]);
    },
  );

  test.each([
    ["a rule that grants nothing", "capabilities = []"],
    ["allowed parameters", 'capabilities = ["update"] allowed_parameters = { a = [] }'],
    ["denied parameters", 'capabilities = ["update"] denied_parameters = { a = [] }'],
    ["required parameters", 'capabilities = ["update"] required_parameters = ["a"]'],
    ["a shortest wrapping", 'capabilities = ["read"] min_wrapping_ttl = "1m"'],
    ["a longest wrapping", 'capabilities = ["read"] max_wrapping_ttl = "1m"'],
    ["a largest page", 'capabilities = ["list"] pagination_limit = 3'],
  ])("%s", (_, block) => {
    const text = `${WIDE}\npath "kv/${TEAM}/x" { ${block} }`;
    expect(capabilitiesOf(null, text, "kv/blue/x")).toEqual(["deny"]);
    expect(capabilitiesOf("red", text, "kv/blue/x")).toContain("read");
  });

  test("a rule that only grants takes nothing away", () => {
    const text = `${WIDE}\npath "kv/${TEAM}/x" { capabilities = ["read"] }`;
    expect(capabilitiesOf(null, text, "kv/blue/x")).toContain("update");
  });

  test.each([
    [`kv/a${TEAM}`, "kv/abc", "kv/b"],
    [`kv/+/a${TEAM}`, "kv/x/abc", "kv/x/b"],
    [`kv/+${TEAM}`, "kv/x", "other"],
    [`kv/b-${TEAM}/{{identity.entity.name}}`, "kv/b-", "kv/b"],
  ])("%s denies %s and not %s", (path, denied, granted) => {
    const text = `path "*" { capabilities = ["read"] }\npath "${path}" { ${DENY} }`;
    expect(capabilitiesOf(null, text, denied)).toEqual(["deny"]);
    expect(capabilitiesOf(null, text, granted)).toEqual(["read"]);
  });

  test("a value that makes +* denies as well", () => {
    const text = `path "*" { capabilities = ["read"] }\npath "kv/{{identity.entity.metadata.plus}}*" { ${DENY} }`;
    const acl = aclFor(CONTEXT, text, { allowSlashes: true, allowWildcards: true });
    expect(acl.capabilities("kv/x", NOW)).toEqual(["deny"]);
    expect(acl.capabilities("x", NOW)).toEqual(["read"]);
  });

  test("until it expires", () => {
    const ends = new Date(NOW + 1000).toISOString();
    const acl = aclFor({}, `${WIDE}\npath "kv/${TEAM}" { ${DENY} expiration = "${ends}" }`);
    expect(acl.capabilities("kv/x", NOW)).toEqual(["deny"]);
    expect(acl.capabilities("kv/x", NOW + 2000)).toContain("read");
  });

  test("and says which rule of which policy it was", () => {
    const acl = aclFor({}, `${WIDE}\npath "kv/${TEAM}" { ${DENY} }`);
    expect(acl.find("kv/x", false, NOW)?.sources).toMatchObject([{ policy: "templated", writtenPath: `kv/${TEAM}` }]);
  });
});

describe("templates that do not resolve take only their rule away, if it only grants", () => {
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
