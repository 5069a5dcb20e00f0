import { createExecutionContext } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../../../../src/index.ts";
import { JwtAuth, jwtAuthAt } from "../../../../src/methods/jwt/jwt-auth.ts";
import { atNth } from "../../../support/calls.ts";
import { mountRow } from "../../../support/cloud.ts";
import { FakeProvider, PROVIDER } from "../../../support/fake-provider.ts";
import { COMMAND, mountOidc, PAGE, serveProviders } from "../../../support/oidc.ts";
import { rowsOf } from "../../../support/rows.ts";
import { bindings, call, initialized } from "../../../support/service.ts";

let root: string;
let provider: FakeProvider;

beforeAll(async () => {
  root = await initialized();
  provider = await FakeProvider.start();
});

beforeEach(() => {
  provider.change = (claims) => claims;
  provider.metadata = {};
  provider.instead = null;
  provider.wantsChallenge = false;
  serveProviders(provider);
  vi.useFakeTimers({ toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

const EXPIRED = "Vault login failed. Expired or missing OAuth state.";
const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
/** What somebody who writes into a page would send. */
const EVIL = "<script>alert(1)</script> call 555-0100";

describe("a login on any device", () => {
  const onDevice = (path: string, role: Record<string, unknown> = {}) =>
    mountOidc(root, path, provider, { role: { callback_mode: "device", allowed_redirect_uris: [], ...role } });
  const lastDevice = () => [...provider.devices.values()].at(-1);

  it("waits where the provider has too many requests", async () => {
    const mount = await onDevice("busy");
    const busy = ({ pathname }: URL) =>
      ["/token", "/device"].includes(pathname) ? new Response(null, { status: 429 }) : undefined;
    provider.instead = busy;
    expect(await mount.begin()).toMatchObject({ status: 503, error: expect.stringContaining("it answered 429") });
    provider.instead = null;
    const { data } = await mount.begin();
    const device = lastDevice();
    if (device) device.claims = { sub: "ann" };
    const poll = () => mount.open("oidc/poll", { state: data?.state, client_nonce: "of-the-client" });
    provider.instead = busy;
    expect(await poll()).toMatchObject({ status: 503, error: expect.stringContaining("it answered 429") });
    provider.instead = null;
    later(5_000);
    expect(await poll()).toMatchObject({ status: 200 });
  });

  it("gives a token once a person has consented, and no second one", async () => {
    const mount = await onDevice("device");
    const begun = await mount.begin({ redirect_uri: "" });
    expect(begun.data).toEqual({
      auth_url: `${PROVIDER}/activate`,
      user_code: "WDJB-MJHT",
      poll_interval: "5",
      state: expect.stringMatching(/^[\w-]{43}$/),
    });
    const poll = () => mount.open("oidc/poll", { state: begun.data?.state, client_nonce: "of-the-client" });
    expect(await poll()).toMatchObject({ status: 400, error: "authorization_pending" });
    later(3_999);
    expect(await poll()).toMatchObject({ status: 400, error: "slow_down" });
    const device = lastDevice();
    if (device) device.claims = { sub: "ann" };
    later(5_000);
    expect(await poll()).toMatchObject({ status: 200, auth: { metadata: { role: "web" } } });
    later(5_000);
    expect(await poll()).toMatchObject({ status: 400, error: EXPIRED });
  });

  it("asks the provider once for many concurrent polls", async () => {
    const mount = await onDevice("device-raced");
    const begun = await mount.begin();
    const device = lastDevice();
    if (device) device.claims = { sub: "ann" };
    const before = provider.asked.length;
    const body = { state: begun.data?.state, client_nonce: "of-the-client" };
    const answers = await Promise.all(Array.from({ length: 10 }, () => mount.open("oidc/poll", body)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
    expect(provider.asked.length - before).toBe(1);
  });

  it("gives one token also when the provider answers a slow poll and the next one", async () => {
    const mount = await onDevice("device-slow");
    const begun = await mount.begin();
    const [code, device] = [...provider.devices].at(-1) ?? [];
    if (!code || !device) throw new Error("no login was begun");
    device.claims = { sub: "ann" };
    const poll = () => mount.open("oidc/poll", { state: begun.data?.state, client_nonce: "of-the-client" });
    let next: Awaited<ReturnType<typeof poll>> | undefined;
    provider.instead = async ({ pathname }) => {
      if (pathname !== "/token") return undefined;
      provider.instead = null;
      later(5_000);
      next = await poll();
      provider.devices.set(code, device);
      return undefined;
    };
    expect(await poll()).toMatchObject({ status: 400, error: EXPIRED });
    expect(next).toMatchObject({ status: 200 });
  });

  it("is refused without a secret of the client, to another client, and when the person denies it", async () => {
    const mount = await onDevice("device-refused");
    expect((await mount.begin({ client_nonce: "" })).error).toBe("missing client_nonce");
    const begun = await mount.begin();
    const body = { state: begun.data?.state, client_nonce: "other" };
    expect((await mount.open("oidc/poll", body)).error).toBe("invalid client_nonce");
    const device = lastDevice();
    if (device) device.denied = true;
    const own = { ...body, client_nonce: "of-the-client" };
    expect((await mount.open("oidc/poll", own)).error).toContain("access_denied");
    expect((await mount.open("oidc/poll", own)).error).toBe(EXPIRED);
  });

  it("stays while the provider does not answer, and shows no address of others", async () => {
    const mount = await onDevice("device-away");
    const begun = await mount.begin();
    const body = { state: begun.data?.state, client_nonce: "of-the-client" };
    provider.instead = (url) => (url.pathname === "/token" ? new Response(null, { status: 502 }) : undefined);
    expect((await mount.open("oidc/poll", body)).status).toBe(503);
    later(5_000);
    provider.instead = null;
    expect((await mount.open("oidc/poll", body)).error).toBe("authorization_pending");
    const answer = { device_code: "d", user_code: "u", verification_uri: "javascript:alert(1)" };
    provider.instead = (url) => (url.pathname === "/device" ? Response.json(answer) : undefined);
    expect((await mount.begin()).status).toBe(503);
  });

  it("ends after half an hour, and its client asks once a minute, if the provider says more", async () => {
    const mount = await onDevice("device-for-ever");
    const device = { device_code: "d", user_code: "u", verification_uri: `${PROVIDER}/activate` };
    const answer = { ...device, expires_in: 1e9, interval: 3600 };
    provider.instead = (url) => (url.pathname === "/device" ? Response.json(answer) : undefined);
    const { data } = await mount.begin();
    expect(data).toMatchObject({ poll_interval: "60" });
    later(1_800_000);
    const poll = await mount.open("oidc/poll", { state: data?.state, client_nonce: "of-the-client" });
    expect(poll.error).toBe(EXPIRED);
  });

  it("proves at the token endpoint who began it, where the provider wants that", async () => {
    provider.wantsChallenge = true;
    const mount = await onDevice("device-pkce");
    const begun = await mount.begin();
    const device = lastDevice();
    expect(device?.challenge).toMatch(/^[\w-]{43}$/);
    if (device) device.claims = { sub: "ann" };
    const poll = await mount.open("oidc/poll", { state: begun.data?.state, client_nonce: "of-the-client" });
    expect(poll).toMatchObject({ status: 200, auth: { metadata: { role: "web" } } });
  });

  it("sends a provider that wants no proof none", async () => {
    const mount = await onDevice("device-plain");
    await mount.begin();
    expect(lastDevice()?.challenge).toBeUndefined();
  });

  it.each([
    [401, { error: "unauthorized_client" }, /unauthorized_client\. The provider refuses the client/],
    [401, { error: "invalid_client" }, /invalid_client\. The provider refuses the client/],
    [400, { error: "invalid_scope" }, /invalid_scope\.$/],
    [400, { error: "invalid_request" }, /invalid_request\.$/],
  ])("that the provider refuses with %d %j is refused with that error, and listed", async (status, body, message) => {
    const path = `device-refused-${body.error.replace("_", "-")}`;
    const mount = await onDevice(path);
    provider.instead = (url) => (url.pathname === "/device" ? Response.json(body, { status }) : undefined);
    expect(await mount.begin()).toMatchObject({ status: 400, error: expect.stringMatching(message) });
    const listed = await mount.read("explain/refused");
    expect(listed.body?.data).toMatchObject({ refused: [{ check: "oidc_device", role: "web" }] });
  });
});

it("a login on any device shows its client no text of the provider (CVE-2026-33758)", async () => {
  const mount = await mountOidc(root, "device-texts", provider, { role: { callback_mode: "device" } });
  const refusing = (path: string) => (url: URL) =>
    url.pathname === path
      ? Response.json({ error: EVIL, error_description: EVIL, error_uri: EVIL }, { status: 400 })
      : undefined;
  provider.instead = refusing("/device");
  const refused = await mount.begin();
  provider.instead = null;
  const { state } = (await mount.begin()).data as unknown as Record<string, string>;
  provider.instead = refusing("/token");
  const polled = await mount.open("oidc/poll", { state, client_nonce: "of-the-client" });
  expect(polled.error).toBe("Vault login failed. Error exchanging oidc code: unknown error.");
  for (const { status, error } of [refused, polled]) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(error).not.toMatch(/alert|555/);
  }
});

/** A browser at the callback: what it gets, as text. */
async function browse(path: string, form?: Record<string, string>, headers: Record<string, string> = {}) {
  const request = new Request(`http://grove.test/v1/${path}`, {
    method: form ? "POST" : "GET",
    redirect: "manual",
    headers: { ...(form && { "Content-Type": "application/x-www-form-urlencoded" }), ...headers },
    ...(form && { body: new URLSearchParams(form).toString() }),
  });
  const answer = await worker.fetch(request, bindings, createExecutionContext());
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
const FOREIGN = { "Sec-Fetch-Site": "cross-site" };

describe("a login whose answer comes to this server", () => {
  const direct = async (path: string) => {
    const uri = `https://grove.example.com/v1/auth/${path}/oidc/callback`;
    const mount = await mountOidc(root, path, provider, {
      role: { callback_mode: "direct", allowed_redirect_uris: [uri], poll_interval: 2 },
    });
    const begun = await mount.begin({ redirect_uri: uri });
    const { state, user_code: userCode, auth_url: url } = begun.data as unknown as Record<string, string>;
    const poll = () => mount.open("oidc/poll", { state, client_nonce: "of-the-client" });
    const at = `auth/${path}/oidc/callback`;
    const back = (fields: Record<string, string>) =>
      browse(`${at}?${new URLSearchParams({ state: state ?? "", ...fields })}`);
    const confirm = (page: { text: string }, typed: string, headers: Record<string, string> = {}) => {
      const [, confirmation = ""] = /name="confirmation" value="([\w-]{43})"/.exec(page.text) ?? [];
      return browse(at, { state: state ?? "", confirmation, user_code: typed }, headers);
    };
    return { mount, begun, userCode: userCode ?? "", url: url ?? "", poll, back, confirm };
  };

  it("gives its client a token after a person has typed the code that the client shows", async () => {
    const { begun, userCode, url, poll, back, confirm } = await direct("direct");
    expect(begun.data).toMatchObject({ poll_interval: "2", user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/) });
    expect((await poll()).error).toBe("authorization_pending");
    const { code } = provider.signIn(url);
    const page = await back({ code });
    expect([page.status, page.headers.get("Content-Type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("Content-Security-Policy")).toContain("frame-ancestors 'none'");
    expect(page.text).toContain("<b>web</b>");
    for (const secret of [userCode, code, "of-the-client"]) expect(page.text).not.toContain(secret);
    expect((await poll()).error).toBe("authorization_pending");
    let during: string | undefined;
    provider.instead = async ({ pathname }) => {
      if (pathname === "/token") during = (await poll()).error;
      return undefined;
    };
    expect((await confirm(page, userCode.toLowerCase().replace("-", " "))).text).toContain("You can close this page");
    expect(during).toBe("authorization_pending");
    expect(await poll()).toMatchObject({ status: 200, auth: { metadata: { role: "web" } } });
    expect((await poll()).error).toBe(EXPIRED);
  });

  it("returns to its callback as `bao login` composes it, which is no other address", async () => {
    const { mount } = await direct("composed");
    const begun = await mount.begin({ redirect_uri: "https://grove.example.com:/v1/auth/composed//oidc/callback" });
    const url = new URL(String(begun.data?.auth_url));
    expect(url.searchParams.get("redirect_uri")).toBe("https://grove.example.com/v1/auth/composed/oidc/callback");
    for (const uri of [
      "https://evil.example:/v1/auth/composed//oidc/callback",
      "https://grove.example.com:/v1/auth/a//oidc/callback",
    ]) {
      expect((await mount.begin({ redirect_uri: uri })).error).toContain("allowed_redirect_uris");
    }
  });

  it("is not confirmed by visiting a link (CVE-2026-33757), nor by who began it, nor by a page of another site", async () => {
    const { userCode, url, poll, back, confirm } = await direct("phished");
    const victim = provider.signIn(url, { sub: "victim" });
    const page = await back({ code: victim.code });
    // Who began the login knows state and code of the person, and not the secret of the page.
    expect((await confirm({ text: "" }, userCode)).status).toBe(400);
    expect((await confirm({ text: `name="confirmation" value="${"A".repeat(43)}"` }, userCode)).status).toBe(400);
    expect((await confirm(page, userCode, FOREIGN)).status).toBe(403);
    expect((await poll()).error).toBe("authorization_pending");
    // A page of one's own goes with a code of one's own.
    const own = await back({ code: "made-up" });
    expect((await confirm(page, userCode)).status).toBe(400);
    expect((await confirm(own, userCode)).text).toContain("The sign-in failed");
    expect((await poll()).error).toContain("Vault login failed.");
  });

  it("ends after five wrong codes", async () => {
    const { userCode, url, back, confirm, poll } = await direct("guessed");
    const page = await back({ code: provider.signIn(url).code });
    for (let n = 0; n < 4; n++) expect((await confirm(page, "AAAA-AAAA")).text).toContain("That is not the code");
    expect((await confirm(page, "AAAA-AAAA")).status).toBe(400);
    expect((await confirm(page, userCode)).status).toBe(400);
    expect((await poll()).error).toBe(EXPIRED);
  });

  it("shows no text of others on its pages (CVE-2026-33758)", async () => {
    const denied = await direct("texts-of-a-denial");
    const failed = await denied.back({ error: EVIL, error_description: EVIL, error_uri: EVIL });
    expect([failed.status, failed.text.includes("alert")]).toEqual([400, false]);
    expect((await denied.poll()).error).toBe("Vault login failed. The provider reported an error.");
    const { back, url, userCode, confirm, poll } = await direct("texts");
    provider.change = (claims) => ({ ...claims, sub: undefined, [EVIL]: EVIL, nonce: EVIL });
    const page = await back({ code: provider.signIn(url).code });
    const refused = await confirm(page, userCode);
    expect([refused.status, refused.text.includes("alert")]).toEqual([400, false]);
    expect(refused.text).toContain("repeats the nonce");
    expect((await poll()).error).not.toContain("alert");
  });

  it("ends when the person denies it, with that answer for its client, and takes no code any more", async () => {
    const { mount, url, userCode, back, confirm, poll } = await direct("denied");
    const before = await back({ code: provider.signIn(url).code });
    const page = await back({ error: "access_denied" });
    expect([page.status, page.text.includes("The provider consented")]).toEqual([400, true]);
    expect((await back({ code: provider.signIn(url).code })).status).toBe(400);
    expect((await confirm(before, userCode)).status).toBe(400);
    const listed = await mount.read("explain/refused");
    expect(listed.body?.data?.refused).toContainEqual(expect.objectContaining({ role: "web", check: "oidc_answer" }));
    expect(JSON.stringify(listed.body)).not.toContain('"role":null');
    expect(await poll()).toMatchObject({ status: 400, error: "Vault login failed. access_denied" });
    expect((await poll()).error).toBe(EXPIRED);
  });

  it("stays when its answer could not be kept", async () => {
    const { url, userCode, back, confirm, poll } = await direct("asked-again");
    const { code } = provider.signIn(url);
    atNth(JwtAuth, "replaceLogin", 1, async () => false);
    expect((await back({ code })).status).toBe(400);
    expect((await poll()).error).toBe("authorization_pending");
    expect((await confirm(await back({ code }), userCode)).status).toBe(200);
    expect((await poll()).status).toBe(200);
  });

  it("ends when the provider refuses the code, and its client learns which check did not pass", async () => {
    const { mount, userCode, back, confirm, poll } = await direct("refused-code");
    const page = await confirm(await back({ code: "made-up" }), userCode);
    expect(page.text).toContain("This check did not pass: The provider gave tokens");
    expect((await poll()).error).toMatch(/^Vault login failed\. This check did not pass: The provider gave tokens/);
    const listed = await mount.read("explain/refused");
    expect(listed.body?.data?.refused).toMatchObject([{ role: "web", check: "oidc_exchange" }]);
  });

  it("is refused at once when its role is gone", async () => {
    const { mount, poll } = await direct("without-role");
    await call("DELETE", "auth/without-role/role/web", { token: root });
    expect((await poll()).error).toContain("could not be found");
    expect((await mount.read("explain/refused")).body?.data?.refused).toMatchObject([{ role: null, check: "role" }]);
  });

  it("counts one of several wrong codes at once, and takes none of the others for a try", async () => {
    const { userCode, url, back, confirm, poll } = await direct("guessed-at-once");
    const page = await back({ code: provider.signIn(url).code });
    for (const [later, sooner, right] of [
      ["AAAA-AAAA", "BBBB-BBBB", "That is not the code"],
      [userCode, "CCCC-CCCC", "That is not the code"],
    ] as const) {
      let first = "";
      atNth(JwtAuth, "replaceLogin", 1, async (proceed) => {
        first = (await confirm(page, sooner)).text;
        return proceed();
      });
      const second = await confirm(page, later);
      expect(first).toContain(right);
      expect([second.status, second.text.includes(right)]).toEqual([400, false]);
    }
    expect((await confirm(page, userCode)).status).toBe(200);
    expect((await poll()).status).toBe(200);
  });

  it("gives what the role gives when the client asks, and names the person in the log", async () => {
    const { mount, userCode, url, back, confirm, poll } = await direct("role-changed");
    await confirm(await back({ code: provider.signIn(url, { sub: "ann" }).code }), userCode);
    await mount.write("role/web", { token_policies: "less", token_ttl: "5m" });
    const written = vi.spyOn(console, "log");
    expect((await poll()).auth).toMatchObject({ policies: ["default", "less"], lease_duration: 300 });
    const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
    const answer = lines.find(({ type, path }) => type === "response" && String(path).endsWith("/oidc/poll"));
    expect(answer).toMatchObject({ status: 200, role: "web", principal: "ann" });
  });

  it("ends when the role asks something else of people before the client asks", async () => {
    const { mount, userCode, url, back, confirm, poll } = await direct("conditions-changed");
    await confirm(await back({ code: provider.signIn(url, { sub: "ann" }).code }), userCode);
    await mount.write("role/web", { bound_subject: "admin", token_policies: "more" });
    expect(await poll()).toMatchObject({ status: 400, error: expect.stringContaining("role has changed") });
  });

  it.each([
    ["the provider answers", 0],
    ["the person confirms", 0],
    ["the client asks", 1],
  ])("ends when the mount gets another configuration before %s", async (moment, exchanged) => {
    const { mount, userCode, url, back, confirm, poll } = await direct(`changed-${moment.split(" ")[1]}`);
    const { code } = provider.signIn(url);
    const at = async (now: string) => {
      const client = { oidc_client_id: "another", oidc_client_secret: "secret" };
      if (now === moment) await mount.write("config", { oidc_discovery_url: PROVIDER, ...client });
    };
    const asked = provider.asked.length;
    await at("the provider answers");
    const page = await back({ code });
    await at("the person confirms");
    const confirmed = await confirm(page, userCode);
    // The code of one client or issuer is sent to no other.
    expect([confirmed.status, provider.asked.length - asked]).toEqual([exchanged === 1 ? 200 : 400, exchanged]);
    await at("the client asks");
    expect(await poll()).toMatchObject({ status: 400, error: expect.stringContaining("configuration has changed") });
  });

  it("gives one token for many confirmations and questions at once", async () => {
    const { userCode, url, back, confirm, poll } = await direct("direct-raced");
    const page = await back({ code: provider.signIn(url).code });
    const pages = await Promise.all(Array.from({ length: 5 }, () => confirm(page, userCode)));
    expect(pages.filter(({ status }) => status === 200).length).toBe(1);
    const answers = await Promise.all(Array.from({ length: 5 }, poll));
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
  });
});

describe("an answer that the provider posts", () => {
  const posting = async (path: string) => {
    const mount = await mountOidc(root, path, provider, { config: { oidc_response_mode: "form_post" } });
    const posted = (fields: Record<string, string>, headers: Record<string, string> = FOREIGN) =>
      browse(`auth/${path}/oidc/callback`, fields, headers);
    return { ...mount, posted };
  };
  /** What the browser has that was sent back to the page of the console. */
  const broughtBack = ({ headers }: { headers: Headers }) =>
    Object.fromEntries(new URL(headers.get("Location") ?? "").searchParams) as { state: string; code: string };
  const NOT_RECEIVED = "Vault login failed. No code or id_token received.";

  it("goes on with the command, which posts it and then asks for the token with it", async () => {
    const mount = await posting("posted");
    const url = await mount.authUrl();
    expect(new URL(url).searchParams.get("response_mode")).toBe("form_post");
    const { state, code } = provider.signIn(url);
    const passedOn = await mount.posted({ state, code, id_token: "", client_nonce: "of-the-client" }, {});
    expect(passedOn.status).toBe(200);
    expect((await mount.callback({ state, code })).status).toBe(200);
  });

  it("sends the browser back to the page that began, with a secret and without the code", async () => {
    const mount = await posting("posted-page");
    const { state, code, redirectUri } = provider.signIn(await mount.authUrl({ redirect_uri: PAGE }));
    expect(redirectUri).toBe("https://grove.example.com/v1/auth/posted-page/oidc/callback");
    const back = await mount.posted({ state, code });
    expect([back.status, back.headers.get("Referrer-Policy")]).toEqual([303, "no-referrer"]);
    expect(back.headers.get("Location")).toMatch(new RegExp(`^${PAGE}\\?state=${state}&code=[\\w-]{43}$`));
    expect(back.headers.get("Location")).not.toContain(code);
    const brought = broughtBack(back);
    expect((await mount.callback({ ...brought, client_nonce: "other" })).error).toBe("invalid client_nonce");
    expect((await mount.callback(brought)).auth?.metadata).toEqual({ role: "web" });
    expect((await mount.callback(brought)).error).toBe(EXPIRED);
  });

  it.each([
    ["a page", PAGE],
    ["a command", COMMAND],
  ])("shows no text of who posts it on its pages (CVE-2026-33758), for %s", async (_, redirect_uri) => {
    const mount = await posting("posted-texts");
    const sent = [
      { error: EVIL, error_description: EVIL, error_uri: EVIL },
      { error: "access_denied", error_description: EVIL },
      { code: "c", iss: EVIL },
      { code: EVIL, id_token: EVIL },
    ];
    for (const fields of sent) {
      const { state } = provider.signIn(await mount.authUrl({ redirect_uri }));
      const page = await mount.posted({ state, ...fields });
      expect(page.text).not.toMatch(/alert|555/);
      expect(page.headers.get("Location") ?? "").not.toMatch(/alert|555/);
      if (page.status === 303) continue;
      expect(page.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
      expect(page.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    }
    const unknown = await mount.posted({ state: EVIL, error: EVIL }, {});
    expect([unknown.status, unknown.headers.get("Content-Type")]).toEqual([400, "application/json"]);
    expect(unknown.text).not.toMatch(/alert|555/);
  });

  it("ends the login when it is a refusal", async () => {
    const mount = await posting("posted-denial");
    const { state, code } = provider.signIn(await mount.authUrl({ redirect_uri: PAGE }));
    expect((await mount.posted({ state, error: "access_denied" })).status).toBe(400);
    expect((await mount.callback({ state, code })).error).toBe(EXPIRED);
    const listed = await mount.read("explain/refused");
    expect(listed.body?.data?.refused).toContainEqual(expect.objectContaining({ role: "web", check: "oidc_answer" }));
  });

  it("gives its token to the page of the console, which posts what it was sent back with", async () => {
    const mount = await posting("posted-by-page");
    const { state, code } = provider.signIn(await mount.authUrl({ redirect_uri: PAGE }));
    const brought = { ...broughtBack(await mount.posted({ state, code })), client_nonce: "of-the-client" };
    expect((await mount.posted(brought)).status).toBe(403);
    expect((await mount.open("oidc/callback", brought, { "Sec-Fetch-Site": "same-origin" })).status).toBe(200);
  });

  it.each([
    ["to a page of the console", PAGE, ["no_code", "", "made-up", "A".repeat(43)]],
    ["to a command", COMMAND, ["no_code", ""]],
  ])("of somebody who followed a link is no token for who sent it: %s", async (_, redirect_uri, guesses) => {
    const mount = await posting("posted-phished");
    const asked = provider.asked.length;
    const phished = async () => {
      const { state, code } = provider.signIn(await mount.authUrl({ redirect_uri }), { sub: "victim" });
      expect((await mount.posted({ state, code })).status).toBe(redirect_uri === PAGE ? 303 : 200);
      return { state, client_nonce: "of-the-client" };
    };
    for (const code of guesses) {
      const known = await phished();
      expect((await mount.open("oidc/poll", known)).error).toBe(EXPIRED);
      expect(await mount.callback({ ...known, code })).toMatchObject({ status: 400, error: NOT_RECEIVED });
    }
    expect((await mount.posted({ ...(await phished()), code: "no_code" }, {})).status).toBe(400);
    // None of the codes came to the provider.
    expect(provider.asked.length).toBe(asked);
  });

  it("is not mixed with that of who began: each browser goes on with the code that it brought", async () => {
    const mount = await posting("posted-twice");
    const url = await mount.authUrl({ redirect_uri: PAGE });
    const victim = provider.signIn(url, { sub: "victim" });
    const first = broughtBack(await mount.posted({ state: victim.state, code: victim.code }));
    const own = provider.signIn(url, { sub: "attacker" });
    const second = broughtBack(await mount.posted({ state: own.state, code: own.code }));
    expect(second.code).not.toBe(first.code);
    const { auth } = await mount.callback(second);
    const self = await call("GET", "auth/token/lookup-self", { token: String(auth?.client_token) });
    expect(self.body.data.display_name).toBe("posted-twice-attacker");
    expect((await mount.callback(first)).error).toBe(EXPIRED);
  });

  it("is kept for nobody where the command goes on", async () => {
    const mount = await posting("posted-unkept");
    const { state, code } = provider.signIn(await mount.authUrl());
    const object = jwtAuthAt(bindings, await mountRow("posted-unkept"));
    const before = await rowsOf(object, "pending_logins");
    expect((await mount.posted({ state, code })).status).toBe(200);
    expect(await rowsOf(object, "pending_logins")).toEqual(before);
  });

  it("is refused from a page of another site where the provider does not post", async () => {
    const mount = await mountOidc(root, "not-posted", provider);
    const { state, code } = provider.signIn(await mount.authUrl());
    const answer = await browse(
      "auth/not-posted/oidc/callback",
      { state, code, client_nonce: "of-the-client" },
      FOREIGN,
    );
    expect(answer.status).toBe(403);
    expect((await mount.callback({ state, code })).status).toBe(200);
  });
});
