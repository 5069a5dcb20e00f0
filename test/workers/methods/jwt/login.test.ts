import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { EntityShard } from "../../../../src/identity/shard/entity-shard.ts";
import { JwtAuth } from "../../../../src/methods/jwt/jwt-auth.ts";
import { callsTo } from "../../../support/calls.ts";
import { ISSUER, type Issuer, newIssuer } from "../../../support/issuer.ts";
import { call, initialized } from "../../../support/service.ts";

let root: string;

let issuer: Issuer;
/** What the outside answers, by URL; a request to anything else fails. */
const pages = new Map<string, () => Response>();
let fetched: string[];

beforeAll(async () => {
  root = await initialized();
  issuer = await newIssuer("RS256", "key-1");
  await post("sys/auth/jwt", { type: "jwt" });
  vi.stubGlobal("fetch", async (input: RequestInfo | URL) => {
    const url = input instanceof Request ? input.url : String(input);
    fetched.push(url);
    const page = pages.get(url);
    if (!page) throw new TypeError("Network connection lost");
    return page();
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const json = (body: unknown) => () => Response.json(body);

/** A mount with this configuration and the role `ci`. */
async function mount(path: string, config: Record<string, unknown>, role: Record<string, unknown> = {}) {
  fetched = [];
  await post(`sys/auth/${path}`, { type: "jwt" });
  const configured = await post(`auth/${path}/config`, config);
  const written = await post(`auth/${path}/role/ci`, {
    role_type: "jwt",
    user_claim: "sub",
    bound_audiences: "grove",
    token_policies: "ci",
    token_ttl: "10m",
    ...role,
  });
  expect([configured.status, written.status]).toEqual([204, 204]);
  return async (jwt: string, fields: Record<string, unknown> = { role: "ci" }) => {
    const answer = await call("POST", `auth/${path}/login`, { body: { jwt, ...fields } });
    return { status: answer.status, auth: answer.body?.auth, error: String(answer.body?.errors?.[0] ?? "") };
  };
}

const byKey = () => ({ jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });

describe("a login by JWT", () => {
  it("takes no claim with half of a surrogate pair for another one", async () => {
    const login = await mount("halves", byKey());
    expect((await login(await issuer.sign({ sub: "user-\ufffd" }))).status).toBe(200);
    const other = await login(await issuer.sign({ sub: "user-\ud800" }));
    expect([other.status, other.error]).toEqual([400, expect.stringContaining("its claims are no JSON object")]);
  });

  it("gives the role's token to the user that the claim names", async () => {
    const login = await mount("plain", byKey(), { claim_mappings: { repository: "repo" } });
    const { status, auth } = await login(await issuer.sign({ sub: "repo:acme", repository: "acme/web" }));
    expect(status).toBe(200);
    expect(auth).toMatchObject({
      policies: ["ci", "default"],
      lease_duration: 600,
      orphan: true,
      metadata: { role: "ci", repo: "acme/web" },
      token_type: "service",
    });
    const seen = await call("GET", "auth/token/lookup-self", { token: auth?.client_token as string });
    expect(seen.body.data).toMatchObject({ display_name: "plain-repo:acme", path: "auth/plain/login" });
    const again = await login(await issuer.sign({ sub: "repo:acme" }));
    expect(again.auth?.entity_id).toBe(auth?.entity_id);
    const other = await login(await issuer.sign({ sub: "repo:other" }));
    expect(other.auth?.entity_id).not.toBe(auth?.entity_id);
  });

  it("takes the default role, and the name of a role in any case", async () => {
    const login = await mount("defaults", { ...byKey(), default_role: "CI" });
    const jwt = await issuer.sign({});
    expect((await login(jwt, {})).status).toBe(200);
    expect((await login(jwt, { role: "Ci" })).status).toBe(200);
  });

  it("gives a batch token where the role says so", async () => {
    const login = await mount("batch", byKey(), { token_type: "batch" });
    expect((await login(await issuer.sign({}))).auth).toMatchObject({ token_type: "batch", renewable: false });
  });

  it("asks the mount's object once, and nobody for an entity that is known", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const login = await mount("hops", byKey());
    const jwt = await issuer.sign({});
    await login(jwt);
    const asked = [callsTo(JwtAuth, "readLogin"), callsTo(JwtAuth, "readRole")];
    const resolved = callsTo(EntityShard, "logIn");
    expect((await login(jwt)).status).toBe(200);
    expect(asked.map(({ calls }) => calls.length)).toEqual([1, 0]);
    expect(resolved.calls).toEqual([]);
  });

  it("can be renewed while the role is there, on its terms of today", async () => {
    const login = await mount("renewing", byKey());
    const { auth } = await login(await issuer.sign({}));
    const token = auth?.client_token as string;
    await post("auth/renewing/role/ci", { user_claim: "sub", token_ttl: "20m" });
    expect((await post("auth/token/renew-self", {}, token)).body.auth).toMatchObject({ lease_duration: 1200 });
    await call("DELETE", "auth/renewing/role/ci", { token: root });
    const refused = await post("auth/token/renew-self", {}, token);
    expect([refused.status, String(refused.body.errors)]).toEqual([400, "role ci does not exist during renewal"]);
  });

  it("keeps the explicit maximum of its creation, whatever the role says later", async () => {
    const login = await mount("capped", byKey(), { token_explicit_max_ttl: "15m" });
    const token = (await login(await issuer.sign({}))).auth?.client_token as string;
    for (const token_explicit_max_ttl of ["5m", "8h", 0]) {
      await post("auth/capped/role/ci", { user_claim: "sub", token_ttl: "1h", token_explicit_max_ttl });
      const { auth } = (await post("auth/token/renew-self", {}, token)).body;
      // What is left of 15 minutes, to the end of the minute that this test may take.
      expect(Math.ceil(Number(auth.lease_duration) / 60)).toBe(15);
      const seen = await call("GET", "auth/token/lookup-self", { token });
      expect(seen.body.data.explicit_max_ttl).toBe(900);
    }
  });

  it("is refused to a disabled entity", async () => {
    const login = await mount("disabled", byKey());
    const { auth } = await login(await issuer.sign({}));
    await post(`identity/entity/id/${auth?.entity_id}`, { disabled: true });
    expect((await login(await issuer.sign({}))).status).toBe(403);
  });

  it("is bound to the networks of the role", async () => {
    const login = await mount("networks", byKey(), { token_bound_cidrs: "192.0.2.0/24" });
    expect((await login(await issuer.sign({}))).status).toBe(403);
  });

  it("ends with its mount", async () => {
    const login = await mount("ending", byKey());
    const { auth } = await login(await issuer.sign({}));
    await call("DELETE", "sys/auth/ending", { token: root });
    const seen = await call("GET", "auth/token/lookup-self", { token: auth?.client_token as string });
    expect(seen.status).toBe(403);
    const later = await mount("ending", byKey());
    expect((await call("GET", "auth/ending/role/other", { token: root })).status).toBe(404);
    expect((await later(await issuer.sign({}))).status).toBe(200);
  });
});

describe("a token is refused", () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ["of another issuer", { iss: "https://evil.example.com" }, /invalid issuer/],
    ["without an issuer", { iss: undefined }, /invalid issuer/],
    ["for another audience", { aud: "other" }, /invalid audience/],
    ["without an audience", { aud: undefined }, /invalid audience/],
    ["without the user claim", { sub: undefined }, /claim "sub" not found/],
    ["whose user claim is no string", { sub: 7 }, /could not be converted/],
    ["whose user claim is blank", { sub: "  " }, /could not be converted/],
    ["that is not valid yet", { nbf: Math.floor(Date.now() / 1000) + 3600 }, /not yet valid/],
  ])("%s", async (title, claims, message) => {
    const login = await mount(`refuse-${title.replaceAll(" ", "-")}`, byKey());
    const answer = await login(await issuer.sign(claims));
    expect([answer.status, answer.error]).toEqual([400, expect.stringMatching(message)]);
  });

  it("whose bound claims differ", async () => {
    const login = await mount("bound", byKey(), {
      bound_claims: { ref: "refs/heads/*", env: ["prod", "stage"] },
      bound_claims_type: "glob",
    });
    expect((await login(await issuer.sign({ ref: "refs/heads/main", env: "prod" }))).status).toBe(200);
    expect((await login(await issuer.sign({ ref: "refs/tags/v1", env: "prod" }))).error).toContain('claim "ref"');
    expect((await login(await issuer.sign({ ref: "refs/heads/main" }))).error).toContain('claim "env" is missing');
  });

  it("that has expired, and one that never ends", async () => {
    const login = await mount("times", byKey());
    const jwt = await issuer.sign({});
    vi.useFakeTimers({ now: Date.now() + 3_600_000, toFake: ["Date"] });
    expect((await login(jwt)).error).toContain("token is expired");
  });

  it("that the issuer did not sign", async () => {
    const login = await mount("forged", byKey());
    const other = await newIssuer("RS256", "key-1");
    expect((await login(await other.sign({}))).error).toContain("failed to verify");
    const [head, body, signature] = (await issuer.sign({})).split(".") as [string, string, string];
    const changed = btoa(atob(body.replaceAll("-", "+").replaceAll("_", "/")).replace("job", "bob")).replace(/=+$/, "");
    expect((await login(`${head}.${changed}.${signature}`)).status).toBe(400);
    expect((await login(`${head}.${body}.`)).status).toBe(400);
    expect((await login(`${head}.${body}`)).status).toBe(400);
  });

  it("of the form that tricks a verifier", async () => {
    const login = await mount("tricks", byKey());
    const encode = (value: unknown) =>
      btoa(JSON.stringify(value)).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, sub: "admin", aud: "grove", iat: now, exp: now + 600 };
    // No signature at all (RFC 8725, section 2.1).
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      expect((await login(`${encode({ alg })}.${encode(claims)}.`)).error).toContain("not allowed");
    }
    // The public key as the secret of an HMAC (key confusion).
    const secret = new TextEncoder().encode(issuer.pem);
    const confused = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "key-1" }).sign(secret);
    expect((await login(confused)).error).toContain("not allowed");
    // A key that the token brings along or points to.
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const jwk = await exportJWK(publicKey);
    for (const header of [{ jwk }, { jku: "https://evil.example.com/keys" }, { x5u: "https://evil.example.com/c" }]) {
      const own = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", ...header }).sign(privateKey);
      expect((await login(own)).error).toContain("failed to verify");
    }
    expect(fetched).toEqual([]);
    // Extensions that must be understood, unencoded payloads, encryption.
    for (const header of [
      { alg: "RS256", crit: ["x"], x: 1 },
      { alg: "RS256", b64: false },
      { alg: "RS256", enc: "A128GCM" },
    ]) {
      expect((await login(`${encode(header)}.${encode(claims)}.AAAA`)).error).toContain("error parsing token");
    }
    for (const jwt of ["", "x", "a.b.c", `${encode({ alg: "RS256" })}.${encode([])}.AAAA`, "x".repeat(20_000)]) {
      expect((await login(jwt)).status).toBe(400);
    }
    expect((await login("x".repeat(20_000))).error).toContain("it is longer than 16384 characters");
  });

  it("with an algorithm that the mount does not allow, though the key could", async () => {
    const login = await mount("algorithms", { ...byKey(), jwt_supported_algs: "RS512" });
    expect((await login(await issuer.sign({}))).error).toContain("not allowed");
  });

  it("with the right claims for a role that binds no audience: the token is for somebody else (CVE-2024-5798)", async () => {
    const login = await mount("audience", byKey(), { bound_audiences: [], bound_subject: "job" });
    expect((await login(await issuer.sign({}))).error).toContain("no audiences bound");
    expect((await login(await issuer.sign({ aud: ["grove"] }))).error).toContain("no audiences bound");
    expect((await login(await issuer.sign({ aud: undefined }))).status).toBe(200);
  });

  it("before anything is verified when the role does not exist", async () => {
    const login = await mount("roles", byKey());
    const jwt = await issuer.sign({});
    expect((await login(jwt, { role: "absent" })).error).toBe('role "absent" could not be found');
    expect((await login(jwt, { role: "../x" })).error).toBe("role could not be found");
    expect((await login(jwt, {})).error).toBe("missing role");
    expect((await login("", { role: "ci" })).error).toBe("missing token");
  });
});

