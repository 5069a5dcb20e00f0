import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import project from "../../package.json" with { type: "json" };
import { consoleToken } from "../support/console-token.ts";
import { browserPath, expectAccessible, openPage, startBrowser, type WatchedPage } from "./support/browser.ts";
import { openPlace, picture, signIn, TAKES_PICTURES, visit as visitPage } from "./support/console-page.ts";
import { startSeededServer } from "./support/seeded-server.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const executable = browserPath();
if (executable === undefined) {
  process.stderr.write(
    "console: no Chrome or Chromium on this machine, so its tests are left out (CHROME_PATH names one)\n",
  );
}

/** Pictures are of a forest of 20,000 tokens. */
const BRANCHES = TAKES_PICTURES ? 40 : 4;
const PICTURED = { trees: 260, tokens: 20_000 };

describe.skipIf(executable === undefined)("the console", () => {
  let server: RunningServer;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    server = TAKES_PICTURES ? await startSeededServer(PICTURED.trees, PICTURED.tokens) : await startServe();
    browser = await startBrowser(executable ?? "");
    await plantForest(server);
    watched = await openPage(browser);
    page = watched.page;
    await signIn(page, server, server.rootToken);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  beforeEach(async () => {
    expect(watched.faults).toEqual([]);
    // What a failed test left open is not in the way of the next one.
    await page.keyboard.press("Escape");
  });

  const visit = (name: string) => visitPage(page, name);

  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();

  it("tells who signs in with a token that is none, and signs nobody in", async () => {
    const other = await openPage(browser, "dark");
    await other.page.goto(`${server.address}/ui/`);
    await other.page.getByLabel("Token", { exact: true }).last().focus();
    await other.page.keyboard.type("not-a-token");
    await other.page.keyboard.press("Enter");
    await other.page.getByText("This token is not valid here.").waitFor();
    await expectAccessible(other.page);
    expect(other.faults).toEqual([]);
    await other.page.close();
  });

  it("follows a link that is clicked as soon as it is there, without loading the page and losing the token", async () => {
    const other = await openPage(browser);
    await other.page.goto(`${server.address}/`);
    // A mutation is observed before the next picture.
    await other.page.evaluate(`new MutationObserver((_, observer) => {
      const link = document.querySelector('nav a[href="/ui/policies"]');
      if (link) observer.disconnect();
      link?.click();
    }).observe(document, { childList: true, subtree: true })`);
    await other.page.getByLabel("Token", { exact: true }).last().fill(server.rootToken);
    await other.page.getByRole("button", { name: "Sign in" }).click();
    await other.page.getByRole("heading", { level: 1, name: "Policies", exact: true }).waitFor();
    expect(other.faults).toEqual([]);
    await other.page.close();
  });

  it("signs in with what a wrapping token holds, shows what the policies refuse, and says when the session has ended", async () => {
    const created = await fetch(`${server.address}/v1/auth/token/create`, {
      method: "POST",
      headers: { "X-Vault-Token": server.rootToken, "X-Vault-Wrap-TTL": "60" },
      body: JSON.stringify({ policies: ["default"], ttl: "1h", display_name: `guest-${"of-a-long-name-".repeat(9)}` }),
    });
    const wrapping = ((await created.json()) as { wrap_info: { token: string; wrapped_accessor: string } }).wrap_info;
    const { page: guest, faults } = await openPage(browser);
    await guest.goto(`${server.address}/ui/session`);
    // Pasted as a token it is recognised, and still holds what it held.
    await guest.getByLabel("Token", { exact: true }).last().fill(wrapping.token);
    await guest.getByRole("button", { name: "Sign in" }).click();
    await guest.getByText("Nothing of it was used.").waitFor();
    expect(await guest.getByLabel("Wrapping token").last().inputValue()).toBe(wrapping.token);
    await expectAccessible(guest);
    await guest.getByRole("button", { name: "Sign in" }).click();
    await guest.getByRole("heading", { name: "Your session" }).waitFor();
    await expectAccessible(guest);
    await guest.getByRole("link", { name: /^Tokens/ }).click();
    await guest.getByText("Refused by the policies of your token").waitFor();
    // The locks beside what is refused make no page wider.
    await guest.setViewportSize({ width: 320, height: 640 });
    expect(await guest.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    await guest.setViewportSize({ width: 1280, height: 800 });
    const body = { accessor: wrapping.wrapped_accessor };
    await call(server, "POST", "/v1/auth/token/revoke-accessor", { token: server.rootToken, body });
    await guest.getByRole("link", { name: /^Policies/ }).click();
    await guest.getByText("Your session has ended: the token expired or was revoked.").waitFor();
    expect(faults).toEqual([]);
    await guest.close();
  });

  it("shows the forest as a map that is walked by keyboard, from the forest to a tree", async () => {
    await visit("Forest");
    await page.locator("[data-area]").nth(2).waitFor();
    await picture(page, "console-forest", { inDark: true });
    // The frame of a method has the focus first, and covers nothing of what is in it.
    await page.locator("[data-area][tabindex='0']").focus();
    await page.getByRole("button", { name: /^(?:token-|…)fleet/ }).hover();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.evaluate("document.activeElement.hasAttribute('data-area')")).toBe(true);
    await page.getByRole("button", { name: /^(?:token-|…)fleet/ }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "token-fleet" }).waitFor();
    // The focus goes along into the tree.
    await page.locator("[data-area]:focus").waitFor();
    await page.getByRole("button", { name: /^(?:token-|…)region-0/ }).waitFor();
    await picture(page, "console-tree");
  });

  it("tells tokens without a name apart, and says of one that nothing is below it", async () => {
    const make = async (token: string, body: object) => {
      const made = await call(server, "POST", "/v1/auth/token/create", { token, body: { ttl: "1h", ...body } });
      return made.body.auth as { readonly client_token: string; readonly accessor: string };
    };
    const billing = await make(server.rootToken, { display_name: "billing", policies: ["web", "deploy", "old"] });
    const middle = await make(billing.client_token, { policies: ["deploy"] });
    const leaf = await make(middle.client_token, { policies: ["deploy"], no_default_policy: true });
    await make(billing.client_token, { policies: ["old"] });
    await openPlace(page, `tokens/${billing.accessor}`);
    const lineage = page.getByRole("region", { name: "Lineage" });
    await lineage
      .getByRole("listitem")
      .filter({ hasText: /^token deploy/ })
      .waitFor();
    await lineage
      .getByRole("listitem")
      .filter({ hasText: /^token old/ })
      .waitFor();
    // In the list they are below the next one with a name.
    await openPlace(page, `tokens?search=${billing.accessor.slice(0, 12)}`);
    const below = page.getByRole("row").filter({ hasText: /token( …[\w-]{10})? below token-billing/ });
    await expect.poll(() => below.count()).toBe(3);
    await page.setViewportSize({ width: 850, height: 800 });
    await page.getByText("below token-billing · old", { exact: true }).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await openPlace(page, `tokens/${leaf.accessor}`);
    const taken = page.getByRole("region", { name: "What a revocation would take" });
    await taken.getByText("nothing below it", { exact: true }).waitFor();
    await expectAccessible(page);
    await call(server, "POST", "/v1/auth/token/revoke-accessor", {
      token: server.rootToken,
      body: { accessor: billing.accessor },
    });
  });

  it("finds a token by a filter in the address, shows what would die with it, revokes it, and it is gone", async () => {
    await visit("Tokens");
    await page.getByLabel("Name", { exact: true }).fill("token-region-1");
    await page.keyboard.press("Enter");
    await page.waitForURL(/display_name=token-region-1/);
    await shows(/^1 token$/);
    await page.getByRole("link", { name: "token-region-1", exact: true }).click();
    await shows(/^\d+ descendants$/);
    await picture(page, "console-token");
    await page.getByRole("button", { name: "Revoke…" }).click();
    const revoke = page.getByRole("button", { name: `Revoke ${BRANCHES + 1} tokens` });
    await revoke.click();
    await shows("Needed: nothing was sent.");
    await page.getByLabel("Type token-region-1 to confirm").fill("token-region-1");
    await expectAccessible(page);
    await picture(page, "console-revoke");
    await revoke.click();
    await page.waitForURL(/receipts\//);
    await page.getByText(`All of these are refused: ${BRANCHES + 1} of ${BRANCHES + 1}`).waitFor();
    await expectAccessible(page);
    await visit("Forest");
    await page.getByRole("button", { name: /^(?:token-|…)fleet/ }).waitFor();
    await visit("Tokens");
    await page.getByLabel("Name", { exact: true }).fill("token-region-1");
    await page.keyboard.press("Enter");
    await page.getByText("No token matches").waitFor();
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await page
      .getByRole("link", { name: /^token-/ })
      .first()
      .waitFor();
    await picture(page, "console-tokens");
  });

  it("says that it counts while a job does so, and then asks for the number", async () => {
    await visit("Tokens");
    await page.getByLabel("Policy", { exact: true }).fill("old");
    await page.keyboard.press("Enter");
    await shows(/^3 tokens$/);
    const preview = { count: 3, total: 1168, leases: { count: 0, more: false }, skipped: { root: 0, self: 0 } };
    const by = {
      mount: [],
      type: [{ key: "service", count: 1168 }],
      role: [],
      owner: [{ key: "payments", count: 1168 }],
    };
    const job = { id: "j", counted: 600, matched: null, total: 0, revoked: 0, ended_before: 0, mismatched: 0 };
    let asked = 0;
    await page.route("**/v1/sys/tokens/revoke", (route) =>
      route.fulfill({ json: { data: { job: "j", state: "counting", counted: 200 } } }),
    );
    await page.route("**/v1/sys/tokens/jobs/j", (route) => {
      const state = asked++ < 2 ? { state: "counting" } : { state: "counted", preview: { ...preview, by } };
      return route.fulfill({ json: { data: { ...job, ...state } } });
    });
    await page.getByRole("button", { name: "Revoke all that match" }).click();
    await page.getByText(/^Counting what would end: \d+ tokens so far/).waitFor();
    await page.getByRole("dialog").getByText("1,168", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Revoke 1,168 tokens" }).click();
    await shows("Needed: nothing was sent.");
    expect(await page.getByLabel("Type 1,168 to confirm").count()).toBe(1);
    await page.unroute("**/v1/sys/tokens/revoke");
    await page.unroute("**/v1/sys/tokens/jobs/j");
    await page.getByRole("button", { name: "Keep them" }).click();
  });

  it("revokes all tokens of a filter after a dry run, and follows the job to its end", async () => {
    const role = { allowed_policies: "old" };
    await call(server, "POST", "/v1/auth/token/roles/gives-old", { token: server.rootToken, body: role });
    await visit("Tokens");
    await page.getByLabel("Policy", { exact: true }).fill("old");
    await page.keyboard.press("Enter");
    await shows(/^3 tokens$/);
    await page.getByRole("button", { name: "Revoke all that match" }).click();
    // A role that still gives the policy makes the service a way back.
    const left = page.getByRole("region", { name: "What could still let them in" });
    await left.getByText(/The policy old stays\. Given by: roles 1: /).waitFor();
    await left.getByRole("link", { name: "auth/token/", exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByLabel("Type 3 to confirm").fill("3");
    await page.getByRole("button", { name: "Revoke 3 tokens" }).click();
    await page.waitForURL(/receipts\//);
    await page.getByText("Done.").waitFor();
    const receipt = page.getByRole("region", { name: "What ended" });
    await receipt.getByText("3 tokens").first().waitFor();
    await receipt.getByText(/^policy.*old$/i).waitFor();
    await left.getByText(/^Batch tokens below these end too/).waitFor();
    await expectAccessible(page);
    const saved = page.waitForEvent("download");
    await receipt.getByRole("button", { name: "Export JSON" }).click();
    const file = JSON.parse(await readFile(await (await saved).path(), "utf8")) as unknown;
    expect(file).toMatchObject({ state: "done", filter: { policy: "old" }, numbers: { matched: 3, total: 3 } });
    await visit("Tokens");
    await page.getByLabel("Policy", { exact: true }).fill("old");
    await page.keyboard.press("Enter");
    await page.getByText("No token matches").waitFor();
  });

  it("finds everything with a page from everywhere, by name, by alias and by a pasted token, which is never in a URL", async () => {
    await visit("Health");
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(request.url()));
    const search = page.getByRole("combobox", { name: "Search" });
    const found = (name: string | RegExp) => page.getByRole("option", { name }).first();
    await page.keyboard.press("Control+k");
    await search.fill("build");
    await found(/^builder/).waitFor();
    await expectAccessible(page);
    await picture(page, "console-search");
    await search.fill("token");
    // The list comes before the tokens in it.
    await expect.poll(() => page.getByRole("option").first().textContent()).toMatch(/^All tokens with “token”/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Search" }).click();
    await search.fill("fleet");
    await found(/^fleet$/).waitFor();
    // No token has it.
    expect(await found(/^All tokens/).count()).toBe(0);
    await found(/^fleet$/).click();
    await page.getByRole("heading", { level: 1, name: "fleet" }).waitFor();
    await page.keyboard.press("Control+k");
    await search.fill("alice");
    await found(/^alice@example.com/).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /^Entity .*entity_01cb/ }).waitFor();

    const { body } = await call(server, "POST", "/v1/auth/token/create", {
      token: server.rootToken,
      body: { ttl: "1h" },
    });
    const { client_token: token, accessor } = body.auth as { client_token: string; accessor: string };
    for (const secret of [token, accessor]) {
      await page.keyboard.press("Control+k");
      await search.fill(secret);
      await found(new RegExp(accessor.slice(-8))).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`tokens/${accessor}$`));
      await visit("Health");
    }
    expect(addresses.filter((address) => address.includes(token))).toEqual([]);
    page.removeAllListeners("request");
  });

  it("marks no row of a list without a marked one, also when a group has no name, and stays at its top", async () => {
    const wrapped = { "X-Vault-Token": server.rootToken, "X-Vault-Wrap-TTL": "300" };
    await fetch(`${server.address}/v1/auth/token/create`, { method: "POST", headers: wrapped });
    await expect
      .poll(async () => {
        await openPlace(page, "session");
        await openPlace(page, "tokens?group=name");
        return page.getByText("without a name").count();
      })
      .toBe(1);
    expect(await page.locator("tr.selected").count()).toBe(0);
    expect(await page.evaluate("scrollY")).toBe(0);
  });

  it("shows what ends when and whose, in the address, and a bar leads to its tokens", async () => {
    await visit("What ends when");
    await page.locator("a.bar").first().waitFor();
    await page
      .getByRole("region", { name: /^Whose end/ })
      .getByRole("link")
      .first()
      .waitFor();
    await picture(page, "console-ends");
    await page.getByText("7 days").click();
    await page.getByRole("combobox", { name: "Group by" }).selectOption("policy");
    await page.waitForURL(/range=week&by=policy/);
    await page
      .getByRole("region", { name: /^Whose end/ })
      .getByRole("link", { name: "web" })
      .waitFor();
    await expectAccessible(page);
    await page.locator("a.bar").first().click();
    await page.waitForURL(/ends_after=.*ends_before=/);
    await page
      .getByRole("link", { name: /^token-/ })
      .first()
      .waitFor();
  });

  it("makes a token wrapped, shown once", async () => {
    await visit("New token");
    await page.getByLabel("Time to live").fill("soon");
    await page.getByText("A number with s, m, h or d, like 90m or 2d").waitFor();
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("Nothing was sent. This field is not right yet: Time to live.").waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.name")).toBe("ttl");
    await page.getByLabel("Time to live").fill("90m");
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("without policies the new one would be root too").waitFor();
    await page.getByLabel("Add an existing name").selectOption("default");
    expect(await page.getByLabel("Policies").inputValue()).toBe("default");
    await page.getByLabel("Hand over").selectOption("5m");
    await page.getByRole("button", { name: "Make the token" }).click();
    const wrapping = await page.getByRole("status", { name: "Wrapping token" }).textContent();
    await expectAccessible(page);
    const unwrapped = await call(server, "POST", "/v1/sys/wrapping/unwrap", { token: wrapping ?? "" });
    expect(unwrapped.body.auth).toMatchObject({ policies: ["default"], lease_duration: 5400 });
  });

  it("keeps a policy with a mistake out, at its line and column, saves one without, and says what a token may do", async () => {
    await visit("Policies");
    await page.getByRole("link", { name: "default", exact: true }).waitFor();
    await page.getByRole("link", { name: "New policy" }).click();
    await page.getByLabel("Name", { exact: true }).fill("notes");
    const text = page.getByRole("textbox", { name: /^Text of the policy/ });
    const found = page.getByRole("status").filter({ hasText: /^Line/ });
    // While it is typed: the cursor stays where it is.
    await text.fill('path "notes/*" {\n  capabilities = ["read"]\n');
    await found.filter({ hasText: "Line 3, column 1" }).waitFor();
    expect(await text.getAttribute("aria-invalid")).toBe("true");
    await text.fill('path "notes/*" {\n  capabilities = ["read"]\n}\n');
    await shows(/^notes\/\* \(line 1\)\. Only other services can ask about them/);
    await found.waitFor({ state: "detached" });
    await text.fill('path "notes/*" {\n  capabilities = ["red"]\n}\n');
    await found.filter({ hasText: "Line 2, column 19" }).waitFor();
    expect((await call(server, "GET", "/v1/sys/policies/acl/notes", { token: server.rootToken })).status).toBe(404);
    const save = page.getByRole("button", { name: "Save" });
    expect([await save.isDisabled(), await save.getAttribute("title")]).toEqual([true, "the text has a mistake"]);
    await expectAccessible(page);
    await picture(page, "console-policy");
    // Before the check of a text has answered, the save is refused, and the cursor goes to the mistake.
    const checked = Promise.withResolvers<void>();
    await page.route("**/v1/sys/capabilities-policy", (route) => checked.promise.then(() => route.continue()), {
      times: 1,
    });
    await text.fill('path "notes/*" {\n  capabilities = ["read", "lst"]\n}\n');
    await save.click();
    await page.getByRole("alert").filter({ hasText: "Line 2, column 27" }).waitFor();
    checked.resolve();
    await expectAccessible(page);
    await text.fill('path "notes/*" {\n  capabilities = ["read"]\n}\n');
    await page.getByLabel("Path", { exact: true }).fill("notes/a");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByRole("listitem").filter({ hasText: "read allowed" }).waitFor();
    await page.getByRole("listitem").filter({ hasText: "update refused" }).waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { level: 1, name: "notes" }).waitFor();
    await page.getByText("My token", { exact: true }).click();
    await page.getByLabel("Path", { exact: true }).fill("notes/a");
    await page.getByRole("button", { name: "Check" }).click();
    await shows("Everything.");
    // Of a token that has ended it says why nothing is allowed, and when and by whom it ended.
    const send = (path: string, body: object) => call(server, "POST", `/v1/${path}`, { token: server.rootToken, body });
    const made = (await send("auth/token/create", { ttl: "1h", policies: ["default"] })).body.auth;
    const { client_token: token, accessor } = made as { client_token: string; accessor: string };
    await openPlace(page, `tokens/${accessor}`);
    await page.getByRole("link", { name: "What may it do?" }).click();
    // Its rules come first, with the policy that each is from.
    await page.getByRole("heading", { level: 1, name: "What may it do?" }).waitFor();
    const rule = page.getByRole("row").filter({ hasText: "auth/token/lookup-self" });
    await rule.getByText("read", { exact: true }).waitFor();
    await rule.getByRole("link", { name: "default" }).waitFor();
    await expectAccessible(page);
    const named = page.getByLabel("Accessor or token");
    expect(await named.inputValue()).toBe(accessor);
    await send("auth/token/revoke-accessor", { accessor });
    await page.getByLabel("Path", { exact: true }).fill("notes/a");
    for (const text of [accessor, token]) {
      await named.fill(text);
      await page.getByRole("button", { name: "Check" }).click();
      await shows(/Revoked .* by root/);
      await page.locator(`main a[href*="tokens/${accessor}"]`).first().waitFor();
      expect(await page.getByText("Not accepted").count()).toBe(0);
    }
    await expectAccessible(page);
  });

  it("walks through leases folder by folder, and revokes one", async () => {
    await visit("Leases");
    await page.getByRole("link", { name: "auth/", exact: true }).click();
    await page.getByRole("link", { name: "token/", exact: true }).click();
    await page.getByRole("link", { name: "create-orphan/", exact: true }).click();
    const leases = page.getByRole("region", { name: "Leases" }).getByRole("listitem");
    await leases.nth(1).waitFor();
    const before = await leases.count();
    await leases.first().getByRole("link").click();
    await page.getByText("Issued", { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Revoke…" }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await expect.poll(() => leases.count()).toBe(before - 1);
  });

  it("enables an auth method, makes a role, changes it, rejects invalid values, and deletes both again", async () => {
    await visit("Auth methods");
    await page.getByRole("link", { name: "Enable a method" }).click();
    await page.getByLabel("Type", { exact: true }).selectOption("aws");
    await page.getByLabel("Path", { exact: true }).fill("ci");
    await page.getByRole("button", { name: "Enable" }).click();
    // What the server refuses it says in its words, with what to name when asking somebody about it.
    await shows(/path is already in use/);
    await page.getByText(/^Request/).waitFor();
    await page.getByLabel("Path", { exact: true }).fill("cloud-of-production");
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("link", { name: "New role" }).click();
    await page.getByLabel("Role", { exact: true }).fill("web");
    await page.getByLabel("Who logs in").selectOption("ec2");
    await page.getByLabel("Accounts").fill("123456789012");
    await page.getByLabel("Time to live").fill("soon");
    await page.getByRole("button", { name: "Make the role" }).click();
    await shows("A number with s, m, h or d");
    await page.getByLabel("Time to live").fill("90m");
    await page.getByRole("button", { name: "Make the role" }).click();
    await page.getByRole("heading", { name: "Role web" }).waitFor();
    await page.getByLabel("Policies", { exact: true }).fill("web, deploy");
    await page.getByRole("button", { name: "Save" }).click();
    await shows("Saved");
    await picture(page, "console-method");
    const role = await call(server, "GET", "/v1/auth/cloud-of-production/role/web", { token: server.rootToken });
    expect(role.body.data).toMatchObject({ token_policies: ["deploy", "web"], token_ttl: 5400, auth_type: "ec2" });

    await page.getByRole("link", { name: "Client" }).click();
    await page.getByLabel("Access key").fill("AKIDEXAMPLE");
    await page.getByLabel("Secret key").fill("shown-to-nobody");
    await page.getByRole("button", { name: "Save" }).click();
    await shows("Saved");
    await expect.poll(() => page.getByLabel("Secret key").inputValue()).toBe("");
    await page.getByRole("link", { name: "Login check" }).click();
    await page.getByLabel("Role", { exact: true }).fill("web");
    await page.getByLabel("Identity").fill("arn:aws:iam::123456789012:role/ci");
    await page.getByRole("button", { name: "Check the login" }).click();
    await shows("This login is refused");
    await page.getByRole("listitem").filter({ hasText: "failed" }).waitFor();
    await expectAccessible(page);
    await picture(page, "console-login-check");
    for (const name of ["Names", "Accounts", "Certificates", "Access list", "Deny list"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { name: new RegExp(`^${name}`) }).waitFor();
    }
    await page.getByRole("link", { name: "Roles" }).click();
    await page.getByRole("link", { name: "web", exact: true }).click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await shows("Needed: nothing was sent.");
    await page.getByLabel("Type web to confirm").fill("web");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await shows("No roles yet");
    await page.getByRole("button", { name: "End all tokens…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Batch tokens end too.").waitFor();
    await expectAccessible(page);
    await dialog.getByLabel("Type cloud-of-production to confirm").fill("cloud-of-production");
    await dialog.getByRole("button", { name: "End them" }).click();
    const receipt = page.getByRole("region", { name: "All tokens of auth/cloud-of-production/" });
    await receipt.getByText("0 tokens").first().waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Disable the method…" }).click();
    await dialog.getByText("Batch tokens end too.").waitFor();
    await page.getByLabel("Type cloud-of-production to confirm").fill("cloud-of-production");
    await page.getByRole("button", { name: "Disable", exact: true }).click();
    await page.getByText("auth/cloud-of-production/ is disabled, and its tokens are refused").waitFor();
    await receipt.getByText("0 tokens").first().waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "The request", exact: true }).click();
    await shows("Disabled the method");
    await page.getByRole("link", { name: "receipt", exact: true }).first().click();
    await receipt.waitFor();
    await visit("Auth methods");
    await page.getByRole("link", { name: "auth/ci/" }).waitFor();
    expect(await page.getByRole("link", { name: "auth/cloud-of-production/" }).count()).toBe(0);
    expect(await page.getByText("is disabled, and its tokens").count()).toBe(0);
  });

  it("changes token roles, and roles of tokens that others sign", async () => {
    await visit("Auth methods");
    await page.getByRole("link", { name: "auth/ci/" }).click();
    // It opens where its next step is: it trusts nobody yet.
    await page.getByLabel("Issuer, by discovery").waitFor();
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await page.getByRole("link", { name: "builder", exact: true }).click();
    await page.getByLabel("Audiences").fill("ci-repository\nci-release");
    await page.getByRole("button", { name: "Save" }).click();
    await shows("Saved");
    const role = await call(server, "GET", "/v1/auth/ci/role/builder", { token: server.rootToken });
    expect(role.body.data).toMatchObject({ bound_audiences: ["ci-repository", "ci-release"], user_claim: "sub" });
    await visit("Auth methods");
    await page.getByRole("link", { name: "auth/token/" }).click();
    await page.getByRole("link", { name: "New role" }).click();
    await page.getByLabel("Role", { exact: true }).fill("job");
    await page.getByLabel("Allowed", { exact: true }).fill("deploy");
    await page.getByRole("button", { name: "Make the role" }).click();
    await page.getByRole("heading", { name: "Role job" }).waitFor();
    const made = await call(server, "GET", "/v1/auth/token/roles/job", { token: server.rootToken });
    expect(made.body.data).toMatchObject({ allowed_policies: ["deploy"], renewable: true });
  });

  it("makes an organization, a team and its tokens, rotates one, and deletes them together", async () => {
    await visit("Teams");
    await shows("No organizations yet");
    await page.getByRole("link", { name: "New organization" }).click();
    await page.getByLabel("Name", { exact: true }).fill("edge");
    await page.getByLabel(/^E-mail/).fill("nobody");
    await page.getByRole("button", { name: "Make the organization" }).click();
    await shows(/e-mail address/);
    await page.getByLabel(/^E-mail/).fill("ops@example.com");
    await page.getByRole("button", { name: "Make the organization" }).click();
    await page.getByRole("link", { name: "New team" }).click();
    await page.getByLabel("Name", { exact: true }).fill("platform");
    await page.getByLabel("Policies of its tokens").fill("deploy");
    await page.getByRole("button", { name: "Make the team" }).click();
    await page.getByRole("heading", { level: 1, name: "platform" }).waitFor();
    for (const description of ["laptop", "pipeline"]) {
      await page.getByRole("button", { name: "New token…" }).click();
      await page.getByRole("textbox", { name: "Description" }).fill(description);
      await page.getByRole("button", { name: "Make the token" }).click();
      await page.getByRole("status", { name: "Token" }).waitFor();
      await page.getByRole("button", { name: "Done" }).click();
    }
    await page
      .getByRole("row", { name: /pipeline/ })
      .getByRole("button", { name: "Rotate…" })
      .click();
    await page.getByLabel("The old one stays good for").fill("1h");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    const rotated = await page.getByRole("status", { name: "Token" }).textContent();
    await page.getByRole("button", { name: "Done" }).click();
    const self = await call(server, "GET", "/v1/auth/token/lookup-self", { token: rotated ?? "" });
    expect(self.body.data ?? self.status).toBeTruthy();
    await page.getByText("rotated", { exact: true }).waitFor();
    await picture(page, "console-team");

    await page.getByRole("link", { name: "edge", exact: true }).click();
    const parts = page.getByRole("navigation", { name: "Parts of the organization" });
    await parts.getByRole("link", { name: "Tokens" }).click();
    const rows = page.getByRole("region", { name: "Tokens" }).getByRole("checkbox");
    await rows.nth(2).waitFor();
    for (const row of await rows.all()) await row.check();
    await page.getByRole("button", { name: "Revoke 3 tokens…" }).click();
    await page.getByLabel("Type 3 to confirm").fill("3");
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await shows("No tokens of teams");
    const own = page.getByRole("region", { name: "Tokens of the organization itself" });
    for (const [kind, found] of [
      ["administer", ""],
      ["audit trail", "?token=audit-trails"],
    ] as const) {
      const row = own.getByRole("row", { name: new RegExp(kind) });
      await row.getByRole("button", { name: "Make…" }).click();
      await page.getByRole("button", { name: "Make the token" }).click();
      await page.getByRole("status", { name: "Token" }).waitFor();
      await page.getByRole("button", { name: "Done" }).click();
      await row.getByRole("button", { name: "Replace…" }).waitFor();
      const path = `/api/v2/organizations/edge/authentication-token${found}`;
      expect((await call(server, "GET", path, { token: server.rootToken })).status).toBe(200);
      await row.getByRole("button", { name: "Revoke…" }).click();
      await page.getByLabel("Type edge to confirm").fill("edge");
      await page.getByRole("button", { name: "Revoke", exact: true }).click();
      await row.getByText("no such token").waitFor();
      expect((await call(server, "GET", path, { token: server.rootToken })).status).toBe(404);
    }
    await expectAccessible(page);
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByLabel(/^Team tokens live, unless/).fill("30d");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await shows("Saved");
    const organization = await call(server, "GET", "/api/v2/organizations/edge", { token: server.rootToken });
    expect(organization.body.data).toMatchObject({ attributes: { "default-team-token-ttl-ms": 2_592_000_000 } });
    await page.getByRole("link", { name: "Webhooks" }).click();
    await shows("No webhooks yet");
    await page.getByRole("link", { name: "All organizations" }).click();
    await page.getByRole("link", { name: "edge", exact: true }).waitFor();
  });

  it("makes an entity with an alias and a group with a member, ends the entity's tokens, and deletes the group", async () => {
    await visit("Entities and groups");
    await page.getByRole("link", { name: "New entity" }).click();
    await page.getByLabel("Name", { exact: true }).fill("release-robot");
    await page.getByLabel("Policies", { exact: true }).fill("deploy");
    await page.getByLabel("Metadata").fill("team=edge");
    await page.getByRole("button", { name: "Make the entity" }).click();
    await page.getByRole("heading", { name: "Entity release-robot" }).waitFor();
    await page.getByRole("button", { name: "New alias…" }).click();
    await page.getByLabel("Auth method").selectOption("ci/");
    await page.getByLabel("Name that the method knows").fill("repo:edge");
    await page.getByRole("button", { name: "Make the alias" }).click();
    await page.getByRole("cell", { name: "repo:edge" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "End its tokens…" }).click();
    await page.getByLabel("Type release-robot to confirm").fill("release-robot");
    await page.getByRole("button", { name: "End them" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Groups", exact: true }).click();
    await page.getByRole("link", { name: "New group" }).click();
    await page.getByLabel("Name", { exact: true }).fill("releases");
    const members = page.getByRole("textbox", { name: /^Members/ });
    await members.fill("release-robot, release-robt");
    await page.getByRole("button", { name: "Make the group" }).click();
    await page.getByText("There is no entity release-robt: pick one, or type its id").waitFor();
    await members.fill("release-robot");
    await page.getByRole("button", { name: "Make the group" }).click();
    await page.getByRole("region", { name: "Members" }).getByRole("link", { name: "release-robot" }).waitFor();
    expect(await members.inputValue()).toBe("release-robot");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByLabel("Type releases to confirm").fill("releases");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await shows("No groups yet");
  });

  it("shows how the service is, with charts of its metrics, and keeps quotas", async () => {
    await visit("Health");
    await shows("Serving");
    await page.getByRole("heading", { name: "Tidy" }).waitFor();
    // The end of an entity's tokens has begun a run, which may still be under way.
    await page.getByRole("button", { name: /^Run(?: now|ning)$/ }).waitFor();
    await page.getByRole("figure", { name: "Requests" }).getByText(/\/s$/).first().waitFor();
    // The root token of this test has no end: the check says so, and where the docs say what to do.
    const rootTokens = page.getByRole("link", { name: "docs/runbook.md#a-root-token-lives" });
    expect(await rootTokens.getAttribute("href")).toBe(
      `${project.homepage}/blob/v${project.version}/docs/runbook.md#a-root-token-lives`,
    );
    await page.getByRole("button", { name: "New quota…" }).click();
    await page.getByLabel("Name", { exact: true }).fill("logins");
    await page.getByLabel("Mount, or a path below one").fill("auth/ci");
    await page.getByRole("button", { name: "Make the quota" }).click();
    await shows("Needed");
    await page.getByLabel("Requests of one client").fill("100");
    await page.getByRole("button", { name: "Make the quota" }).click();
    await page.getByRole("cell", { name: "auth/ci" }).waitFor();
    await page.getByRole("button", { name: "Change…" }).click();
    await page.getByLabel("In", { exact: true }).fill("10s");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("cell", { name: "100 in 10 seconds" }).waitFor();
    const quota = await call(server, "GET", "/v1/sys/quotas/rate-limit/logins", { token: server.rootToken });
    expect(quota.body.data).toMatchObject({ path: expect.stringMatching("auth/ci"), rate: 100, interval: 10 });
    // Beside another card there is little room for a time.
    await page.setViewportSize({ width: 1024, height: 800 });
    const tidy = page.getByRole("region", { name: "Tidy" });
    await tidy
      .getByText(/20\d\d, .*[AP]M/)
      .first()
      .waitFor();
    const [card, time] = [await tidy.boundingBox(), await tidy.locator("time .whole").first().boundingBox()];
    const rightOf = (box: typeof card) => (box ? box.x + box.width : Number.NaN);
    expect(rightOf(time)).toBeLessThan(rightOf(card));
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByText("When the next term begins").click();
    await page.getByLabel("After so many uses").waitFor();
    await expectAccessible(page);
    await picture(page, "console-health");
  });

  it("shows ten thousand tokens, and says so when the server is gone", async () => {
    await page.route("**/v1/sys/tokens?**", (route) => route.fulfill({ json: { data: manyTokens(10_000) } }));
    await visit("Tokens");
    await shows(/^10,000 tokens$/);
    await page.unroute("**/v1/sys/tokens?**");
    await page.route("**/v1/**", (route) => route.abort());
    await visit("What ends when");
    await page.getByText("The server can't be reached.").waitFor();
    await expectAccessible(page);
    await page.unroute("**/v1/**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("a.bar").first().waitFor();
  });

  it("signs out, and forgets the token", async () => {
    await visit("Your session");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("button", { name: "Sign out only" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await page.evaluate("JSON.stringify([sessionStorage, localStorage])")).toBe("[{},{}]");
  });
});

/** Trees of several shapes: a fleet of regions with jobs, and some tokens of an old policy. */
async function plantForest(server: RunningServer): Promise<void> {
  const make = async (name: string, token: string, policies: string[], orphan = false): Promise<string> => {
    const body = { display_name: name, policies, ttl: `${1 + ((name.length * 7) % 20)}h` };
    const path = `/v1/auth/token/${orphan ? "create-orphan" : "create"}`;
    const { body: answer } = await call(server, "POST", path, { token, body });
    return (answer.auth as { client_token: string }).client_token;
  };
  const root = server.rootToken;
  const grants = 'path "auth/token/create" { capabilities = ["update"] }';
  for (const name of ["fleet", "web", "deploy", "old"]) {
    await call(server, "POST", `/v1/sys/policies/acl/${name}`, { token: root, body: { policy: grants } });
  }
  const fleet = await make("fleet", root, ["fleet", "web", "deploy"], true);
  await Promise.all(
    ["web", "deploy"].map(async (policy, region) => {
      const parent = await make(`region-${region}`, fleet, [policy]);
      await Promise.all(Array.from({ length: BRANCHES }, (_, at) => make(`job-${at}`, parent, [policy])));
    }),
  );
  await Promise.all(Array.from({ length: 3 }, (_, at) => make(`left-${at}`, root, ["old"], true)));
  await call(server, "POST", "/v1/sys/auth/ci", {
    token: root,
    body: { type: "jwt", description: "Jobs of the build" },
  });
  const role = { role_type: "jwt", user_claim: "sub", bound_audiences: ["ci-repository"], token_policies: ["deploy"] };
  await call(server, "POST", "/v1/auth/ci/role/builder", { token: root, body: role });
  const mounts = await call(server, "GET", "/v1/sys/auth", { token: root });
  const mount = (mounts.body.data as Readonly<Record<string, { readonly accessor: string }>>)["ci/"];
  const entity = await call(server, "POST", "/v1/identity/entity", { token: root, body: { name: "entity_01cb" } });
  const { id } = entity.body.data as { readonly id: string };
  const alias = { name: "alice@example.com", canonical_id: id, mount_accessor: mount?.accessor };
  await call(server, "POST", "/v1/identity/entity-alias", { token: root, body: alias });
  const policies = ["web", "deploy", "fleet"];
  for (let at = 0; at < BRANCHES; at++) {
    const policy = policies[at % policies.length] ?? "web";
    const service = await make(`service-${at}`, root, [policy], true);
    await Promise.all(Array.from({ length: (at * at) % 23 }, (_, job) => make(`job-${job}`, service, [policy])));
  }
}

function manyTokens(count: number): { tokens: unknown[]; next: string; fresh_as_of: string } {
  const now = new Date().toISOString();
  const name = "with-a-name-that-is-much-longer-than-any-column-of-the-table-is-wide";
  const tokens = Array.from({ length: count }, (_, at) =>
    consoleToken({ accessor: `accessor-${at}`, display_name: `token-${at}-${name}`, created: now, expires: null }),
  );
  return { tokens, next: "", fresh_as_of: now };
}
