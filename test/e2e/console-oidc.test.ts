import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { browserPath, expectAccessible, openPage, startBrowser } from "./support/browser.ts";
import { openPlace } from "./support/console-page.ts";
import { CLIENT, type IdentityProvider, signInThere, startIdentityProvider } from "./support/identity-provider.ts";
import { focusedLabel } from "./support/keyboard.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const executable = browserPath();
/** Where the console goes on at the mount whose provider posts its answers to the server. */
const POSTED = "/ui/vault/auth/posted/oidc/callback";

describe.skipIf(executable === undefined)("sign-in at an identity provider", () => {
  let server: RunningServer;
  let browser: Browser;
  let provider: IdentityProvider;

  beforeAll(async () => {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const redirect = `${address}/ui/vault/auth/people/oidc/callback`;
    [provider, browser, server] = await Promise.all([
      startIdentityProvider([redirect, `${address}/v1/auth/posted/oidc/callback`]),
      startBrowser(executable ?? ""),
      startServe({ flags: [`--listen=127.0.0.1:${port}`, "--allow-private-host=127.0.0.1"] }),
    ]);
    await write("sys/auth/people", {
      type: "oidc",
      description: "Employees",
      config: { listing_visibility: "unauth" },
    });
    const config = {
      oidc_discovery_url: provider.issuer,
      oidc_client_id: CLIENT.id,
      oidc_client_secret: CLIENT.secret,
      default_role: "staff",
    };
    await write("auth/people/config", config);
    const staff = { role_type: "oidc", user_claim: "sub", token_ttl: "1h", allowed_redirect_uris: [redirect] };
    await write("auth/people/role/staff", staff);
    await write("sys/auth/posted", { type: "oidc" });
    await write("auth/posted/config", { ...config, oidc_response_mode: "form_post" });
    await write("auth/posted/role/staff", { ...staff, allowed_redirect_uris: [`${address}${POSTED}`] });
    await write("auth/people/role/short", { ...staff, token_type: "batch" });
    await write("auth/people/role/elsewhere", { ...staff, allowed_redirect_uris: ["https://other.example.com/back"] });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    await provider?.stop();
  });

  const write = async (path: string, body: unknown): Promise<void> => {
    const answer = await call(server, "POST", `/v1/${path}`, { token: server.rootToken, body });
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  };
  /** Opens the sign-in page in a profile of its own. */
  const open = async (place = ""): Promise<{ page: Page; faults: readonly string[] }> => {
    const watched = await openPage(browser);
    await watched.page.goto(`${server.address}/ui/${place}`);
    await watched.page.getByRole("button", { name: "Sign in at the identity provider" }).waitFor();
    return watched;
  };
  const leave = (page: Page) => page.getByRole("button", { name: "Sign in at the identity provider" }).click();
  const isAt = (page: Page, name: string) => page.getByRole("link", { name: new RegExp(`^${name}`) }).waitFor();
  const storage = (page: Page): Promise<unknown> => page.evaluate("[{ ...sessionStorage }, { ...localStorage }]");
  /** Goes to the provider and returns to a console whose script is not there. Resolves to the address of the return. */
  const returnUnread = async (page: Page): Promise<string> => {
    await page.route("**/ui/assets/*.js", (route) => route.abort());
    await leave(page);
    await signInThere(page, "alice");
    await page.waitForURL(/oidc\/callback\?/);
    await page.unroute("**/ui/assets/*.js");
    return page.url();
  };

  it("goes there, comes back to the page that was asked for, and leaves nothing in address or storage", async () => {
    const { page, faults } = await open("session?x=1");
    await expectAccessible(page);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
    await leave(page);
    await signInThere(page, "alice");
    await isAt(page, "people-alice");
    await page.getByRole("heading", { name: "Your session" }).waitFor();
    expect(page.url()).toBe(`${server.address}/ui/session?x=1`);
    const [session, local] = (await storage(page)) as [Record<string, string>, unknown];
    expect([Object.keys(session), local]).toEqual([["grove-policy-owner"], {}]);
    // The code is in the address of the page for a moment, and in no address that the page calls.
    expect(asked.filter((one) => one.includes("/v1/") && /code=|state=|nonce/.test(one))).toEqual([]);
    expect(await page.evaluate("history.length")).toBeGreaterThan(0);
    // The provider still knows who it is: one click after a reload.
    await page.reload();
    await leave(page);
    await isAt(page, "people-alice");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign in at the identity provider" }).waitFor();
    expect(await storage(page)).toEqual([{}, {}]);
    expect(faults).toEqual([]);
    await page.close();
  });

  it("takes an answer once, and none that the tab did not ask for", async () => {
    const { page } = await open();
    const address = await returnUnread(page);
    const kept = (await storage(page)) as [Record<string, string>, unknown];
    expect(Object.keys(kept[0])).toEqual(["grove-login"]);

    // Another profile, as of somebody who was sent the link.
    const stranger = await openPage(browser);
    const calls: string[] = [];
    stranger.page.on("request", (request) => calls.push(request.url()));
    await stranger.page.goto(address);
    await stranger.page
      .getByRole("alert")
      .getByText(/^This sign-in was not begun in this tab/)
      .waitFor();
    await expect.poll(() => focusedLabel(stranger.page)).toMatch(/^You are not signed in/);
    expect(stranger.page.url()).toBe(`${server.address}/ui/`);
    expect(calls.filter((url) => url.includes("/oidc/"))).toEqual([address]);
    await expectAccessible(stranger.page);
    await stranger.page.close();

    // The tab that began it, with another state first: the login is over.
    const other = new URL(address);
    other.searchParams.set("state", "another");
    await page.goto(other.href);
    await page
      .getByRole("alert")
      .getByText(/^This sign-in was not begun in this tab/)
      .waitFor();
    expect(await storage(page)).toEqual([{}, {}]);
    await page.goto(address);
    await page
      .getByRole("alert")
      .getByText(/^This sign-in was not begun in this tab/)
      .waitFor();
    await page.close();
  });

  it("works where the provider posts its answer to the server", async () => {
    const { page, faults } = await open("session?with=posted");
    await leave(page);
    await signInThere(page, "alice");
    await isAt(page, "posted-alice");
    expect(new URL(page.url()).pathname).toBe("/ui/session");
    expect(faults).toEqual([]);
    await page.close();
  });

  it("gives nothing to who sent somebody else the address, where the provider posts its answer", async () => {
    const sender = { client_nonce: "of-who-sent-it" };
    const begin = { role: "staff", redirect_uri: `${server.address}${POSTED}`, ...sender };
    const begun = await call(server, "POST", "/v1/auth/posted/oidc/auth_url", { body: begin });
    const { auth_url: link } = begun.body.data as { readonly auth_url: string };
    const { page } = await openPage(browser);
    await page.goto(link);
    await signInThere(page, "victim");
    await page
      .getByRole("alert")
      .getByText(/^This sign-in was not begun in this tab/)
      .waitFor();
    expect(page.url()).toBe(`${server.address}/ui/`);
    await page.close();
    const answer = { state: new URL(link).searchParams.get("state") ?? "", code: "no_code", ...sender };
    const stolen = await call(server, "GET", `/v1/auth/posted/oidc/callback?${new URLSearchParams(answer)}`);
    expect(stolen).toEqual({ status: 400, body: { errors: [expect.stringMatching(/No code or id_token received/)] } });
  });

  it("says what the server says of an answer that was used", async () => {
    const { page } = await open();
    const address = await returnUnread(page);
    const kept = ((await storage(page)) as [Record<string, string>])[0]["grove-login"] ?? "";
    await page.goto(address);
    await isAt(page, "people-alice");
    await page.evaluate(`sessionStorage.setItem("grove-login", ${JSON.stringify(kept)})`);
    await page.goto(address);
    await page
      .getByRole("alert")
      .getByText(/Expired or missing OAuth state/)
      .waitFor();
    expect(page.url()).toBe(`${server.address}/ui/`);
    await page.close();
  });

  it("says that the provider refused, and which address a role has to list", async () => {
    const { page } = await open();
    const back = page.waitForRequest(/oidc\/callback\?/);
    await leave(page);
    await page.getByRole("link", { name: /cancel/i }).click();
    expect((await back).url()).toContain("error=access_denied");
    await page
      .getByRole("alert")
      .getByText(/^The identity provider refused: .*\(access_denied\)$/)
      .waitFor();
    await expect.poll(() => focusedLabel(page)).toMatch(/^You are not signed in/);
    await page.getByText("Another role", { exact: true }).click();
    await page.getByLabel("Role", { exact: true }).fill("elsewhere");
    await leave(page);
    await page.getByText(`${server.address}/ui/vault/auth/people/oidc/callback`).waitFor();
    await page.close();
  });

  it("signs in again in another tab, and the page stays as it is", async () => {
    const { page, faults } = await open();
    await page.clock.install();
    await page.getByText("Another role", { exact: true }).click();
    await page.getByLabel("Role", { exact: true }).fill("short");
    await leave(page);
    await signInThere(page, "alice");
    await isAt(page, "people-alice");
    await openPlace(page, "policies?new=1");
    await page.getByLabel("Name", { exact: true }).fill("half typed");
    await page.clock.fastForward(56 * 60_000);
    await page.getByRole("button", { name: "Sign in again…" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByText("Another role", { exact: true }).click();
    await dialog.getByLabel("Role", { exact: true }).fill("short");
    await dialog.getByRole("button", { name: "Sign in at the identity provider" }).click();
    const there = dialog.getByRole("link", { name: `Sign in at ${new URL(provider.issuer).host}` });
    await there.waitFor();
    await expectAccessible(page);
    const [tab] = await Promise.all([page.waitForEvent("popup"), there.click()]);
    // The provider knows who it is.
    await tab.getByText("You are signed in in the other tab. This one can be closed.").waitFor();
    await expectAccessible(tab);
    await tab.close();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("complementary", { name: "End of the session" }).waitFor({ state: "detached" });
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("half typed");
    expect(faults).toEqual([]);
    await page.close();
  });
});