describe("a token or a key with white space in it", () => {
  it("is read without it, as it was copied from a terminal", async () => {
    const jwt = await issuer.sign({});
    const wrapped = ` ${jwt.replace(/.{64}/g, "$&\n\t")}\r\n`;
    const login = await mount("pasted", byKey());
    expect((await login(wrapped)).status).toBe(200);
    const explained = await post("auth/pasted/explain/login", { role: "ci", jwt: wrapped });
    expect(explained.body.data.allowed).toBe(true);
    const joined = await mount("joined", { ...byKey(), jwt_validation_pubkeys: issuer.pem.replaceAll("\n", " ") });
    expect((await joined(jwt)).status).toBe(200);
  });
});

describe("a cloud's identity token for its own roles", () => {
  it.each(["ES384", "RS256"])("is accepted, signed with %s, by the issuer of the account", async (algorithm) => {
    const account = await newIssuer(algorithm, "key-of-account");
    const iss = "https://0123abcd-0000-4000-8000-000000000000.tokens.sts.global.api.aws";
    pages.set(
      `${iss}/.well-known/openid-configuration`,
      json({ issuer: iss, jwks_uri: `${iss}/.well-known/jwks.json` }),
    );
    pages.set(`${iss}/.well-known/jwks.json`, json({ keys: [{ ...account.jwk, use: "sig", alg: algorithm }] }));
    const sub = "arn:aws:iam::123456789012:role/deploy";
    const own = { aws_account: "123456789012", org_id: "o-abc", principal_tags: { team: "web" } };
    const login = await mount(
      `account-${algorithm.toLowerCase()}`,
      { oidc_discovery_url: iss },
      {
        bound_claims: { "/https:~1~1sts.amazonaws.com~1/aws_account": "123456789012" },
        claim_mappings: { "/https:~1~1sts.amazonaws.com~1/principal_tags/team": "team" },
      },
    );
    const { status, auth } = await login(await account.sign({ iss, sub, "https://sts.amazonaws.com/": own }));
    expect([status, auth?.metadata]).toEqual([200, { role: "ci", team: "web" }]);
    const foreign = { ...own, aws_account: "210987654321" };
    expect((await login(await account.sign({ iss, sub, "https://sts.amazonaws.com/": foreign }))).status).toBe(400);
  });
});

