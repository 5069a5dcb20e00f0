import { exportSPKI, generateKeyPair } from "jose";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { KubernetesAuth } from "../../../../src/methods/kubernetes/kubernetes-auth.ts";
import { callsTo } from "../../../support/calls.ts";
import { type Account, FakeApiServer, OWN_AUDIENCE } from "../../../support/fake-api-server.ts";
import { mountKubernetes, REVIEWER } from "../../../support/kubernetes.ts";
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
  server.asked.length = 0;
  server.instead = null;
  server.letsSelfReview = true;
});

type Options = Parameters<typeof mountKubernetes>[3];
let mounts = 0;
const mount = (options: Options = {}) => mountKubernetes(root, `cluster-${++mounts}`, server, options);

const DENIED_BY_REVIEW = "lookup failed: the API server does not accept the token";

describe("a login by the token of a service account", () => {
  it("gives the role's token to the account that the API server names", async () => {
    const { login } = await mount();
    const jwt = await server.tokenOf(api);
    const { status, auth } = await login(jwt);
    expect(status).toBe(200);
    const known = {
      service_account_name: "api",
      service_account_namespace: "web",
      service_account_uid: api.uid,
      service_account_secret_name: "",
    };
    expect(auth).toMatchObject({
      policies: ["ci", "default"],
      lease_duration: 600,
      token_type: "service",
      metadata: { ...known, role: "web" },
    });
    const seen = await call("GET", "auth/token/lookup-self", { token: auth?.client_token as string });
    expect(seen.body.data.display_name).toMatch(/-web-api$/);
    const entity = await call("GET", `identity/entity/id/${auth?.entity_id}`, { token: root });
    expect(entity.body.data.aliases).toMatchObject([{ name: api.uid, metadata: known }]);
    expect(server.asked).toEqual([
      {
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/tokenreviews",
        bearer: REVIEWER,
        body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: jwt } },
      },
    ]);
  });

  it("takes a token that a secret stores, and shows the name of the secret", async () => {
    const { login } = await mount();
    const { status, auth } = await login(await server.storedTokenOf(api));
    expect([status, auth?.metadata]).toMatchObject([200, { service_account_secret_name: "api-token" }]);
  });

  it("asks with the token itself where the mount has no reviewer", async () => {
    const { login } = await mount({ config: { token_reviewer_jwt: "" } });
    const jwt = await server.tokenOf(api);
    expect((await login(jwt)).status).toBe(200);
    expect(server.asked.map(({ bearer }) => bearer)).toEqual([jwt]);
    const itself = "lookup failed: without token_reviewer_jwt the API server is asked with the token itself";
    const other = await mount({ config: { token_reviewer_jwt: "" }, role: { audience: "grove" } });
    const refused = await other.login(await server.tokenOf(api, { aud: "grove" }));
    expect([refused.status, refused.error]).toEqual([403, `${itself}: it does not accept the token of the login`]);
    server.letsSelfReview = false;
    const powerless = await login(jwt);
    const denied = `${itself}: it does not let the token of the login do this, which takes system:auth-delegator`;
    expect([powerless.status, powerless.error]).toEqual([403, denied]);
  });

  it("asks for the audience of the role, and refuses a server that checks none", async () => {
    const { login } = await mount({ role: { audience: "grove" } });
    const jwt = await server.tokenOf(api, { aud: ["grove", "other"] });
    expect((await login(jwt)).status).toBe(200);
    expect(server.asked[0]?.body).toMatchObject({ spec: { token: jwt, audiences: ["grove"] } });
    const user = { username: "system:serviceaccount:web:api", uid: api.uid };
    for (const audiences of [undefined, [], ["other"], "grove", null]) {
      server.instead = () => Response.json({ kind: "TokenReview", status: { authenticated: true, user, audiences } });
      expect([(await login(jwt)).status, (await login(jwt)).error]).toEqual([403, DENIED_BY_REVIEW]);
    }
  });

  it("refuses a token for another audience than the API server's where the role names none (as CVE-2024-5798)", async () => {
    const { login } = await mount();
    const other = await login(await server.tokenOf(api, { aud: ["another-service"] }));
    expect([other.status, other.error]).toEqual([403, expect.stringContaining("needs a role with this audience")]);
    expect((await login(await server.tokenOf(api, { aud: [OWN_AUDIENCE, "another-service"] }))).status).toBe(200);
  });

  it("names the alias by namespace and name where the role says so", async () => {
    const { login } = await mount({ role: { alias_name_source: "serviceaccount_name" } });
    const { auth } = await login(await server.tokenOf(api));
    const entity = await call("GET", `identity/entity/id/${auth?.entity_id}`, { token: root });
    expect(entity.body.data.aliases).toMatchObject([{ name: "web/api" }]);
  });

  it("is another client than an account of the same name that was there before, unless the role says the name counts", async () => {
    const { login } = await mount({ role: { bound_service_account_names: "reborn" } });
    const first = server.addAccount("web", "reborn");
    const before = await login(await server.tokenOf(first));
    server.removeAccount(first);
    expect((await login(await server.tokenOf(first))).status).toBe(403);
    const after = await login(await server.tokenOf(server.addAccount("web", "reborn")));
    expect(after.auth?.entity_id).not.toBe(before.auth?.entity_id);
  });

  it("asks the mount's object once, and the API server once", async () => {
    const { login } = await mount();
    const jwt = await server.tokenOf(api);
    await login(jwt);
    server.asked.length = 0;
    const asked = [callsTo(KubernetesAuth, "readLogin"), callsTo(KubernetesAuth, "readConfig")];
    expect((await login(jwt)).status).toBe(200);
    expect(asked.map(({ calls }) => calls.length)).toEqual([1, 0]);
    expect(server.asked.length).toBe(1);
  });

  it("is bound to the networks of the role, before the API server is asked", async () => {
    const { login } = await mount({ role: { token_bound_cidrs: "192.0.2.0/24" } });
    expect((await login(await server.tokenOf(api))).status).toBe(403);
    expect(server.asked).toEqual([]);
  });

  it("has its own rate by role, and ends with its mount", async () => {
    const { login } = await mountKubernetes(root, "ending", server);
    const { auth } = await login(await server.tokenOf(api), { role: "WEB" });
    await call("DELETE", "sys/auth/ending", { token: root });
    const seen = await call("GET", "auth/token/lookup-self", { token: auth?.client_token as string });
    expect(seen.status).toBe(403);
    await mountKubernetes(root, "ending", server);
    expect((await call("GET", "auth/ending/role/other", { token: root })).status).toBe(404);
  });
});

