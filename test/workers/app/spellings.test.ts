import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";
import { api, createOrganization, createTeam } from "../../support/teams.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/secret", {
    token: root,
    body: { policy: 'path "a" { capabilities = ["read"] }' },
  });
  await call("POST", "sys/auth/cloud", { token: root, body: { type: "aws" } });
});

const ALL = '["create", "read", "update", "patch", "delete", "list", "sudo"]';
const ALLOWED = `path "sys/*" { capabilities = ${ALL} } path "auth/*" { capabilities = ${ALL} }`;
const denying = (path: string) => tokenUnder(root, `${ALLOWED} path "${path}" { capabilities = ["deny"] }`);

const POLICY = { policy: 'path "b" { capabilities = ["read"] }' };

/** What is denied, and requests in other spellings that must be refused for it. */
const CASES: readonly (readonly [denied: string, requests: readonly (readonly [string, string, unknown?])[]])[] = [
  [
    "sys/policies/acl/secret",
    [
      ["GET", "sys/policy/secret"],
      ["GET", "sys/policy/SECRET"],
      ["GET", "sys/policy/%20secret"],
      ["GET", "sys/policy%2Fsecret"],
      ["POST", "sys/policy/secret", POLICY],
      ["PUT", "sys/policy/Secret", POLICY],
      ["DELETE", "sys/policy/secret"],
    ],
  ],
  [
    "sys/policy/*",
    [
      ["GET", "sys/policies/acl/secret"],
      ["POST", "sys/policies/acl/secret", POLICY],
      ["PATCH", "sys/policies/acl/secret", POLICY],
      ["DELETE", "sys/policies/acl/secret"],
      ["GET", "sys/policies/acl?list=true"],
      ["GET", "sys/policies/acl/?list=true"],
      ["GET", "sys/policies/acl/secret/?list=true"],
      ["GET", "sys/policies/detailed/acl?list=true"],
      ["GET", "sys/policies/detailed/acl/secret?list=true"],
    ],
  ],
  [
    "sys/policies/acl",
    [
      ["GET", "sys/policy"],
      ["GET", "sys/policy?list=true"],
      ["GET", "sys/policy/?list=true"],
    ],
  ],
  [
    "sys/auth/cloud/tune",
    [
      ["GET", "sys/mounts/auth/cloud/tune"],
      ["POST", "sys/mounts/auth/cloud/tune", { max_lease_ttl: "1h" }],
      ["POST", "sys/mounts/auth//cloud/tune", { max_lease_ttl: "1h" }],
      ["POST", "sys/mounts/auth/cloud//tune", { max_lease_ttl: "1h" }],
    ],
  ],
  [
    "sys/mounts/auth/cloud/*",
    [
      ["GET", "sys/auth/cloud/tune"],
      ["POST", "sys/auth/cloud/tune", { max_lease_ttl: "1h" }],
    ],
  ],
  ["sys/rotate", [["POST", "sys/rotate/keyring"]]],
  ["sys/rotate/keyring", [["POST", "sys/rotate"]]],
  [
    "sys/rotate/keyring/config",
    [
      ["GET", "sys/rotate/config"],
      ["POST", "sys/rotate/config", { enabled: false }],
    ],
  ],
  ["sys/leases/revoke-prefix/*", [["POST", "sys/leases/revoke-force/auth/cloud"]]],
  ["sys/leases/revoke", [["POST", "sys/leases/revoke/auth/token/create/x"]]],
  ["sys/leases/revoke/auth/*", [["POST", "sys/leases/revoke", { lease_id: "auth/token/create/x" }]]],
  ["sys/leases/revoke/auth/*", [["POST", "sys/leases/revoke/db/x", { lease_id: "auth/token/create/x" }]]],
  ["sys/leases/renew", [["POST", "sys/leases/renew/db/creds/x"]]],
  [
    "sys/renew",
    [
      ["POST", "sys/leases/renew/db/creds/x"],
      ["POST", "sys/leases/renew", { lease_id: "db/creds/x" }],
    ],
  ],
  ["auth/token/renew", [["POST", "auth/token/renew/s.x"]]],
  [
    "auth/token/renew/s.x",
    [
      ["POST", "auth/token/renew", { token: " s.x" }],
      ["POST", "auth/token/renew/%20s.x", { token: "s.y" }],
    ],
  ],
  ["auth/token/revoke-orphan", [["POST", "auth/token/revoke-orphan/s.x"]]],
  [
    "auth/cloud/identity-whitelist/*",
    [
      ["GET", "auth/cloud/identity-accesslist/i-1"],
      ["DELETE", "auth/cloud/identity-whitelist/i-1"],
    ],
  ],
  ["auth/cloud/roletag-denylist", [["GET", "auth/cloud/roletag-blacklist?list=true"]]],
  ["auth/cloud/tidy/roletag-blacklist", [["POST", "auth/cloud/tidy/roletag-denylist", {}]]],
];

