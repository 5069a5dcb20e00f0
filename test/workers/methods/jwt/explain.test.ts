import * as fc from "fast-check";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { LoginExplanation as Explanation } from "../../../support/explanation.ts";
import { ISSUER, type Issuer, newIssuer } from "../../../support/issuer.ts";
import { type Answer, call, createToken, dataOf, initialized } from "../../../support/service.ts";

let root: string;
let issuer: Issuer;
let stranger: Issuer;

const ROLE = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", token_policies: "ci", token_ttl: "10m" };
const ROLES: Record<string, Record<string, unknown>> = {
  plain: {},
  bound: {
    bound_subject: "job",
    bound_claims: { ref: "refs/heads/*", "/job/env": ["prod", "stage"] },
    bound_claims_type: "glob",
  },
  typed: { bound_claims: { attempt: 1 }, claim_mappings: { ref: "ref", owner: "owner" } },
  grouped: { groups_claim: "groups", token_policies: [] },
  near: { token_bound_cidrs: "192.0.2.0/24" },
  strict: { expiration_leeway: "-1s", clock_skew_leeway: "-1s" },
  wrong: { token_policies: "root" },
};

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });

beforeAll(async () => {
  root = await initialized();
  [issuer, stranger] = await Promise.all([newIssuer("ES256", "key-1"), newIssuer("ES256", "key-1")]);
  await post("sys/policies/acl/ci", { policy: 'path "auth/token/lookup-self" { capabilities = ["read"] }' });
  await post("sys/auth/jwt", { type: "jwt" });
  await post("auth/jwt/config", { jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });
  for (const [name, fields] of Object.entries(ROLES)) {
    const written = await post(`auth/jwt/role/${name}`, { ...ROLE, ...fields });
    if (written.status >= 300) throw new Error(`${name}: ${JSON.stringify(written.body)}`);
  }
});

const askFor = (body: Record<string, unknown>, mount = "jwt") => post(`auth/${mount}/explain/login`, body);
const explain = async (body: Record<string, unknown>, mount?: string) => {
  const answer = await askFor(body, mount);
  expect(answer.status).toBe(200);
  return dataOf<Explanation>(answer);
};
const login = (body: Record<string, unknown>): Promise<Answer> => call("POST", "auth/jwt/login", { body });
const entities = async () => (await call("GET", "identity/entity/id?list=true", { token: root })).body.data?.keys ?? [];
const checkOf = ({ checks }: Explanation, wanted: string) => checks.find(({ name }) => name === wanted);
const failedOf = ({ checks }: Explanation) => checks.filter(({ outcome }) => outcome === "failed");

