import { runDurableObjectAlarm } from "cloudflare:test";
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify, SignJWT } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { SIGNING_ALGORITHMS } from "../../../src/issuer/key-and-role-config.ts";
import { OidcIssuer, oidcIssuerOf } from "../../../src/issuer/oidc-issuer.ts";
import { forgetPublishedKeys } from "../../../src/issuer/published-keys.ts";
import { atNth, callsTo } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { rowsOf, storedText } from "../../support/rows.ts";
import { bindings, bodyOf, call, createToken, initialized } from "../../support/service.ts";
import { changeRows, deleteRows, insertRows } from "../../support/storage-writer.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
  await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies: "default,tokens" });
  const policy = 'path "identity/oidc/token/*" { capabilities = ["read"] }';
  await post("sys/policies/acl/tokens", { policy });
});

afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const get = (path: string, token = root) => call("GET", path, { token });
const oidc = (path: string) => `identity/oidc/${path}`;

/** A token of a new entity. */
async function person(alias: string) {
  const made = await post("auth/token/create/person", { entity_alias: alias, policies: ["tokens"] });
  const { client_token: token, entity_id: entity } = made.body.auth;
  return { token: token as string, entity: entity as string };
}

async function jwks(): Promise<JSONWebKeySet> {
  return bodyOf<JSONWebKeySet>(await call("GET", oidc(".well-known/keys")));
}

const publishedKids = async () => (await jwks()).keys.map(({ kid }) => kid);

const ISSUER = "http://grove.test/v1/identity/oidc";

async function verified(token: string) {
  return jwtVerify(token, createLocalJWKSet(await jwks()), { issuer: ISSUER });
}

describe("a token of the issuer", () => {
  it.each(SIGNING_ALGORITHMS)("signed with %s verifies by what the service publishes", async (algorithm) => {
    const name = `key-${algorithm}`;
    expect((await post(oidc(`key/${name}`), { algorithm, allowed_client_ids: "*" })).status).toBe(204);
    const role = {
      key: name,
      ttl: "10m",
      template: '{"who": {{identity.entity.name}}, "groups": {{identity.entity.groups.names}}}',
    };
    expect((await post(oidc(`role/${name}`), role)).status).toBe(204);
    const { token, entity } = await person(name);
    const answer = await get(oidc(`token/${name}`), token);
    expect(answer.status).toBe(200);
    const clientId = (await get(oidc(`role/${name}`))).body.data.client_id;
    expect(answer.body.data).toMatchObject({ client_id: clientId, ttl: 600 });
    const { payload, protectedHeader } = await verified(answer.body.data.token);
    expect(protectedHeader).toMatchObject({ alg: algorithm });
    expect(payload).toMatchObject({ iss: ISSUER, sub: entity, aud: clientId, namespace: "root", groups: [] });
    expect(payload.who).toMatch(/^entity_/);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(600);
  });

  it("is refused to a token without an entity, without a role, and to a client that the key does not list", async () => {
    await post(oidc("key/listed"), { algorithm: "ES256", allowed_client_ids: "one" });
    await post(oidc("role/unlisted"), { key: "listed", client_id: "two", ttl: "1h" });
    await post(oidc("role/listed"), { key: "listed", client_id: "one", ttl: "1h" });
    const { token } = await person("listed");
    expect((await get(oidc("token/listed"), token)).status).toBe(200);
    expect((await get(oidc("token/unlisted"), token)).body.errors).toEqual([
      "the key does not list the client ID of the role as an allowed client ID",
    ]);
    expect((await get(oidc("token/absent"), token)).body.errors).toEqual(["role not found"]);
    expect((await get(oidc("token/listed"))).body.errors).toEqual(["no entity associated with the request's token"]);
    const { client_token: other } = await createToken(root, { policies: ["default"] });
    expect((await get(oidc("token/listed"), other)).status).toBe(403);
    expect((await call("GET", oidc("token/listed"))).status).toBe(403);
  });

  it("can't get a reserved or repeated claim by the entity's name", async () => {
    const template = '{"team": "red", {{identity.entity.name}}: "x"}';
    expect((await post(oidc("role/keyed"), { key: "default", template })).status).toBe(204);
    const { token, entity } = await person("keyed");
    for (const [name, status] of [
      ["nonce", 400],
      ["nbf", 400],
      ["team", 400],
      ["harmless", 200],
    ] as const) {
      expect((await post(`identity/entity/id/${entity}`, { name })).status).toBe(204);
      const answer = await vi.waitUntil(async () => {
        const made = await get(oidc("token/keyed"), token);
        return made.status === status && made;
      }, 60_000);
      if (status === 200) expect(decodeJwt(answer.body.data.token)).toMatchObject({ team: "red", harmless: "x" });
    }
    for (const bad of ['{"a": "{{identity.entity.metadata}}"}', "{ {{identity.entity.metadata}}: 1 }"]) {
      expect((await post(oidc("role/quoted"), { key: "default", template: bad })).status).toBe(400);
    }
  });

  it("is refused to a disabled entity", async () => {
    await post(oidc("role/disabled"), { key: "default" });
    const { token, entity } = await person("disabled");
    expect((await get(oidc("token/disabled"), token)).status).toBe(200);
    await post(`identity/entity/id/${entity}`, { disabled: true });
    expect((await get(oidc("token/disabled"), token)).status).toBe(403);
  });
});

