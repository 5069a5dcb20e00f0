import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeApiServer } from "../../support/fake-api-server.ts";
import { CLIENT, FakeProvider } from "../../support/fake-provider.ts";
import { ISSUER, type Issuer, newIssuer } from "../../support/issuer.ts";
import { mountKubernetes, REVIEWER } from "../../support/kubernetes.ts";
import { mountOidc, serveProviders } from "../../support/oidc.ts";
import { call, initialized } from "../../support/service.ts";

let root: string;
let issuer: Issuer;

beforeAll(async () => {
  root = await initialized();
  issuer = await newIssuer("RS256", "key-1");
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });

/** A mount that trusts the issuer, with the role `ci`. */
async function mountJwt(path: string, role: Record<string, unknown> = {}) {
  await post(`sys/auth/${path}`, { type: "jwt" });
  await post(`auth/${path}/config`, { jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });
  const fields = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", token_policies: "ci", ...role };
  expect((await post(`auth/${path}/role/ci`, fields)).status).toBe(204);
  const { accessor } = (await call("GET", `sys/auth/${path}`, { token: root })).body.data;
  const login = async (claims: Record<string, unknown>) => {
    const answer = await call("POST", `auth/${path}/login`, { body: { role: "ci", jwt: await issuer.sign(claims) } });
    return { status: answer.status, auth: answer.body?.auth, error: String(answer.body?.errors?.[0] ?? "") };
  };
  return { accessor, login };
}

describe("a vulnerability of other servers in logins by JWT", () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ["the audience", { aud: "other", Aud: "grove", AUD: "grove" }, /invalid audience/],
    ["no audience", { aud: undefined, Aud: "grove" }, /invalid audience/],
    ["the issuer", { iss: "https://evil.example.com", ISS: ISSUER, Iss: ISSUER }, /invalid issuer/],
    ["the end", { exp: 1_700_000_000, EXP: 4_000_000_000, Exp: 4_000_000_000 }, /expired/],
    ["the holder", { sub: undefined, Sub: "admin", SUB: "admin" }, /claim "sub" not found/],
    ["a bound claim", { ref: "refs/heads/x", Ref: "refs/heads/main" }, /claim "ref" does not match/],
  ])("%s is read by its exact name alone (CVE-2026-19194)", async (_, claims, message) => {
    const { login } = await mountJwt("spelt", { bound_claims: { ref: "refs/heads/main" } });
    const good = { ref: "refs/heads/main" };
    expect((await login(good)).status).toBe(200);
    expect(await login({ ...good, ...claims })).toMatchObject({ status: 400, error: expect.stringMatching(message) });
  });

  it("a claim in another case changes nothing of who it is (CVE-2026-19194)", async () => {
    const { login } = await mountJwt("named", { groups_claim: "groups" });
    const { auth } = await login({ Sub: "admin", SUB: "admin", Groups: ["admins"] });
    const self = await call("GET", "auth/token/lookup-self", { token: String(auth?.client_token) });
    expect(self.body.data.display_name).toBe("named-job");
  });
});

describe("a vulnerability of other servers in logins of any method", () => {
  it("a token in the headers of a login goes to no server that the login asks (GO-2026-5199)", async () => {
    const secret = "s.token-of-somebody";
    const headers = { "X-Vault-Token": secret, Authorization: `Bearer ${secret}` };
    const sent: string[] = [];
    /** Notes what goes out from now on. */
    const watch = () => {
      const inner = globalThis.fetch;
      vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
        const request = new Request(input, init);
        const body = new TextDecoder().decode(await request.clone().arrayBuffer());
        sent.push(JSON.stringify([request.url, [...request.headers], body]));
        return inner(request);
      });
    };
    const provider = await FakeProvider.start();
    serveProviders(provider);
    watch();
    const people = await mountOidc(root, "people", provider);
    const { state, code } = provider.signIn(String((await people.begin({}, headers)).data?.auth_url));
    const answer = { state, code, client_nonce: "of-the-client" };
    expect((await people.open("oidc/callback", answer, headers)).status).toBe(200);
    const api = await FakeApiServer.start();
    watch();
    await mountKubernetes(root, "cluster", api);
    const jwt = await api.tokenOf(api.addAccount("web", "api"));
    expect((await call("POST", "auth/cluster/login", { body: { role: "web", jwt }, headers })).status).toBe(200);
    const all = sent.join("\n");
    for (const [expected, has] of [
      [btoa(`${CLIENT.id}:`).slice(0, 6), true],
      [REVIEWER, true],
      [secret, false],
      [root, false],
      ["x-vault-token", false],
    ] as const) {
      expect([expected, all.includes(expected)]).toEqual([expected, has]);
    }
  });

  it("a token that is renewed in its last second ends all the same (CVE-2021-32923)", async () => {
    const { login } = await mountJwt("ending", { token_ttl: "10m", token_max_ttl: "10m" });
    const { auth } = await login({});
    const token = String(auth?.client_token);
    const began = Date.now();
    for (const left of [1_500, 999, 1]) {
      vi.setSystemTime(began + 600_000 - left);
      const renewed = await call("POST", "auth/token/renew-self", { token, body: { increment: "1h" } });
      expect(renewed.status === 200 ? renewed.body.auth?.lease_duration : 0).toBeLessThanOrEqual(
        Math.ceil(left / 1000),
      );
      const self = await call("GET", "auth/token/lookup-self", { token });
      expect([self.status, self.body.data.expire_time === null]).toEqual([200, false]);
    }
    vi.setSystemTime(began + 600_001);
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
  });

  it("aliases of one name at two mounts keep their own metadata, in policies too (CVE-2022-40186, CVE-2021-43998)", async () => {
    const role = { claim_mappings: { team: "team" } };
    const [one, two] = [await mountJwt("first", role), await mountJwt("second", role)];
    const entity = (await post("identity/entity", { name: "both" })).body.data.id;
    for (const { accessor } of [one, two]) {
      const alias = { name: "job", mount_accessor: accessor, canonical_id: entity };
      expect((await post("identity/entity-alias", alias)).status).toBe(200);
    }
    const path = `secret/{{identity.entity.aliases.${two.accessor}.metadata.team}}`;
    await post("sys/policies/acl/ci", { policy: `path "${path}" { capabilities = ["read"] }` });
    await two.login({ team: "blue" });
    const { auth } = await one.login({ team: "red" });
    expect(auth?.entity_id).toBe(entity);
    const { aliases } = (await call("GET", `identity/entity/id/${entity}`, { token: root })).body.data;
    for (const [{ accessor }, team] of [
      [one, "red"],
      [two, "blue"],
    ] as const) {
      const alias = { mount_accessor: accessor, metadata: expect.objectContaining({ team }) };
      expect(aliases).toContainEqual(expect.objectContaining(alias));
    }
    const may = await post(
      "sys/capabilities-self",
      { paths: ["secret/red", "secret/blue"] },
      String(auth?.client_token),
    );
    expect([may.body["secret/red"], may.body["secret/blue"]]).toEqual([["deny"], ["read"]]);
  });
});