describe("a token is refused without a request to the API server", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["that has ended", { exp: 1_000_000 }, "token is expired"],
    ["that is not valid yet", { nbf: 4_000_000_000 }, "not yet valid"],
    ["whose times are no numbers", { exp: "tomorrow" }, "must be numbers"],
    ["of another audience than the role's", { aud: "other" }, "invalid audience"],
    ["without an audience", { aud: undefined }, "invalid audience"],
    ["with an audience that is none", { aud: [7] }, "invalid audience"],
    ["of a service account that the role does not take", named("web", "db"), "service account name not authorized"],
    ["of a namespace that the role does not take", named("prod", "api"), "namespace not authorized"],
    ["that names no service account", { "kubernetes.io": undefined }, "names no service account"],
    ["whose account has no uid", named("web", "api", ""), "names no service account"],
    ["whose account leads out of its path", named("..", "api"), "names no service account"],
    ["whose name has a slash", named("web", "api/../../x"), "names no service account"],
  ])("%s", async (_, claims, message) => {
    const { login } = await mount({ role: { audience: "grove" } });
    const refused = await login(await server.tokenOf(api, { aud: "grove", ...claims }));
    expect([refused.status, refused.error]).toEqual([403, expect.stringContaining(message)]);
    expect(server.asked).toEqual([]);
  });

  it("of another issuer, with disable_iss_validation false", async () => {
    const jwt = await server.tokenOf(api);
    const bound = await mount({ config: { disable_iss_validation: false, issuer: OWN_AUDIENCE } });
    expect((await bound.login(jwt)).status).toBe(200);
    server.asked.length = 0;
    const usual = await mount({ config: { disable_iss_validation: false } });
    expect((await usual.login(jwt)).error).toContain("invalid issuer");
    expect(server.asked).toEqual([]);
    expect((await usual.login(await server.storedTokenOf(api))).status).toBe(200);
  });

  it("that none of the mount's keys has signed", async () => {
    const pem_keys = [await exportSPKI(server.publicKey)];
    const { login } = await mount({ config: { pem_keys } });
    expect((await login(await server.tokenOf(api))).status).toBe(200);
    server.asked.length = 0;
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    const [, body = ""] = (await server.tokenOf(api)).split(".");
    const forged = await server.sign(JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/"))), privateKey);
    expect([(await login(forged)).status, (await login(forged)).error]).toEqual([
      403,
      "failed to verify id token signature",
    ]);
    expect(server.asked).toEqual([]);
  });

  it("that is malformed, without a call of the mount's object either", async () => {
    const { login } = await mount();
    const jwt = await server.tokenOf(api);
    const [head, body] = jwt.split(".") as [string, string, string];
    const none = btoa('{"alg":"none"}').replace(/=+$/, "");
    const asked = callsTo(KubernetesAuth, "readLogin");
    for (const bad of ["x", "a.b.c", `${none}.${body}.`, `${head}.W10.AAAA`, "x".repeat(20_000), `${jwt}\u0000`]) {
      expect([bad, (await login(bad)).status]).toEqual([bad, 403]);
    }
    for (const fields of [{ role: "" }, {}, { role: "../config" }, { role: "x".repeat(200) }, { role: null }]) {
      expect((await login(jwt, fields)).status).toBe(400);
    }
    for (const bad of ["", null, "  "]) expect((await login(bad as string)).error).toBe("missing jwt");
    expect([asked.calls.length, server.asked]).toEqual([0, []]);
  });

  it("for a role or a mount that can't take it", async () => {
    const { login, post } = await mount();
    const jwt = await server.tokenOf(api);
    expect((await login(jwt, { role: "absent" })).error).toBe('invalid role name "absent"');
    await post("sys/auth/empty", { type: "kubernetes" });
    await post("auth/empty/role/web", { bound_service_account_names: "*", bound_service_account_namespaces: "*" });
    const unset = await call("POST", "auth/empty/login", { body: { role: "web", jwt } });
    expect([unset.status, unset.body.errors]).toEqual([400, ["could not load backend configuration"]]);
  });
});

