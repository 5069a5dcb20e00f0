import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DeclaredRequest } from "../../../../scripts/declare/declaration.ts";
import { startDeclared } from "../../../../scripts/declare/declared-start.ts";
import { wrongFields } from "../../../../scripts/declare/known-fields.ts";
import type { Service } from "../../../../scripts/declare/plan-step.ts";
import { readDeclarationFile } from "../../../../scripts/declare/sources.ts";
import type { Json } from "../../../../scripts/declare/value-references.ts";
import { GroveClient, type Send } from "../../../../scripts/grove/client.ts";
import { applyFile } from "../../../../scripts/grove/commands/apply.ts";
import { linesIn } from "../../../../scripts/local/long-lines.ts";
import { genericPlaces, openApiDocument } from "../../../../src/app/openapi/document.ts";
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
const mistakesIn = (path: string, data: Readonly<Record<string, Json>>) => wrongFields(service, [request(path, data)]);

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
    expect(read.ok && (await wrongFields(service, read.value.requests))).toEqual([]);
  });

  it("are not looked for where the server describes nothing", async () => {
    const call = async () => err({ status: 404, message: "" });
    expect(await wrongFields({ call }, [request("sys/auth/a", { typ: "jwt" })])).toEqual([]);
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
    if (!read.ok) throw new Error(read.error);
    const starting = { as: (token: string) => client.as(token), initToken: "i", warn: () => {} };
    expect(await startDeclared(starting, read.value)).toMatchObject({ ok: false, error: { message: MESSAGE } });
    expect(written).toEqual([]);
  });

  it("is not applied", async () => {
    const terminal = {
      ...{ colours: false, interactive: false, columns: null, piped: false, progress: () => {}, ask: async () => "" },
      ...{ secret: async () => "", lines: () => linesIn(Readable.from([])), out: () => {}, say: () => {} },
    };
    const options = { file: FILE, yes: true, check: false };
    const applied = await applyFile({ client, terminal, json: false }, options, {});
    expect(applied).toMatchObject({ ok: false, error: { message: MESSAGE } });
    expect(written).toEqual([]);
  });
});
