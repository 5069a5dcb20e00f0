import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entity } from "../../../client/answers.d.ts";
import { UNFINISHED, WHOLE_TIME } from "../../../console/format.ts";
import { aliasNames } from "../../../console/identity/record-fields.ts";
import { ISSUER_PARTS } from "../../../console/issuer/issuer-parts.ts";
import { agentCommands, loginCommands } from "../../../console/methods/approle-commands.ts";
import { ROLE_TAG } from "../../../console/methods/cloud-parts.ts";
import { KUBERNETES_PARTS } from "../../../console/methods/kubernetes-parts.ts";
import { onlyRole, roleMistake } from "../../../console/methods/login-role.ts";
import { LEFT_OUT, PARTS, tuningOf } from "../../../console/methods/parts-by-type.ts";
import { identityFields, secretIdFields, tokenFields } from "../../../console/methods/pasted-login.ts";
import { newSecretIdForm, newSecretIdRequest } from "../../../console/methods/secret-id.ts";
import {
  bodyOf,
  choicesOf,
  draftOf,
  type Field,
  type FieldGroup,
  isShown,
  mistakeIn,
  newNameMistake,
  sentValue,
  shownValue,
  suggestedDraft,
  typedDuration,
  unknownPoliciesText,
} from "../../../console/records/field.ts";
import { parseDuration } from "../../../src/base/duration.ts";
import { openApiOfUsualMounts } from "../../support/open-api.ts";

