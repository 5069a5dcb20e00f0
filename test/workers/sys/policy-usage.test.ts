import { beforeAll, beforeEach, expect, it } from "vitest";
import { call, createToken, dataOf, initialized } from "../../support/service.ts";
import { api, createOrganization, resource } from "../../support/teams.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

const NONE = { count: 0, more: false, names: [] };
const only = (name: string) => ({ count: 1, more: false, names: [name] });

async function usage(name: string) {
  return dataOf<Record<string, unknown>>(await call("GET", `sys/policies/usage/acl/${name}`, { token: root }));
}

async function post(path: string, body: Record<string, unknown>) {
  const answer = await call("POST", path, { token: root, body });
  expect(answer.status).toBeLessThan(300);
  return answer;
}

it("a policy that nothing names is used by nothing", async () => {
  expect(await usage("idle")).toEqual({
    name: "idle",
    tokens: 0,
    roles: NONE,
    entities: NONE,
    groups: NONE,
    teams: NONE,
  });
});

it("tokens, roles of every method, entities, groups and teams that have a policy are named, and no others", async () => {
  await createToken(root, { policies: ["deploy"] });
  await createToken(root, { policies: ["deploy", "other"], no_parent: true });
  await createToken(root, { policies: ["deploy-not"] });
  await post("auth/token/roles/builder", { allowed_policies: "deploy" });
  await post("auth/token/roles/refused", { disallowed_policies: "deploy", allowed_policies: "other" });
  await post("sys/auth/ci", { type: "jwt" });
  const jwt = { role_type: "jwt", user_claim: "sub", bound_audiences: ["x"] };
  await post("auth/ci/role/main", { ...jwt, token_policies: ["deploy"] });
  await post("auth/ci/role/deploy", { ...jwt, token_policies: ["other"] });
  await post("sys/auth/aws", { type: "aws" });
  await post("auth/aws/role/node", {
    auth_type: "ec2",
    bound_account_id: "123456789012",
    token_policies: ["deploy"],
  });
  await post("identity/entity", { name: "robot", policies: ["deploy"] });
  await post("identity/entity", { name: "deploy", policies: ["other"], metadata: { note: "deploy" } });
  await post("identity/group", { name: "shippers", policies: ["deploy"] });
  await createOrganization(root, "acme");
  const team = resource("teams", { name: "crew", "token-policies": ["deploy"] });
  expect((await api("POST", "organizations/acme/teams", { token: root, body: team })).status).toBe(200);

  expect(await usage("Deploy")).toEqual({
    name: "deploy",
    tokens: 2,
    roles: { count: 3, more: false, names: ["auth/token/roles/builder", "auth/aws/role/node", "auth/ci/role/main"] },
    entities: only("robot"),
    groups: only("shippers"),
    teams: only("acme/crew"),
  });
});

it("it needs sudo, and a rule for the name holds in any spelling of it", async () => {
  await post("sys/policies/acl/reader", {
    policy: `path "sys/policies/usage/acl/shown" { capabilities = ["read", "sudo"] }
      path "sys/policies/usage/acl/plain" { capabilities = ["read"] }`,
  });
  const { client_token: token } = await createToken(root, { policies: ["reader"] });
  const status = async (name: string) => (await call("GET", `sys/policies/usage/acl/${name}`, { token })).status;
  expect(await Promise.all(["shown", "SHOWN", "plain", "unnamed"].map(status))).toEqual([200, 200, 403, 403]);
});
