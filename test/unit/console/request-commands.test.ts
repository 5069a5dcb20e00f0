import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PARTS } from "../../../console/methods/parts-by-type.ts";
import { copiedValues, draftOf, type Field, suggestedDraft } from "../../../console/records/field.ts";
import {
  baoCommand,
  curlCommand,
  recordOf,
  terraformText,
  unwrapCommands,
} from "../../../console/records/request-commands.ts";
import { aliasesOf, newTokenForm, newTokenRequest, TERRAFORM_TOKEN } from "../../../console/tokens/new-token-form.ts";

/** What `bao` and `curl` get of commands that a shell of this machine runs: their arguments, and the body. */
function run(commands: readonly string[]): { readonly words: string[]; readonly body: string }[] {
  const show =
    'show() { for word in "$@"; do [[ $word = @/dev/fd/* ]] && word=$(<"${word#@}"); printf "%s\\0" "$word"; done; printf "\\0"; cat; printf "\\0\\0\\0"; }';
  const shell = [
    show,
    'bao() { show "$@"; }',
    'curl() { show "$@"; }',
    "VAULT_ADDR=https://grove.test",
    "VAULT_TOKEN=hidden",
  ];
  const output = execFileSync("bash", ["-c", [...shell, ...commands].join("\n")], { encoding: "utf8" });
  return output
    .split("\0\0\0")
    .slice(0, -1)
    .map((one) => {
      const end = one.indexOf("\0\0");
      return { words: one.slice(0, end).split("\0"), body: one.slice(end + 2) };
    });
}

/** Texts that a shell would take for more than texts. */
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc
    .array(
      fc.constantFrom("'", '"', "$(id)", "`id`", "\\", "\n", "EOF", " ", ";", "&", "|", "<", "*", "~", "!", "%", "-"),
    )
    .map((pieces) => pieces.join("")),
);
/** A name in a path: no empty one, and no byte that a command can't hold. */
const name = text.filter((one) => one !== "" && !one.includes("\0") && !one.includes("/"));

describe("a form as a command", () => {
  it("unwraps at the address of the server, with the wrapping token out of the arguments", () => {
    const show = 'bao() { echo "$VAULT_ADDR $VAULT_TOKEN $*"; }\n';
    const outputs = ["", "secret_id"].map((field) =>
      execFileSync("bash", ["-c", show + unwrapCommands("https://grove.test", "s.w", field)], { encoding: "utf8" }),
    );
    expect(outputs).toEqual(["https://grove.test s.w unwrap\n", "https://grove.test s.w unwrap -field=secret_id\n"]);
  });

  it("makes a token by its role or without a parent, wrapped when that is asked", () => {
    const values = { role_name: "a b", policies: ["web"], ttl: "1h", "X-Vault-Wrap-TTL": "5m" };
    const request = newTokenRequest(values);
    expect(request).toEqual({
      path: "auth/token/create/a%20b",
      body: { policies: ["web"], ttl: "1h" },
      wrapSeconds: 300,
    });
    const [bao, curl] = run([baoCommand(request) ?? "", curlCommand(request)]);
    expect(bao?.words).toEqual(["write", "-wrap-ttl=300", "auth/token/create/a b", "-"]);
    expect(curl?.words).toContain("X-Vault-Wrap-TTL: 300");
    expect(newTokenRequest({ no_parent: true }).path).toBe("auth/token/create-orphan");
    const fields = newTokenForm(["a b"], "", false, null).flatMap((group) => group.fields);
    expect(suggestedDraft(fields).ttl).toBe("1h");
    expect(copiedValues(fields, draftOf(fields, null), suggestedDraft(fields))).toEqual({ ttl: "1h" });
    expect(terraformText({ resource: TERRAFORM_TOKEN }, fields, values)).toContain('wrapping_ttl = "5m"');
  });

  it("gives the shell its path and its body as they are, whatever is in them", () => {
    const body = fc.dictionary(text, fc.oneof(text, fc.array(text), fc.boolean(), fc.integer()));
    fc.assert(
      fc.property(fc.array(fc.record({ role: name, body }), { minLength: 20, maxLength: 40 }), (forms) => {
        const requests = forms.map((form) => ({
          path: `auth/ci/role/${encodeURIComponent(form.role)}`,
          body: form.body,
        }));
        const ran = run(requests.flatMap((request) => [baoCommand(request) ?? "", curlCommand(request)]));
        expect(ran).toHaveLength(2 * forms.length);
        for (const [at, form] of forms.entries()) {
          const [bao, curl] = ran.slice(2 * at);
          expect(bao?.words).toEqual(["write", `auth/ci/role/${form.role}`, "-"]);
          expect(curl?.words.at(-1)).toBe(`https://grove.test/v1/${requests[at]?.path}`);
          expect(curl?.words).toContain("X-Vault-Token: hidden");
          for (const sent of [bao, curl]) expect(sent?.body).toBe(`${JSON.stringify(form.body, null, 2)}\n`);
        }
      }),
      { numRuns: 5 },
    );
  });

  it("is none of bao where the interface is not bao's", () => {
    const request = {
      path: "/api/v2/teams/x",
      body: {},
      method: "PATCH",
      contentType: "application/vnd.api+json",
    } as const;
    expect(baoCommand(request)).toBeNull();
    const [sent] = run([curlCommand(request)]);
    expect(sent?.words).toEqual(expect.arrayContaining(["PATCH", "https://grove.test/api/v2/teams/x"]));
    expect(sent?.words).toContain("Content-Type: application/vnd.api+json");
  });
});

