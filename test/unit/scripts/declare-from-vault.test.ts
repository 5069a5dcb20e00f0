import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDeclaration } from "../../../scripts/declare/declaration.ts";
import { err } from "../../../src/base/result.ts";

/** Answers as a reference server gives them, by path. */
const ANSWERS: Record<string, object> = {
  "sys/policies/acl?list=true": { keys: ["app", "gone", "guest", "root"] },
  "sys/policies/acl/app": { name: "app", policy: 'path "secret/data/app" { capabilities = ["read"] }' },
  "sys/policies/acl/gone": { name: "gone", policy: "# ended", expiration: "2020-01-01T00:00:00Z" },
  "sys/policies/acl/guest": { name: "guest", policy: "# ends", expiration: "2999-01-01T00:00:00Z", version: 1 },
  "auth/token/roles?list=true": { keys: ["job"] },
  "auth/token/roles/job": {
    ...{ name: "job", allowed_policies: ["app"], allowed_policies_glob: [], explicit_max_ttl: 0, orphan: true },
    ...{ path_suffix: "", period: 3600, renewable: true, token_period: 3600, token_type: "default-service" },
  },
  "sys/auth": {
    "token/": { type: "token", config: {} },
    "ldap/": { type: "ldap", config: {} },
    "team/a/": {
      type: "approle",
      description: "",
      config: { default_lease_ttl: 0, max_lease_ttl: 7200 },
      options: null,
    },
    "github/": { type: "jwt", description: "CI", config: { default_lease_ttl: 0, force_no_cache: false } },
    "sso/": { type: "oidc", config: {} },
    "cloud/": { type: "aws", config: {} },
  },
  "auth/team/a/role?list=true": { keys: ["web"] },
  "auth/team/a/role/web": { bind_secret_id: false, secret_id_ttl: 0, token_policies: ["app"], token_bound_cidrs: null },
  "auth/team/a/role/web/role-id": { role_id: "4e1d" },
  "auth/github/config": { oidc_discovery_url: "https://issuer.example", jwt_supported_algs: [], provider_config: {} },
  "auth/github/role?list=true": { keys: ["ci", "own"] },
  "auth/github/role/own": { role_type: "jwt", user_claim: "sub", bound_claims: { a: [{ eval_type: "string" }] } },
  "auth/github/role/ci": { role_type: "jwt", user_claim: "sub", clock_skew_leeway: -1, bound_claims: null },
  "auth/sso/config": { oidc_discovery_url: "https://sso.example", oidc_client_id: "grove" },
  "identity/entity/name?list=true": { keys: ["alice", "mallory"] },
  "identity/entity/name/mallory": {
    name: "mallory",
    metadata: { eval_source: "file", eval_type: "string", path: "/etc/grove/environment" },
  },
  "identity/entity/name/alice": {
    id: "1",
    name: "alice",
    policies: ["app"],
    metadata: { team: "edge" },
    disabled: false,
  },
  "identity/group/name?list=true": { keys: ["..", "../\u001b[2J", "../../oidc/config", "staff"] },
  "identity/group/": { policies: ["of no group"] },
  "identity/oidc/config": { policies: ["of no group"] },
  "identity/group/name/staff": { id: "2", name: "staff", type: "external", policies: [], member_entity_ids: ["1"] },
};

const REFERENCE =
  "left out, grove apply would read a part of it from a file or the environment (eval_source, eval_type)";
const NO_SOURCES = { environment: () => err("none"), file: () => err("none") };
const asked: { readonly method: string | undefined; readonly token: string | string[] | undefined }[] = [];
let refused = "";
const server = createServer((request, response) => {
  asked.push({ method: request.method, token: request.headers["x-vault-token"] });
  const path = (request.url ?? "").replace("/v1/", "");
  const data = ANSWERS[path];
  if (path === refused) response.writeHead(403).end(JSON.stringify({ errors: ["permission denied"] }));
  else response.writeHead(data ? 200 : 404).end(JSON.stringify(data ? { data } : { errors: [] }));
});

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

const run = (...words: readonly string[]) => runWith({}, ...words);