describe("a letter that only shares its lower case with another one", () => {
  it("is another one: in the subject, in the name of a group and in that of a role", async () => {
    const login = await mount("kelvin", byKey(), { groups_claim: "groups" });
    const { accessor } = (await call("GET", "sys/auth/kelvin", { token: root })).body.data;
    const kings = { name: "kelvin kings", type: "external", policies: "kings" };
    const group = (await post("identity/group", kings)).body.data.id;
    await post("identity/group-alias", { name: "kings", mount_accessor: accessor, canonical_id: group });
    const kevin = await login(await issuer.sign({ sub: "kevin", groups: ["Kings"] }));
    expect(kevin.auth).toMatchObject({ identity_policies: ["kings"] });
    const other = await login(await issuer.sign({ sub: "\u212aevin", groups: ["\u212aings"] }));
    expect(other.status).toBe(200);
    expect(other.auth?.entity_id).not.toBe(kevin.auth?.entity_id);
    expect(other.auth).not.toHaveProperty("identity_policies");
    await post("auth/kelvin/role/k", { user_claim: "sub", bound_audiences: "grove" });
    expect((await login(await issuer.sign({}), { role: "K" })).status).toBe(200);
    expect((await login(await issuer.sign({}), { role: "\u212a" })).error).toBe("role could not be found");
  });
});