const partOf = (type: string, part: string) => {
  const found = PARTS[type]?.find((one) => one.part === part);
  if (!found || !("terraform" in found) || !found.terraform) throw new Error("no such part in Terraform");
  const fields: readonly Field[] = found.groups.flatMap((group) => group.fields);
  return { terraform: found.terraform, fields };
};

describe("a form as a resource of Terraform", () => {
  it("has the arguments of the provider, durations in seconds, and says what the provider lacks", () => {
    const { terraform, fields } = partOf("jwt", "roles");
    const values = {
      role_type: "jwt",
      user_claim: "sub",
      bound_audiences: ["grove", "other"],
      bound_claims: { repo: ["a", "b"], environment: "prod" },
      token_ttl: "1h30m",
      token_strictly_bind_ip: true,
    };
    expect(terraformText(recordOf(terraform, "ci", "deploy"), fields, values)).toBe(
      [
        'resource "vault_jwt_auth_backend_role" "deploy" {',
        "  # The provider has no argument for token_strictly_bind_ip.",
        '  backend         = "ci"',
        '  role_name       = "deploy"',
        '  role_type       = "jwt"',
        '  user_claim      = "sub"',
        '  bound_audiences = ["grove", "other"]',
        '  bound_claims    = { "repo" = "a,b", "environment" = "prod" }',
        "  token_ttl       = 5400",
        "}\n",
      ].join("\n"),
    );
  });

  it("renames what the provider calls otherwise, and makes a list of keys with commas", () => {
    const role = partOf("aws", "roles");
    const shown = terraformText(recordOf(role.terraform, "aws", "node"), role.fields, { bound_ami_id: ["ami-1"] });
    expect(shown).toContain('bound_ami_ids = ["ami-1"]');
    const issuer = partOf("jwt", "trust");
    const keys = terraformText(recordOf(issuer.terraform, "ci"), issuer.fields, { jwt_validation_pubkeys: "one, two" });
    expect(keys).toContain('jwt_validation_pubkeys = ["one", "two"]');
  });

  it("evaluates nothing of a text: templates are written as texts, and a text stays on its line", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("${", "%{", '"', "\n", "\\", "\b"), (around, special) => {
        const given = { description: `${around}${special}${around}` };
        const block = terraformText({ resource: { type: "vault_auth_backend" }, given }, [], {});
        expect(block.split("\n")).toHaveLength(4);
        const [, quoted = ""] = /= "(.*)"$/m.exec(block) ?? [];
        expect(quoted.replaceAll(/\$\$\{|%%\{/g, "")).not.toMatch(/[$%]\{/);
        expect(quoted.replaceAll(/\\(["\\nrt]|u[0-9a-f]{4})/g, "")).not.toMatch(/["\\]/);
      }),
    );
    const named = terraformText({ resource: { type: "vault_policy" }, given: { name: `9"\${x}` } }, [], {});
    expect(named).toMatch(/^resource "vault_policy" "_9___x_" \{/);
  });

  it("has no secret in it, and neither have commands", () => {
    const { terraform, fields } = partOf("aws", "client");
    const typed = { ...draftOf(fields, null), access_key: "AKIA", secret_key: "very-secret" };
    const values = copiedValues(fields, draftOf(fields, null), typed);
    expect(values).toMatchObject({ access_key: "AKIA", secret_key: "<secret_key>" });
    const text = terraformText(recordOf(terraform, "aws"), fields, values);
    expect(text).toMatch(/secret_key = var\.secret_key/);
    expect(text).toContain("# No read shows secret_key: the first plan after an import sets it again.");
    const without = terraformText(recordOf(terraform, "aws"), fields, { access_key: "AKIA" });
    expect(without).not.toContain("No read shows");
  });

  it("offers the entity of a new token where the role allows aliases, or may not be read", () => {
    const named = (aliases: readonly string[] | null) =>
      newTokenForm(["robots"], "", false, aliases).flatMap(({ fields }) =>
        fields.filter(({ name }) => name === "entity_alias"),
      );
    expect(named(aliasesOf({ allowed_entity_aliases: [] }))).toEqual([]);
    expect(named(aliasesOf({}))).toEqual([]);
    expect(named(aliasesOf({ allowed_entity_aliases: ["robot@*"] }))).toMatchObject([
      { hint: "The alias of an entity, which the token is of then. The role allows robot@*." },
    ]);
    expect(named(aliasesOf(undefined))).toMatchObject([{ hint: expect.stringContaining("The role has to allow it.") }]);
  });
});