describe("the explanation of a login by JWT", () => {
  it("passes every check, with what the role asks for and what the token says, and shows the token", async () => {
    const jwt = await issuer.sign({ ref: "refs/heads/main", job: { env: "prod" } });
    const found = await explain({ role: "Bound", jwt });
    expect(found).toMatchObject({ allowed: true, token: { token_policies: ["ci", "default"], token_type: "service" } });
    expect(found.checks.map(({ name, outcome }) => [name, outcome])).toEqual(
      [
        ...["configuration", "role", "address", "form", "keys", "signature", "times", "bound_issuer", "bound_subject"],
        ...["bound_audiences", "bound_claims.ref", "bound_claims./job/env", "user_claim", "entity", "token"],
      ].map((name) => [name, "passed"]),
    );
    expect(checkOf(found, "bound_claims.ref")).toMatchObject({ bound: ["refs/heads/*"], actual: "refs/heads/main" });
    expect(checkOf(found, "bound_issuer")).toMatchObject({ bound: [ISSUER], actual: ISSUER });
    expect(checkOf(found, "times")?.bound).toEqual(["expiration_leeway 150 s", "clock_skew_leeway 60 s"]);
  });

  it("reports every claim that does not fit, not the first alone", async () => {
    const found = await explain({ role: "bound", jwt: await issuer.sign({ sub: "other", aud: "x", ref: "main" }) });
    expect(found.allowed).toBe(false);
    expect(failedOf(found).map(({ name }) => name)).toEqual([
      ...["bound_subject", "bound_audiences", "bound_claims.ref", "bound_claims./job/env"],
    ]);
    expect(checkOf(found, "bound_claims.ref")).toMatchObject({
      actual: "main",
      message: 'error validating claims: claim "ref" does not match any associated bound claim values',
    });
    expect(checkOf(found, "bound_claims./job/env")?.actual).toBeNull();
    expect(checkOf(found, "token")?.outcome).toBe("not_reached");
    expect(found).not.toHaveProperty("token");
  });

  it("shows the types of values, as types count", async () => {
    const found = await explain({ role: "typed", jwt: await issuer.sign({ attempt: "1", owner: ["a"] }) });
    expect(checkOf(found, "bound_claims.attempt")).toMatchObject({ outcome: "failed", bound: ["1"], actual: '"1"' });
    expect(checkOf(found, "claim_mappings.owner")).toMatchObject({
      outcome: "failed",
      bound: ["owner"],
      actual: '["a"]',
      message: "error converting claim 'owner' to string",
    });
    expect(checkOf(found, "claim_mappings.ref")).toMatchObject({ outcome: "passed", actual: null });
  });

  it("reads the claims of a token with another signer, and does not allow it", async () => {
    const found = await explain({ role: "plain", jwt: await stranger.sign({ iss: "https://other.example.com" }) });
    expect(failedOf(found).map(({ name }) => name)).toEqual(["signature", "bound_issuer"]);
    const alone = await explain({ role: "plain", jwt: await stranger.sign({}) });
    expect([alone.allowed, failedOf(alone).map(({ name }) => name)]).toEqual([false, ["signature"]]);
  });

  it("takes claims in place of a token, unverified", async () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, sub: "job", aud: "grove", exp: now + 60 };
    const found = await explain({ role: "plain", claims });
    expect([found.allowed, checkOf(found, "signature")?.outcome]).toEqual([true, "assumed"]);
    expect((await explain({ role: "plain", claims: { ...claims, exp: now - 900 } })).allowed).toBe(false);
  });

  it("checks the address that it is asked about", async () => {
    const jwt = await issuer.sign({});
    const far = await explain({ role: "near", jwt, client_address: "198.51.100.7" });
    expect(failedOf(far)).toMatchObject([{ name: "address", bound: ["192.0.2.0/24"], actual: "198.51.100.7" }]);
    expect((await explain({ role: "near", jwt, client_address: "192.0.2.7" })).allowed).toBe(true);
  });

  it("says nothing of the token itself, neither its signature nor a claim that no rule names", async () => {
    const secret = `x${crypto.randomUUID()}`;
    const jwt = await issuer.sign({ secret, iss: "https://other.example.com" });
    for (const role of ["bound", "absent"]) {
      const text = JSON.stringify((await askFor({ role, jwt })).body);
      for (const part of [...jwt.split("."), secret]) expect(text).not.toContain(part);
    }
  });

  it("names a key that the issuer does not have", async () => {
    const url = `${ISSUER}/named-keys`;
    vi.stubGlobal("fetch", async () => Response.json({ keys: [{ ...issuer.jwk, kid: "key-2" }] }));
    await post("sys/auth/fetching", { type: "jwt" });
    await post("auth/fetching/config", { jwks_url: url });
    await post("auth/fetching/role/plain", ROLE);
    const found = await explain({ role: "plain", jwt: await issuer.sign({}) }, "fetching");
    expect(failedOf(found)).toMatchObject([
      {
        ...{ name: "signature", bound: ["key-2"], actual: "key-1" },
        message: expect.stringMatching(/no known key of the issuer has its key id/),
      },
    ]);
    vi.stubGlobal("fetch", async () => Response.json({}, { status: 500 }));
    await post("auth/fetching/config", { jwks_url: url, skip_jwks_validation: true });
    const down = await explain({ role: "plain", jwt: await issuer.sign({ sub: 7 }) }, "fetching");
    expect(failedOf(down).map(({ name }) => name)).toEqual(["keys", "user_claim"]);
    vi.unstubAllGlobals();
  });

  it("makes no entity, and finds a disabled one and the policies of groups that the login would enter", async () => {
    const before = (await entities()).length;
    const { accessor } = (await call("GET", "sys/auth/jwt", { token: root })).body.data;
    const group = (await post("identity/group", { name: "staff", type: "external", policies: "ci" })).body.data.id;
    await post("identity/group-alias", { name: "staff", mount_accessor: accessor, canonical_id: group });
    const jwt = await issuer.sign({ sub: "ann", groups: ["staff"] });
    const answer = await askFor({ role: "grouped", jwt });
    expect(dataOf<Explanation>(answer).token).toMatchObject({
      token_policies: ["default"],
      identity_policies: ["ci"],
    });
    expect(answer.body.warnings).toBeNull();
    expect((await entities()).length).toBe(before);
    const { auth } = (await login({ role: "grouped", jwt })).body;
    await post(`identity/entity/id/${auth.entity_id}`, { disabled: true });
    expect(failedOf(await explain({ role: "grouped", jwt }))).toMatchObject([{ name: "entity", actual: "ann" }]);
  });

  it("allows what a login allows, and refuses with its words", async () => {
    const times = {
      good: {},
      ended: { exp: 1000 },
      future: { nbf: 9e9, exp: 9e9 + 1 },
      none: { exp: null, iat: null },
    };
    const optional = <T>(values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
    const claims = fc.record(
      {
        sub: fc.constantFrom<unknown>("job", "other", 7, ""),
        aud: fc.constantFrom<unknown>("grove", ["x", "grove"], "x", 1),
        iss: fc.constantFrom(ISSUER, `${ISSUER}/`),
        ref: fc.constantFrom<unknown>("refs/heads/main", "main", ["refs/heads/x"], {}),
        job: fc.constantFrom<unknown>({ env: "prod" }, { env: "test" }, "prod"),
        attempt: fc.constantFrom<unknown>(1, "1"),
        owner: fc.constantFrom<unknown>("a", ["a"]),
        groups: fc.constantFrom<unknown>("staff", [1], []),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(ROLES), "absent", "../x"),
        claims,
        fc.constantFrom(...Object.values(times)),
        optional(["stranger"]),
        async (role, said, when, by) => {
          const jwt = await (by ? stranger : issuer).sign({ ...said, ...when });
          const found = await explain({ role, jwt });
          const answer = await login({ role, jwt });
          expect(found.allowed).toBe(answer.status === 200);
          if (!found.allowed) expect(failedOf(found)[0]?.message).toBe(answer.body.errors[0]);
        },
      ),
      { numRuns: 150, examples: [["bound", { ref: "refs/heads/x", job: { env: "prod" } }, {}, undefined]] },
    );
  });
});

