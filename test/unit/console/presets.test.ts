import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Existing, planOf, stepsLeft } from "../../../console/presets/plan.ts";
import type { PresetValues } from "../../../console/presets/preset.ts";
import { PRESETS } from "../../../console/presets/presets.ts";
import { trimmed, valuesProblem } from "../../../console/presets/values.ts";
import { parsePolicy } from "../../../src/policy/parse.ts";

const ADDRESS = "https://grove.example.com";
const GUID = "11111111-2222-3333-4444-555555555555";

/** What somebody types, by the id of the preset. */
const VALUES: Readonly<Record<string, PresetValues>> = {
  people: { issuer: "https://sso.example.com/realms/acme", client: "grove", secret: "ey.secret.x" },
  github: { repository: "acme/web", branch: "main" },
  gitlab: { issuer: "https://gitlab.com/", project: "acme/shop/web" },
  kubernetes: { issuer: "https://oidc.cluster.example.com/id/1", account: "web/api" },
  "kubernetes-review": { host: "https://cluster.example.com:6443", account: "web/api", reviewer: "ey.secret.x" },
  entra: { tenant: GUID.toUpperCase(), app: GUID, object: GUID },
  keycloak: { realm: "https://sso.example.com/realms/acme", client: "ci" },
  aws: { account: "111111111111", name: "web" },
};
const valuesOf = (id: string): PresetValues => ({ ...VALUES[id], role: "deploy" });
const roleOf = (id: string) =>
  ({ people: "people", "kubernetes-review": "web-api", entra: "entra-11111111" })[id] ?? "deploy";
const cases = PRESETS.map((preset) => [preset.id, preset] as const);
const presetOf = (id: string) => PRESETS.find((preset) => preset.id === id) ?? PRESETS[0];

