import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeProvider, PROVIDER } from "../../../support/fake-provider.ts";
import { mountOidc } from "../../../support/oidc.ts";
import { call, initialized } from "../../../support/service.ts";

const GRAPH = "https://graph.microsoft.com/v1.0/me/getMemberObjects";
const ADMINS = "6b3c3f3a-0000-4000-8000-0123456789ab";
const OTHERS = "6b3c3f3a-0000-4000-8000-0123456789ac";
/** Claims of a person in more groups than Entra lists. The address is one that must not be called. */
const OVERAGE = {
  sub: "ann",
  _claim_names: { groups: "src1" },
  _claim_sources: { src1: { endpoint: "https://evil.example.com/getMemberObjects" } },
};
const AZURE = { config: { provider_config: { provider: "azure" } }, role: { groups_claim: "groups" } };

let root: string;
let provider: FakeProvider;
/** The answer of Microsoft Graph. */
let graph: (request: Request) => Response | Promise<Response>;
let asked: Request[];

beforeAll(async () => {
  root = await initialized();
  provider = await FakeProvider.start();
});

beforeEach(() => {
  provider.metadata = { msgraph_host: "graph.microsoft.com" };
  provider.instead = null;
  asked = [];
  graph = () => Response.json({ value: [OTHERS, ADMINS] });
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const answer = await provider.answer(request);
    if (answer) return answer;
    asked.push(request.clone() as Request);
    return graph(request);
  });
});

/** Lets the members of a group of Entra have a policy. */
async function groupOf(path: string): Promise<void> {
  const post = (to: string, body: unknown) => call("POST", to, { token: root, body });
  const mounts = await call("GET", "sys/auth", { token: root });
  const { accessor } = (mounts.body.data as Record<string, { accessor: string }>)[`${path}/`] ?? { accessor: "" };
  const group = await post("identity/group", { name: path, type: "external", policies: ["of-admins"] });
  const canonical = (group.body.data as { id: string }).id;
  await post("identity/group-alias", { name: ADMINS, mount_accessor: accessor, canonical_id: canonical });
}

