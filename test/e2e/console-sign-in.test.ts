import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newIssuer } from "../support/issuer.ts";
import { browserPath, expectAccessible, openPage, startBrowser } from "./support/browser.ts";
import { openPlace, signIn } from "./support/console-page.ts";
import { focusedLabel } from "./support/keyboard.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const executable = browserPath();
const MINUTE = 60_000;

describe.skipIf(executable === undefined)("sign-in by a method", () => {
  let server: RunningServer;
  let browser: Browser;

  beforeAll(async () => {
    server = await startServe();
    browser = await startBrowser(executable ?? "");
    await api("POST", "sys/policies/acl/reader", { policy: 'path "sys/policies/acl/*" { capabilities = ["list"] }' });
    await enable("jobs", "approle", "unauth");
    await role("jobs", "web", { token_ttl: "1h", token_policies: "reader" });
    await role("jobs", "short", { token_ttl: "1h", token_type: "batch" });
    await enable("people", "jwt", "unauth", "Employees");
    await api("POST", "auth/people/config", {
      ...{ oidc_discovery_url: "https://login.invalid", oidc_client_id: "grove", oidc_client_secret: "hidden" },
      skip_jwks_validation: true,
    });
    await enable("robots", "jwt", "unauth");
    await enable("hidden/ci", "jwt", "");
    await enable("fleet", "aws", "unauth");
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const api = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const answer = await call(server, method, `/v1/${path}`, { token: server.rootToken, body });
    expect(answer.status, path).toBeLessThan(300);
    return (answer.body.data ?? {}) as Record<string, unknown>;
  };
  const enable = async (path: string, type: string, visibility: string, description = "") => {
    await api("POST", `sys/auth/${path}`, { type, description, config: { listing_visibility: visibility } });
  };
  const role = (mount: string, name: string, body: Record<string, unknown>) =>
    api("POST", `auth/${mount}/role/${name}`, body);
  const credentials = async (name: string): Promise<{ roleId: string; secretId: string }> => ({
    roleId: String((await api("GET", `auth/jobs/role/${name}/role-id`)).role_id),
    secretId: String((await api("POST", `auth/jobs/role/${name}/secret-id`, {})).secret_id),
  });

  /** Opens the sign-in page; the tokens of its sign-ins are collected. */
  const open = async (place = ""): Promise<{ page: Page; faults: readonly string[]; tokens: string[] }> => {
    const { page, faults } = await openPage(browser);
    const tokens: string[] = [];
    page.on("response", async (response) => {
      if (!response.url().endsWith("/login") || !response.ok()) return;
      tokens.push(((await response.json()) as { auth: { client_token: string } }).auth.client_token);
    });
    await page.goto(`${server.address}/ui/${place}`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    return { page, faults, tokens };
  };
  const enter = async (page: Page, { roleId, secretId }: { roleId: string; secretId: string }): Promise<void> => {
    await page.getByRole("combobox", { name: "Method" }).selectOption("jobs");
    await page.getByLabel("Role ID").fill(roleId);
    await page.getByLabel("Secret ID").fill(secretId);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  };
  const signedIn = (page: Page) => page.getByRole("navigation", { name: "Pages" }).waitFor();
  /**
   * Has the page ask whether its token still is one, after a refusal, and holds the question back. Returns a function
   * that answers it: the token has ended.
   */
  const heldLookUp = async (page: Page): Promise<() => Promise<void>> => {
    const held = new Promise<Route>((resolve) => page.route("**/auth/token/lookup-self", resolve, { times: 1 }));
    await page.keyboard.press("Control+k");
    const route = await held;
    await page.keyboard.press("Escape");
    return async () => {
      const answered = page.waitForResponse("**/auth/token/lookup-self");
      await route.fulfill({ status: 403, json: { errors: ["permission denied"] } });
      await (await answered).finished();
    };
  };
  const statusOf = async (token: string | undefined): Promise<number> =>
    (await call(server, "GET", "/v1/auth/token/lookup-self", { token: token ?? "" })).status;

  it("shows the command that initializes a server that is not initialized", async () => {
    const { page } = await openPage(browser);
    const unavailable = { status: 503, json: { errors: ["Grove is not initialized"] } };
    await page.route("**/v1/sys/internal/ui/mounts", (route) => route.fulfill(unavailable), { times: 1 });
    await page.route("**/v1/sys/init", (route) => route.fulfill({ json: { initialized: false } }), { times: 1 });
    await page.goto(`${server.address}/ui/`);
    await page.getByText("This server is not initialized").waitFor();
    const command = `curl -X PUT -H @<(printf 'X-Vault-Token: %s' "$GROVE_INIT_TOKEN") ${server.address}/v1/sys/init`;
    await page.getByText(command, { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Sign in", exact: true }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole("button", { name: "It is initialized: sign in" }).click();
    await page.getByRole("button", { name: "Sign in at the identity provider" }).waitFor();
    await page.close();
  });

  it("offers the listed methods, one of people first, or the one that the address asks for", async () => {
    const { page, faults } = await open();
    const method = page.getByRole("combobox", { name: "Method" });
    expect(await method.inputValue()).toBe("people");
    const offered = ["Employees · people", "robots", "jobs", "Another one…"];
    expect(await method.locator("option").allTextContents()).toEqual(offered);
    await page.getByText("Clients also log in at auth/fleet/ (aws)").waitFor();
    for (const width of [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expectAccessible(page);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    }
    await page.goto(`${server.address}/ui/vault/auth?with=jobs%2F`);
    await expect.poll(() => method.inputValue()).toBe("jobs");
    const atProvider = page.getByRole("button", { name: "Sign in at the identity provider" });
    await method.selectOption("people");
    await atProvider.waitFor();
    // It has no provider.
    await method.selectOption("robots");
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    expect(await atProvider.count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it("signs in by AppRole, says first why not, and revokes the token when signing out", async () => {
    const { page, faults, tokens } = await open();
    const given = await credentials("web");
    await enter(page, { ...given, secretId: "wrong" });
    await page.getByRole("alert").getByText("invalid role or secret ID").waitFor();
    await expect.poll(() => focusedLabel(page)).toMatch(/^You are not signed in/);
    await expectAccessible(page);
    await enter(page, given);
    await signedIn(page);
    // The policies let it list policies, and the forest is refused.
    await page.getByRole("heading", { level: 1, name: "Policies" }).waitFor();
    expect(await page.evaluate("JSON.stringify([Object.keys(sessionStorage), localStorage])")).not.toContain("s.");
    expect(page.url()).not.toContain(tokens[0]);
    await expect.poll(() => tokens.length).toBe(1);
    expect(await statusOf(tokens[0])).toBe(200);
    await openPlace(page, "session");
    await page.getByText("it is revoked, with the tokens below it").waitFor();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await statusOf(tokens[0])).toBe(403);
    expect(faults).toEqual([]);
  });

  it("signs in by a JWT at a method that is not listed, and names who it is", async () => {
    const issuer = await newIssuer("EdDSA");
    const config = { jwt_validation_pubkeys: [issuer.pem] };
    await api("POST", "auth/hidden/ci/config", config);
    const bound = { role_type: "jwt", user_claim: "sub", bound_audiences: ["grove"], token_ttl: "1h" };
    await role("hidden/ci", "person", bound);
    const { page, faults } = await open();
    await page.getByRole("combobox", { name: "Method" }).selectOption("Another one…");
    await page.getByLabel("Type").selectOption("JWT");
    await page.getByLabel("Path").fill("hidden/ci/");
    const jwt = page.getByLabel("JWT", { exact: true }).last();
    await jwt.fill("forged");
    await page.getByRole("button", { name: "Sign in" }).click();
    // Without a default role one is needed: its field is shown.
    await page.getByRole("alert").getByText("missing role").waitFor();
    await page.getByLabel("Role", { exact: true }).waitFor();
    await api("POST", "auth/hidden/ci/config", { ...config, default_role: "person" });
    await jwt.fill(await issuer.sign({ sub: "alice" }));
    await page.keyboard.press("Enter");
    await signedIn(page);
    const session = page.getByRole("link", { name: /^hidden-ci-alice/ });
    await session.waitFor();
    const { accessor } = await api("GET", "sys/auth/hidden/ci");
    const alias = { alias_name: "alice", alias_mount_accessor: accessor };
    const { id } = await api("POST", "identity/lookup/entity", alias);
    await api("POST", `identity/entity/id/${id}`, { name: "Alice Example" });
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    // The address of the page says nothing of how somebody signed in.
    await page.goto(`${server.address}/ui/?with=hidden/ci`);
    await page.getByLabel("Type").selectOption("JWT");
    await page
      .getByLabel("JWT", { exact: true })
      .last()
      .fill(await issuer.sign({ sub: "alice" }));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: /^Alice Example/ }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    expect(faults).toEqual([]);
  });

  it("renews the token while the page is used, and not while nobody is there", async () => {
    const { page } = await open();
    await page.clock.install();
    const renewals: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/renew-self")) renewals.push(request.url());
    });
    await enter(page, await credentials("web"));
    await signedIn(page);
    await page.keyboard.press("Shift");
    await page.clock.fastForward(35 * MINUTE);
    await page.getByText(/^ends in 2[45]m/).waitFor();
    expect(renewals.length).toBe(0);
    await page.keyboard.press("Shift");
    await page.getByText(/^ends in (1h|59m)/).waitFor();
    expect(renewals.length).toBe(1);
    await page.clock.fastForward(61 * MINUTE);
    await page.getByText("Your session has ended: the token expired.").waitFor();
    expect(renewals.length).toBe(1);
  });

  it("says when a session ends that can't be renewed, and goes on with a new one on the same page", async () => {
    const { page, faults } = await open();
    await page.clock.install();
    await enter(page, await credentials("short"));
    await signedIn(page);
    await openPlace(page, "policies?new=1");
    await page.getByLabel("Name", { exact: true }).fill("half typed");
    await page.clock.fastForward(56 * MINUTE);
    const endOld = await heldLookUp(page);
    const notice = page.getByRole("complementary", { name: "End of the session" });
    await notice.getByText(/^Your session ends at .* It can't be renewed\.$/).waitFor();
    await expectAccessible(page);
    await notice.getByRole("button", { name: "Sign in again…" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByRole("combobox", { name: "Method" }).waitFor();
    await expectAccessible(page);
    await enter(page, await credentials("short"));
    await dialog.waitFor({ state: "detached" });
    await notice.waitFor({ state: "detached" });
    await endOld();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("half typed");
    // Nothing can revoke a batch token.
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText(/^You are signed out, but your token could not be revoked and ends in /).waitFor();
    expect(faults).toEqual([]);
  });

  it("shows the code of a login on another device, and asks until it is done", async () => {
    const { page, faults } = await open("?with=people");
    // It runs on by itself too: the interval is longer than any machine is slow.
    await page.clock.install();
    const made = await call(server, "POST", "/v1/auth/token/create", {
      token: server.rootToken,
      body: { policies: ["default"], display_name: "phone", ttl: "1h" },
    });
    const answers: [number, unknown][] = [
      [400, { errors: ["authorization_pending"] }],
      [503, { errors: ["try again"] }],
      [400, { errors: ["slow_down"] }],
      [200, { auth: made.body.auth }],
    ];
    let asked = 0;
    await page.route("**/oidc/auth_url", (route) =>
      route.fulfill({
        json: {
          data: {
            auth_url: "https://login.example.com/device",
            user_code: "WDJB-MJHT",
            state: "st",
            poll_interval: "1000",
          },
        },
      }),
    );
    await page.route("**/oidc/poll", (route) => {
      expect(route.request().postDataJSON()).toEqual({ state: "st", client_nonce: expect.any(String) as unknown });
      const [status, json] = answers[asked] ?? [500, {}];
      asked += 1;
      return route.fulfill({ status, json });
    });
    await page.getByRole("button", { name: "Sign in at the identity provider" }).click();
    const link = page.getByRole("link", { name: "Sign in at login.example.com" });
    expect(await link.getAttribute("href")).toBe("https://login.example.com/device");
    expect(await page.getByRole("status", { name: "Code" }).textContent()).toBe("WDJB-MJHT");
    for (const width of [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expectAccessible(page);
    }
    const next = async (seconds: number, count: number): Promise<void> => {
      await page.clock.fastForward(seconds * 1000);
      await expect.poll(() => asked).toBe(count);
    };
    await next(1000, 1);
    await page.getByText("Waiting until you have signed in there…").waitFor();
    await next(1000, 2);
    await page.getByText("The server can't be reached. It is asked again.").waitFor();
    await next(1000, 3);
    await page.getByText("Waiting until you have signed in there…").waitFor();
    // Slower from now on.
    await page.clock.fastForward(1_001_000);
    expect(asked).toBe(3);
    await next(4, 4);
    await page.getByRole("link", { name: /^token-phone/ }).waitFor();
    expect(faults).toEqual([]);
  });

  it("shows address and code of a login on another device, when the provider puts the code into the address", async () => {
    const { page, faults } = await open("?with=people");
    const address = "https://login.example.com/device?user_code=WDJB-MJHT";
    await page.route("**/oidc/auth_url", (route) =>
      route.fulfill({ json: { data: { auth_url: address, state: "st", poll_interval: "1000" } } }),
    );
    await page.getByRole("button", { name: "Sign in at the identity provider" }).click();
    const link = page.getByRole("link", { name: "Sign in at login.example.com" });
    expect(await link.getAttribute("href")).toBe(address);
    expect(await page.getByRole("status", { name: "Code" }).textContent()).toBe("WDJB-MJHT");
    expect(await page.getByRole("status", { name: "Address" }).textContent()).toBe(address);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expectAccessible(page);
    }
    expect(faults).toEqual([]);
  });

  it("refuses the answer of a provider that nobody asked for, and leaves nothing of it in the address", async () => {
    const { page, faults } = await openPage(browser);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const address = `${server.address}/ui/vault/auth/people/oidc/callback?code=of-others&state=of-others`;
    await page.goto(address);
    await page
      .getByRole("alert")
      .getByText(/^This sign-in was not begun in this tab/)
      .waitFor();
    await expect.poll(() => focusedLabel(page)).toMatch(/^You are not signed in/);
    expect(page.url()).toBe(`${server.address}/ui/`);
    expect(asked.filter((url) => url.includes("of-others"))).toEqual([address]);
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  it("begins at the top of the page after the sign-in, also on a phone", async () => {
    const { page } = await open("health");
    await page.setViewportSize({ width: 390, height: 640 });
    await page.getByText("Token", { exact: true }).first().click();
    await page.getByLabel("Token", { exact: true }).last().fill(server.rootToken);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Health" }).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
    expect(await page.evaluate("window.scrollY")).toBe(0);
    await page.evaluate("window.scrollTo(0, 300)");
    await openPlace(page, "session");
    expect(await page.evaluate("window.scrollY")).toBe(0);
    await page.close();
  });

  it("says of a root token on every page that it is one, and of no other", async () => {
    const { page } = await open();
    await signIn(page, server, server.rootToken);
    const notice = page.getByRole("complementary", { name: "Root token" });
    for (const place of ["", "tokens", "methods", "session"]) {
      await openPlace(page, place);
      await notice.waitFor();
    }
    // One line at the usual width: it is above every page.
    const lines = `(() => {
      const text = document.querySelector("[aria-label='Root token'] > span");
      return text.offsetHeight / parseFloat(getComputedStyle(text).lineHeight);
    })()`;
    expect(await page.evaluate(lines)).toBeLessThan(2);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText(/^This page forgets the token\. .* stays valid/).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Revoke it too…" }).click();
    const asked = page.getByRole("dialog");
    await asked.getByText(/^This is a root token/).waitFor();
    await asked.getByText(/^The token ends.* below it/).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Revoke it", exact: true }).click();
    await page.getByText("Needed: nothing was sent.").waitFor();
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign out only" }).click();
    await page
      .getByRole("status")
      .filter({ hasText: /^You are signed out. The token stays valid: it / })
      .waitFor();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    // It was pasted, so somebody else has it.
    expect(await statusOf(server.rootToken)).toBe(200);
    // A narrow page hides the links behind a button.
    await page.setViewportSize({ width: 1440, height: 800 });
    await enter(page, await credentials("web"));
    await signedIn(page);
    expect(await notice.count()).toBe(0);
  });
});
