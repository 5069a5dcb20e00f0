import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DeclaredRequest } from "../../../../scripts/declare/declaration.ts";
import { startDeclared } from "../../../../scripts/declare/declared-start.ts";
import { mistakesIn as mistakesOf, mountTypesIn } from "../../../../scripts/declare/known-fields.ts";
import type { Service } from "../../../../scripts/declare/plan-step.ts";
import { readDeclarationFile } from "../../../../scripts/declare/sources.ts";
import type { Json } from "../../../../scripts/declare/value-references.ts";
import { GroveClient, type Send } from "../../../../scripts/grove/client.ts";
import { applyFile } from "../../../../scripts/grove/commands/apply.ts";
import { linesIn } from "../../../../scripts/local/long-lines.ts";
import { genericPlaces, openApiDocument } from "../../../../src/app/openapi/document.ts";
import { KINDS } from "../../../../src/app/registry.ts";
import { TABLES } from "../../../../src/app/routes.ts";
import { err, ok } from "../../../../src/base/result.ts";

const DOCUMENT = openApiDocument(genericPlaces(TABLES), "0.0.0");
const service: Service = {
  call: async (_, path) =>
    path === "sys/internal/specs/openapi?generic_mount_paths=true"
      ? ok({ status: 200, body: DOCUMENT })
      : err({ status: 404, message: "" }),
};

const request = (path: string, data: Readonly<Record<string, Json>>): DeclaredRequest => ({
  ...{ name: "one", path, data, line: 7, origins: new Map() },
});
async function linesOf(from: Service, requests: readonly DeclaredRequest[]): Promise<readonly string[]> {
  const found = await mistakesOf(from, requests);
  if (!found.ok) throw new Error(found.error.message);
  return found.value;
}
const mistakesIn = (path: string, data: Readonly<Record<string, Json>>) => linesOf(service, [request(path, data)]);

describe("names of fields that the server does not know", () => {
  it.each<[string, Record<string, Json>, string]>([
    ["auth/ci/role/web", { token_tll: "1h" }, 'the server knows no field "token_tll" here; did you mean token_ttl?'],
    ["auth/a/b/config", { oidc_discovery_uri: "x" }, 'the server knows no field "oidc_discovery_uri" here'],
    ["auth/token/roles/web", { alowed_policies: "a" }, 'the server knows no field "alowed_policies" here'],
    ["sys/policies/acl/a", { polcy: "" }, 'the server knows no field "polcy" here; did you mean policy?'],
    ["sys/quotas/rate-limit/a", { rates: 1 }, 'the server knows no field "rates" here; did you mean rate?'],
    ["identity/group/name/a", { polices: "" }, 'the server knows no field "polices" here'],
    ["sys/auth/a/b", { typ: "jwt" }, 'the server knows no field "typ" here; did you mean type?'],
    ["sys/auth/a/b/tune", { max_tll: 1 }, 'the server knows no field "max_tll" here'],
    [
      "sys/auth/a/b",
      { type: "jwt", config: { max_lease_tll: 1 } },
      'config: the server knows no field "max_lease_tll"',
    ],
  ])("%s %j", async (path, data, message) => {
    const found = await mistakesIn(path, data);
    expect(found).toEqual([expect.stringContaining(`one (line 7): ${message}`)]);
  });

  it.each<[string, Record<string, Json>, string]>([
    ["auth/token/roles/ci", { token_period: "1hour" }, "token_period: expected a duration such as"],
    ["auth/token/roles/ci", { orphan: "maybe" }, "orphan: expected a bool"],
    ["auth/token/roles/ci", { token_num_uses: "five" }, "token_num_uses: expected a whole number"],
    ["sys/quotas/rate-limit/a", { rate: "fast" }, "rate: expected a number"],
    ["sys/auth/a", { type: "jwt", config: { force_no_cache: "maybe" } }, "config: force_no_cache: expected a bool"],
  ])("and values that a field can't have are named, without the value: %s %j", async (path, data, message) => {
    const found = await mistakesIn(path, data);
    expect(found).toEqual([expect.stringContaining(`one (line 7): ${message}`)]);
    expect(found.join()).not.toMatch(/1hour|maybe|five|fast/);
  });

  it("takes every form of a value that the server takes", async () => {
    const role = {
      token_period: "1h30m",
      orphan: "T",
      renewable: 1,
      token_num_uses: "5",
    };
    expect(await mistakesIn("auth/token/roles/ci", { ...role, token_explicit_max_ttl: null })).toEqual([]);
    expect(await mistakesIn("sys/quotas/rate-limit/a", { rate: "7.5", interval: "1m" })).toEqual([]);
    expect(await mistakesIn("sys/rotate/config", { max_operations: "3865470566" })).toEqual([]);
  });

  it("are none in the example", async () => {
    const read = readDeclarationFile("examples/start.hcl", {});
    expect(read.ok && (await linesOf(service, read.value.requests))).toEqual([]);
  });

  it("are not looked for where the server describes nothing", async () => {
    const call = async () => err({ status: 404, message: "" });
    expect(await linesOf({ call }, [request("sys/auth/a", { type: "nosuch", typ: "jwt" })])).toEqual([]);
  });
});