describe("groups of a token", () => {
  it("are replaced by others, also by as many", async () => {
    const login = await mount("swapped", byKey(), { groups_claim: "groups" });
    const { accessor } = (await call("GET", "sys/auth/swapped", { token: root })).body.data;
    for (const name of ["red", "blue"]) {
      const group = (await post("identity/group", { name, type: "external", policies: name })).body.data.id;
      await post("identity/group-alias", { name, mount_accessor: accessor, canonical_id: group });
    }
    for (const name of ["red", "blue"]) {
      const { auth } = await login(await issuer.sign({ sub: "eve", groups: [name] }));
      expect(auth).toMatchObject({ identity_policies: [name] });
    }
  });

  it("make its holder a member of the external groups that the mount knows by these names, until the next login", async () => {
    const login = await mount("grouped", byKey(), { groups_claim: "groups" });
    const { accessor } = (await call("GET", "sys/auth/grouped", { token: root })).body.data;
    await post("sys/policies/acl/admins", { policy: 'path "sys/auth" { capabilities = ["read"] }' });
    const group = (await post("identity/group", { name: "admins", type: "external", policies: "admins" })).body.data.id;
    const named = { name: "Admins", mount_accessor: accessor, canonical_id: group };
    expect((await post("identity/group-alias", named)).status).toBe(200);
    const reach = async (token: unknown) =>
      (await post("sys/capabilities-self", { path: "sys/auth" }, String(token))).body.capabilities;
    const member = await login(await issuer.sign({ sub: "ada", groups: ["admins", "others"] }));
    expect(member.auth).toMatchObject({ identity_policies: ["admins"] });
    expect(await reach(member.auth?.client_token)).toContain("read");
    const outsider = await login(await issuer.sign({ sub: "bob", groups: "others" }));
    expect(outsider.auth).not.toHaveProperty("identity_policies");
    // Whoever leaves the group at the issuer leaves it here with the next login, with all tokens.
    expect((await login(await issuer.sign({ sub: "ada", groups: [] }))).status).toBe(200);
    expect(await reach(member.auth?.client_token)).not.toContain("read");
    // Issuers omit the claim for a client without groups.
    for (const claims of [{ sub: "ada" }, { sub: "ada", groups: null }]) {
      expect((await login(await issuer.sign({ sub: "ada", groups: ["admins"] }))).status).toBe(200);
      expect(await reach(member.auth?.client_token)).toContain("read");
      expect((await login(await issuer.sign(claims))).status).toBe(200);
      expect(await reach(member.auth?.client_token)).not.toContain("read");
    }
    const absent = await post("auth/grouped/explain/login", { role: "ci", jwt: await issuer.sign({ sub: "ada" }) });
    expect(absent.body.data.checks).toContainEqual(
      expect.objectContaining({
        name: "groups_claim",
        outcome: "passed",
        description: expect.stringContaining("no group"),
      }),
    );
    // A login by a role that reads no groups says that its holder is in none.
    const again = await login(await issuer.sign({ sub: "ada", groups: ["admins"] }));
    expect(await reach(again.auth?.client_token)).toContain("read");
    expect((await post("auth/grouped/role/plain", { user_claim: "sub", bound_audiences: "grove" })).status).toBe(204);
    const jwt = await issuer.sign({ sub: "ada", groups: ["admins"] });
    const explained = await post("auth/grouped/explain/login", { role: "plain", jwt });
    expect(explained.body.data.token).not.toHaveProperty("identity_policies");
    const plain = await login(jwt, { role: "plain" });
    expect(plain.auth).not.toHaveProperty("identity_policies");
    expect(await reach(plain.auth?.client_token)).not.toContain("read");
    expect(await reach(again.auth?.client_token)).not.toContain("read");
    const operators = (await post("identity/group", { name: "others" })).body.data.id;
    expect((await call("GET", `identity/group/id/${operators}`, { token: root })).body.data.member_entity_ids).toEqual(
      [],
    );
  });
});

