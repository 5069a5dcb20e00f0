import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CAPABILITIES, type Capability, type PathRule } from "../../../src/policy/rule.ts";
import { printRules } from "../../../src/policy/suggest.ts";
import { type Answer, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { api, generateToken, organizationWithTeam } from "../../support/teams.ts";
import { holdSweeps } from "../../support/trees.ts";
import { holdWalks } from "../../support/walks.ts";

/** An explanation, as far as tests look at it. */
interface Explanation {
  readonly allowed: boolean;
  readonly reason: string;
  readonly message: string;
  readonly path: string;
  readonly endpoint: string | null;
  readonly policies: readonly string[];
  readonly missing_policies: readonly string[];
  readonly rule?: { readonly path: string; readonly policies: readonly { name: string; lines: readonly number[] }[] };
  readonly missing_capabilities: readonly string[];
  readonly parameter: string | null;
  readonly hcl: string | null;
}

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });

async function explained(body: Record<string, unknown>): Promise<Explanation> {
  const answer = await post("sys/explain/access", body);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return dataOf<Explanation>(answer);
}

async function policy(text: string): Promise<string> {
  const name = `p-${crypto.randomUUID()}`;
  const written = await post(`sys/policies/acl/${name}`, { policy: text });
  if (written.status !== 204) throw new Error(JSON.stringify(written.body));
  return name;
}

/** A token that has nothing but these policies. */
async function holder(texts: readonly string[], fields: Record<string, unknown> = {}) {
  const policies = await Promise.all(texts.map(policy));
  return { ...(await createToken(root, { policies, no_default_policy: true, ...fields })), policies };
}

interface RealRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly lists: boolean;
  readonly path: string;
  readonly parameters: Record<string, unknown>;
  readonly wrap: number;
}

const OPERATIONS = { GET: "read", POST: "update", DELETE: "delete" } as const;

async function isAllowed({ method, lists, path, parameters, wrap }: RealRequest, token: string): Promise<boolean> {
  const headers = wrap > 0 ? { "X-Vault-Wrap-TTL": String(wrap) } : {};
  const answer = await call(method, lists ? `${path}?list=true` : path, {
    token,
    headers,
    ...(method === "POST" && { body: parameters }),
  });
  return !isRefusal(answer);
}

/** What the endpoint itself answers, to a wrong field for example, is no refusal. */
function isRefusal({ status, body }: Answer): boolean {
  const unserved = JSON.stringify(body).match(/"(?:unsupported (?:path|operation)|no handler for route)/);
  return status === 403 || unserved !== null;
}

function askedAbout({ method, lists, path, parameters, wrap }: RealRequest) {
  return { path, operation: lists ? "list" : OPERATIONS[method], parameters, wrap_ttl: wrap };
}

const PATHS = ["cubbyhole/a", "sys/mounts", "sys/tokens", "sys/capabilities", "sys/nothing", "elsewhere/a"] as const;
const ALLOWING = CAPABILITIES.filter((one) => one !== "deny");
const capabilities = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Capability[]>(ALLOWING) },
  { weight: 4, arbitrary: fc.subarray<Capability>(ALLOWING) },
  { weight: 1, arbitrary: fc.constant<Capability[]>(["deny"]) },
);
const limit = fc.constantFrom<Partial<PathRule>>(
  {},
  { allowedParameters: [{ name: "path", values: [] }] },
  { deniedParameters: [{ name: "token", values: ["a"] }] },
  { requiredParameters: ["path"] },
  { minWrappingTtlSeconds: 60 },
  { maxWrappingTtlSeconds: 60 },
);
const rule: fc.Arbitrary<PathRule> = fc
  .tuple(fc.constantFrom(...PATHS, "sys/*", "sys/+", "cubbyhole/", "*", "*"), capabilities, limit)
  .map(([path, given, limits]) => ({ path, capabilities: given, ...(!given.includes("deny") && limits) }));
const request: fc.Arbitrary<RealRequest> = fc
  .tuple(
    fc.constantFrom<RealRequest["method"] | "LIST">("GET", "LIST", "POST", "POST", "DELETE"),
    fc.constantFrom(...PATHS),
    fc.subarray(["path", "token", "other"]),
    fc.constantFrom("a", "b"),
    fc.constantFrom(0, 30, 90),
  )
  // What a POST to the cubbyhole may do depends on what is there.
  .map(([method, path, names, value, wrap]) => ({
    method: method === "LIST" ? "GET" : method,
    lists: method === "LIST",
    path: method === "POST" && path === "cubbyhole/a" ? "sys/capabilities" : path,
    parameters: Object.fromEntries((method === "POST" ? names : []).map((name) => [name, value])),
    wrap,
  }));