async function runWith(settings: NodeJS.ProcessEnv, ...words: readonly string[]) {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const env = { ...process.env, VAULT_ADDR: `http://127.0.0.1:${port}`, VAULT_TOKEN: "hvs.secret", ...settings };
  const child = spawn(process.execPath, ["examples/declare-from-vault.js", ...words], { env });
  const [out, err] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => stream.setEncoding("utf8").toArray()),
  );
  if (child.exitCode === null) await once(child, "close");
  return { code: child.exitCode, out: out?.join("") ?? "", err: err?.join("") ?? "" };
}

describe("a declaration of what another server has", () => {
  it("has what Grove can have, as it is set there, and only reads", async () => {
    const { code, out, err: said } = await run();
    expect(code).toBe(0);
    const read = readDeclaration(out, NO_SOURCES);
    const requests = read.ok ? read.value.requests.map(({ path, data }) => [path, data]) : read.error;
    expect(requests).toEqual([
      ["sys/policies/acl/app", { policy: 'path "secret/data/app" { capabilities = ["read"] }' }],
      ["sys/policies/acl/guest", { policy: "# ends", expiration: "2999-01-01T00:00:00Z" }],
      [
        "auth/token/roles/job",
        { allowed_policies: ["app"], orphan: true, renewable: true, token_period: 3600, token_type: "default-service" },
      ],
      ["sys/auth/team/a", { type: "approle", config: { max_lease_ttl: 7200 } }],
      ["auth/team/a/role/web", { bind_secret_id: false, token_policies: ["app"] }],
      ["auth/team/a/role/web/role-id", { role_id: "4e1d" }],
      ["sys/auth/github", { type: "jwt", description: "CI" }],
      ["auth/github/config", { oidc_discovery_url: "https://issuer.example" }],
      ["auth/github/role/ci", { role_type: "jwt", user_claim: "sub", clock_skew_leeway: -1 }],
      ["sys/auth/sso", { type: "oidc" }],
      ["auth/sso/config", { oidc_discovery_url: "https://sso.example", oidc_client_id: "grove" }],
      ["sys/auth/cloud", { type: "aws" }],
      ["identity/entity/name/alice", { policies: ["app"], metadata: { team: "edge" } }],
      ["identity/group/name/staff", { type: "external" }],
    ]);
    expect(said.trim().split("\n")).toEqual([
      "sys/policies/acl/gone: left out, it has expired",
      "auth/ldap: left out, Grove has no method of the type ldap",
      `auth/github/role/own: ${REFERENCE}`,
      "auth/sso/config: no server shows oidc_client_secret; write it into the file if it is used",
      "auth/cloud: config/sts and config/certificate, of each account, are not in the file",
      `identity/entity/name/mallory: ${REFERENCE}`,
      "identity/group/name/..: left out, no address leads to it",
      "identity/group/name/../\ufffd[2J: left out, no address leads to it",
      "identity/group/name/../../oidc/config: left out, no address leads to it",
      "identity: aliases of entities and members of groups have ids of their server, and are not in the file",
    ]);
    expect(new Set(asked.map(({ method }) => method))).toEqual(new Set(["GET"]));
  });

  it("has the kinds that are named alone", async () => {
    const { code, out, err: said } = await run("policies");
    const read = readDeclaration(out, NO_SOURCES);
    expect([code, said, read.ok && read.value.requests.length]).toEqual([
      0,
      "sys/policies/acl/gone: left out, it has expired\n",
      2,
    ]);
    expect(await run("secrets")).toMatchObject({ code: 2, out: "", err: expect.stringMatching(/^usage: /) });
  });

  it("takes a token with white space about it, and repeats neither one that can't be sent nor a password", async () => {
    expect(await runWith({ VAULT_TOKEN: "hvs.secret\n" }, "policies")).toMatchObject({ code: 0 });
    for (const settings of [
      { VAULT_TOKEN: "hvs.secret\nhvs.secret" },
      { VAULT_ADDR: "http://me:hvs.secret@127.0.0.1:1" },
      { VAULT_ADDR: "http://[hvs.secret" },
    ]) {
      const { code, err: said } = await runWith(settings);
      expect([code, said]).toEqual([2, expect.stringMatching(/^usage: /)]);
      expect(said).not.toContain("hvs.secret");
    }
  });

  it("is not printed in part when something can't be read, and no message has the token", async () => {
    refused = "auth/github/role/ci";
    const { code, out, err: said } = await run();
    expect([code, out]).toEqual([1, ""]);
    expect(said).toContain("GET auth/github/role/ci: 403 permission denied");
    expect(said).not.toContain("hvs.secret");
  });
});
