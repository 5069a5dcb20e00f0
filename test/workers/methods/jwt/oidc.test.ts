import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { JwtAuth } from "../../../../src/methods/jwt/jwt-auth.ts";
import { callsTo } from "../../../support/calls.ts";
import { CLIENT, FakeProvider, PROVIDER } from "../../../support/fake-provider.ts";
import { COMMAND, mountOidc, PAGE, serveProviders } from "../../../support/oidc.ts";
import { call, initialized } from "../../../support/service.ts";

const OTHER = "https://other.example.com";

let root: string;
let provider: FakeProvider;
let other: FakeProvider;

beforeAll(async () => {
  root = await initialized();
  provider = await FakeProvider.start();
  other = await FakeProvider.start(OTHER);
});

beforeEach(() => {
  provider.change = (claims) => claims;
  provider.metadata = {};
  provider.instead = null;
  provider.userinfo.clear();
  serveProviders(provider, other);
});

afterEach(() => {
  vi.useRealTimers();
});

const EXPIRED = "Vault login failed. Expired or missing OAuth state.";

describe("a login through a browser", () => {
  it("gives the role's token to the person that the provider names", async () => {
    const mount = await mountOidc(root, "plain", provider, { role: { claim_mappings: { email: "mail" } } });
    const { status, auth } = await mount.login({ sub: "ann", email: "ann@example.com" });
    expect(status).toBe(200);
    expect(auth).toMatchObject({
      policies: ["ci", "default"],
      lease_duration: 600,
      orphan: true,
      metadata: { role: "web", mail: "ann@example.com" },
    });
    const token = String(auth?.client_token);
    const seen = await call("GET", "auth/token/lookup-self", { token });
    expect(seen.body.data).toMatchObject({ display_name: "plain-ann", path: "auth/plain/login" });
    expect((await mount.login({ sub: "ann" })).auth?.entity_id).toBe(auth?.entity_id);
    expect((await mount.login({ sub: "bob" })).auth?.entity_id).not.toBe(auth?.entity_id);
    expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
  });

  it("sends the browser with a challenge, a nonce and what the role asks for", async () => {
    const mount = await mountOidc(root, "asking", provider, {
      role: { oidc_scopes: ["email", "openid"], max_age: "1h" },
    });
    const url = new URL(await mount.authUrl());
    expect(url.origin + url.pathname).toBe(`${PROVIDER}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: "code",
      client_id: CLIENT.id,
      redirect_uri: COMMAND,
      scope: "openid email",
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
      max_age: "3600",
    });
    const again = new URL(await mount.authUrl());
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(again.searchParams.get(name)).not.toBe(url.searchParams.get(name));
    }
  });

  it("works on a mount of the type jwt, by the default role, and with the answer in the body", async () => {
    const mount = await mountOidc(root, "other-type", provider, { type: "jwt", config: { default_role: "Web" } });
    const { state, code } = provider.signIn(await mount.authUrl({ role: "", redirect_uri: PAGE }));
    const { status, auth } = await mount.open("oidc/callback", { state, code, client_nonce: "of-the-client" });
    expect([status, auth?.metadata]).toEqual([200, { role: "web" }]);
  });

  it("needs no secret of a client that sent none, and any port of the client's own machine", async () => {
    const mount = await mountOidc(root, "loose", provider);
    const url = await mount.authUrl({ client_nonce: "", redirect_uri: "http://localhost:41234/oidc/callback" });
    const { state, code } = provider.signIn(url);
    expect((await mount.callback({ state, code, client_nonce: "" })).status).toBe(200);
  });

  it("sends the client's secret in the body to a provider that takes it there alone", async () => {
    provider.metadata = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
    const mount = await mountOidc(root, "in-body", provider);
    expect((await mount.login()).status).toBe(200);
    expect(provider.asked.at(-1)).toMatchObject({ authorization: null, form: { client_secret: CLIENT.secret } });
  });

  it("takes what the ID token lacks from the userinfo endpoint, and nothing else", async () => {
    const role = { user_claim: "email", bound_claims: { team: "core" } };
    const mount = await mountOidc(root, "userinfo", provider, { role });
    provider.userinfo.set("ann", { email: "ann@example.com", team: "core", aud: "another" });
    expect((await mount.login()).auth?.entity_id).toBeDefined();
    expect((await mount.login({ sub: "ann", team: "sales" })).error).toContain('claim "team" does not match');
    provider.userinfo.set("ann", { sub: "bob", email: "bob@example.com", team: "core" });
    expect((await mount.login()).error).toContain('claim "team" is missing');
  });

  it("takes no claim about the ID token itself from the userinfo endpoint", async () => {
    const mount = await mountOidc(root, "unsigned-party", provider, { role: { bound_claims: { team: "core" } } });
    provider.userinfo.set("ann", { team: "core", azp: CLIENT.id });
    expect((await mount.login({ sub: "ann", aud: [CLIENT.id, "another"] })).error).toContain("no azp");
    provider.userinfo.set("ann", { team: "core", azp: "another", nbf: Math.floor(Date.now() / 1000) + 3600 });
    expect((await mount.login()).auth?.client_token).toBeDefined();
  });

  it("is explained by the claims of a person, with the checks that need the provider", async () => {
    const mount = await mountOidc(root, "explained", provider, { role: { max_age: 600 } });
    const ask = (claims: unknown) => mount.write("explain/login", { role: "web", claims });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: PROVIDER, sub: "ann", aud: CLIENT.id, iat: now, exp: now + 60 };
    const good = await ask(claims);
    expect(good.body.data).toMatchObject({ allowed: true });
    const outcomes = (answer: typeof good) =>
      Object.fromEntries(
        (answer.body.data.checks as unknown as { name: string; outcome: string }[]).map((c) => [c.name, c.outcome]),
      );
    expect(outcomes(good)).toMatchObject({
      ...{ oidc_state: "assumed", oidc_nonce: "assumed", oidc_age: "assumed", oidc_redirect: "assumed" },
      ...{ signature: "assumed", oidc_client: "passed", bound_audiences: "passed" },
    });
    const bad = await ask({ ...claims, aud: "another" });
    expect([bad.body.data.allowed, outcomes(bad).oidc_client]).toEqual([false, "failed"]);
    const partial = await ask({ ...claims, exp: undefined });
    expect([partial.body.data.allowed, outcomes(partial).oidc_claims]).toEqual([false, "failed"]);
  });

  it.each([
    ["true", 200],
    [true, 200],
    [undefined, 200],
    [false, 400],
    ["false", 400],
    [0, 400],
  ])("by an address that the provider calls verified, %j, is answered %d", async (email_verified, expected) => {
    const mount = await mountOidc(root, "by-address", provider, { role: { user_claim: "email" } });
    const { status, error } = await mount.login({ sub: "ann", email: "ann@example.com", email_verified });
    expect([status, error]).toEqual([expected, expected === 200 ? "" : expect.stringContaining("is not verified")]);
    const other = await mountOidc(root, "by-subject", provider);
    expect((await other.login({ sub: "ann", email: "ann@example.com", email_verified })).status).toBe(200);
  });
});

describe("a beginning is refused", () => {
  it.each([
    ["without an address", { redirect_uri: "" }, "missing redirect_uri"],
    ["to an address in another case", { redirect_uri: PAGE.replace("signed", "Signed") }, "allowed_redirect_uris"],
    ["to an address below one of the list", { redirect_uri: `${PAGE}/more` }, "allowed_redirect_uris"],
    ["with more in the query", { redirect_uri: `${PAGE}?next=https://evil.example` }, "allowed_redirect_uris"],
    ["to another port of a public host", { redirect_uri: PAGE.replace(".com/", ".com:444/") }, "allowed_redirect_uris"],
    ["to another host that begins alike", { redirect_uri: "http://localhost.evil.example/oidc/callback" }, "allowed"],
    ["to a user at another host", { redirect_uri: "http://localhost:8250@evil.example/oidc/callback" }, "allowed"],
    ["with a role that is not there", { role: "nobody" }, 'role "nobody" could not be found'],
    ["with a role of the other type", { role: "job" }, "role with jwt role_type is not allowed"],
    ["without a role", { role: "" }, "missing role"],
    ["with a long secret", { client_nonce: "x".repeat(513) }, "client_nonce is too long"],
  ])("%s", async (_, fields, message) => {
    const mount = await mountOidc(root, "refusing", provider);
    await mount.write("role/job", { role_type: "jwt", user_claim: "sub", bound_audiences: "grove" });
    const { status, error } = await mount.begin(fields);
    expect([status, error]).toEqual([400, expect.stringContaining(message)]);
  });

  it("at a mount that is no client of a provider, and where the provider does not answer", async () => {
    const mount = await mountOidc(root, "no-client", provider);
    await mount.write("config", { oidc_discovery_url: PROVIDER });
    expect((await mount.begin()).error).toBe("OIDC login is not configured for this mount");
    const away = await mountOidc(root, "away", provider);
    provider.instead = () => new Response(null, { status: 500 });
    expect((await away.begin()).status).toBe(503);
  });

  it("for a page of another site", async () => {
    const mount = await mountOidc(root, "foreign", provider);
    expect((await mount.begin({}, { "Sec-Fetch-Site": "cross-site" })).status).toBe(403);
  });
});

describe("an answer is refused", () => {
  it("a second time, after a wrong one, and after ten minutes", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const mount = await mountOidc(root, "once", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state, code })).status).toBe(200);
    expect(await mount.callback({ state, code })).toMatchObject({ status: 400, error: EXPIRED });
    const wrong = provider.signIn(await mount.authUrl());
    const { state: used } = wrong;
    expect((await mount.callback({ state: used, code: "other" })).error).toBe(
      "Vault login failed. Error exchanging oidc code: invalid_grant.",
    );
    expect((await mount.callback({ state: used, code: wrong.code })).error).toBe(EXPIRED);
    const late = provider.signIn(await mount.authUrl());
    vi.setSystemTime(Date.now() + 600_001);
    expect((await mount.callback({ state: late.state, code: late.code })).error).toBe(EXPIRED);
  });

  it("of all but one of many at once, as the state is good once", async () => {
    const mount = await mountOidc(root, "raced", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    const answers = await Promise.all(Array.from({ length: 20 }, () => mount.callback({ state, code })));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBe(1);
    expect(answers.filter(({ error }) => error === EXPIRED).length).toBe(19);
    // None of the others came as far as the provider.
    expect(provider.asked.filter(({ form }) => form.code === code).length).toBe(1);
  });

  it("by another client than the one that began, and the login stays for that one", async () => {
    const mount = await mountOidc(root, "bound", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state, code, client_nonce: "" })).error).toBe("invalid client_nonce");
    expect((await mount.callback({ state, code, client_nonce: "other" })).error).toBe("invalid client_nonce");
    expect((await mount.callback({ state, code })).status).toBe(200);
  });

  it("with a state that was never given, or that another mount gave", async () => {
    const mount = await mountOidc(root, "one", provider);
    const elsewhere = await mountOidc(root, "two", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    for (const wrong of ["", "made-up", "x".repeat(600)]) {
      expect((await mount.callback({ state: wrong, code })).error).toBe(EXPIRED);
    }
    expect((await elsewhere.callback({ state, code })).error).toBe(EXPIRED);
  });

  it("with a code that the provider gave for another login (PKCE)", async () => {
    const mount = await mountOidc(root, "mixed", provider);
    const victim = provider.signIn(await mount.authUrl(), { sub: "victim" });
    const own = provider.signIn(await mount.authUrl({ client_nonce: "attacker" }), { sub: "attacker" });
    const { error } = await mount.callback({ state: own.state, code: victim.code, client_nonce: "attacker" });
    expect(error).toContain("invalid_grant");
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["another nonce", { nonce: "other" }, "invalid ID token nonce"],
    ["no nonce", { nonce: undefined }, "invalid ID token nonce"],
    ["another issuer", { iss: OTHER }, "invalid issuer (iss) claim"],
    ["the issuer in another spelling", { iss: `${PROVIDER}/` }, "invalid issuer (iss) claim"],
    ["another audience", { aud: "another-client" }, "for another client"],
    ["several audiences and no azp", { aud: [CLIENT.id, "x"] }, "several audiences"],
    ["another authorized party", { azp: "another-client" }, "issued to another client (azp)"],
    ["the hash of another access token", { at_hash: "AAAAAAAAAAAAAAAAAAAAAA" }, "(at_hash)"],
    ["no time of the sign-in", { auth_time: undefined }, "no auth_time"],
    ["an old sign-in", { auth_time: 1_700_000_000 }, "older than max_age"],
    ["its end in the past", { exp: 1_700_000_000 }, "token is expired"],
    ["no end", { exp: null }, "the ID token has no exp"],
    ["no time of issue", { iat: null }, "the ID token has no iat"],
    ["no subject", { sub: undefined }, "the ID token has no sub"],
    ["an empty subject", { sub: "" }, "the ID token has no sub"],
  ])("whose ID token has %s", async (_, claims, message) => {
    const mount = await mountOidc(root, "judged", provider, { role: { max_age: "1h" } });
    const now = Math.floor(Date.now() / 1000);
    provider.change = (good) => ({ ...good, auth_time: now });
    expect((await mount.login()).status).toBe(200);
    provider.change = (good) => ({ ...good, auth_time: now, ...claims });
    const { status, error } = await mount.login();
    expect([status, error]).toEqual([400, expect.stringContaining(message)]);
  });

  it("whose ID token another issuer has signed", async () => {
    const mount = await mountOidc(root, "forged", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    provider.instead = async (url) => {
      if (url.pathname !== "/token") return undefined;
      const id_token = await other.issuer.sign({ iss: PROVIDER, aud: CLIENT.id, sub: "root" });
      return Response.json({ id_token, access_token: "x" });
    };
    expect((await mount.callback({ state, code })).error).toContain("failed to verify id token signature");
  });

  it("of another issuer (RFC 9207), and without one where the provider names it", async () => {
    const mount = await mountOidc(root, "issuers", provider);
    const good = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state: good.state, code: good.code, iss: OTHER })).error).toContain("(iss)");
    const right = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state: right.state, code: right.code, iss: PROVIDER })).status).toBe(200);

    provider.metadata = { authorization_response_iss_parameter_supported: true };
    const strict = await mountOidc(root, "naming-issuers", provider);
    const silent = provider.signIn(await strict.authUrl({ redirect_uri: PAGE }));
    expect((await strict.callback({ state: silent.state, code: silent.code })).error).toContain("(iss)");
    const named = provider.signIn(await strict.authUrl({ redirect_uri: PAGE }));
    expect((await strict.callback({ state: named.state, code: named.code, iss: PROVIDER })).status).toBe(200);
    // The command passes on the code alone.
    expect((await strict.login()).status).toBe(200);
  });

  it("after the mount was given another provider, with nothing sent to that", async () => {
    const mount = await mountOidc(root, "moved", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    await mount.write("config", {
      oidc_discovery_url: OTHER,
      oidc_client_id: CLIENT.id,
      oidc_client_secret: CLIENT.secret,
    });
    expect((await mount.callback({ state, code })).error).toContain("The configuration has changed");
    expect(other.asked).toEqual([]);
  });

  it("with an error of the provider, of which only a known name is shown", async () => {
    const mount = await mountOidc(root, "erring", provider);
    const text = "<script>alert(1)</script>";
    const denied = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state: denied.state, error: "access_denied", error_description: text })).error).toBe(
      "Vault login failed. access_denied",
    );
    const odd = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state: odd.state, error: text })).error).toBe(
      "Vault login failed. The provider reported an error.",
    );
    const none = provider.signIn(await mount.authUrl());
    expect((await mount.callback({ state: none.state })).error).toContain("No code or id_token received.");
    provider.instead = (url) =>
      url.pathname === "/token" ? Response.json({ error: text }, { status: 400 }) : undefined;
    expect((await mount.login()).error).toBe("Vault login failed. Error exchanging oidc code: unknown error.");
  });

  it("by a role of the other type at its endpoint", async () => {
    const mount = await mountOidc(root, "both", provider);
    const jwt = await provider.issuer.sign({ iss: PROVIDER, aud: CLIENT.id });
    expect((await mount.open("login", { role: "web", jwt })).error).toBe("role with oidc role_type is not allowed");
  });

  it("from a network that the role is not bound to", async () => {
    const mount = await mountOidc(root, "networks", provider, { role: { token_bound_cidrs: "192.0.2.0/24" } });
    expect((await mount.login()).status).toBe(403);
  });
});