describe("an answer of the API server", () => {
  const good = () => ({ username: "system:serviceaccount:web:api", uid: api.uid });

  it.each<[string, (user: ReturnType<typeof good>) => unknown]>([
    ["says no", (user) => ({ authenticated: false, user })],
    ["says yes in a word", (user) => ({ authenticated: "true", user })],
    ["says nothing", (user) => ({ user })],
    ["says yes and has an error", (user) => ({ authenticated: true, user, error: "expired" })],
    ["has no user", () => ({ authenticated: true })],
    ["is about a person", (user) => ({ authenticated: true, user: { ...user, username: "ann" } })],
    ["is about a node", (user) => ({ authenticated: true, user: { ...user, username: "system:node:web:api" } })],
    ["has a longer name", (user) => ({ authenticated: true, user: { ...user, username: `${user.username}:x` } })],
    ["has a name that is no text", (user) => ({ authenticated: true, user: { ...user, username: 7 } })],
    ["has no uid", ({ username }) => ({ authenticated: true, user: { username } })],
    [
      "is about another account",
      (user) => ({ authenticated: true, user: { ...user, username: "system:serviceaccount:web:db" } }),
    ],
    [
      "is about another namespace",
      (user) => ({ authenticated: true, user: { ...user, username: "system:serviceaccount:prod:api" } }),
    ],
    ["is about an earlier account of the name", (user) => ({ authenticated: true, user: { ...user, uid: "other" } })],
  ])("that %s is a refusal", async (_, statusOf) => {
    const { login } = await mount();
    server.instead = () => Response.json({ kind: "TokenReview", status: statusOf(good()) }, { status: 201 });
    const refused = await login(await server.tokenOf(api));
    expect([refused.status, refused.error]).toEqual([403, expect.stringContaining("lookup failed")]);
  });

  it("that can't be judged is a 503 that repeats nothing of it", async () => {
    const { login } = await mount();
    const jwt = await server.tokenOf(api);
    const status = { authenticated: true, user: good() };
    const answers: readonly (() => Response)[] = [
      () => new Response(`no route for ${jwt}`, { status: 404 }),
      () => Response.json({ kind: "Status", message: `token ${jwt}` }, { status: 500 }),
      () =>
        Response.json(
          { kind: "TokenReview", status },
          { status: 302, headers: { Location: "https://evil.example.com" } },
        ),
      () => Response.json({ kind: "TokenReview", status }, { status: 202 }),
      () => Response.json({ kind: "Status", status: "Success" }),
      () => Response.json({ status }),
      () => Response.json([{ kind: "TokenReview", status }]),
      () => new Response(`{"kind": "TokenReview", "status": ${jwt}`),
      () => new Response("x".repeat(600_000)),
      () => Response.json({}, { status: 401 }),
      () => Response.json({}, { status: 403 }),
      () => {
        throw new TypeError(`Network connection lost: ${jwt} ${REVIEWER}`);
      },
    ];
    for (const instead of answers) {
      server.instead = instead;
      const refused = await login(jwt);
      expect([refused.status, refused.error]).toEqual([503, expect.stringContaining("could not review the token")]);
      expect(JSON.stringify(refused.answer.body)).not.toContain(jwt);
      expect(JSON.stringify(refused.answer.body)).not.toContain(REVIEWER);
    }
    expect(server.asked.every(({ path }) => path.endsWith("/tokenreviews"))).toBe(true);
  });
});