describe("groups that Entra leaves out of an ID token", () => {
  it("are asked at Microsoft Graph by the access token, and never at the address in the token", async () => {
    const mount = await mountOidc(root, "entra", provider, AZURE);
    await groupOf("entra");
    const { status, auth } = await mount.login(OVERAGE);
    expect([status, auth?.identity_policies]).toEqual([200, ["of-admins"]]);
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([`POST ${GRAPH}`]);
    expect(asked[0]?.headers.get("Authorization")).toMatch(/^Bearer access-\d+$/);
    expect(await asked[0]?.json()).toEqual({ securityEnabledOnly: false });
    // Who has left the group is out of it.
    graph = () => Response.json({ value: [OTHERS] });
    expect((await mount.login(OVERAGE)).auth?.identity_policies ?? []).toEqual([]);
  });

  it("are not asked for when the token lists them, or the role needs none, or the mount has no such provider", async () => {
    const listing = await mountOidc(root, "listing", provider, AZURE);
    expect((await listing.login({ sub: "ann", groups: [ADMINS] })).status).toBe(200);
    const without = await mountOidc(root, "without", provider, { ...AZURE, role: {} });
    expect((await without.login(OVERAGE)).status).toBe(200);
    const plain = await mountOidc(root, "plain-groups", provider, { role: { groups_claim: "groups" } });
    expect((await plain.login(OVERAGE)).status).toBe(200);
    expect(asked).toEqual([]);
  });

  it("can be bound claims, by a pointer too", async () => {
    const role = { groups_claim: "/groups", bound_claims: { "/groups": ADMINS } };
    const mount = await mountOidc(root, "bound-groups", provider, { ...AZURE, role });
    expect((await mount.login(OVERAGE)).status).toBe(200);
    graph = () => Response.json({ value: [OTHERS] });
    expect((await mount.login(OVERAGE)).error).toContain('claim "/groups" does not match');
  });

  const redirect = () => new Response(null, { status: 302, headers: { Location: "https://evil.example.com/" } });
  const huge = () => Response.json({ value: Array.from({ length: 10_000 }, () => ADMINS) });
  const denied = () => Response.json({ error: { message: "<script>of others</script>" } }, { status: 403 });
  const unreachable = () => {
    throw new TypeError("Network connection lost");
  };
  it.each([
    ["a redirect", redirect, 400, "it answered 302"],
    ["a refusal", denied, 400, "it answered 403"],
    ["no JSON", () => new Response("<html>"), 400, "its answer is no JSON object"],
    ["a part", () => Response.json({ value: [], "@odata.nextLink": GRAPH }), 400, "only a part"],
    ["names", () => Response.json({ value: ["admins"] }), 400, "no list of groups"],
    ["too many", huge, 503, "its answer is too long"],
    ["a failure", () => new Response(null, { status: 502 }), 503, "it answered 502"],
    ["too many requests", () => new Response(null, { status: 429 }), 503, "it answered 429"],
    ["no connection", unreachable, 503, "it does not answer"],
  ])("refuse a login when Microsoft Graph answers with %s", async (_name, answer, status, message) => {
    const mount = await mountOidc(root, "refusing", provider, AZURE);
    graph = answer;
    const refused = await mount.login(OVERAGE);
    expect(refused).toMatchObject({ status, auth: undefined });
    expect(refused.error).toContain(`error fetching groups: Microsoft Graph: `);
    expect(refused.error).toContain(message);
    expect(refused.error).not.toContain("of others");
    expect(asked).toHaveLength(1);
  });

  it("refuse a login when Microsoft Graph does not answer in time", async () => {
    const mount = await mountOidc(root, "slow-graph", provider, AZURE);
    const { state, code } = provider.signIn(await mount.authUrl(), OVERAGE);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      graph = async () => {
        await vi.advanceTimersByTimeAsync(5_000);
        return new Promise<Response>(() => undefined);
      };
      expect(await mount.callback({ state, code })).toMatchObject({
        status: 503,
        error: expect.stringContaining("it does not answer"),
      });
    } finally {
      vi.useRealTimers();
    }
  });

  it.each(["evil.example.com", "graph.microsoft.com.evil.example.com", undefined])(
    "are asked nowhere when the provider says %s",
    async (host) => {
      provider.metadata = { msgraph_host: host };
      const mount = await mountOidc(root, "elsewhere", provider, AZURE);
      expect(await mount.login(OVERAGE)).toMatchObject({
        status: 400,
        error: expect.stringContaining("names no Microsoft Graph"),
      });
      expect(asked).toEqual([]);
    },
  );

  it("refuse a login without an access token, and one by jwt", async () => {
    const mount = await mountOidc(root, "no-access", provider, AZURE);
    const { state, code, asked: query } = provider.signIn(await mount.authUrl(), OVERAGE);
    const times = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 };
    const claims = { iss: PROVIDER, aud: "grove", nonce: query.nonce, ...times, ...OVERAGE };
    provider.instead = async ({ pathname }) =>
      pathname === "/token" ? Response.json({ id_token: await provider.issuer.sign(claims) }) : undefined;
    expect((await mount.callback({ state, code })).error).toContain("gave no access token");
    const role = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", groups_claim: "groups" };
    await mount.write("role/job", role);
    const jwt = await provider.issuer.sign(claims);
    expect((await mount.open("login", { role: "job", jwt })).error).toBe('"groups" claim is left out of the token');
    expect(asked).toEqual([]);
  });

  it("are assumed by an explanation", async () => {
    const mount = await mountOidc(root, "explained-groups", provider, AZURE);
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: PROVIDER, aud: "grove", iat: now, exp: now + 60, ...OVERAGE };
    const { body } = await mount.write("explain/login", { role: "web", claims });
    expect(body.data).toMatchObject({ allowed: true });
    expect(body.data.checks).toContainEqual(expect.objectContaining({ name: "oidc_groups", outcome: "assumed" }));
  });
});

describe("provider_config", () => {
  it("is shown as it was written", async () => {
    const mount = await mountOidc(root, "shown", provider, AZURE);
    expect((await mount.read("config")).body.data).toMatchObject({ provider_config: { provider: "azure" } });
    await mount.write("config", { oidc_discovery_url: PROVIDER, provider_config: {} });
    expect((await mount.read("config")).body.data).toMatchObject({ provider_config: {} });
  });

  it.each([
    [{ provider: "gsuite" }, "the only provider with its own rules is azure"],
    [{ provider: "azure", fetch_groups: true }, '"fetch_groups" is not known here'],
    [{ gsuite_service_account: "secret-value" }, '"gsuite_service_account" is not known here'],
    [{ provider: ["azure"] }, "the only provider with its own rules is azure"],
    ["azure", "it must be an object"],
    [["azure"], "it must be an object"],
  ])("is refused when it is %j", async (config, message) => {
    await mountOidc(root, "refused-config", provider);
    const body = { oidc_discovery_url: PROVIDER, provider_config: config };
    const answer = await call("POST", "auth/refused-config/config", { token: root, body });
    expect([answer.status, String(answer.body.errors)]).toEqual([400, expect.stringContaining(message)]);
    expect(String(answer.body.errors)).not.toContain("secret-value");
  });
});