describe("the settings of a mount", () => {
  it("never show the client's secret, which stays for the same client of the same issuer", async () => {
    const mount = await mountOidc(root, "secret", provider, { config: { oidc_response_mode: "query" } });
    const read = await mount.read("config");
    expect(JSON.stringify(read.body)).not.toContain("s3cret");
    expect(read.body.data).toMatchObject({ oidc_client_id: CLIENT.id, oidc_response_mode: "query" });
    expect((await mount.write("config", read.body.data)).status).toBe(204);
    expect((await mount.login()).status).toBe(200);
    for (const change of [{ oidc_client_id: "other" }, { oidc_discovery_url: OTHER }]) {
      const refused = await mount.write("config", { ...(read.body.data as object), ...change });
      expect([refused.status, String(refused.body.errors)]).toEqual([
        400,
        expect.stringContaining("must be set for OIDC"),
      ]);
    }
  });

  it.each([
    [{ oidc_client_id: "x", oidc_discovery_url: PROVIDER }, "must be set for OIDC"],
    [{ oidc_client_secret: "x", oidc_discovery_url: PROVIDER }, "must be set for OIDC"],
    [
      { oidc_client_id: "x", oidc_client_secret: "y", jwks_url: `${PROVIDER}/keys` },
      "'oidc_discovery_url' must be set",
    ],
    [{ oidc_discovery_url: PROVIDER, oidc_response_mode: "fragment" }, "invalid response_mode"],
    [{ oidc_discovery_url: PROVIDER, oidc_response_types: "id_token" }, "invalid response_types"],
    [{ oidc_discovery_url: PROVIDER, provider_config: { provider: "gsuite" } }, "invalid provider_config"],
    [
      {
        oidc_discovery_url: PROVIDER,
        oidc_discovery_ca_pem: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----",
      },
      "oidc_discovery_ca_pem can't be set",
    ],
  ])("refuse %j", async (config, message) => {
    await mountOidc(root, "settings", provider);
    const { status, body } = await call("POST", "auth/settings/config", { token: root, body: config });
    expect([status, String(body.errors)]).toEqual([400, expect.stringContaining(message)]);
  });

  it.each([
    [{ allowed_redirect_uris: [] }, "'allowed_redirect_uris' must be set"],
    [{ allowed_redirect_uris: ["javascript:alert(1)"] }, "allowed_redirect_uris: each must be http"],
    [{ allowed_redirect_uris: ["https://grove.example.com/#x"] }, "without a fragment"],
    [{ allowed_redirect_uris: ["https://ann@grove.example.com/"] }, "must not name a user"],
    [{ callback_mode: "sideways" }, "invalid 'callback_mode'"],
    [{ role_type: "saml" }, "invalid 'role_type'"],
    [{ oidc_disable_confirmation: true }, "oidc_disable_confirmation can't be set"],
    [{ oidc_scopes: ["a b"] }, "oidc_scopes"],
    [{ poll_interval: 61 }, "poll_interval"],
    [{ max_age: -1 }, "max_age"],
    [{ max_age: 366 * 24 * 3600 + 1 }, "max_age"],
  ])("refuse a role with %j", async (fields, message) => {
    const mount = await mountOidc(root, "role-settings", provider);
    const { status, body } = await mount.write("role/web", fields);
    expect([status, String(body.errors)]).toEqual([400, expect.stringContaining(message)]);
  });

  it("take a role with the longest pause between two questions, and with the oldest sign-in", async () => {
    const mount = await mountOidc(root, "longest", provider);
    const fields = { poll_interval: 60, max_age: 366 * 24 * 3600 };
    expect((await mount.write("role/web", fields)).status).toBeLessThan(300);
    expect((await mount.read("role/web")).body.data).toMatchObject({ max_age: fields.max_age });
  });

  it("take a new role with addresses for one of logins through a browser, and keep the type of a known one", async () => {
    const mount = await mountOidc(root, "types", provider);
    await mount.write("role/new", { user_claim: "sub", allowed_redirect_uris: COMMAND });
    await mount.write("role/new", { token_ttl: 60 });
    expect((await mount.read("role/new")).body.data).toMatchObject({ role_type: "oidc", callback_mode: "client" });
    await mount.write("role/new", { role_type: "jwt", bound_audiences: "x" });
    expect((await mount.read("role/new")).body.data).toMatchObject({ role_type: "jwt" });
  });

  it("warn of addresses that no login returns to, or that are read on the way", async () => {
    const mount = await mountOidc(root, "addresses", provider);
    const write = async (...uris: string[]) => (await mount.write("role/web", { allowed_redirect_uris: uris })).body;
    const warned = await write(PAGE, "https://*.example.com/cb", "http://grove.example.com/ui/cb");
    expect(warned.warnings).toEqual([
      "allowed_redirect_uris: item 2 is compared character by character: * stands for itself",
      "allowed_redirect_uris: item 3 is http to another machine, which anybody on the way can read: use https",
    ]);
    expect(await write(PAGE, COMMAND, "http://127.0.0.1/cb", "com.example.app:/cb")).toBeNull();
  });

  it("keep what clients send with every role, without effect on one whose clients present a token", async () => {
    const mount = await mountOidc(root, "sent-always", provider);
    const sent = { allowed_redirect_uris: [COMMAND], oidc_scopes: ["email"], verbose_oidc_logging: true };
    await mount.write("role/job", { role_type: "jwt", user_claim: "sub", bound_audiences: "x", ...sent });
    expect((await mount.read("role/job")).body.data).toMatchObject({ role_type: "jwt", ...sent });
    const begun = await mount.open("oidc/auth_url", { role: "job", redirect_uri: COMMAND });
    expect([begun.status, begun.error]).toEqual([400, expect.stringContaining("role_type")]);
    const unbound = await mount.write("role/free", { role_type: "jwt", user_claim: "sub", ...sent });
    expect(String(unbound.body.errors)).toContain("at least one bound constraint");
    await mount.write("role/job", { role_type: "oidc" });
    expect((await mount.read("role/job")).body.data).toMatchObject({ role_type: "oidc", ...sent });
  });

  it.each(["type and field at once", "the field later"])(
    "refuse a limit that a role without a browser would not keep: %s",
    async (order) => {
      const mount = await mountOidc(root, "no-limit", provider);
      const role = { role_type: "jwt", user_claim: "sub", bound_audiences: "x" };
      if (order === "the field later") await mount.write("role/job", role);
      const { status } = await mount.write(
        "role/job",
        order === "the field later" ? { max_age: 60 } : { ...role, max_age: 60 },
      );
      expect(status).toBe(400);
    },
  );
});

it("a login asks the mount's object once to begin, and once to end", async () => {
  const mount = await mountOidc(root, "hops", provider);
  await mount.login();
  const methods = ["readLogin", "beginLogin", "takeLogin", "findLogin", "readConfig", "readRole"] as const;
  const asked = methods.map((method) => callsTo(JwtAuth, method));
  await mount.login();
  expect(asked.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 0, 0, 0]);
});