it("says what a reviewer lacks, in a login and its explanation alike", async () => {
  const jwt = await server.tokenOf(api);
  const selector = { bound_service_account_namespace_selector: '{"matchLabels": {"team": "web"}}' };
  const { login, explain } = await mount({ role: { bound_service_account_namespaces: "none", ...selector } });
  const lacking = async (rights: Parameters<typeof server.reviewers.set>[1] | null) => {
    server.reviewers.delete(REVIEWER);
    if (rights) server.reviewers.set(REVIEWER, rights);
    const { status, error } = await login(jwt);
    const failed = checksOf((await explain({ role: "web", jwt })).body).filter(({ outcome }) => outcome === "failed");
    expect(failed.map(({ message }) => message)).toEqual([error]);
    return [status, error];
  };
  const denied = "it does not let token_reviewer_jwt do this, which takes";
  expect(await lacking(null)).toEqual([
    503,
    "the API server could not review the token: it does not accept token_reviewer_jwt",
  ]);
  expect(await lacking(new Set())).toEqual([
    503,
    `the API server could not review the token: ${denied} system:auth-delegator`,
  ]);
  expect(await lacking(new Set(["review"]))).toEqual([
    503,
    `the API server could not show the namespace: ${denied} get on namespaces`,
  ]);
});

it("a login does not learn whether a port of the API server is open, an explanation does", async () => {
  const { login, explain } = await mount();
  const jwt = await server.tokenOf(api);
  const lost = Object.assign(new Error("Network connection lost."), { retryable: true });
  const causes = [
    [lost, "it refuses the connection, or closes it without an answer"],
    [new TypeError("internal error"), "there is no connection, or no public authority vouches for its certificate"],
  ] as const;
  for (const [error, cause] of causes) {
    server.instead = () => {
      throw error;
    };
    const refused = await login(jwt);
    expect(refused.error).toBe("the API server could not review the token: it does not answer");
    const { body } = await explain({ role: "web", jwt });
    expect(JSON.stringify(body)).toContain(`the API server could not review the token: ${cause}`);
  }
});

describe("a namespace selector", () => {
  const role = {
    bound_service_account_namespaces: "none",
    bound_service_account_namespace_selector: '{"matchLabels": {"team": "web", "stage": "prod"}}',
  };

  it("is asked after the review, for the namespace that the review names", async () => {
    const { login } = await mount({ role });
    const jwt = await server.tokenOf(api);
    server.namespaces.web = { team: "web", stage: "prod", other: "x" };
    expect((await login(jwt)).status).toBe(200);
    expect(server.asked.map(({ path, bearer }) => [path, bearer])).toEqual([
      ["/apis/authentication.k8s.io/v1/tokenreviews", REVIEWER],
      ["/api/v1/namespaces/web", REVIEWER],
    ]);
    for (const labels of [{}, { team: "web" }, { team: "web", stage: "test" }]) {
      server.namespaces.web = labels;
      expect((await login(jwt)).error).toBe("namespace not authorized");
    }
    delete server.namespaces.web;
    expect((await login(jwt)).status).toBe(403);
    server.namespaces.web = {};
    server.asked.length = 0;
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    expect(
      (await login(await server.sign({ aud: OWN_AUDIENCE, ...named("web", "api", api.uid) }, privateKey))).status,
    ).toBe(403);
    expect(server.asked.map(({ path }) => path)).not.toContain("/api/v1/namespaces/web");
  });

  it("is not asked where the namespace fits by its name, and takes nobody without a reviewer", async () => {
    const named = await mount({ role: { ...role, bound_service_account_namespaces: "we*" } });
    const jwt = await server.tokenOf(api);
    expect((await named.login(jwt)).status).toBe(200);
    expect(server.asked.length).toBe(1);
    const alone = await mount({ role, config: { token_reviewer_jwt: "" } });
    expect((await alone.login(jwt)).error).toContain("needs token_reviewer_jwt");
  });
});

