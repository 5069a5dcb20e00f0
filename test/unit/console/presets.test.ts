import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  type Existing,
  othersAt,
  planOf,
  readyText,
  stepsLeft,
  uselessMount,
} from "../../../console/presets/login-plan.ts";
import { type MountSettings, unusedSettings } from "../../../console/presets/mount-settings.ts";
import type { PresetValues } from "../../../console/presets/preset.ts";
import { isOwnMachine, mistakesIn, trimmed, valuesWithUsual } from "../../../console/presets/preset-values.ts";
import { PRESETS } from "../../../console/presets/presets.ts";
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
  approle: { ttl: "30d", networks: "10.0.0.0/8, 2001:db8::/32" },
};
const valuesOf = (id: string): PresetValues => ({
  ...valuesWithUsual(presetOf(id) ?? fail(), ADDRESS),
  ...VALUES[id],
  role: "deploy",
});
const cases = PRESETS.map((preset) => [preset.id, preset] as const);
const presetOf = (id: string) => PRESETS.find((preset) => preset.id === id) ?? PRESETS[0];

describe.each(cases)("the preset %s", (id, preset) => {
  const plan = planOf(preset, valuesOf(id), { address: ADDRESS });

  it("needs three things at most and the name of the role, and takes what its hints say", () => {
    const needed = preset.fields.filter(({ isOptional }) => isOptional !== true);
    expect(needed.filter(({ name }) => name !== "role").length).toBeLessThanOrEqual(3);
    expect(preset.fields.at(-1)?.label).toBe("Role");
    expect([...mistakesIn(preset, valuesOf(id))]).toEqual([]);
    const names = [...needed.map(({ name }) => name), "mount", "address"];
    expect([...mistakesIn(preset, {})]).toEqual(names.map((name) => [name, "Needed"]));
  });

  it.each(['a"b', "a$(id)", "a'b", "a b\nc", "{{x}}", "a`id`"])(
    "takes no text that would be another text in a shell: %j",
    (text) => {
      const names = preset.fields.flatMap(({ name, isSecret }) => (isSecret ? [] : [name]));
      for (const name of [...names, "mount", "address"])
        expect([...mistakesIn(preset, { ...valuesOf(id), [name]: text }).keys()]).toEqual([name]);
    },
  );

  it("has a policy that is one, and a role that gives it", () => {
    expect(parsePolicy(plan.policy ?? fail(), 0).ok).toBe(true);
    const settings = id === "approle" ? [] : ["settings"];
    expect(plan.steps.map(({ what }) => what)).toEqual(["mount", ...settings, "policy", "role"]);
    expect(plan.steps.at(-1)?.request.body).toMatchObject({ token_policies: ["deploy"] });
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
      for (const answer of ["return 6", "printf '{\"errors\": []}'"]) {
        const run = runAs("bash", script, `curl() { ${answer}; }`);
        expect([run.status === 0, run.stdout]).toEqual([false, expect.not.stringContaining("went on") as unknown]);
      }
    }
  });

  it.each(["bash", "sh"])("says in the log of a job why the login was refused, and nothing else (%s)", (shell) => {
    for (const { title, text } of plan.snippets.filter((one) => one.text.includes("/login"))) {
      const body = JSON.stringify({ errors: ["permission denied"], auth: null, data: "a secret" });
      const run = runAs(shell, shellOf(title, text), curlOf("HTTP/1.1 403 Forbidden", body));
      expect(run.status).not.toBe(0);
      expect(run.stdout).toBe("");
      expect(run.stderr).toContain("HTTP/1.1 403 Forbidden, X-Request-Id: 0f-id, permission denied");
      expect(run.stderr).not.toContain("secret");
    }
  });

  it.each(["bash", "sh"])("has the token after a login, and the log does not (%s)", (shell) => {
    for (const { title, text } of plan.snippets.filter((one) => one.text.includes("/login"))) {
      const body = JSON.stringify({ auth: { client_token: "hvs.x" }, errors: null });
      const script = shellOf(title, text).replace("$GITHUB_ENV", "/dev/null");
      const run = runAs(shell, script, curlOf("HTTP/2 200 ", body));
      const masked = id === "github" ? "::add-mask::hvs.x\n" : "";
      expect([run.status, run.stdout, run.stderr]).toEqual([0, `${masked}went on with hvs.x\n`, ""]);
    }
  });

  it("has Terraform that makes the same, in an order by references", () => {
    expect(plan.terraform).toContain('resource "vault_policy" "deploy"');
    expect(plan.terraform).toMatch(/backend +=/);
    expect(plan.terraform).not.toMatch(/backend +(?:[a-z_]+ +)?= "/);
    expect(plan.terraform).toMatch(/token_policies +(?:[a-z_]+ +)?= \[vault_policy\.[\w-]+\.name\]/);
    expect(plan.terraform).not.toMatch(/undefined|\[object/);
  });
});

/** A curl that gives an identity, and answers a login with a status line, the id of the request and a body. */
function curlOf(status: string, body: string): string {
  return [
    "curl() {",
    '  case "$*" in',
    `    */v1/auth/*) printf '%s\\r\\nX-Request-Id: 0f-id\\r\\n\\r\\n%s' '${status}' '${body}' ;;`,
    `    *) printf '{"value": "ey.x", "access_token": "ey.x"}' ;;`,
    "  esac",
    "}",
  ].join("\n");
}

/** Runs a snippet in a shell that stops at an error, with a function in the place of curl. */
function runAs(shell: string, script: string, curl: string) {
  const fakes = `cat() { printf ey.x; }\nbao() { return 2; }\nGITHUB_ENV=/dev/stdout\n${curl}`;
  const input = `${fakes}\n${script}\necho "went on with $VAULT_TOKEN"`;
  return spawnSync(shell, ["-e"], { input, encoding: "utf8" });
}

it("commands of docs/login.md fail with what the issuer says, and show nothing else of its answer", () => {
  const text = readFileSync("docs/login.md", "utf8");
  const commands = text.match(/^JWT=\$\((?:printf %s "\$CLIENT_SECRET" \| )?curl .*$/gm) ?? [];
  expect(commands).toHaveLength(3);
  for (const command of commands) {
    const refusal = runAs("bash", command, `curl() { printf '{"error": "invalid_client", "id": "a secret"}'; }`);
    expect([refusal.status, refusal.stdout]).toEqual([5, ""]);
    expect(refusal.stderr).toMatch(/invalid_client$/m);
    expect(refusal.stderr).not.toContain("secret");
    const { stdout } = runAs("bash", `${command}\nVAULT_TOKEN=$JWT`, curlOf("", ""));
    expect(stdout).toBe("went on with ey.x\n");
  }
});

it.each([
  ["http://127.0.0.1:8200", true],
  ["http://localhost:8200", true],
  ["http://[::1]:8200", true],
  ["https://grove.example.com", false],
  ["http://10.0.0.11:8200", false],
])("%s is reached from the same machine alone: %s", (address, isOwn) => {
  expect(isOwnMachine(address)).toBe(isOwn);
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
  const { steps, ...texts } = planOf(presetOf(id) ?? fail(), valuesOf(id), { address: ADDRESS });
  expect(JSON.stringify(texts)).not.toContain("ey.secret.x");
  expect(steps[1]?.request.body).toMatchObject({ [field]: "ey.secret.x" });
});

it("a branch is its name, which the role completes to a reference", () => {
  const mistakes = (branch: string) => [...mistakesIn(presetOf("github") ?? fail(), { ...valuesOf("github"), branch })];
  expect(mistakes("release/1.2")).toEqual([]);
  expect(mistakes("refs/heads/main")).toEqual([["branch", expect.stringContaining("without refs/heads/")]]);
});

it("people find the method before they sign in, also where Terraform made it", () => {
  const { steps, terraform } = planOf(presetOf("people") ?? fail(), valuesOf("people"), { address: ADDRESS });
  expect(steps[0]?.request.body).toEqual({ type: "oidc", config: { listing_visibility: "unauth" } });
  expect(terraform).toMatch(/ type += "oidc"\n/);
  expect(terraform).toContain('  tune {\n    listing_visibility = "unauth"\n  }\n}\n');
});

describe("people", () => {
  const planWith = (values: PresetValues) =>
    planOf(presetOf("people") ?? fail(), { ...valuesOf("people"), ...values }, { address: ADDRESS });
  const roleOf = (values: PresetValues) => planWith(values).steps.at(-1)?.request.body;
  const atProvider = (issuer: string) => planWith({ issuer }).snippets[0]?.text ?? "";

  it("are those of one group where one is named, and sign in again after a day's work", () => {
    expect(roleOf({ group: "/staff" })).toMatchObject({ bound_claims: { groups: "/staff" }, token_max_ttl: "8h" });
    expect(roleOf({})).not.toHaveProperty("bound_claims");
  });

  it("have a client that Keycloak is told to make, and any other provider is described", () => {
    const keycloak = atProvider("https://sso.example.com/realms/acme/");
    expect(keycloak).toContain("REALM=acme\n");
    expect(keycloak).toContain(`redirectUris=["${ADDRESS}/ui/vault/auth/oidc/oidc/callback", "http://localhost:8250/`);
    const other = atProvider("https://login.example.com");
    expect(other).not.toContain("kcadm");
    expect(other).toContain(`#   ${ADDRESS}/ui/vault/auth/oidc/oidc/callback\n`);
  });
});

describe("the mount of a refused step", () => {
  const { steps } = planOf(presetOf("gitlab") ?? fail(), valuesOf("gitlab"), { address: ADDRESS });
  const step = (wanted: string) => steps.find(({ what }) => what === wanted) ?? fail();

  it("is of no use without its settings, when this run enabled it", () => {
    expect(uselessMount(step("settings"), [step("mount")])).toBe(step("mount"));
  });

  it("stays when it was there before, or has its settings", () => {
    expect(uselessMount(step("settings"), [])).toBeUndefined();
    expect(uselessMount(step("role"), [step("mount"), step("settings"), step("policy")])).toBeUndefined();
  });
});

describe("the steps that are left", () => {
  const preset = presetOf("github");
  const plan = planOf(preset ?? fail(), valuesOf("github"), { address: ADDRESS });
  const whatIsLeft = (existing: Existing) => stepsLeft(plan, preset ?? fail(), existing);

  it("are all where nothing is there", () => {
    expect(whatIsLeft({ mounts: {}, policies: [], settings: null, roles: [] }).left).toEqual(plan.steps);
  });

  it("leave a policy and a mount alone that exist", () => {
    const own = plan.steps.find(({ what }) => what === "settings")?.request.body ?? {};
    for (const settings of [own, { ...own, oidc_discovery_url: "" }, "hidden"] as const) {
      const { left, problem } = whatIsLeft({
        mounts: { "github/": "jwt" },
        policies: ["deploy"],
        settings,
        roles: ["web"],
      });
      expect([left.map(({ what }) => what), problem]).toEqual([["role"], ""]);
    }
  });

  it("have the settings again where only the mount could be made", () => {
    const { left } = whatIsLeft({ mounts: { "github/": "jwt" }, policies: ["deploy"], settings: null, roles: [] });
    expect(left.map(({ what }) => what)).toEqual(["settings", "role"]);
  });

  it.each(cases.filter(([, { settingsOfMount }]) => settingsOfMount))(
    "leave a mount with other roles as it is, unless its change is agreed to: %s",
    (id, one) => {
      const all = planOf(one, valuesOf(id), { address: ADDRESS });
      const mounts = { [`${one.mount}/`]: one.method };
      const left = (roles: Existing["roles"], setsUp: boolean) =>
        stepsLeft(
          all,
          one,
          { mounts, policies: [], settings: null, roles },
          { setsSecret: false, setsUp, replacesRole: false },
        ).left.some(({ what }) => what === "settings");
      expect([left([], false), left(["deploy"], false)]).toEqual([true, true]);
      for (const roles of [["web"], ["deploy", "web"], "hidden"] as const) {
        expect([left(roles, false), left(roles, true)]).toEqual([false, true]);
      }
      expect(one.settingsOfMount?.effect).toMatch(/all its roles.* fail/s);
    },
  );

  it.each(cases)("replace a role of the same name only where that is agreed to: %s", (id, one) => {
    const all = planOf(one, { ...valuesOf(id), role: "Deploy" }, { address: ADDRESS });
    const problem = (roles: Existing["roles"], replacesRole: boolean, method: string = one.method) => {
      const existing = { mounts: { [`${one.mount}/`]: method }, policies: [], settings: null, roles };
      return stepsLeft(all, one, existing, { setsSecret: false, setsUp: false, replacesRole }).roleProblem;
    };
    // A method may keep the name in lower case.
    for (const name of ["Deploy", "deploy"]) {
      expect(problem([name], false)).toMatch(/has this role already/);
      expect(problem([name], true)).toBe("");
    }
    expect([problem(["deployer"], false), problem("hidden", false), problem([], false)]).toEqual(["", "", ""]);
  });

  it("name the others that a change of the mount would meet", () => {
    expect(othersAt({ roles: ["deploy"] }, "Deploy")).toBe("");
    expect(othersAt({ roles: ["deploy", "web"] }, "deploy")).toBe("the role web");
    expect(othersAt({ roles: ["a", "b", "c", "d", "e", "f"] }, "x")).toBe("the roles a, b, c, d, e, …");
    expect(othersAt({ roles: "hidden" }, "x")).toBe("roles that you may not list");
  });

  it("can't be taken at a mount with another issuer", () => {
    const settings = { oidc_discovery_url: "https://sso.example.com", bound_issuer: "" };
    const { problem } = whatIsLeft({ mounts: { "github/": "jwt" }, policies: [], settings, roles: [] });
    expect(problem).toBe("auth/github/ is set up for https://sso.example.com: choose another path.");
    const keys = { oidc_discovery_url: "", jwt_validation_pubkeys: ["key"], bound_issuer: "https://sso.example.com/" };
    const byKeys = whatIsLeft({ mounts: { "github/": "jwt" }, policies: [], settings: keys, roles: [] });
    expect(byKeys.problem).toBe("auth/github/ is set up for https://sso.example.com/: choose another path.");
  });

  it("can't be taken at a path of another method", () => {
    expect(whatIsLeft({ mounts: { "github/": "aws" }, policies: [], settings: null, roles: [] }).problem).toContain(
      "type aws",
    );
  });
});

it("a cluster whose API server was not asked is not said to be set up", () => {
  expect(readyText({ method: "kubernetes" })).toMatch(/written, and not tried yet: check below with a token/);
  expect(readyText({ method: "jwt" })).toMatch(/^It is set up/);
});

it("another path is used by every text", () => {
  const { curl, terraform, snippets } = planOf(presetOf("gitlab") ?? fail(), valuesOf("gitlab"), {
    address: ADDRESS,
    mount: "ci/gitlab",
  });
  for (const text of [curl, terraform, ...snippets.map(({ text }) => text)]) {
    expect(text).toMatch(/auth\/ci\/gitlab|ci_gitlab/);
    expect(text).not.toContain("auth/gitlab");
  }
});

it("texts have a policy that exists as it is, and leave out one that may not be read", () => {
  const planWith = (policy: string | null) =>
    planOf(presetOf("github") ?? fail(), valuesOf("github"), { address: ADDRESS, policy });
  const own = 'path "notes/%{x}" {\n  capabilities = ["read"]\n}\n';
  const shown = planWith(own);
  expect(shown.policy).toBe(own);
  expect(shown.curl).toContain("notes/%{x}");
  expect(shown.terraform).toContain('    path "notes/%%{x}" {\n');
  expect(shown.curl + shown.terraform).not.toContain("lookup-self");
  const hidden = planWith(null);
  expect(hidden.policy).toBeNull();
  expect(hidden.curl + hidden.terraform).not.toMatch(/lookup-self|sys\/policies|vault_policy/);
  expect(hidden.terraform).toMatch(/token_policies += \["deploy"\]/);
});

it("a policy that was chosen is given by the role, and written by no text and no step", () => {
  const preset = presetOf("github") ?? fail();
  const options = { address: ADDRESS, policy: "# of others\n", policyName: "oncall" };
  const plan = planOf(preset, valuesOf("github"), options);
  expect(plan.steps.at(-1)?.request.body).toMatchObject({ token_policies: ["oncall"] });
  expect(plan.policy).toBe("# of others\n");
  expect(plan.curl + plan.terraform).not.toMatch(/of others|sys\/policies|vault_policy/);
  expect(plan.terraform).toMatch(/token_policies += \["oncall"\]/);
  const { left, kept } = stepsLeft(plan, preset, { mounts: {}, policies: ["oncall"], settings: null, roles: [] });
  expect(left.map(({ what }) => what)).toEqual(["mount", "settings", "role"]);
  expect(kept.map(({ label }) => label)).toEqual(["The policy oncall"]);
});

it("commands enable no method that is there already", () => {
  const curlWith = (hasMount: boolean) =>
    planOf(presetOf("github") ?? fail(), valuesOf("github"), { address: ADDRESS, hasMount }).curl;
  expect(curlWith(false)).toContain("/v1/sys/auth/github");
  expect(curlWith(true)).not.toContain("/v1/sys/auth/github");
  expect(curlWith(true)).toContain("/v1/auth/github/config");
});

describe("texts for a method that is there already", () => {
  const textsOf = (id: string, hasSettings: boolean) =>
    planOf(presetOf(id) ?? fail(), valuesOf(id), { address: ADDRESS, hasMount: true, hasSettings });

  it.each(["github", "kubernetes-review", "aws", "people"])("refer to it, and leave its settings: %s", (id) => {
    const { terraform, curl, place } = textsOf(id, true);
    const { mount } = place;
    expect(terraform).toContain(`data "vault_auth_backend" "${mount}" {\n  path = "${mount}"\n}\n`);
    expect(terraform).toMatch(new RegExp(` backend += data\\.vault_auth_backend\\.${mount}\\.path\\n`));
    expect(terraform).not.toMatch(/resource "vault_(?:auth|jwt_auth)_backend"|_config"|_client"/);
    expect(curl).not.toMatch(/sys\/auth|\/config/);
  });

  it("have Terraform take over a mount without settings, where one resource is both", () => {
    const { terraform } = textsOf("github", false);
    expect(terraform).toContain('import {\n  to = vault_jwt_auth_backend.github\n  id = "github"\n}\n');
    expect(terraform).toContain('resource "vault_jwt_auth_backend" "github" {');
    expect(terraform).not.toContain("data ");
    const aws = textsOf("aws", false).terraform;
    expect(aws).toContain('data "vault_auth_backend" "aws" {');
    expect(aws).not.toContain('resource "vault_auth_backend"');
  });
});

describe("what was typed for a mount that has settings already", () => {
  const PLACE = { address: ADDRESS, mount: "kubernetes", role: "deploy" };
  const unusedAt = (id: string, settings: MountSettings) =>
    unusedSettings(presetOf(id) ?? fail(), valuesOf(id), PLACE, settings);
  const cluster = { kubernetes_host: "https://cluster.example.com:6443/", token_reviewer_jwt_set: true, issuer: "" };

  it("is used where there are none, and where no field is lost", () => {
    expect(unusedAt("kubernetes-review", null)).toBeNull();
    expect(unusedAt("gitlab", { oidc_discovery_url: "https://gitlab.com" })).toBeNull();
    expect(unusedAt("aws", { iam_server_id_header_value: "grove.example.com" })).toBeNull();
    expect(unusedAt("approle", null)).toBeNull();
  });

  it("is a secret that would be dropped, or one that is missing there", () => {
    const labels = ["Token of the reviewer"];
    const found = "asks https://cluster.example.com:6443/, and has the token of a reviewer";
    const known = { labels, canSetSecret: true };
    expect(unusedAt("kubernetes-review", cluster)).toEqual({ ...known, found, lacksSecret: false });
    const without = unusedAt("kubernetes-review", { ...cluster, token_reviewer_jwt_set: false });
    expect(without).toMatchObject({ ...known, lacksSecret: true });
    expect(without?.found).toContain("and has no token of a reviewer");
  });

  it("is the secret of a client that the mount signs people in as", () => {
    const provider = { oidc_discovery_url: "https://sso.example.com/realms/acme", oidc_client_id: "grove" };
    const at = "signs people in at https://sso.example.com/realms/acme as the client grove, with its secret";
    const unused = unusedAt("people", { ...provider, default_role: "" });
    expect(unused).toEqual({ labels: ["Client secret"], found: at, canSetSecret: true, lacksSecret: false });
    const found = `${at}, by the role staff unless another is named`;
    expect(unusedAt("people", { ...provider, default_role: "staff" })?.found).toBe(found);
    expect(unusedAt("people", { ...provider, oidc_client_id: "" })).toMatchObject({
      labels: ["Identity provider", "Client id", "Client secret"],
      found: "is set up without a client at a provider, for signed tokens only",
    });
  });

  it("is all of it where the settings are others, or may not be read", () => {
    const labels = ["API server", "Token of the reviewer"];
    expect(unusedAt("kubernetes-review", "hidden")).toEqual({
      labels,
      found: null,
      canSetSecret: false,
      lacksSecret: false,
    });
    const keys = { oidc_discovery_url: "", jwks_url: "https://sso.example.com/keys" };
    expect(unusedAt("gitlab", keys)).toMatchObject({
      labels: ["GitLab"],
      found: "takes tokens by the keys at https://sso.example.com/keys",
      canSetSecret: false,
    });
  });

  it("is said where the preset has its settings without a field", () => {
    const keys = { oidc_discovery_url: "", jwt_validation_pubkeys: ["key"], bound_issuer: "" };
    const none = { labels: [], canSetSecret: false, lacksSecret: false };
    expect(unusedAt("github", keys)).toEqual({ ...none, found: "takes tokens by keys of its own" });
    expect(unusedAt("github", { oidc_discovery_url: "https://token.actions.githubusercontent.com" })).toBeNull();
    expect(unusedAt("aws", { iam_server_id_header_value: "" })?.found).toBe("asks for no server id");
  });

  it("is set with the rest as it is, where the secret alone is written", () => {
    const kept = { ...cluster, disable_iss_validation: false, issuer: "ours", pem_keys: [] };
    const preset = presetOf("kubernetes-review") ?? fail();
    const options = { address: ADDRESS, hasMount: true, hasSettings: true, kept };
    const plan = planOf(preset, valuesOf("kubernetes-review"), options);
    const body = {
      kubernetes_host: "https://cluster.example.com:6443/",
      disable_iss_validation: false,
      issuer: "ours",
      token_reviewer_jwt: "ey.secret.x",
    };
    expect(plan.steps.find(({ what }) => what === "settings")?.request.body).toEqual(body);
    expect(plan.curl).toContain('"token_reviewer_jwt": "<Token of the reviewer>"');
    expect(plan.terraform).toContain('resource "vault_kubernetes_auth_backend_config" "');
    expect(plan.terraform).not.toMatch(/_set|ey\.secret/);
    const existing = { mounts: { "kubernetes/": "kubernetes" }, policies: ["deploy"], settings: kept, roles: ["web"] };
    const { left, problem } = stepsLeft(plan, preset, existing, {
      setsSecret: true,
      setsUp: false,
      replacesRole: false,
    });
    expect([left.map(({ what }) => what), problem]).toEqual([["settings", "role"], ""]);
    expect(stepsLeft(plan, preset, existing).left.map(({ what }) => what)).toEqual(["role"]);
  });
});

it("a script logs in from the networks that were typed, and from anywhere without any", () => {
  const networksOf = (networks: string) =>
    planOf(presetOf("approle") ?? fail(), { ...valuesOf("approle"), networks }, { address: ADDRESS }).steps.at(-1)
      ?.request.body.secret_id_bound_cidrs;
  expect(networksOf("10.0.0.0/8, 2001:db8::/32")).toEqual(["10.0.0.0/8", "2001:db8::/32"]);
  expect(networksOf("")).toBeUndefined();
});

it.each([
  ["https://sso.example.com/realms/acme", true],
  ["http://127.0.0.1:9000", true],
  ["http://localhost:9000/realms/acme", true],
  ["http://sso.example.com", false],
  ["http://127.0.0.1.example.com", false],
  ["http://localhost.example.com:9000", false],
  ["http://localhost@example.com", false],
])("a provider at %s can be set up, as it has TLS or is on the server's machine: %s", (issuer, isRight) => {
  const wrong = mistakesIn(presetOf("people") ?? fail(), { ...valuesOf("people"), issuer });
  expect([...wrong.keys()]).toEqual(isRight ? [] : ["issuer"]);
});

it("blanks around a value do not count", () => {
  expect(trimmed({ branch: " main " })).toEqual({ branch: "main" });
});

function fail(): never {
  throw new Error("there is no such preset");
}