describe("the issuer", () => {
  it("is the name that the service is called by, until it is configured", async () => {
    const before = await get(oidc("config"));
    expect(before.body).toMatchObject({ data: { issuer: "" }, warnings: [expect.stringContaining("not set")] });
    expect((await call("GET", oidc(".well-known/openid-configuration"))).body).toEqual({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/.well-known/keys`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [...SIGNING_ALGORITHMS],
    });
    const forwarded = await call("GET", oidc(".well-known/openid-configuration"), {
      headers: { "X-Forwarded-Host": "foreign.test", "X-Forwarded-Proto": "https" },
    });
    expect(forwarded.body.issuer).toBe(ISSUER);
    expect(forwarded.headers.get("Cache-Control")).toBe("no-store");
    expect((await call("GET", oidc("plugins/.well-known/openid-configuration"))).status).toBe(404);
    expect((await post(oidc("config"), { issuer: "https://id.test/x" })).status).toBe(400);
    const set = await post(oidc("config"), { issuer: "https://id.test" });
    expect([set.status, set.body.warnings]).toEqual([200, [expect.stringContaining("is set explicitly")]]);
    expect((await get(oidc("config"))).body.warnings).toBeNull();
    const after = await call("GET", oidc(".well-known/openid-configuration"));
    expect(after.body.issuer).toBe("https://id.test/v1/identity/oidc");
    expect(after.headers.get("Cache-Control")).toBe("max-age=3600");
    const plugins = await call("GET", oidc("plugins/.well-known/openid-configuration"));
    expect(plugins.body.issuer).toBe("https://id.test/v1/identity/oidc/plugins");
    expect((await post(oidc("config"), { issuer: "" })).status).toBe(204);
  });

  it("answers discovery and keys without asking an object in the usual case", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await jwks();
    const asked = callsTo(OidcIssuer, "published");
    for (let i = 0; i < 3; i++) {
      await jwks();
      await call("GET", oidc(".well-known/openid-configuration"));
    }
    expect(asked.calls).toEqual([]);
  });
});

describe("a key", () => {
  it("is read as it was written, listed, changed and deleted", async () => {
    const fields = {
      algorithm: "EdDSA",
      rotation_period: "1h",
      verification_ttl: "2h",
      allowed_client_ids: ["a", "b"],
    };
    await post(oidc("key/plain"), fields);
    const shown = { algorithm: "EdDSA", rotation_period: 3600, verification_ttl: 7200, allowed_client_ids: ["a", "b"] };
    expect((await get(oidc("key/plain"))).body.data).toEqual(shown);
    await post(oidc("key/plain"), { verification_ttl: "3h" });
    expect((await get(oidc("key/plain"))).body.data).toEqual({ ...shown, verification_ttl: 10_800 });
    expect(JSON.parse(JSON.stringify((await get(`${oidc("key")}?list=true`)).body.data.keys))).toContain("plain");
    // Verifiers may cache all keys for a quarter of the shortest rotation period, and at most an hour.
    const cached = async () => (await call("GET", oidc(".well-known/keys"))).headers.get("Cache-Control");
    await post(oidc("key/longer"), { algorithm: "EdDSA", rotation_period: "24h" });
    expect(await cached()).toBe("max-age=900");
    // What another isolate has copied is current until a key is deleted.
    const { revision = null } = (await oidcIssuerOf(bindings).published(null)) ?? {};
    expect(await oidcIssuerOf(bindings).published(revision)).toBeNull();
    expect((await call("DELETE", oidc("key/plain"), { token: root })).status).toBe(204);
    expect(await oidcIssuerOf(bindings).published(revision)).not.toBeNull();
    expect(await cached()).toBe("max-age=3600");
    expect((await get(oidc("key/plain"))).status).toBe(404);
  });

  it("stays while roles use it, and `default` always", async () => {
    await post(oidc("key/used"), { algorithm: "ES256", allowed_client_ids: "*" });
    await post(oidc("role/user"), { key: "used" });
    const refused = await call("DELETE", oidc("key/used"), { token: root });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ["unable to delete the key because it is currently referenced by these roles: user"],
    ]);
    expect((await call("DELETE", oidc("key/default"), { token: root })).status).toBe(400);
    await call("DELETE", oidc("role/user"), { token: root });
    expect((await call("DELETE", oidc("key/used"), { token: root })).status).toBe(204);
  });

  it("is deleted by the first call of a new instance of the object, which has no keys yet", async () => {
    await post(oidc("key/asleep"), { algorithm: "ES256" });
    const { revision = null } = (await oidcIssuerOf(bindings).published(null)) ?? {};
    await crash(oidcIssuerOf(bindings));
    expect((await call("DELETE", oidc("key/asleep"), { token: root })).status).toBe(204);
    expect(await oidcIssuerOf(bindings).published(revision)).not.toBeNull();
  });

  it("is refused with an algorithm that a verifier could be tricked with", async () => {
    for (const algorithm of ["none", "HS256", "rs256", ""]) {
      expect((await post(oidc("key/odd"), { algorithm })).status).toBe(400);
    }
    expect((await get(oidc("key/odd"))).status).toBe(404);
  });

  it("must exist for a role, and live as long as the role's tokens", async () => {
    expect((await post(oidc("role/x"), { key: "absent" })).status).toBe(400);
    await post(oidc("key/short"), { algorithm: "ES256", rotation_period: "1h", verification_ttl: "1h" });
    expect((await post(oidc("role/x"), { key: "short", ttl: "2h" })).status).toBe(400);
    expect((await post(oidc("role/x"), { key: "short", ttl: "1h" })).status).toBe(204);
    expect((await post(oidc("key/short"), { verification_ttl: "30m" })).status).toBe(400);
  });

  it("stores no half of itself in the clear", async () => {
    await post(oidc("key/sealed"), { algorithm: "ES256" });
    expect((await rowsOf(oidcIssuerOf(bindings), "key_versions")).map(({ name }) => name)).toContain("sealed");
    expect(await storedText(oidcIssuerOf(bindings))).not.toContain('"kty"');
  });

  it("of another place in the storage is not published", async () => {
    await post(oidc("key/moved"), { algorithm: "ES256" });
    const versions = (await rowsOf(oidcIssuerOf(bindings), "key_versions")).filter(({ name }) => name === "moved");
    const [next, signing] = ["next", "signing"].map((state) => versions.find((one) => one.state === state));
    const { kid = "" } = signing ?? {};
    expect(await publishedKids()).toContain(kid);
    await changeRows(oidcIssuerOf(bindings), "key_versions", { public_key: next?.public_key ?? "" }, { kid });
    forgetPublishedKeys();
    const published = await call("GET", oidc(".well-known/keys"));
    expect(published.status).toBe(200);
    expect(await publishedKids()).not.toContain(kid);
    await call("DELETE", oidc("key/moved"), { token: root });
    expect((await call("GET", oidc(".well-known/keys"))).status).toBe(200);
  });
});

describe("rotation", () => {
  const START = Date.UTC(2026, 10, 21);
  const HOUR = 3_600_000;

  /** A key that is rotated every hour, with a role, and a token's header for a caller with an entity. */
  async function rotating(name: string) {
    vi.useFakeTimers({ now: START, toFake: ["Date"] });
    await post(oidc(`key/${name}`), {
      algorithm: "ES256",
      rotation_period: "1h",
      verification_ttl: "2h",
      allowed_client_ids: "*",
    });
    await post(oidc(`role/${name}`), { key: name, ttl: "2h" });
    const { token } = await person(name);
    return async () => (await get(oidc(`token/${name}`), token)).body.data.token as string;
  }

  const kid = (token: string) => decodeProtectedHeader(token).kid;

  it("by the alarm switches to a key that was published for a whole period", async () => {
    const sign = await rotating("alarm");
    const first = await sign();
    const before = await publishedKids();
    vi.setSystemTime(START + HOUR);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    const second = await sign();
    expect(kid(second)).not.toBe(kid(first));
    expect(before).toContain(kid(second));
    forgetPublishedKeys();
    for (const token of [first, second]) await expect(verified(token)).resolves.toBeDefined();
  });

  it("leaves an old half published for as long as its tokens live, and drops it then", async () => {
    const sign = await rotating("dropping");
    const first = await sign();
    await post(oidc("key/dropping/rotate"));
    const versions = await rowsOf(oidcIssuerOf(bindings), "key_versions");
    expect(versions.find((version) => version.kid === kid(first))).toMatchObject({
      state: "retired",
      private_key: null,
    });
    vi.setSystemTime(START + 2 * HOUR - 1000);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    forgetPublishedKeys();
    expect(await publishedKids()).toContain(kid(first));
    vi.setSystemTime(START + 2 * HOUR);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    forgetPublishedKeys();
    expect(await publishedKids()).not.toContain(kid(first));
  });

  it("has an isolate with an old copy drop an old half, when nothing else has changed since", async () => {
    const sign = await rotating("lone-end");
    const first = await sign();
    await post(oidc("key/lone-end/rotate"), { verification_ttl: "90m" });
    const end = START + 1.5 * HOUR;
    // What else is due is done before.
    vi.setSystemTime(end - 1000);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    forgetPublishedKeys();
    expect(await publishedKids()).toContain(kid(first));
    vi.setSystemTime(end);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    vi.setSystemTime(end + 60_000);
    expect(await publishedKids()).not.toContain(kid(first));
  });

  it("to another algorithm leaves the old half published for the time that its tokens were promised", async () => {
    const sign = await rotating("other-algorithm");
    const first = await sign();
    await call("DELETE", oidc("role/other-algorithm"), { token: root });
    const change = { algorithm: "ES384", verification_ttl: "1h" };
    expect((await post(oidc("key/other-algorithm"), change)).status).toBe(204);
    vi.setSystemTime(START + 2 * HOUR - 1000);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    forgetPublishedKeys();
    expect(await publishedKids()).toContain(kid(first));
  });

  it("by the alarm is not put off by a write of the key", async () => {
    const sign = await rotating("put-off");
    const first = await sign();
    vi.setSystemTime(START + HOUR - 60_000);
    await post(oidc("key/put-off"), { verification_ttl: "3h" });
    vi.setSystemTime(START + HOUR);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    expect(kid(await sign())).not.toBe(kid(first));
  });

  it("by the alarm comes sooner after a write that shortens the period", async () => {
    const sign = await rotating("sooner");
    const first = await sign();
    await post(oidc("key/sooner"), { rotation_period: "30m" });
    vi.setSystemTime(START + HOUR / 2);
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    expect(kid(await sign())).not.toBe(kid(first));
  });

  it("by hand with verification_ttl 0 ends what the old key signed at once", async () => {
    const sign = await rotating("at-once");
    const first = await sign();
    expect((await post(oidc("key/at-once/rotate"), { verification_ttl: 0 })).status).toBe(204);
    expect(await publishedKids()).not.toContain(kid(first));
    await expect(verified(await sign())).resolves.toBeDefined();
  });

  it("by the alarm leaves alone a key that is rotated by hand while the alarm makes a pair", async () => {
    const sign = await rotating("by-both");
    vi.setSystemTime(START + HOUR);
    let byHand = "";
    atNth(SubtleCrypto, "generateKey", 1, async (proceed) => {
      expect((await post(oidc("key/by-both/rotate"))).status).toBe(204);
      byHand = await sign();
      return proceed();
    });
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    expect(kid(await sign())).toBe(kid(byHand));
  });

  it("by the alarm leaves alone a key whose algorithm is changed while the alarm makes a pair", async () => {
    const sign = await rotating("by-write");
    vi.setSystemTime(START + HOUR);
    atNth(SubtleCrypto, "generateKey", 1, async (proceed) => {
      expect((await post(oidc("key/by-write"), { algorithm: "ES384" })).status).toBe(204);
      return proceed();
    });
    await runDurableObjectAlarm(oidcIssuerOf(bindings));
    for (const hours of [1, 2]) {
      vi.setSystemTime(START + hours * HOUR);
      await runDurableObjectAlarm(oidcIssuerOf(bindings));
      forgetPublishedKeys();
      const token = await sign();
      expect(decodeProtectedHeader(token).alg).toBe("ES384");
      await expect(verified(token)).resolves.toBeDefined();
    }
  });

  it("refuses no token while it happens again and again", async () => {
    const sign = await rotating("busy");
    for (let hour = 1; hour <= 5; hour++) {
      const before = await sign();
      const verifier = createLocalJWKSet(await jwks());
      vi.setSystemTime(START + hour * HOUR);
      await runDurableObjectAlarm(oidcIssuerOf(bindings));
      // A verifier that still has the old keys accepts tokens from after the rotation.
      await expect(jwtVerify(await sign(), verifier, { issuer: ISSUER })).resolves.toBeDefined();
      await expect(verified(before)).resolves.toBeDefined();
    }
  });

  it("by hand is bounded: each version that is still published is one more for everybody to read", async () => {
    await rotating("flood");
    const retired = { name: "flood", state: "retired", public_key: new Uint8Array(1), expires_at: START + HOUR };
    const kids = Array.from({ length: 50 }, (_, i) => `flood-${i}`);
    await insertRows(
      oidcIssuerOf(bindings),
      "key_versions",
      kids.map((kid) => ({ kid, ...retired })),
    );
    expect((await post(oidc("key/flood/rotate"))).status).toBe(400);
    for (const kid of kids) await deleteRows(oidcIssuerOf(bindings), "key_versions", { kid });
    expect((await post(oidc("key/absent/rotate"))).status).toBe(400);
  });
});

describe("an entity that was merged into another one", () => {
  it("gets identity tokens of the other one, and those from before are not active", async () => {
    await post(oidc("key/merged"), { algorithm: "ES256", allowed_client_ids: "*" });
    await post(oidc("role/merged"), { key: "merged", client_id: "client", ttl: "1h" });
    const { token: caller, entity } = await person("merged");
    const before = (await get(oidc("token/merged"), caller)).body.data.token;
    const target = (await post("identity/entity")).body.data.id;
    await post("identity/entity/merge", { to_entity_id: target, from_entity_ids: [entity] });
    const after = (await get(oidc("token/merged"), caller)).body.data.token;
    expect((await verified(after)).payload.sub).toBe(target);
    const active = async (token: string) => (await post(oidc("introspect"), { token })).body;
    expect([await active(after), await active(before)]).toEqual([
      { active: true },
      { active: false, error: "entity was not found" },
    ]);
  });
});

describe("introspection", () => {
  it("shows whether a token is valid now", async () => {
    await post(oidc("key/spect"), { algorithm: "ES256", allowed_client_ids: "*" });
    await post(oidc("role/spect"), { key: "spect", client_id: "client", ttl: "1h" });
    const { token: caller, entity } = await person("spect");
    const token = (await get(oidc("token/spect"), caller)).body.data.token as string;
    const active = async (body: object) => (await post(oidc("introspect"), body)).body;
    expect(await active({ token })).toEqual({ active: true });
    expect(await active({ token, client_id: "client" })).toEqual({ active: true });
    expect(await active({ token, client_id: "other" })).toEqual({
      active: false,
      error: "error validating claims: invalid aud",
    });
    expect(await active({ token: "x.y.z" })).toEqual({ active: false, error: "error parsing token" });
    const [header, , signature] = token.split(".");
    const forged = `${header}.${btoa(JSON.stringify({ ...decodeJwt(token), sub: "admin" })).replace(/=+$/, "")}.${signature}`;
    expect(await active({ token: forged })).toMatchObject({ active: false });
    const hmac = await new SignJWT({ sub: entity })
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode("k".repeat(32)));
    expect(await active({ token: hmac })).toMatchObject({ active: false });
    await post(`identity/entity/id/${entity}`, { disabled: true });
    expect(await active({ token })).toEqual({ active: false, error: "entity is disabled" });
    await call("DELETE", `identity/entity/id/${entity}`, { token: root });
    expect(await active({ token })).toEqual({ active: false, error: "entity was not found" });
  });
});