/** Each limit of a rule, kept and not. */
const mounts = { method: "GET", lists: false, path: "sys/mounts", parameters: {} } as const;
const asking = { method: "POST", lists: false, path: "sys/capabilities", wrap: 0 } as const;
const EXAMPLES: [[PathRule[], RealRequest[]]][] = [
  [
    [
      [
        { path: "sys/mounts", capabilities: ["read"], minWrappingTtlSeconds: 60 },
        { path: "sys/*", capabilities: ["update"], requiredParameters: ["path"] },
      ],
      [
        ...[0, 30, 90].map((wrap) => ({ ...mounts, wrap })),
        ...[{}, { path: "a" }].map((parameters) => ({ ...asking, parameters })),
      ],
    ],
  ],
];

describe("an explanation", () => {
  it("says of every request what a real one gets, and the policy that it suggests makes that succeed", async () => {
    let suggested = 0;
    const some = fc.tuple(
      fc.array(rule, { minLength: 1, maxLength: 3 }),
      fc.array(request, { minLength: 5, maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(some, async ([rules, requests]) => {
        const { client_token: token, accessor, policies } = await holder([printRules(rules)]);
        for (const asked of requests) {
          const explanation = await explained({ token, ...askedAbout(asked) });
          expect(explanation.allowed).toBe(await isAllowed(asked, token));
          expect(await explained({ accessor, ...askedAbout(asked) })).toEqual(explanation);
          if (explanation.hcl === null) continue;
          suggested++;
          const more = [...policies, await policy(explanation.hcl)];
          const { client_token: better } = await createToken(root, { policies: more, no_default_policy: true });
          const { reason } = await explained({ token: better, ...askedAbout(asked) });
          const isServed = !["unsupported_path", "unsupported_operation", "no_route"].includes(reason);
          expect(await isAllowed(asked, better)).toBe(isServed);
        }
      }),
      { numRuns: 15, examples: EXAMPLES },
    );
    expect(suggested).toBeGreaterThan(10);
  });

  it("names the rule that decides, where it stands, what it lacks and what to add", async () => {
    const text = '# ours\npath "sys/other" {\n  capabilities = ["read"]\n}\n\npath "sys/*" { capabilities = ["list"] }';
    const { client_token: token, policies } = await holder([text]);
    expect(await explained({ token, path: "/v1/sys/mounts", operation: "read" })).toMatchObject({
      allowed: false,
      reason: "capability",
      path: "sys/mounts",
      endpoint: "sys/mounts",
      policies,
      missing_policies: [],
      rule: { path: "sys/*", capabilities: ["list"], policies: [{ name: policies[0], path: "sys/*", lines: [6] }] },
      missing_capabilities: ["read"],
      parameter: null,
      hcl: 'path "sys/mounts" {\n  capabilities = ["list", "read"]\n}\n',
    });
  });

  it("names a parameter and never its value", async () => {
    const limited = 'path "sys/capabilities" { capabilities = ["update"] denied_parameters = { "path" = [] } }';
    const { client_token: token } = await holder([limited]);
    const parameters = { path: "hidden-value" };
    const answer = await post("sys/explain/access", {
      token,
      path: "sys/capabilities",
      operation: "create",
      parameters,
    });
    expect(dataOf<Explanation>(answer)).toMatchObject({ reason: "parameter_denied", parameter: "path", hcl: null });
    expect(JSON.stringify(answer.body)).not.toContain("hidden-value");
  });

  it.each([
    ["update", "sys/policies/acl/root", 'cannot update "root" policy'],
    ["create", "sys/policy/ROOT", 'cannot update "root" policy'],
    ["delete", "sys/policies/acl/root", 'cannot delete "root" policy'],
    ["delete", "sys/policies/acl/default", "cannot delete default policy"],
    ["update", "sys/policies/acl/response-wrapping", 'cannot update "response-wrapping" policy'],
  ])("suggests no policy where every token is refused: %s of %s", async (operation, path, refusal) => {
    const { client_token: token } = await holder(['path "sys/mounts" { capabilities = ["read"] }']);
    const answer = await post("sys/explain/access", { token, path, operation });
    expect(dataOf<Explanation>(answer)).toMatchObject({
      allowed: false,
      message: expect.stringContaining(`No token is allowed this: ${refusal}.`),
      hcl: null,
    });
    const readable = await post("sys/explain/access", { token, path, operation: "read" });
    expect(dataOf<Explanation>(readable).hcl).toContain('["read"]');
  });

  it("says that a protected path needs sudo, and policies that do not exist", async () => {
    const { client_token: token } = await createToken(root, {
      policies: [await policy('path "sys/tokens" { capabilities = ["read"] }'), "never-written"],
    });
    expect(await explained({ token, path: "sys/tokens" })).toMatchObject({
      reason: "sudo",
      missing_capabilities: ["sudo"],
      missing_policies: ["never-written"],
      hcl: expect.stringContaining('["read", "sudo"]'),
    });
  });

  it("shows a template as the policy has it, and as it is for the token", async () => {
    await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies: "p-*" });
    const own = await policy('path "cubbyhole/{{identity.entity.id}}" { capabilities = ["read"] }').catch(() => "");
    await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies_glob: "p-*" });
    const made = await post("auth/token/create/person", {
      entity_alias: "anna",
      policies: [own],
      no_default_policy: true,
    });
    const { client_token: token, entity_id: id } = made.body.auth;
    const { rule } = await explained({ token, path: `cubbyhole/${id}`, operation: "delete" });
    expect(rule).toMatchObject({
      path: `cubbyhole/${id}`,
      policies: [{ path: "cubbyhole/{{identity.entity.id}}", lines: [1] }],
    });
    await post(`identity/entity/id/${id}`, { disabled: true });
    expect(await explained({ token, path: "cubbyhole/x" })).toMatchObject({ allowed: false, reason: "entity" });
  });

  it("says that nothing serves a path, that an endpoint needs no token, and that there is one namespace", async () => {
    const { client_token: token } = await holder(['path "*" { capabilities = ["read"] }']);
    expect(await explained({ token, path: "sys/nothing" })).toMatchObject({
      allowed: false,
      reason: "unsupported_path",
    });
    expect(await explained({ token, path: "elsewhere" })).toMatchObject({ allowed: false, reason: "no_route" });
    expect(await explained({ token, path: "sys/health" })).toMatchObject({ allowed: true, reason: "no_token_needed" });
    expect(await explained({ token, path: "sys/mounts", namespace: "team" })).toMatchObject({
      allowed: false,
      reason: "namespace",
    });
  });

  it("repeats no token, whatever field it was put into", async () => {
    const { client_token: token } = await holder(['path "sys/*" { capabilities = ["read"] }']);
    for (const body of [
      { token, path: `auth/token/revoke-orphan/${token}`, operation: "update" },
      { token, path: `sys/${token}/x`, operation: "update" },
      { token, path: "sys/mounts", operation: "update", parameters: { token } },
      { token: `${token}x`, path: "sys/mounts" },
    ]) {
      const answer = await post("sys/explain/access", body);
      expect(answer.status).toBe(200);
      expect(JSON.stringify(answer.body)).not.toContain(token.slice(2, 40));
    }
  });
});

