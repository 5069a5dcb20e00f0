import { beforeAll, describe, expect, it } from "vitest";
import { call, createToken, exampleBindings, initialized } from "../../support/service.ts";

/** The example of a protected API, bound to the Grove of this test. */
const { PROTECTED_API: api } = exampleBindings;

let root: string;

beforeAll(async () => {
  root = await initialized();
  await call("POST", "sys/policies/acl/reports", {
    token: root,
    body: { policy: 'path "reports/+" { capabilities = ["read"] } path "reports/secret" { capabilities = ["deny"] }' },
  });
});

async function get(path: string, headers: Record<string, string>) {
  const response = await api.fetch(`https://api.test${path}`, { headers });
  return {
    status: response.status,
    challenge: response.headers.get("WWW-Authenticate"),
    body: await response.json(),
  };
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

describe("an API behind the middleware", () => {
  it("lets a caller in whose policies allow the path, and knows who it is", async () => {
    const { client_token: token } = await createToken(root, { policies: ["reports"], display_name: "ci" });
    expect(await get("/reports/daily", bearer(token))).toEqual({
      status: 200,
      challenge: null,
      body: { report: "daily", reader: "token-ci" },
    });
  });

  it("answers 401 without a good token, and 403 when the policies refuse", async () => {
    const { client_token: token } = await createToken(root, { policies: ["reports"] });
    expect(await get("/reports/daily", {})).toMatchObject({ status: 401, challenge: "Bearer" });
    for (const path of ["/reports/secret", "/reports/%73ecret"]) {
      expect(await get(path, bearer(token))).toMatchObject({ status: 403 });
    }
    await call("POST", "auth/token/revoke", { token: root, body: { token } });
    const revoked = { status: 401, challenge: 'Bearer error="invalid_token"', body: { errors: ["invalid token"] } };
    expect(await get("/reports/daily", bearer(token))).toEqual(revoked);
  });

  it("counts a use for each request", async () => {
    const { client_token: token } = await createToken(root, { policies: ["reports"], num_uses: 2 });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await get("/reports/daily", bearer(token))).status);
    expect(statuses).toEqual([200, 200, 401]);
  });

  it("refuses a token that is bound to networks when the address is unknown or elsewhere", async () => {
    const role = { allowed_policies: "reports", token_bound_cidrs: "192.0.2.0/24" };
    await call("POST", "auth/token/roles/bound", { token: root, body: role });
    const made = await call("POST", "auth/token/create/bound", { token: root, body: { policies: ["reports"] } });
    const { client_token: token } = made.body.auth ?? {};
    const from = (address?: string) =>
      get("/reports/daily", { ...bearer(String(token)), ...(address && { "CF-Connecting-IP": address }) });
    expect((await from("192.0.2.7")).status).toBe(200);
    for (const address of [undefined, "198.51.100.7"]) expect((await from(address)).status).not.toBe(200);
  });
});
