import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parsePolicy } from "../../../src/policy/parse.ts";
import { pagesBelow } from "../../support/links.ts";

const PROJECT = join(import.meta.dirname, "../../..");

/** The ways in which the pages write a policy: its name, and its text. */
const WRITTEN = [
  /policy write ([\w-]+) - <<'HCL'\n([\s\S]*?)^ *HCL$/gm,
  /<<'HCL' \| api sys\/policies\/acl\/([\w-]+) [^\n]*\n([\s\S]*?)^ *HCL$/gm,
  /^resource "vault_policy" "[\w-]+" \{\n\s*name\s*= "([\w-]+)"\n\s*policy\s*= <<-?EOT\n([\s\S]*?)^ *EOT$/gm,
  /sys\/policies\/acl\/([\w-]+) -d '(\{"policy": .*\})'/g,
];

function policiesOf(page: string): { readonly name: string; readonly rules: string }[] {
  const text = readFileSync(join(PROJECT, page), "utf8");
  return WRITTEN.flatMap((way) => [...text.matchAll(way)]).flatMap(([, name = "", written = ""]) => {
    const policy = written.startsWith("{") ? String(JSON.parse(written).policy) : written;
    const parsed = parsePolicy(policy, 0);
    // A page shows a mistake, too.
    return parsed.ok ? [{ name, rules: JSON.stringify(parsed.value) }] : [];
  });
}

/** Who follows two pages on one server must not break the first by the second. */
it("no policy is written with two texts under one name", () => {
  const pages = pagesBelow(PROJECT).filter((page) => page === "README.md" || page.startsWith("docs/"));
  const policies = pages.flatMap((page) => policiesOf(page).map((policy) => ({ ...policy, page })));
  expect(new Set(policies.map(({ page }) => page)).size).toBeGreaterThan(8);
  const texts = Map.groupBy(policies, ({ name }) => name);
  const differing = [...texts].filter(([, of]) => new Set(of.map(({ rules }) => rules)).size > 1);
  expect(differing.map(([name, of]) => [name, ...of.map(({ page }) => page)])).toEqual([]);
});