describe("a token that can't be used", () => {
  const reasonOf = async (token: string) => (await explained({ token, path: "sys/mounts" })).reason;

  it("is unknown, revoked, spent, expired, or ended with the one above it", async () => {
    expect(await reasonOf("s.nothing")).toBe("token_unknown");
    expect(await explained({ accessor: "nothing", path: "sys/mounts" })).toMatchObject({ reason: "token_unknown" });

    const revoked = await createToken(root, { ttl: "1h" });
    await post("auth/token/revoke", { token: revoked.client_token });
    expect(await reasonOf(revoked.client_token)).toBe("token_revoked");
    expect(await explained({ accessor: revoked.accessor, path: "sys/mounts" })).toMatchObject({
      reason: "token_revoked",
    });

    const { client_token: spent } = await createToken(root, { num_uses: 1 });
    await call("GET", "auth/token/lookup-self", { token: spent });
    expect(await reasonOf(spent)).toBe("token_spent");

    const parent = await createToken(root, {
      policies: [await policy('path "auth/token/create" { capabilities = ["update"] }')],
    });
    const { client_token: child } = await createToken(parent.client_token);
    await post("auth/token/revoke-accessor", { accessor: parent.accessor });
    expect(await reasonOf(child)).toBe("token_parent_ended");

    const { client_token: short } = await createToken(root, { ttl: "1m" });
    const batch = (await createToken(root, { ttl: "1m", type: "batch", policies: ["default"] })).client_token;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 120_000 });
    expect(await reasonOf(short)).toBe("token_expired");
    expect(await reasonOf(batch)).toBe("token_expired");
  });

  it("was ended together with the others of its role", async () => {
    holdWalks();
    await post("auth/token/roles/fleet", { orphan: true, allowed_policies: "default" });
    const made = await post("auth/token/create/fleet");
    await post("sys/leases/revoke-prefix/auth/token/create/fleet");
    expect(await reasonOf(made.body.auth.client_token)).toBe("token_ended_together");
  });

  it("is valid, but not from this address", async () => {
    const allowed = await policy('path "sys/mounts" { capabilities = ["read"] }');
    await post("auth/token/roles/bound", { token_bound_cidrs: ["192.0.2.0/24"], allowed_policies: allowed });
    const { client_token: token } = (await post("auth/token/create/bound", { policies: [allowed] })).body.auth;
    const from = (client_address: string) => explained({ token, path: "sys/mounts", client_address });
    expect(await from("198.51.100.1")).toMatchObject({ allowed: false, reason: "address" });
    expect(await from("192.0.2.7")).toMatchObject({ allowed: true, reason: "granted" });
  });

  it("loses no use by being explained", async () => {
    const { client_token: token } = await createToken(root, { num_uses: 2 });
    for (let time = 0; time < 3; time++) await explained({ token, path: "sys/mounts" });
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(200);
  });

  it("loses one by asking for itself, as by looking itself up", async () => {
    const { client_token: token } = await createToken(root, { num_uses: 2, policies: ["default"] });
    const asked = { path: "sys/mounts" };
    expect(dataOf(await call("POST", "sys/explain/access-self", { token, body: asked }))).toMatchObject({
      allowed: false,
    });
    expect(dataOf(await call("GET", "auth/token/lookup-self", { token }))).toMatchObject({ num_uses: -1 });
    expect((await call("POST", "sys/explain/access-self", { token, body: asked })).status).toBe(403);
  });
});

