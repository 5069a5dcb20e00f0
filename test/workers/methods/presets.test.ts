import { beforeAll, describe, expect, it, vi } from "vitest";
import { planOf } from "../../../console/presets/login-plan.ts";
import type { PresetValues } from "../../../console/presets/preset.ts";
import { mistakesIn, valuesWithUsual } from "../../../console/presets/preset-values.ts";
import { PRESETS } from "../../../console/presets/presets.ts";
import { signCaller } from "../../support/cloud-login.ts";
import { HOME } from "../../support/cloud-mount.ts";
import { CLUSTER, FakeApiServer } from "../../support/fake-api-server.ts";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../support/fake-cloud/outbound.ts";
import { type Issuer, newIssuer } from "../../support/issuer.ts";
import { call, dataOf, initialized } from "../../support/service.ts";

const ADDRESS = "https://grove.example.com";
const GUID = "11111111-2222-3333-4444-555555555555";

let root: string;
let issuer: Issuer;

beforeAll(async () => {
  root = await initialized();
  issuer = await newIssuer("RS256", "key-1");
});

const post = (path: string, body: unknown) => call("POST", path, { token: root, body });

/** Makes the requests of a preset, as the console does. */
async function setUp(id: string, values: PresetValues) {
  const preset = PRESETS.find((one) => one.id === id);
  if (!preset) throw new Error(`there is no preset ${id}`);
  const given = { ...valuesWithUsual(preset, ADDRESS), ...values, role: `role-${id}` };
  expect([...mistakesIn(preset, given)]).toEqual([]);
  const plan = planOf(preset, given, { address: ADDRESS });
  for (const { request } of plan.steps) {
    const answer = await post(request.path, request.body);
    expect([request.path, answer.status, answer.body]).toEqual([
      request.path,
      expect.toBeOneOf([200, 204]),
      answer.body,
    ]);
  }
  const at = `auth/${plan.place.mount}`;
  const { role } = plan.place;
  return {
    identity: plan.identity,
    login: (fields: Record<string, unknown>) => call("POST", `${at}/login`, { body: { role, ...fields } }),
    explain: (fields: Record<string, unknown>) => post(`${at}/explain/login`, { role, ...fields }),
    policies: ["default", role].sort(),
  };
}

const policiesOf = (body: { readonly auth?: { readonly policies?: unknown } } | null) => body?.auth?.policies;

/** The internet has one issuer, which publishes its keys at each of its names. */
function serveIssuer(name: string): void {
  vi.stubGlobal("fetch", async (input: RequestInfo | URL) => {
    const url = input instanceof Request ? input.url : String(input);
    if (url === `${name}/.well-known/openid-configuration`) {
      const endpoints = { authorization_endpoint: `${name}/auth`, token_endpoint: `${name}/token` };
      return Response.json({ issuer: name, jwks_uri: `${name}/keys`, ...endpoints });
    }
    if (url === `${name}/keys`) return Response.json({ keys: [issuer.jwk] });
    throw new TypeError("Network connection lost");
  });
}

const ISSUERS: Readonly<Record<string, string>> = {
  github: "https://token.actions.githubusercontent.com",
  gitlab: "https://gitlab.example.com",
  kubernetes: "https://oidc.example.com",
  entra: `https://login.microsoftonline.com/${GUID}/v2.0`,
  keycloak: "https://sso.example.com/realms/acme",
};