interface Described {
  readonly description?: string;
  readonly deprecated?: boolean;
}
interface Document {
  readonly paths: Readonly<Record<string, { readonly post?: { readonly requestBody?: Body } }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
interface Body {
  readonly content: Readonly<Record<string, { readonly schema: Schema & { readonly $ref?: string } }>>;
}
interface Schema {
  readonly properties?: Readonly<Record<string, Described>>;
}

const document = openApiOfUsualMounts<Document>();

/** The fields that the API takes at a path, by the document. */
function fieldsAt(path: string): Readonly<Record<string, Described>> {
  const schema = document.paths[path]?.post?.requestBody?.content["application/json"]?.schema;
  const named = schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").pop() ?? ""];
  return named?.properties ?? {};
}

const namesIn = (groups: readonly FieldGroup[]): string[] =>
  groups.flatMap(({ fields }) => fields.map(({ name }) => name));

/** The names that are left out belong to auth methods. */
const NONE: ReadonlySet<string> = new Set();
const leftOut = (scope: string): ReadonlySet<string> => (scope.startsWith("/auth/") ? LEFT_OUT : NONE);

/** Fields that the API keeps, shows or refuses, and does nothing with. */
const IDLE = /without effect|^refused|kept and shown/i;

describe("forms of the console", () => {
  const scopes = [
    // Mounts of the type oidc are those of the type jwt.
    ...Object.entries(PARTS).flatMap(([type, parts]) => (type === "oidc" ? [] : [[`/auth/${type}`, parts] as const])),
    ["/identity/oidc", ISSUER_PARTS] as const,
  ];
  const forms = scopes.flatMap(([scope, parts]) =>
    parts.flatMap((part) => {
      if (part.kind === "login check" || part.kind === "refused logins") return [];
      const below = part.kind === "settings" ? part.path : `${part.itemPath}/`;
      const path = Object.keys(document.paths).find((one) =>
        part.kind === "settings"
          ? one === `${scope}/${below}`
          : one.startsWith(`${scope}/${below}{`) && one.endsWith("}"),
      );
      return [{ name: `${scope} ${part.part}`, path: path ?? "", groups: part.groups, leftOut: leftOut(scope) }];
    }),
  );
  const single = [
    { name: "tuning", path: "/sys/auth/{path}/tune", groups: tuningOf("jwt"), leftOut: LEFT_OUT },
    { name: "role tag", path: "/auth/aws/role/{role}/tag", groups: ROLE_TAG, leftOut: NONE },
  ];

  it.each([...forms, ...single])(
    "has an input for each field that the API takes : $name",
    ({ path, groups, leftOut: others }) => {
      expect(path).not.toBe("");
      const taken = Object.entries(fieldsAt(path)).filter(
        ([name, { description = "", deprecated }]) => !deprecated && !others.has(name) && !IDLE.test(description),
      );
      expect([...namesIn(groups)].sort()).toEqual(taken.map(([name]) => name).sort());
    },
  );
});

/** The names in a form of a new role of the type, and of one that is there. */
const namesShown = (type: string) => {
  const fields = (PARTS.jwt ?? [])
    .flatMap((part) => (part.part === "roles" && "groups" in part ? part.groups : []))
    .flatMap((group) => group.fields);
  const draft = draftOf(fields, { role_type: type });
  return fields.filter((field) => isShown(field, draft)).map(({ name }) => name);
};

it("a role of signed tokens has no fields of a sign-in through a browser", () => {
  const ofBrowsers = ["allowed_redirect_uris", "oidc_scopes", "callback_mode", "poll_interval", "max_age"];
  expect(namesShown("oidc")).toEqual(expect.arrayContaining(ofBrowsers));
  expect(namesShown("jwt").filter((name) => ofBrowsers.includes(name))).toEqual([]);
  expect(namesShown("jwt")).toContain("bound_claims");
});

describe("a new secret-id", () => {
  it("is wrapped unless somebody asks to see it", () => {
    const [wrapping] = newSecretIdForm({}).flatMap(({ fields }) => fields);
    const usual = choicesOf(wrapping ? [wrapping] : [], suggestedDraft(wrapping ? [wrapping] : []));
    const asked = newSecretIdRequest("auth/approle/role/ci/secret-id", { ...usual, ttl: "1h" });
    expect(asked).toEqual({ path: "auth/approle/role/ci/secret-id", body: { ttl: "1h" }, wrapSeconds: 300 });
    expect(newSecretIdRequest("p", { [String(wrapping?.name)]: "" })).toEqual({ path: "p", body: {} });
  });

  it("says what its role allows", () => {
    const hints = (role: Record<string, unknown>) =>
      newSecretIdForm(role).flatMap(({ fields }) =>
        fields.flatMap(({ name, hint = "" }) => (/ttl|uses/.test(name) ? [hint] : [])),
      );
    expect(hints({ secret_id_ttl: 600, secret_id_num_uses: 1 })).toEqual([
      "At most 10m, which is also the default.",
      "At most 1, which is also the default.",
    ]);
    expect(hints({ secret_id_ttl: 0, secret_id_num_uses: 0 })).toEqual([
      "Like 12h or 30d. Empty: no expiry.",
      "Empty: no limit.",
    ]);
  });
});

describe("the commands of a client of an AppRole", () => {
  const place = { address: "https://grove.example.com", mount: "jobs", role: "ci" };
  /** Runs the commands with a bao that shows its arguments, and its input where it reads that. */
  const runWith = (commands: string) =>
    spawnSync("bash", ["-eu"], {
      input: `bao() { [ "$1" = unwrap ] && { echo "s3:$VAULT_TOKEN"; return; }; echo "$*" >&2; case "$*" in *=-) cat >&2;; esac; echo token; }\nWRAPPED=w1\n${commands}\necho "$VAULT_TOKEN"`,
      encoding: "utf8",
    });

  it("log in with the secret-id that the wrapping token has, and show it on no command line", () => {
    const run = runWith(loginCommands(place, "it's an id", true));
    expect([run.stdout, run.stderr]).toEqual([
      "token\n",
      "write -field=token auth/jobs/login role_id=it's an id secret_id=-\ns3:w1",
    ]);
  });

  it("have no secret-id where the role needs none", () => {
    const run = runWith(loginCommands(place, "open", false));
    expect([run.stdout, run.stderr]).toEqual(["token\n", "write -field=token auth/jobs/login role_id=open\n"]);
    expect(agentCommands(place, "open", false)).not.toContain("secret");
  });

  it("start an agent with every file that its configuration names", () => {
    const directory = mkdtempSync(join(tmpdir(), "agent-"));
    const commands = agentCommands(place, "it's an id", true).replaceAll(/\/(?=(?:etc|run)\/)/g, `${directory}/`);
    const stub = 'bao() { [ -d "$DIRECTORY/run/ci" ] && cat "${2#-config=}"; }';
    const env = { ...process.env, DIRECTORY: directory };
    const run = spawnSync("bash", ["--norc", "-euc", `${stub}\n${commands}`], { input: "w1\n", encoding: "utf8", env });
    expect(run.stderr).toBe("");
    const files = [...run.stdout.matchAll(/\w+_file_path = "(.*)"/g)].map(([, path = ""]) => path);
    expect(files.map((path) => readFileSync(path, "utf8"))).toEqual(["it's an id", "w1"]);
    expect(statSync(files[1] ?? "").mode & 0o077).toBe(0);
    expect(run.stdout).toContain('secret_id_response_wrapping_path = "auth/jobs/role/ci/secret-id"\n');
    rmSync(directory, { recursive: true });
  });
});

describe("the login check", () => {
  it("begins with the only role of a mount, and needs one where the method has none for a login without", () => {
    expect([onlyRole(["ci"]), onlyRole(["ci", "web"]), onlyRole([])]).toEqual(["ci", "", ""]);
    const checkOf = (type: string) =>
      (PARTS[type] ?? []).flatMap((part) => (part.kind === "login check" ? [part] : []));
    const mistakes = ["approle", "kubernetes", "jwt", "oidc", "aws"].map((type) =>
      checkOf(type).map((part) => [type, roleMistake(part, " ", {})]),
    );
    expect(Object.fromEntries(mistakes.flat())).toEqual({
      ...{ approle: "Needed", kubernetes: "Needed", jwt: "", oidc: "", aws: "" },
    });
    for (const pasted of [{ role: "ci" }, { role_id: "a" }]) expect(roleMistake({}, "", pasted)).toBe("");
    expect(roleMistake({}, "ci", {})).toBe("");
  });

  it("tells an ARN, a document and the body of a login apart", () => {
    const arn = "arn:aws:iam::123456789012:role/ci";
    const document = '{"instanceId": "i-1", "accountId": "1"}';
    expect(identityFields(` ${arn}\n`)).toEqual({ arn });
    expect(identityFields(document)).toEqual({ identity: document });
    expect(identityFields("eyJ4")).toEqual({ identity: "eyJ4" });
    expect(identityFields('{"role": "ci", "pkcs7": "MII"}')).toEqual({ role: "ci", pkcs7: "MII" });
    expect(identityFields("{broken")).toEqual({ identity: "{broken" });
  });

  it("tells a signed token, its claims and the body of a login apart", () => {
    expect(tokenFields(" a.b.c\n")).toEqual({ jwt: "a.b.c" });
    expect(tokenFields('{"sub": "job"}')).toEqual({ claims: { sub: "job" } });
    expect(tokenFields('{"role": "ci", "jwt": "a.b.c"}')).toEqual({ role: "ci", jwt: "a.b.c" });
    expect(tokenFields("{broken")).toEqual({ jwt: "{broken" });
  });

  it("tells the accessor of a secret-id, the body of a login and no identity apart", () => {
    expect(secretIdFields(" 1b2c-x\n")).toEqual({ secret_id_accessor: "1b2c-x" });
    expect(secretIdFields('{"role_id": "a", "secret_id": "b"}')).toEqual({ role_id: "a", secret_id: "b" });
    expect(secretIdFields(" ")).toEqual({});
  });
});

describe("a form", () => {
  const fields: readonly Field[] = [
    { name: "policies", label: "Policies", kind: "names" },
    { name: "ttl", label: "TTL", kind: "duration" },
    { name: "uses", label: "Uses", kind: "number" },
    { name: "orphan", label: "Orphan", kind: "flag" },
    { name: "kind", label: "Kind", kind: "choice", choices: ["iam", "ec2"] },
    { name: "image", label: "Image", kind: "text", when: ["kind", "ec2"] },
    { name: "metadata", label: "Metadata", kind: "pairs" },
    { name: "claims", label: "Claims", kind: "json" },
    { name: "key", label: "Key", kind: "secret" },
  ];
  const record = {
    policies: ["a", "b"],
    ttl: 5400,
    uses: 0,
    orphan: true,
    kind: "iam",
    metadata: { team: "edge=1" },
    claims: { sub: ["x"] },
    key: "never answered",
  };

  it("sends only what was changed, and a secret only when one was typed", () => {
    const before = draftOf(fields, record);
    expect(before).toMatchObject({ ttl: "1h30m", uses: "", key: "", metadata: "team=edge=1" });
    expect(bodyOf(fields, before, before)).toEqual({});
    const typed = { ...before, policies: "a, c\n", ttl: "", orphan: "", key: "s3cret", image: "hidden" };
    expect(bodyOf(fields, before, typed)).toEqual({ policies: ["a", "c"], ttl: 0, orphan: false, key: "s3cret" });
  });

  it("reads back each value that it shows", () => {
    for (const field of fields.filter(({ kind }) => kind !== "secret" && kind !== "duration")) {
      const value = record[field.name as keyof typeof record];
      if (value !== undefined) expect(sentValue(field, shownValue(field, value)), field.name).toEqual(value);
    }
  });

  it("shows a duration in words that the API takes for the same time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 9 }), (seconds) => {
        const text = typedDuration(seconds);
        expect(parseDuration(text)).toEqual({ ok: true, value: seconds });
        expect(mistakeIn({ name: "", label: "", kind: "duration" }, text)).toBe("");
      }),
    );
  });

  it("names what can't be meant", () => {
    const mistakes = fields.map((field) => mistakeIn(field, "soon"));
    expect(mistakes.filter((mistake) => mistake !== "")).toEqual([
      "A number with s, m, h or d, like 90m or 2d",
      "A whole number",
      "name=value, one a line",
      'An object in JSON, like {"name": "value"}',
    ]);
    expect(mistakeIn({ name: "", label: "", kind: "text", required: true }, " ")).toBe("Needed");
    const reviewer = KUBERNETES_PARTS.flatMap((part) => ("groups" in part ? part.groups : []))
      .flatMap(({ fields: all }) => all)
      .find(({ name }) => name === "token_reviewer_jwt");
    const wrong = (text: string) => reviewer && mistakeIn(reviewer, text);
    expect(["", "ey.a-b.c_d"].map(wrong)).toEqual(["", ""]);
    expect(["abc", "a.b", "a.b.c.d", "a.b.c d", `a.b.${"c".repeat(16_384)}`].map(wrong)).toEqual(
      Array(5).fill(expect.stringMatching(/^It is no JWT/)),
    );
    const time = { name: "", label: "", kind: "time" } as const;
    expect(mistakeIn(time, UNFINISHED)).toBe(WHOLE_TIME);
    for (const text of ["", "2026-12-01T10:30"]) expect(mistakeIn(time, text), text).toBe("");
  });
});