describe("a type of mount", () => {
  it("is checked against those of the server", async () => {
    const types = mountTypesIn(DOCUMENT.paths as Record<string, unknown>);
    expect(types).toEqual([...KINDS.methods.keys()].filter((type) => type !== "token").sort());
    for (const type of types) expect(await mistakesIn("sys/auth/ci", { type })).toEqual([]);
    expect(await mistakesIn("sys/auth/token", { type: "token" })).toEqual([]);
    expect(await mistakesIn("sys/auth/ci", { type: "kubernets" })).toEqual([
      `one (line 7): type: the server has no such auth method; it has ${types.join(", ")}; did you mean kubernetes?`,
    ]);
  });
});

describe("a policy", () => {
  it.each(["sys/policies/acl/a", "sys/policy/a"])("is parsed before anything is written: %s", async (path) => {
    expect(await mistakesIn(path, { policy: 'path "a" { capabilities = ["read"] }' })).toEqual([]);
    expect(await mistakesIn(path, { policy: 'path "a" {' })).toEqual([
      expect.stringContaining("one (line 7): failed to parse policy: "),
    ]);
    const hidden = { ...request(path, { policy: "secret {" }), origins: new Map([["policy", []]]) };
    expect(await linesOf(service, [hidden])).toEqual([]);
  });
});

describe("a file with a name of a field that the server does not know", () => {
  const DIRECTORY = mkdtempSync(join(tmpdir(), "grove-fields-"));
  const FILE = join(DIRECTORY, "start.hcl");
  const MESSAGE = 'one.web (line 2): the server knows no field "rates" here; did you mean rate?\nnothing was written';
  let written: string[];

  beforeAll(() => {
    const request = 'request "web" { operation = "update" path = "sys/quotas/rate-limit/all" data = { rates = 1 } }';
    writeFileSync(FILE, `initialize "one" {\n${request}\n}\nroot_token_file = "root-token"\n`);
  });

  afterAll(() => rmSync(DIRECTORY, { recursive: true }));

  beforeEach(() => {
    written = [];
  });

  const send: Send = async ({ method, path }) => {
    const body = path.startsWith("/v1/sys/internal/specs/")
      ? DOCUMENT
      : path === "/v1/sys/init/begin"
        ? { data: { setup_token: "s.setup" } }
        : { initialized: false };
    if (method !== "GET" && path !== "/v1/sys/init/begin") written.push(path);
    return { status: 200, retryAfter: null, text: JSON.stringify(body) };
  };
  const client = new GroveClient("http://127.0.0.1:1", "s.own", { send });

  it("starts no installation", async () => {
    const read = readDeclarationFile(FILE, {});
    if (!read.ok) throw new Error(read.error.lines.join());
    const starting = { as: (token: string) => client.as(token), initToken: "i", warn: () => {} };
    expect(await startDeclared(starting, read.value)).toMatchObject({ ok: false, error: { message: MESSAGE } });
    expect(written).toEqual([]);
  });

  const apply = (file: string, by = client) => {
    const terminal = {
      ...{ colours: false, interactive: false, columns: null, piped: false, progress: () => {}, ask: async () => "" },
      ...{ secret: async () => "", lines: () => linesIn(Readable.from([])), out: () => {}, say: () => {} },
    };
    return applyFile({ client: by, terminal, json: false }, { file, yes: true, check: false }, {});
  };

  it("is not applied", async () => {
    expect(await apply(FILE)).toMatchObject({ ok: false, error: { message: MESSAGE } });
    expect(written).toEqual([]);
  });

  it("is reported beside what is wrong with the file itself", async () => {
    const other = join(DIRECTORY, "two.hcl");
    writeFileSync(other, `${readFileSync(FILE, "utf8")}unknown = 1\n`);
    const message = `${other}:5: the file: "unknown" is not known\n${MESSAGE}`;
    expect(await apply(other)).toMatchObject({ ok: false, error: { message } });
  });

  it("is reported with every refusal of the comparison", async () => {
    const other = join(DIRECTORY, "refused.hcl");
    const requests = ["a", "b"].map(
      (name) => `request "${name}" { operation = "update" path = "sys/policies/acl/${name}" data = { policy = "" } }`,
    );
    writeFileSync(other, `initialize "one" {\n${requests.join("\n")}\n}\n`);
    const refuse: Send = async (sent) =>
      sent.path.startsWith("/v1/sys/policies/")
        ? { status: 403, retryAfter: null, text: JSON.stringify({ errors: ["permission denied"] }) }
        : send(sent);
    const message = "one.a (line 2): permission denied\none.b (line 3): permission denied";
    expect(await apply(other, new GroveClient("http://127.0.0.1:1", "s.own", { send: refuse }))).toMatchObject({
      error: { status: 403, message },
    });
    // Without a token the reason is one for all.
    expect(await apply(other, new GroveClient("http://127.0.0.1:1", "", { send: refuse }))).toMatchObject({
      error: { status: 403, message: "permission denied" },
    });
  });
});