describe("deny on one spelling of a path", () => {
  it.each(CASES)("%s: is refused in every other one", async (denied, requests) => {
    const token = await denying(denied);
    const before = await call("GET", "sys/policies/acl/secret", { token: root });
    for (const [method, path, body] of requests) {
      const headers = method === "PATCH" ? { "Content-Type": "application/merge-patch+json" } : {};
      const answer = await call(method, path, { token, headers, ...(body !== undefined && { body }) });
      expect([method, path, answer.status]).toEqual([method, path, 403]);
    }
    expect((await call("GET", "sys/policies/acl/secret", { token: root })).body.data).toEqual(before.body.data);
  });

  it("is shown by every endpoint about capabilities", async () => {
    const rules = `${ALLOWED} path "sys/policies/acl/secret" { capabilities = ["deny"] }`;
    const token = await tokenUnder(root, rules);
    const paths = ["sys/policies/acl/secret", "sys/policy/secret", "sys/policy/other"];
    const { accessor } = dataOf<{ accessor: string }>(await call("GET", "auth/token/lookup-self", { token }));
    for (const [path, fields] of [
      ["sys/capabilities-self", {}],
      ["sys/capabilities", { token }],
      ["sys/capabilities-accessor", { accessor }],
      ["sys/capabilities-policy", { policy: rules }],
    ] as const) {
      const caller = path === "sys/capabilities-self" ? token : root;
      const answer = dataOf<Record<string, string[]>>(
        await call("POST", path, { token: caller, body: { ...fields, paths } }),
      );
      expect(answer["sys/policy/secret"]).toEqual(["deny"]);
      expect(answer["sys/policies/acl/secret"]).toEqual(["deny"]);
      expect(answer["sys/policy/other"]).toContain("update");
    }
  });

  it("leaves a grant where it is written, and root alone", async () => {
    const token = await tokenUnder(root, 'path "sys/policies/acl/secret" { capabilities = ["read"] }');
    expect((await call("GET", "sys/policies/acl/secret", { token })).status).toBe(200);
    expect((await call("GET", "sys/policy/secret", { token })).status).toBe(403);
    expect((await call("GET", "sys/policy/secret", { token: root })).status).toBe(200);
    const others = await denying("sys/policies/acl/other");
    expect((await call("GET", "sys/policy/secret", { token: others })).status).toBe(200);
    const forced = await denying("sys/leases/revoke-force/*");
    expect((await call("POST", "sys/leases/revoke-prefix/nothing/here", { token: forced })).status).toBe(204);
  });

  it("holds for batch tokens and for the tokens of teams", async () => {
    const policy = `${ALLOWED} path "*" { capabilities = ${ALL} } path "sys/policies/acl/secret" { capabilities = ["deny"] }`;
    await call("POST", "sys/policies/acl/kept-out", { token: root, body: { policy } });
    const { client_token: batch } = await createToken(root, { policies: ["kept-out"], type: "batch", ttl: "1h" });
    expect((await call("GET", "sys/policy/secret", { token: batch })).status).toBe(403);
    const organization = await createOrganization(root, "acme");
    const team = await createTeam(root, organization, "ops");
    const path = `teams/${team}/authentication-token`;
    expect((await api("POST", path, { token: root })).status).toBe(201);
    const denied = await tokenUnder(
      root,
      `path "*" { capabilities = ${ALL} } path "${path}" { capabilities = ["deny"] }`,
    );
    expect((await api("GET", `authentication-tokens/${team}`, { token: denied })).status).toBe(404);
    expect((await api("DELETE", `authentication-tokens/${team}`, { token: denied })).status).toBe(404);
    expect((await api("GET", path, { token: root })).status).toBe(200);
  });
});