describe.each(cases)("the preset %s", (id, preset) => {
  const plan = planOf(preset, valuesOf(id), ADDRESS);

  it("asks for three things, and takes what its hints say", () => {
    expect(preset.fields).toHaveLength(3);
    expect(valuesProblem(preset, valuesOf(id))).toBe("");
    expect(valuesProblem(preset, {})).toContain("Still missing");
  });

  it.each(['a"b', "a$(id)", "a'b", "a b\nc", "{{x}}", "a`id`"])(
    "takes no text that would be another text in a shell: %j",
    (text) => {
      for (const { name } of preset.fields.filter(({ isSecret }) => !isSecret))
        expect(valuesProblem(preset, { ...valuesOf(id), [name]: text })).not.toBe("");
    },
  );

  it("has a policy that is one, and a role that gives it", () => {
    expect(parsePolicy(plan.policy, 0).ok).toBe(true);
    expect(plan.steps.map(({ what }) => what)).toEqual(["policy", "mount", "config", "role"]);
    expect(plan.steps[3]?.request.body).toMatchObject({ token_policies: [roleOf(id)] });
  });

  it("has commands that a shell takes, with nothing left out", () => {
    const scripts = [plan.curl, ...plan.snippets.filter(({ title }) => SHELL.test(title)).map(({ text }) => text)];
    for (const script of scripts) {
      expect(spawnSync("bash", ["-n"], { input: script, encoding: "utf8" }).stderr).toBe("");
      expect(script).not.toMatch(/undefined|null|\/\/v1/);
    }
    for (const { text, title } of plan.snippets.filter(({ title }) => !SHELL.test(title))) {
      expect([title, parse(text)]).toEqual([title, expect.any(Object)]);
    }
  });

  it("fails in a shell that stops at an error when the login is refused, and sets no token", () => {
    for (const { title, text } of plan.snippets.filter((one) => one.text.includes("VAULT_TOKEN"))) {
      const script = shellOf(title, text);
      for (const answer of ["return 22", "printf '{\"errors\": []}'"]) {
        const fakes = `cat() { printf ey.x; }\ncurl() { ${answer}; }\nbao() { return 2; }\nGITHUB_ENV=/dev/stdout`;
        const run = spawnSync("bash", ["-e"], { input: `${fakes}\n${script}\necho "went on"`, encoding: "utf8" });
        expect([run.status === 0, run.stdout]).toEqual([false, expect.not.stringContaining("went on") as unknown]);
      }
    }
  });

  it("has Terraform that makes the same, in an order by references", () => {
    expect(plan.terraform).toContain(`resource "vault_policy" "${roleOf(id)}"`);
    expect(plan.terraform).toMatch(/backend +=/);
    expect(plan.terraform).not.toMatch(/backend +(?:[a-z_]+ +)?= "/);
    expect(plan.terraform).toMatch(/token_policies +(?:[a-z_]+ +)?= \[vault_policy\.[\w-]+\.name\]/);
    expect(plan.terraform).not.toMatch(/undefined|\[object/);
  });
});

/** The commands of a snippet: all of it, or the script in a job's YAML. */
function shellOf(title: string, text: string): string {
  if (SHELL.test(title)) return text;
  const lines = text.split("\n");
  const first = lines.findIndex((line) => /(?:run:|-) \|$/.test(line));
  return lines.slice(first + 1).join("\n");
}

const SHELL = /^(?:In the (?:job|container|cluster)|At the |On the (?:instance|machine))/;

it.each([
  ["kubernetes-review", "token_reviewer_jwt"],
  ["people", "oidc_client_secret"],
])("no text of %s has its secret, and the request has it", (id, field) => {
  const { steps, ...texts } = planOf(presetOf(id) ?? fail(), valuesOf(id), ADDRESS);
  expect(JSON.stringify(texts)).not.toContain("ey.secret.x");
  expect(steps[2]?.request.body).toMatchObject({ [field]: "ey.secret.x" });
});

it("people find the method before they sign in, also where Terraform made it", () => {
  const { steps, terraform } = planOf(presetOf("people") ?? fail(), valuesOf("people"), ADDRESS);
  expect(steps[1]?.request.body).toEqual({ type: "oidc", config: { listing_visibility: "unauth" } });
  expect(terraform).toMatch(/ type += "oidc"\n/);
  expect(terraform).toContain('  tune {\n    listing_visibility = "unauth"\n  }\n}\n');
});

describe("the steps that are left", () => {
  const preset = presetOf("github");
  const plan = planOf(preset ?? fail(), valuesOf("github"), ADDRESS);
  const whatIsLeft = (existing: Existing) => stepsLeft(plan, preset ?? fail(), existing);

  it("are all where nothing is there", () => {
    expect(whatIsLeft({ mounts: {}, policies: [], trust: null }).left).toEqual(plan.steps);
  });

  it("leave a policy and a mount alone that exist", () => {
    const own = plan.steps.find(({ what }) => what === "config")?.request.body ?? {};
    for (const trust of [own, { ...own, oidc_discovery_url: "" }, "hidden"] as const) {
      const { left, problem } = whatIsLeft({ mounts: { "github/": "jwt" }, policies: ["deploy"], trust });
      expect([left.map(({ what }) => what), problem]).toEqual([["role"], ""]);
    }
  });

  it("have whom to trust again where only the mount could be made", () => {
    const { left } = whatIsLeft({ mounts: { "github/": "jwt" }, policies: ["deploy"], trust: null });
    expect(left.map(({ what }) => what)).toEqual(["config", "role"]);
  });

  it("can't be taken at a mount that trusts another issuer", () => {
    const trust = { oidc_discovery_url: "https://sso.example.com", bound_issuer: "" };
    const { problem } = whatIsLeft({ mounts: { "github/": "jwt" }, policies: [], trust });
    expect(problem).toBe("auth/github/ trusts https://sso.example.com: choose another path.");
  });

  it("can't be taken at a path of another method", () => {
    expect(whatIsLeft({ mounts: { "github/": "aws" }, policies: [], trust: null }).problem).toContain("type aws");
  });
});

it("another path is used by every text", () => {
  const { curl, terraform, snippets } = planOf(presetOf("gitlab") ?? fail(), valuesOf("gitlab"), ADDRESS, "ci/gitlab");
  for (const text of [curl, terraform, ...snippets.map(({ text }) => text)]) {
    expect(text).toMatch(/auth\/ci\/gitlab|ci_gitlab/);
    expect(text).not.toContain("auth/gitlab");
  }
});

it("blanks around a value do not count", () => {
  expect(trimmed({ branch: " main " })).toEqual({ branch: "main" });
});

function fail(): never {
  throw new Error("there is no such preset");
}
