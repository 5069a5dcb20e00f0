import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_TOKEN_SETTINGS } from "../../../../src/auth/token-settings.ts";
import { readSelector, selects } from "../../../../src/methods/kubernetes/label-selector.ts";
import { type KubernetesRole, takesName, takesNamespace } from "../../../../src/methods/kubernetes/role.ts";

const roleOf = (fields: Partial<KubernetesRole>): KubernetesRole => ({
  names: [],
  namespaces: [],
  namespaceSelector: "",
  audience: "",
  aliasNameSource: "serviceaccount_uid",
  token: DEFAULT_TOKEN_SETTINGS,
  ...fields,
});

/** Few letters, so that globs and names meet often. */
const name = fc.stringMatching(/^[ab-]{0,6}$/);
const glob = fc.stringMatching(/^[ab*-]{0,6}$/);
/** The same rule as a regular expression, which is right for short texts. */
const fits = (one: string, text: string) => new RegExp(`^${one.replaceAll("*", ".*")}$`).test(text);

describe("the bounds of a role", () => {
  it("take a name that one of the globs fits, and no other", () => {
    fc.assert(
      fc.property(fc.array(glob, { maxLength: 4 }), name, (names, text) => {
        expect(takesName(roleOf({ names }), { name: text })).toBe(names.some((one) => fits(one, text)));
        const byName = names.some((one) => fits(one, text));
        expect(takesNamespace(roleOf({ namespaces: names }), { namespace: text })).toBe(byName);
        const orLabels = takesNamespace(roleOf({ namespaces: names, namespaceSelector: "{}" }), { namespace: text });
        expect(orLabels).toBe(byName || "by labels");
      }),
    );
  });

  it("take nothing when they are empty", () => {
    fc.assert(fc.property(name, (text) => !takesName(roleOf({}), { name: text })));
  });
});

describe("a selector", () => {
  const labels = fc.dictionary(fc.constantFrom("a", "b", "toString", "__proto__"), fc.constantFrom("", "x", "y"));

  it("selects the namespaces that have each of its labels, and is never empty", () => {
    fc.assert(
      fc.property(labels, labels, fc.boolean(), (matchLabels, held, isYaml) => {
        const lines = Object.entries(matchLabels).map(([key, value]) => `\n  ${key}: "${value}"`);
        const read = readSelector(isYaml ? `matchLabels:${lines.join("")}` : JSON.stringify({ matchLabels }));
        expect(read.ok).toBe(Object.keys(matchLabels).length > 0);
        if (!read.ok) return;
        const all = Object.entries(matchLabels).every(([key, value]) =>
          Object.entries(held).some(([k, v]) => k === key && v === value),
        );
        expect(selects(read.value, held)).toBe(all);
      }),
    );
  });

  it("in YAML is bounded, and knows no references of types", () => {
    for (const text of ["[".repeat(4000), "!!js/function 'a'", "matchLabels: {a: true}", "matchLabels: &a {a: *a}"]) {
      expect(readSelector(text).ok).toBe(false);
    }
  });
});