describe("the token of a team", () => {
  it("may look at itself, needs policies for the rest, and is gone when it was deleted", async () => {
    const { organization, teamId } = await organizationWithTeam(root);
    const { text: token } = await generateToken(root, teamId);
    const path = `organizations/${organization}`;
    expect(await explained({ token, path: `teams/${teamId}` })).toMatchObject({ allowed: true, reason: "team" });
    expect(await explained({ token, path })).toMatchObject({ allowed: false, reason: "no_rule" });
    expect((await api("GET", path, { token })).status).toBe(404);
    await api("DELETE", `teams/${teamId}/authentication-token`, { token: root });
    expect(await explained({ token, path })).toMatchObject({ allowed: false, reason: "token_gone" });
  });
});

describe("who may ask", () => {
  it("about other tokens: a caller with sudo", async () => {
    const without = await holder(['path "sys/explain/access" { capabilities = ["update"] }']);
    const body = { accessor: without.accessor, path: "sys/mounts" };
    expect((await post("sys/explain/access", body, without.client_token)).status).toBe(403);
    const sudo = await holder(['path "sys/explain/access" { capabilities = ["update", "sudo"] }']);
    expect((await post("sys/explain/access", body, sudo.client_token)).status).toBe(200);
  });

  it("about itself: every token that may ask for its capabilities, and nothing about others", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    const other = await createToken(root);
    const answer = await post("sys/explain/access-self", { path: "sys/mounts", accessor: other.accessor }, token);
    expect(dataOf<Explanation>(answer)).toMatchObject({ allowed: false, reason: "no_rule", policies: ["default"] });
    const bare = await holder(['path "cubbyhole/*" { capabilities = ["read"] }']);
    expect((await post("sys/explain/access-self", { path: "sys/mounts" }, bare.client_token)).status).toBe(403);
    const denied = await holder([
      'path "sys/capabilities-self" { capabilities = ["update"] }\npath "sys/explain/*" { capabilities = ["deny"] }',
    ]);
    expect((await post("sys/explain/access-self", { path: "sys/mounts" }, denied.client_token)).status).toBe(403);
  });

  it("gets a 400 for a request that could not be made", async () => {
    const wrong = [
      { path: "" },
      { path: "a", operation: "sudo" },
      { path: "a/../b" },
      { path: "a/", operation: "update" },
      { path: "a", wrap_ttl: -1 },
      { path: "a".repeat(5000) },
    ];
    for (const body of wrong) expect((await post("sys/explain/access-self", body)).status).toBe(400);
    expect((await post("sys/explain/access", { path: "a" })).status).toBe(400);
    expect((await post("sys/explain/access", { path: "a", token: "s.x", accessor: "y" })).status).toBe(400);
  });
});