describe("the endpoint", () => {
  it("is for those whose policies let them update its path, and asks for a token or its claims", async () => {
    const policy =
      'path "auth/jwt/login" { capabilities = ["update"] }\npath "auth/jwt/explain/login" { capabilities = ["read"] }';
    await post("sys/policies/acl/near", { policy });
    const { client_token: token } = await createToken(root, { policies: ["near"] });
    const jwt = await issuer.sign({});
    expect((await post("auth/jwt/explain/login", { role: "plain", jwt }, token)).status).toBe(403);
    expect((await call("POST", "auth/jwt/explain/login", { body: { role: "plain", jwt } })).status).toBe(403);
    for (const body of [{ role: "plain" }, { role: "plain", jwt, claims: {} }, { claims: { x: "x".repeat(17_000) } }]) {
      expect((await askFor(body)).status).toBe(400);
    }
  });
});

describe("a login that gives no policies", () => {
  it("says so, and that a policy of the role does not exist", async () => {
    await post("auth/jwt/role/idle", { ...ROLE, token_policies: "" });
    await post("auth/jwt/role/misspelt", { ...ROLE, token_policies: "deploi" });
    const jwt = await issuer.sign({ sub: "idle" });
    const none = 'This login gives no policies besides "default"';
    for (const [role, warning] of [
      ["idle", none],
      ["misspelt", `${none}: policy "deploi" does not exist`],
    ]) {
      expect((await login({ role, jwt })).body.warnings).toEqual([warning]);
      expect((await askFor({ role, jwt })).body.warnings).toEqual([warning]);
    }
    const good = await login({ role: "plain", jwt });
    expect([good.status, good.body.warnings]).toEqual([200, null]);
    await post(`identity/entity/id/${good.body.auth.entity_id}`, { policies: "ci" });
    expect((await login({ role: "idle", jwt })).body.warnings).toBeNull();
  });
});
