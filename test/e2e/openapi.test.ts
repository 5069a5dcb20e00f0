import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { typesOf } from "grove-openapi-types";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROJECT, type RunningServer, startServe } from "./support/server.ts";

const run = promisify(execFile);

/** A program as users of the document write it: it names paths and fields, and everything else is the document's. */
const PROGRAM = `
import createClient from "openapi-fetch";
import type { paths } from "./api.mts";

const [baseUrl = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: baseUrl + "/v1", headers: { "X-Vault-Token": token } });

const made = await client.POST("/auth/token/create", { body: { policies: ["default"], ttl: "1h", num_uses: 3 } });
if (!made.data) throw new Error(made.error.errors.join());
const accessor: string = made.data.auth.accessor;
const seconds: number = made.data.auth.lease_duration;

const found = await client.POST("/auth/token/lookup-accessor", { body: { accessor } });
if (!found.data) throw new Error(found.error.errors.join());
const uses: number = found.data.data.num_uses;
const end: string | null = found.data.data.expire_time;

const roles = await client.GET("/auth/token/roles", { params: { query: { list: "true" } } });
const none: readonly string[] = roles.error?.errors ?? ["a role"];

await client.POST("/sys/policies/acl/{name}", {
  params: { path: { name: "ci" } },
  body: { policy: 'path "sys/health" { capabilities = ["read"] }' },
});
const policy = await client.GET("/sys/policies/acl/{name}", { params: { path: { name: "ci" }, query: {} } });

const organization = await client.POST("/organizations", {
  baseUrl: baseUrl + "/api/v2",
  headers: { "Content-Type": "application/vnd.api+json" },
  body: { data: { type: "organizations", attributes: { name: "acme", email: "a@example.com" } } },
});

export async function wrong(): Promise<void> {
  // @ts-expect-error: there is no such path.
  await client.GET("/auth/token/nothing", {});
  // @ts-expect-error: a number is not a list of policies.
  await client.POST("/auth/token/create", { body: { policies: 3 } });
  // @ts-expect-error: the name of the role is missing.
  await client.GET("/auth/token/roles/{role_name}", {});
}

console.log(JSON.stringify({
  accessor, seconds, uses, end, none,
  policy: policy.data && "policy" in policy.data.data ? policy.data.data.policy : null,
  organization: organization.data?.data.attributes.name,
}));
`;

describe("a client that was made from the OpenAPI document", () => {
  let server: RunningServer;
  let folder: string;

  beforeAll(async () => {
    server = await startServe();
    const cache = join(PROJECT, "node_modules/.cache");
    await mkdir(cache, { recursive: true });
    folder = await mkdtemp(join(cache, "openapi-"));
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("has its types from a running server, and they hold", async () => {
    const document = await fetch(`${server.address}/v1/sys/internal/specs/openapi`);
    await writeFile(join(folder, "api.mts"), await typesOf((await document.json()) as Record<string, unknown>));
    await writeFile(join(folder, "program.mts"), PROGRAM);
    const flags = ["--strict", "--skipLibCheck", "--rewriteRelativeImportExtensions", "--types", "node"];
    const target = ["--module", "nodenext", "--target", "es2022", "--ignoreConfig"];
    await run(join(PROJECT, "node_modules/.bin/tsc"), [...flags, ...target, join(folder, "program.mts")], {
      cwd: PROJECT,
    });

    const { stdout } = await run(process.execPath, [join(folder, "program.mjs"), server.address, server.rootToken]);
    expect(JSON.parse(stdout)).toEqual({
      accessor: expect.stringMatching(/^.{20,}$/) as unknown,
      seconds: 3600,
      uses: 3,
      end: expect.stringMatching(/Z$/) as unknown,
      none: [],
      policy: 'path "sys/health" { capabilities = ["read"] }',
      organization: "acme",
    });
  });
});
