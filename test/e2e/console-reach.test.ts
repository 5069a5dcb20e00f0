import type { Browser, Page, Response } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { browserPath, expectAccessible, openPage, startBrowser, type WatchedPage } from "./support/browser.ts";
import { openPlace, signIn } from "./support/console-page.ts";
import { expectReachable, focusedLabel, tabTo } from "./support/keyboard.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const executable = browserPath();
/** Rules of axe for what a narrow screen and dark colours change. */
const NARROW = ["scrollable-region-focusable", "color-contrast", "link-in-text-block"];

/** In the page: the tables that scroll sideways. */
const WIDE_TABLES = `[...document.querySelectorAll(".scroll:has(> table)")]
  .filter((frame) => frame.scrollWidth > frame.clientWidth)
  .map((frame) => frame.innerText.slice(0, 200))`;

/** Every page of the console for somebody without a mouse, with a screen reader, or with a narrow screen. */
describe.skipIf(executable === undefined)("every page of the console", () => {
  let server: RunningServer;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  let pages: readonly string[];

  beforeAll(async () => {
    server = await startServe();
    browser = await startBrowser(executable ?? "");
    pages = await plant(server);
    watched = await openPage(browser);
    page = watched.page;
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });
  beforeEach(() => expect(watched.faults).toEqual([]));

  it("is signed in to by keyboard, and begins at its content", async () => {
    await page.goto(`${server.address}/ui/`);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    // The field has the focus already.
    await page.keyboard.type(server.rootToken);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
  });

  it("is reached by Tab in each of its controls, has nothing serious for axe, and fits a narrow screen", async () => {
    // All pages are looked at before one of them fails the test.
    const faults: string[] = [];
    for (const place of pages) {
      await openPlace(page, place);
      const look = async (): Promise<void> => {
        await expectReachable(page);
        await expectAccessible(page, { colours: "light" });
        // On a phone a row is a card where its columns have no room.
        await page.setViewportSize({ width: 390, height: 844 });
        await expect.poll(() => page.evaluate(WIDE_TABLES)).toEqual([]);
        await page.setViewportSize({ width: 320, height: 640 });
        expect(await page.evaluate("document.documentElement.scrollWidth"), place).toBeLessThanOrEqual(320);
        await expectAccessible(page, { colours: "dark", only: NARROW });
      };
      await look().catch((error: unknown) => faults.push(`${place}: ${error}`));
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: "light" });
    }
    expect(faults).toEqual([]);
  }, 600_000);

  it("says of a value in an address that it is not known, beside the usual view", async () => {
    const unknown: readonly (readonly [place: string, name: string])[] = [
      ["?by=x", "by"],
      ["?colour=x", "colour"],
      ["ends?range=x", "range"],
      ["ends?by=x", "by"],
      ["tokens?group=x", "group"],
      ["tokens?columns=ends,x", "columns"],
      ["methods?setup=x", "setup"],
      ["methods/aws?part=x", "part"],
      ["identity?part=x", "part"],
      ["issuer?part=x", "part"],
      ["teams/edge?part=x", "part"],
    ];
    for (const [place, name] of unknown) {
      await openPlace(page, place);
      const notice = page.getByText(`The value of “${name}” in the address is not known here`);
      expect(await notice.count(), place).toBe(1);
      await expectAccessible(page, { colours: "light" });
    }
    for (const place of [
      "?by=tree",
      "ends?by=metadata.team&range=week",
      "tokens?group=method",
      "methods/aws?part=tuning",
    ]) {
      await openPlace(page, place);
      expect(await page.getByText("in the address is not known here").count(), place).toBe(0);
    }
  });

  it("asks for lists without names, in pages and in the search, without an error in the browser's log", async () => {
    const failed: string[] = [];
    const note = (response: Response): unknown => response.status() >= 400 && failed.push(response.url());
    page.on("response", note);
    const lists = ["identity?part=groups", "issuer?part=roles", "leases?prefix=none/", "methods/token", "new-token"];
    for (const place of [...lists, "methods/aws?part=accounts", "methods/aws?part=deny-list", "methods?setup=github"]) {
      await openPlace(page, place);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("robot");
    await page.getByRole("option", { name: /robot/ }).first().waitFor();
    await page.keyboard.press("Escape");
    page.off("response", note);
    expect(failed).toEqual([]);
  });

  it("keeps the focus where somebody works: in a filter, in a menu, in a choice", async () => {
    await openPlace(page, "tokens");
    await tabTo(page, "searchbox", "Name");
    await page.keyboard.type("token-fleet");
    await page.keyboard.press("Enter");
    await page.waitForURL(/display_name=token-fleet/);
    await page.getByText(/^1 token$/).waitFor();
    await expect.poll(() => page.evaluate("document.activeElement.value")).toBe("token-fleet");
    await page.locator("summary", { hasText: "Columns" }).focus();
    await page.keyboard.press("Enter");
    await tabTo(page, "checkbox", "Path");
    await page.keyboard.press("Space");
    await page.getByRole("columnheader", { name: "Path" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => focusedLabel(page)).toBe("Columns");
    await expect.poll(() => page.getByRole("checkbox", { name: "Path" }).isVisible()).toBe(false);
    await openPlace(page, "ends");
    await tabTo(page, "radio", "24 hours");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.getByRole("radio", { name: "Tomorrow" }).isChecked()).toBe(true);
  });

  it("opens a dialog by keyboard, keeps the focus in it, and takes it back when it closes", async () => {
    await openPlace(page, "health");
    await tabTo(page, "button", "New quota…");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await expectAccessible(page);
    for (let stop = 0; stop < 12; stop++) {
      await page.keyboard.press("Tab");
      // Between the last control and the first one the browser's own has it.
      expect(
        await page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')"),
      ).toBe(true);
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => focusedLabel(page)).toBe("New quota…");
    await page.keyboard.press("Enter");
    await tabTo(page, "textbox", "Name");
    await page.keyboard.type("logins");
    await tabTo(page, "textbox", "Requests of one client");
    await page.keyboard.type("100");
    await page.keyboard.press("Enter");
    await page.getByRole("cell", { name: "logins" }).waitFor();
    await expect.poll(() => focusedLabel(page)).toBe("New quota…");
  });

  it("leaves the focus near when a row goes that had it", async () => {
    await tabTo(page, "button", "Delete…");
    await page.keyboard.press("Enter");
    await page.getByLabel("Type logins to confirm").waitFor();
    await expectAccessible(page);
    await page.keyboard.type("logins");
    await page.keyboard.press("Enter");
    await page.getByText("None. A quota bounds").waitFor();
    await expect.poll(() => focusedLabel(page)).toBe("Quotas");
    await openPlace(page, "tokens?display_name=token-fleet");
    await tabTo(page, "link", "token-fleet");
    await page.keyboard.press("Enter");
    await tabTo(page, "button", "Revoke…");
    await page.keyboard.press("Enter");
    await page.getByLabel("Type token-fleet to confirm").waitFor();
    await page.keyboard.type("token-fleet");
    await page.keyboard.press("Enter");
    await page.waitForURL(/receipts\//);
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
    await tabTo(page, "button", "Export JSON");
  });

  it("says of each dialog what it is, to axe too", async () => {
    const dialogs: readonly (readonly [place: string, button: string])[] = [
      ["policies/web", "Delete…"],
      ["identity?part=entities&name=robot", "New alias…"],
      ["identity?part=entities&name=robot", "End its tokens…"],
      ["methods/aws?part=tuning", "End all tokens…"],
      ["methods/aws?part=tuning", "Disable the method…"],
      ["teams/edge?part=settings", "Delete the organization…"],
      ["issuer?part=keys&name=services", "Rotate…"],
    ];
    for (const [place, button] of dialogs) {
      await openPlace(page, place);
      await page.getByRole("button", { name: button }).first().click();
      await page.getByRole("dialog").waitFor();
      await expectAccessible(page);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await expect.poll(() => focusedLabel(page), { message: button }).toBe(button);
    }
  });

  it("says what the policies refuse, on every page, to a user with few rights", async () => {
    const { auth } = (
      await call(server, "POST", "/v1/auth/token/create", { token: server.rootToken, body: { policies: ["default"] } })
    ).body;
    const { page: guest, faults } = await openPage(browser);
    await signIn(guest, server, (auth as { client_token: string }).client_token);
    // The forest, where the console begins otherwise, would be refused.
    await guest.getByRole("heading", { name: "Your session" }).waitFor();
    await openPlace(guest, "tokens");
    const notice = guest.getByRole("status").filter({ hasText: "Refused by the policies of your token" });
    await notice.getByText("No rule of the policies matches the path. Missing: read.").waitFor();
    const policy = 'path "sys/tokens" {\n  capabilities = ["read", "sudo"]\n}\n';
    expect(await notice.getByLabel("Policy").textContent()).toBe(policy);
    await notice.getByRole("button", { name: "Copy" }).waitFor();
    await expectAccessible(guest);
    await openPlace(guest, "teams");
    const refused = guest.getByRole("button", { name: /New organization ?, refused/ });
    expect(await refused.getAttribute("title")).toBe("your policies lack create or update on organizations");
    // What these pages do is refused when it is tried.
    const forms = /new|session|nowhere/;
    const silent: string[] = [];
    for (const place of pages) {
      await openPlace(guest, place);
      // The interface of teams shows nobody what exists that they may not see.
      const told = await guest
        .getByText(/Refused by the policies|your policies (let you see|lack)|you may not see it/)
        .count();
      if (told === 0 && !forms.test(place)) silent.push(place);
    }
    expect(silent).toEqual([]);
    await openPlace(guest, "policies?new=1");
    await guest.getByLabel("Name", { exact: true }).fill("mine");
    await guest.getByRole("button", { name: "Save" }).click();
    await guest.getByText("Refused by the policies of your token").waitFor();
    expect(faults).toEqual([]);
    await guest.close();
  });

  it("disables in advance what a read-only token may not do, and nothing else", async () => {
    const token = server.rootToken;
    const rules = [
      'path "*" { capabilities = ["read", "list", "sudo"] }',
      'path "auth/aws/role/web" { capabilities = ["read", "update"] }',
      'path "sys/capabilities-self" { capabilities = ["update"] }',
    ];
    const body = { policy: rules.join("\n") };
    await call(server, "POST", "/v1/sys/policies/acl/looking", { token, body });
    const made = await call(server, "POST", "/v1/auth/token/create", { token, body: { policies: ["looking"] } });
    const { page: guest } = await openPage(browser);
    await signIn(guest, server, (made.body.auth as { client_token: string }).client_token);
    const open: string[] = [];
    const acting = pages.filter((one) =>
      /^(tokens.|policies.web|methods.aws|identity|issuer|teams.edge|health)/.test(one),
    );
    for (const place of acting) {
      await openPlace(guest, place);
      const found: readonly string[] = await guest.evaluate(`[...document.querySelectorAll("#main button")]
        .filter((one) => /Save|Delete|Revoke|Rotate|Make|Enable|End|Disable|Run|Begin|New|Check the/.test(one.textContent))
        .filter((one) => !/, refused/.test(one.textContent) && !one.closest("th"))
        .map((one) => one.textContent)`);
      open.push(...found.map((name) => `${place}: ${name}`));
    }
    // What a webhook needs is asked about when its fields are filled in.
    expect(open.filter((one) => !one.includes("webhooks"))).toEqual(["methods/aws?part=roles&name=web: Save"]);
    await openPlace(guest, "methods/aws?part=roles&name=web");
    await guest.getByLabel("Regions").fill("eu-central-1");
    expect(await guest.getByRole("button", { name: "Save", exact: true }).isEnabled()).toBe(true);
    await guest
      .getByRole("button", { name: /^Delete.*refused: your policies lack delete on auth\/aws\/role\/web/ })
      .waitFor();
    // A name that is allowed may still be typed.
    await guest.getByRole("link", { name: /^New role.*refused/ }).click();
    await guest.getByLabel("Role", { exact: true }).fill("other");
    await guest.keyboard.press("Tab");
    await guest.getByRole("button", { name: /^Make the role.*refused: your policies lack create or update/ }).waitFor();
    await guest.close();
  });

  it("forgets the token at a reload, and revokes it only when the server says so", async () => {
    const { auth } = (
      await call(server, "POST", "/v1/auth/token/create", { token: server.rootToken, body: { policies: ["default"] } })
    ).body;
    const { client_token: token } = auth as { client_token: string };
    const { page: guest } = await openPage(browser);
    await signIn(guest, server, token);
    await openPlace(guest, "session");
    await guest.reload();
    await guest.getByLabel("Token", { exact: true }).last().fill(token);
    await guest.keyboard.press("Enter");
    await guest.getByRole("heading", { name: "Your session" }).waitFor();
    await guest.route("**/revoke-self", (route) => route.abort());
    // Nothing is revoked before the name is typed, and nothing at all when it is kept.
    await guest.getByRole("button", { name: "Sign out and revoke…" }).click();
    const dialog = guest.getByRole("dialog", { name: "Sign out and revoke token" });
    await dialog.getByText("There is no way back.").waitFor();
    await expectAccessible(guest);
    await dialog.getByRole("button", { name: "Revoke it" }).click();
    await dialog.getByText("Needed: nothing was sent.").waitFor();
    await dialog.getByRole("button", { name: "Keep it" }).click();
    expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token })).status).toBe(200);
    await guest.getByRole("button", { name: "Sign out and revoke…" }).click();
    await dialog.getByLabel("Type token to confirm").fill("token");
    await dialog.getByRole("button", { name: "Revoke it" }).click();
    await guest.getByText("The server can't be reached.").waitFor();
    await guest.unroute("**/revoke-self");
    await dialog.getByRole("button", { name: "Revoke it" }).click();
    await guest.getByRole("button", { name: "Sign in" }).waitFor();
    await guest.getByRole("status").filter({ hasText: "You are signed out, and the token is revoked." }).waitFor();
    const self = await call(server, "GET", "/v1/auth/token/lookup-self", { token });
    expect(self.status).toBe(403);
    expect(await guest.evaluate("sessionStorage.length")).toBe(0);
    await guest.close();
  });
});