it("a record that is there already is not made again, which would change it", () => {
  const names = ["web", "Key"];
  expect(["new", "key", "web2"].map((name) => newNameMistake(name, names))).toEqual(["", "", ""]);
  expect(["web", "Web", "Key"].map((name) => newNameMistake(name, names))).toEqual([
    expect.stringContaining("web already"),
    expect.stringContaining("web already"),
    expect.stringContaining("Key already"),
  ]);
});

it("a role gets no name that no path can hold", () => {
  const mistakes = ["ci", "a.b-c_9", "bad name/!", "-a", "a.", "é"].map(
    (name) => newNameMistake(name, [], true) !== "",
  );
  expect(mistakes).toEqual([false, false, true, true, true, true]);
  expect(newNameMistake("YWJj/+=", [], false)).toBe("");
});

it("a form warns of policies that there are not, where they are known, and not of patterns", () => {
  const field: Field = { name: "token_policies", label: "Policies", kind: "names" };
  const known = new Set(["web", "root"]);
  expect(unknownPoliciesText(field, "web, Root\nwbe", known)).toBe(
    "There is no policy wbe: it grants nothing until it is made.",
  );
  expect(unknownPoliciesText(field, "web", known)).toBe("");
  expect(unknownPoliciesText(field, "wbe", null)).toBe("");
  expect(unknownPoliciesText({ ...field, name: "allowed_policies_glob" }, "wbe*", known)).toBe("");
});

it("an entity has the names by which its methods know it, besides the one that it is shown by, once each", () => {
  const named = (...names: readonly string[]) =>
    aliasNames({ name: "entity_1", aliases: names.map((name) => ({ name })) as unknown as Entity["aliases"] });
  expect(named()).toBe("");
  expect(named("alice@acme.example", "alice@acme.example", "alice")).toBe("alice");
  expect(named("ada")).toBe("");
  expect(named("a", "b", "c", "d", "e")).toBe("b, c, d, …");
  expect(named("entity_1")).toBe("");
});