describe("keys of an issuer", () => {
  it("are fetched by discovery, whose document must be the issuer's own", async () => {
    pages.set(`${ISSUER}/.well-known/openid-configuration`, json({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }));
    pages.set(`${ISSUER}/keys`, json({ keys: [issuer.jwk] }));
    const login = await mount("discovered", { oidc_discovery_url: `${ISSUER}/` });
    const config = await call("GET", "auth/discovered/config", { token: root });
    expect(config.body.data.oidc_discovery_url).toBe(`${ISSUER}/`);
    fetched = [];
    expect((await login(await issuer.sign({}))).status).toBe(200);
    expect((await login(await issuer.sign({ iss: "https://other.example.com" }))).error).toContain("invalid issuer");
    pages.set(
      `${ISSUER}/.well-known/openid-configuration`,
      json({ issuer: "https://evil.example.com", jwks_uri: "x" }),
    );
    const refused = await post("auth/discovered/config", { oidc_discovery_url: ISSUER });
    const document = `${ISSUER}/.well-known/openid-configuration`;
    expect(refused.body.errors).toEqual([
      `error checking oidc discovery URL: ${document}: the document names another issuer, https://evil.example.com: oidc_discovery_url must be that`,
    ]);
    pages.set(document, json({ issuer: "https://evil.example.com/<script>secret", jwks_uri: "x" }));
    const odd = await post("auth/discovered/config", { oidc_discovery_url: ISSUER });
    expect(odd.body.errors).toEqual([
      `error checking oidc discovery URL: ${document}: the document names another issuer`,
    ]);
    pages.set(`${ISSUER}/.well-known/openid-configuration`, json({ issuer: ISSUER, jwks_uri: "http://10.0.0.1/keys" }));
    const inside = await post("auth/discovered/config", { oidc_discovery_url: ISSUER });
    expect(String(inside.body.errors)).toContain("the URL of the keys must be");
  });

  it("that can't be had: the log has no URL that a document names", async () => {
    const document = `${ISSUER}/.well-known/openid-configuration`;
    const log = vi.spyOn(console, "log");
    const configured = async (named: unknown) => {
      pages.set(document, json(named));
      log.mockClear();
      const refused = await post("auth/jwt/config", { oidc_discovery_url: ISSUER });
      const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
      return [String(refused.body.errors), lines.find(({ error }) => error !== undefined)?.error] as const;
    };
    const keys = "https://keys.example.net/s3cret";
    const [error, logged] = await configured({ issuer: ISSUER, jwks_uri: keys });
    expect([error, logged]).toEqual([
      expect.stringContaining(`${keys}: there is no connection`),
      "error fetching the keys of the issuer: it does not answer",
    ]);
    const [other, loggedOther] = await configured({ issuer: "https://s3cret.example.net", jwks_uri: keys });
    expect([other, loggedOther]).toEqual([
      expect.stringContaining("https://s3cret.example.net"),
      "error checking oidc discovery URL: the document names another issuer",
    ]);
    log.mockRestore();
  });

  it("are fetched once for many logins, and again for a new key, but not for every unknown key id", async () => {
    const url = `${ISSUER}/flood`;
    pages.set(url, json({ keys: [issuer.jwk] }));
    const login = await mount("flood", { jwks_url: url, bound_issuer: ISSUER });
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    fetched = [];
    for (let i = 0; i < 3; i++) expect((await login(await issuer.sign({}))).status).toBe(200);
    expect(fetched).toEqual([url]);
    const next = await newIssuer("RS256", "key-2");
    for (let i = 0; i < 5; i++) expect((await login(await next.sign({}, { kid: `x${i}` }))).status).toBe(400);
    expect(fetched).toEqual([url]);
    pages.set(url, json({ keys: [issuer.jwk, next.jwk] }));
    vi.setSystemTime(now + 31_000);
    expect((await login(await next.sign({}))).status).toBe(200);
    expect(fetched).toEqual([url, url]);
  });

  it("that are withdrawn end within ten minutes", async () => {
    const url = `${ISSUER}/withdrawn`;
    pages.set(url, json({ keys: [issuer.jwk] }));
    const login = await mount("withdrawn", { jwks_url: url });
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    expect((await login(await issuer.sign({}))).status).toBe(200);
    const next = await newIssuer("RS256", "key-9");
    pages.set(url, json({ keys: [next.jwk] }));
    vi.setSystemTime(now + 600_000);
    expect((await login(await issuer.sign({}))).status).toBe(400);
  });

  it("that are withdrawn while the issuer does not answer end within ten minutes as well", async () => {
    const url = `${ISSUER}/down`;
    pages.set(url, json({ keys: [issuer.jwk] }));
    const login = await mount("down", { jwks_url: url });
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    expect((await login(await issuer.sign({}))).status).toBe(200);
    pages.delete(url);
    vi.setSystemTime(now + 599_999);
    expect((await login(await issuer.sign({}))).status).toBe(200);
    vi.setSystemTime(now + 600_000);
    expect((await login(await issuer.sign({}))).status).toBe(503);
  });

  it("that can't be fetched are a 503 that another try may mend, and an outage is survived for a while", async () => {
    const url = `${ISSUER}/outage`;
    pages.delete(url);
    await post("sys/auth/outage", { type: "jwt" });
    expect((await post("auth/outage/config", { jwks_url: url })).status).toBe(400);
    const warned = await post("auth/outage/config", { jwks_url: url, skip_jwks_validation: true });
    expect([warned.status, String(warned.body.warnings)]).toEqual([200, expect.stringContaining("error fetching")]);
    await post("auth/outage/role/ci", { user_claim: "sub", bound_audiences: "grove" });
    const login = async () => call("POST", "auth/outage/login", { body: { role: "ci", jwt: await issuer.sign({}) } });
    const now = Date.now();
    vi.useFakeTimers({ now, toFake: ["Date"] });
    const failed = await login();
    expect([failed.status, failed.headers.get("Retry-After")]).toEqual([503, "5"]);
    // Who configures the mount is told the address; who logs in is not.
    expect(String(warned.body.warnings)).toContain(`${url}: there is no connection`);
    expect(String(failed.body.errors)).not.toContain(new URL(url).hostname);
    pages.set(url, json({ keys: [issuer.jwk] }));
    vi.setSystemTime(now + 3_000);
    expect((await login()).status).toBe(200);
    pages.delete(url);
    vi.setSystemTime(now + 400_000);
    expect((await login()).status).toBe(200);
    vi.setSystemTime(now + 700_000);
    expect((await login()).status).toBe(503);
  });

  it("without a key id are tried, a few of them", async () => {
    const url = `${ISSUER}/nameless`;
    const nameless = await newIssuer("RS256");
    const others = await Promise.all([newIssuer("RS256"), newIssuer("ES256")]);
    pages.set(url, json({ keys: [...others.map(({ jwk }) => jwk), nameless.jwk] }));
    const login = await mount("nameless", { jwks_url: url, bound_issuer: ISSUER });
    expect((await login(await nameless.sign({}))).status).toBe(200);
    expect((await login(await (await newIssuer("RS256")).sign({}))).status).toBe(400);
  });

  it("that are secrets, or for encryption, verify nothing", async () => {
    const url = `${ISSUER}/secrets`;
    pages.set(
      url,
      json({
        keys: [
          { kty: "oct", k: "c2VjcmV0", kid: "key-1" },
          { ...issuer.jwk, use: "enc" },
        ],
      }),
    );
    const login = await mount("secrets", { jwks_url: url });
    expect((await login(await issuer.sign({}))).status).toBe(400);
  });

  it("in an answer that is too long, a redirect or no key set are refused", async () => {
    await post("sys/auth/odd", { type: "jwt" });
    const answers: [string, () => Response][] = [
      ["long", () => new Response(`{"keys": [], "x": "${"x".repeat(300_000)}"}`)],
      ["redirect", () => Response.redirect("https://evil.example.com/keys", 302)],
      ["array", json([])],
      ["text", () => new Response("<html>")],
      ["none", json({ keys: 1 })],
      ["deep", () => new Response(`{"keys":[{"kty":"RSA","x5c":${"[".repeat(100_000)}${"]".repeat(100_000)}}]}`)],
    ];
    for (const [name, page] of answers) {
      pages.set(`${ISSUER}/${name}`, page);
      expect((await post("auth/odd/config", { jwks_url: `${ISSUER}/${name}` })).status).toBe(400);
    }
  });
});