/** Makes one of everything that a page shows. Returns the address of each page, below that of the console. */
async function plant(server: RunningServer): Promise<readonly string[]> {
  const token = server.rootToken;
  const write = async (path: string, body: unknown, as = token): Promise<Record<string, unknown>> => {
    const contentType = path.startsWith("/api/v2/") ? "application/vnd.api+json" : "application/json";
    const answer = await call(server, "POST", path, { token: as, body, contentType });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await write("/v1/sys/policies/acl/web", { policy: 'path "auth/token/create" { capabilities = ["update"] }' });
  const make = async (
    name: string,
    parent = token,
    path = "create",
  ): Promise<{ accessor: string; client_token: string }> => {
    const made = await write(`/v1/auth/token/${path}`, { display_name: name, policies: ["web"], ttl: "2h" }, parent);
    return made.auth as { accessor: string; client_token: string };
  };
  const fleet = await make("fleet", token, "create-orphan");
  const region = await make("region", fleet.client_token);
  await make("job", region.client_token);
  await write("/v1/sys/auth/aws", { type: "aws" });
  await write("/v1/auth/aws/role/web", { auth_type: "ec2", bound_account_id: "123456789012" });
  const { data: entity } = await write("/v1/identity/entity", { name: "robot" });
  await write("/v1/identity/group", { name: "robots", member_entity_ids: [(entity as { id: string }).id] });
  await write("/v1/identity/oidc/key/services", { allowed_client_ids: ["*"] });
  await write("/v1/identity/oidc/role/billing", { key: "services" });
  await write("/api/v2/organizations", {
    data: { type: "organizations", attributes: { name: "edge", email: "ops@example.com" } },
  });
  const { data: team } = await write("/api/v2/organizations/edge/teams", {
    data: { type: "teams", attributes: { name: "platform" } },
  });
  const { id } = team as { id: string };
  await write(`/api/v2/teams/${id}/authentication-token`, {
    data: { type: "authentication-tokens", attributes: {} },
  });
  return [
    "",
    "?mount=auth/token/",
    `?token=${fleet.accessor}`,
    "tokens",
    "tokens?group=name",
    `tokens/${fleet.accessor}`,
    "ends",
    "ended",
    "leases?prefix=auth/token/create-orphan/",
    "new-token",
    "policies",
    "policies?new=1",
    "policies/web",
    "methods",
    "methods?new=1",
    "methods?setup=github",
    "methods?setup=kubernetes-review",
    "methods?setup=approle",
    "methods/aws?part=roles&name=web",
    "methods/aws?part=login-check",
    "methods/aws?part=refused-logins",
    "methods/aws?part=tuning",
    "methods/token?new=1",
    "identity?part=entities&name=robot",
    "identity?part=groups&name=robots",
    "issuer?part=keys&name=services",
    "teams",
    "teams?new=1",
    "teams/edge",
    "teams/edge?part=tokens",
    "teams/edge?part=settings",
    "teams/edge?part=webhooks",
    `teams/edge/${id}`,
    "health",
    "session",
    "nowhere",
  ];
}