describe("a login that is set up by a preset", () => {
  it.each([
    ["github", { repository: "acme/web", branch: "main" }, [{ ref: "refs/heads/other" }, { repository: "evil/web" }]],
    ["gitlab", { issuer: "https://gitlab.example.com", project: "acme/shop/web" }, [{ ref_protected: "false" }]],
    [
      "kubernetes",
      { issuer: "https://oidc.example.com", account: "web/api" },
      [{ sub: "system:serviceaccount:web:other" }],
    ],
    ["entra", { tenant: GUID, app: GUID, object: GUID }, [{ oid: "another client" }]],
    ["keycloak", { realm: "https://sso.example.com/realms/acme", client: "ci" }, [{ azp: "other" }]],
  ])("of %s gives a token to the job that it is for, and to no other", async (id, values, others) => {
    serveIssuer(ISSUERS[id] ?? "");
    const plan = await setUp(id, values);
    const claims = JSON.parse(plan.identity) as { iss: string; aud: string };
    expect(claims.iss).toBe(ISSUERS[id]);
    const explained = await plan.explain({ claims });
    expect(explained.body.data).toMatchObject({ allowed: true });
    const { status, body } = await plan.login({ jwt: await issuer.sign({ ...claims }) });
    expect([status, policiesOf(body)]).toEqual([200, plan.policies]);
    const self = await call("GET", "auth/token/lookup-self", { token: body.auth.client_token });
    expect(self.status).toBe(200);
    for (const wrong of [...others, { aud: "https://other.example.com" }, { iss: "https://evil.example.com" }]) {
      expect((await plan.login({ jwt: await issuer.sign({ ...claims, ...wrong }) })).status).not.toBe(200);
    }
  });

  it("of people sends them to the provider, and back to the console that is listed", async () => {
    serveIssuer("https://sso.example.com/realms/acme");
    const provider = { issuer: "https://sso.example.com/realms/acme", client: "grove", secret: "the secret" };
    const plan = await setUp("people", { ...provider, group: "/staff" });
    const claims = JSON.parse(plan.identity) as Record<string, unknown>;
    expect(dataOf<{ allowed: boolean }>(await plan.explain({ claims })).allowed).toBe(true);
    for (const wrong of [{ aud: "other" }, { groups: ["/other/staff"] }, { groups: undefined }]) {
      const explained = await plan.explain({ claims: { ...claims, ...wrong } });
      expect(dataOf<{ allowed: boolean }>(explained).allowed).toBe(false);
    }
    const begin = (redirect_uri: string) =>
      post("auth/oidc/oidc/auth_url", { redirect_uri, client_nonce: "n".repeat(20) });
    const url = new URL(
      dataOf<{ auth_url: string }>(await begin(`${ADDRESS}/ui/vault/auth/oidc/oidc/callback`)).auth_url,
    );
    expect([url.origin, url.searchParams.get("client_id")]).toEqual(["https://sso.example.com", "grove"]);
    expect((await begin("https://evil.example.com/")).status).toBe(400);
    const listed = await call("GET", "sys/internal/ui/mounts", {});
    expect(listed.body.data).toMatchObject({ auth: { "oidc/": { type: "oidc" } } });
  });

  it("of Kubernetes gives a token to the service account that the API server vouches for", async () => {
    const server = await FakeApiServer.start();
    server.reviewers.set("reviewer.of.grove", new Set(["review"] as const));
    const [api, other] = [server.addAccount("web", "api"), server.addAccount("web", "other")];
    const plan = await setUp("kubernetes-review", { host: CLUSTER, account: "web/api", reviewer: "reviewer.of.grove" });
    const jwt = await server.tokenOf(api, { aud: ["grove"] });
    expect(dataOf<{ allowed: boolean }>(await plan.explain({ jwt })).allowed).toBe(true);
    const { status, body } = await plan.login({ jwt });
    expect([status, policiesOf(body)]).toEqual([200, plan.policies]);
    expect((await plan.login({ jwt: await server.tokenOf(other, { aud: ["grove"] }) })).status).not.toBe(200);
    expect((await plan.login({ jwt: await server.tokenOf(api) })).status).not.toBe(200);
  });

  it("of AWS gives a token to whoever assumed the role, without a key of the cloud, and only for this Grove", async () => {
    const cloud = new FakeCloud();
    replaceInternet(cloud);
    const [web, other] = [cloud.world.addRole(HOME, "web"), cloud.world.addRole(HOME, "other")];
    const session = (role: typeof web) => cloud.world.addSession(role, "job", Date.now() + 3_600_000);
    const plan = await setUp("aws", { account: HOME, name: "web" });
    const headers = { "X-Vault-AWS-IAM-Server-ID": "grove.example.com" };
    expect(dataOf<{ allowed: boolean }>(await plan.explain({ arn: plan.identity })).allowed).toBe(true);
    const { status, body } = await plan.login(await signCaller(session(web), { headers }));
    expect([status, policiesOf(body)]).toEqual([200, plan.policies]);
    expect((await plan.login(await signCaller(session(web)))).status).toBe(400);
    expect((await plan.login(await signCaller(session(other), { headers }))).status).toBe(400);
  });
});