describe("the configuration and roles", () => {
  it.each<[Record<string, unknown>, RegExp]>([
    [{}, /exactly one of/],
    [{ jwks_url: "https://a.example.com", oidc_discovery_url: "https://a.example.com" }, /exactly one of/],
    [{ oidc_discovery_url: "https://a.example.com/.well-known/openid-configuration" }, /'.well-known' component/],
    [{ jwks_url: "http://a.example.com/keys" }, /must be an https URL, unless --allow-private-host/],
    [{ jwks_url: "https://127.0.0.1/keys" }, /host on the public internet, or one that --allow-private-host/],
    [{ jwks_url: "https://169.254.169.254/latest" }, /host on the public internet/],
    [{ jwks_url: "https://user@a.example.com/keys" }, /must not have a user/],
    [{ jwt_validation_pubkeys: "no key" }, /not a public key/],
    [{ oidc_client_id: "x", jwks_url: "https://a.example.com" }, /'oidc_discovery_url' must be set/],
    [{ jwks_ca_pem: "x", jwks_url: "https://a.example.com" }, /public certificate authorities/],
  ])("refuses %j", async (fields, message) => {
    const answer = await post("auth/jwt/config", fields);
    expect([answer.status, String(answer.body.errors)]).toEqual([400, expect.stringMatching(message)]);
  });

  it("refuses HMAC and none as algorithms, and a private key", async () => {
    for (const algorithm of ["HS256", "none", "rs256"]) {
      const answer = await post("auth/jwt/config", { ...byKey(), jwt_supported_algs: ["RS256", algorithm] });
      expect(answer.status).toBe(400);
    }
    const pem = `-----BEGIN PRIVATE KEY-----\n${btoa("x".repeat(60))}\n-----END PRIVATE KEY-----`;
    expect((await post("auth/jwt/config", { jwt_validation_pubkeys: pem })).status).toBe(400);
  });

  it("reads what was written, in the reference's fields", async () => {
    expect((await post("auth/jwt/config", { ...byKey(), jwt_supported_algs: "ES256,RS256" })).status).toBe(204);
    expect((await call("GET", "auth/jwt/config", { token: root })).body.data).toMatchObject({
      bound_issuer: ISSUER,
      jwt_validation_pubkeys: [issuer.pem.trim()],
      jwt_supported_algs: ["RS256", "ES256"],
      oidc_discovery_url: "",
      status: "valid",
    });
    const role = {
      user_claim: "/sub/name",
      user_claim_json_pointer: true,
      bound_claims: { env: ["a", 1, true] },
      claim_mappings: { "/a/b": "c" },
      clock_skew_leeway: "-1s",
      token_policies: ["b", "a"],
    };
    // Policies that do not exist change neither status nor body.
    for (const body of [role, { token_policies: "b,A" }, { token_ttl: "1m" }]) {
      const written = await post("auth/jwt/role/Shown", body);
      expect([written.status, written.body]).toEqual([204, null]);
    }
    expect((await call("GET", "auth/jwt/role/shown", { token: root })).body.data).toMatchObject({
      role_type: "jwt",
      user_claim: "/sub/name",
      user_claim_json_pointer: true,
      bound_claims: { env: ["a", 1, true] },
      claim_mappings: { "/a/b": "c" },
      clock_skew_leeway: -1,
      bound_claims_type: "string",
      token_policies: ["a", "b"],
    });
    expect((await call("GET", "auth/jwt/role?list=true", { token: root })).body.data.keys).toEqual(["shown"]);
    await call("DELETE", "auth/jwt/role/SHOWN", { token: root });
    expect((await call("GET", "auth/jwt/role/shown", { token: root })).status).toBe(404);
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ bound_audiences: "x" }, /a user claim must be defined/],
    [{ user_claim: "sub" }, /at least one bound constraint/],
    [{ user_claim: "sub", bound_subject: "x", bound_claim: { ref: "main" } }, /parameters: \[bound_claim\]/],
    [{ user_claim: "sub", bound_subject: "x", role_type: "oidc" }, /'allowed_redirect_uris' must be set/],
    [{ user_claim: "sub", bound_subject: "x", bound_claims_type: "regex" }, /bound_claims_type/],
    [{ user_claim: "sub", bound_claims: { a: 1 }, bound_claims_type: "glob" }, /glob/],
    [{ user_claim: "sub", bound_subject: "x", claim_mappings: { a: "role" } }, /reserved/],
    [{ user_claim: "sub", bound_subject: "x", claim_mappings: { a: "x", b: "x" } }, /multiple claims/],
    [{ user_claim: "sub", bound_subject: "x", token_policies_template_claims: true }, /not supported/],
  ])("refuses the role %j", async (fields, message) => {
    const answer = await post("auth/jwt/role/bad", fields);
    expect([answer.status, String(answer.body.errors)]).toEqual([400, expect.stringMatching(message)]);
  });
});