describe("annotations of the service account", () => {
  const PREFIX = "vault.hashicorp.com/alias-metadata-";

  it("become metadata of the alias, and of nothing else", async () => {
    const { login } = await mount({
      config: { use_annotations_as_alias_metadata: true },
      role: { bound_service_account_names: "*" },
    });
    const noted = server.addAccount("web", "noted", { annotations: { [`${PREFIX}team`]: "blue", other: "x" } });
    const { auth } = await login(await server.tokenOf(noted));
    const entity = await call("GET", `identity/entity/id/${auth?.entity_id}`, { token: root });
    expect(entity.body.data.aliases).toMatchObject([{ metadata: { team: "blue", service_account_name: "noted" } }]);
    expect(auth?.metadata).not.toHaveProperty("team");
    expect(server.asked.map(({ path }) => path)).toEqual([
      "/apis/authentication.k8s.io/v1/tokenreviews",
      "/api/v1/namespaces/web/serviceaccounts/noted",
    ]);
  });

  it("can't have the names of what the API server vouches for, nor be too large", async () => {
    const { login } = await mount({
      config: { use_annotations_as_alias_metadata: true },
      role: { bound_service_account_names: "*" },
    });
    const forged = server.addAccount("web", "forged", {
      annotations: { [`${PREFIX}service_account_namespace`]: "prod" },
    });
    expect((await login(await server.tokenOf(forged))).status).toBe(400);
    const large = server.addAccount("web", "large", { annotations: { [`${PREFIX}x`]: "x".repeat(100_000) } });
    expect((await login(await server.tokenOf(large))).status).toBe(400);
  });
});

const checksOf = (body: { readonly data: unknown }) =>
  (body.data as { checks: { name: string; outcome: string; message: string | null }[] }).checks;

describe("an explanation of a login", () => {
  it("makes every check and gives no token", async () => {
    const { explain } = await mount();
    const { body } = await explain({ role: "web", jwt: await server.tokenOf(api) });
    expect(body.data).toMatchObject({ allowed: true, token: { token_policies: ["ci", "default"] } });
    const checks = checksOf(body);
    expect(checks.map(({ name }) => name)).toEqual([
      ...["form", "role", "configuration", "address", "times", "issuer", "audience", "names", "namespaces"],
      ...["review", "entity", "token"],
    ]);
    expect(new Set(checks.map(({ outcome }) => outcome))).toEqual(new Set(["passed"]));
  });

  it("goes on after a failure, without the token in any text", async () => {
    const { explain } = await mount({ role: { audience: "grove", bound_service_account_namespaces: "prod" } });
    const jwt = await server.tokenOf(api);
    const { body } = await explain({ role: "web", jwt });
    const failed = checksOf(body).filter(({ outcome }) => outcome === "failed");
    expect([body.data.allowed, failed.map(({ name }) => name)]).toEqual([false, ["audience", "namespaces", "review"]]);
    expect(JSON.stringify(body)).not.toContain(jwt);
    expect((await explain({ role: "web" })).status).toBe(400);
  });

  it("says of no check that it passed for a token that names no service account and no audience", async () => {
    const { explain } = await mount({ role: { audience: "grove", bound_service_account_namespaces: "prod" } });
    const { body } = await explain({ role: "web", jwt: await server.sign({ sub: "somebody" }) });
    const outcomes = new Map(checksOf(body).map(({ name, outcome }) => [name, outcome]));
    expect(["audience", "names"].map((name) => outcomes.get(name))).toEqual(["failed", "failed"]);
    expect(outcomes.get("namespaces")).not.toBe("passed");
  });

  it("is beside a list of the logins that were refused lately", async () => {
    const { login, read } = await mount();
    await login(await server.tokenOf(server.addAccount("prod", "stranger")));
    const { body } = await read("explain/refused");
    expect(body.data.refused).toMatchObject([{ role: "web", check: "names", count: 1 }]);
  });
});

function named(namespace: string, name: string, uid = "uid") {
  return { "kubernetes.io": { namespace, serviceaccount: { name, uid } } };
}
