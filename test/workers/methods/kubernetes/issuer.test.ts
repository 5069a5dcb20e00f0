import { beforeAll, beforeEach, expect, it } from "vitest";
import { type Account, CLUSTER, FakeApiServer } from "../../../support/fake-api-server.ts";
import { call, initialized } from "../../../support/service.ts";

let root: string;
let server: FakeApiServer;
let api: Account;

beforeAll(async () => {
  root = await initialized();
  server = await FakeApiServer.start();
  api = server.addAccount("web", "api");
});

beforeEach(() => {
  server.publishesIssuer = true;
});

const post = (path: string, body: unknown) => call("POST", path, { token: root, body });
const subjectOf = ({ namespace, name }: Account) => `system:serviceaccount:${namespace}:${name}`;

/** A mount of the jwt method that trusts the issuer of the cluster, with the role `api`. */
async function mount(path: string, config: Record<string, unknown>) {
  await post(`sys/auth/${path}`, { type: "jwt" });
  const written = await post(`auth/${path}/config`, config);
  await post(`auth/${path}/role/api`, {
    role_type: "jwt",
    user_claim: "sub",
    bound_audiences: "grove",
    bound_subject: subjectOf(api),
    token_ttl: "10m",
  });
  const login = (jwt: string) => call("POST", `auth/${path}/login`, { body: { role: "api", jwt } });
  return { written, login };
}

it.each<[string, Record<string, unknown>]>([
  ["its discovery document", { oidc_discovery_url: CLUSTER }],
  ["its key set", { jwks_url: `${CLUSTER}/openid/v1/jwks`, bound_issuer: CLUSTER }],
])("a service account logs in by the jwt method, which reads %s at the API server", async (_, config) => {
  const { written, login } = await mount(`cluster-${Object.keys(config)[0]}`, config);
  expect([written.status, written.body]).toEqual([204, null]);
  expect((await login(await server.tokenOf(api, { aud: ["grove"] }))).status).toBe(200);
  expect((await login(await server.tokenOf(api))).status).toBe(400);
  const other = server.addAccount("web", "other");
  expect((await login(await server.tokenOf(other, { aud: ["grove"] }))).status).toBe(400);
});

it("an API server that shows its issuer to nobody without a token is named with its status", async () => {
  server.publishesIssuer = false;
  const { written } = await mount("closed", { oidc_discovery_url: CLUSTER });
  const document = `${CLUSTER}/.well-known/openid-configuration`;
  expect([written.status, written.body.errors]).toEqual([
    400,
    [`error checking oidc discovery URL: ${document}: it answered 403`],
  ]);
});
