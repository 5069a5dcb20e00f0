import { execFileSync, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserPath, expectAccessible, openPage } from "./support/browser.ts";
import { openPlace, signIn } from "./support/console-page.ts";
import { focusedField, focusedLabel } from "./support/keyboard.ts";
import { type OpenedConsole, openConsole } from "./support/opened-console.ts";
import { call, type RunningServer } from "./support/server.ts";

interface Stored {
  readonly policy: string;
  readonly version: number;
  readonly expiration?: string;
}

const executable = browserPath();
const PUBLIC_KEY = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" });

describe.skipIf(executable === undefined)("changes in the console", () => {
  let opened: OpenedConsole;
  let server: RunningServer;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    opened = await openConsole(executable);
    ({ server, browser, page } = opened);
    await api("POST", "sys/policies/acl/ship", { policy: rule("a"), cas_required: true, cas: -1, ttl: "2h" });
    await api("POST", "auth/token/roles/shipper", { allowed_policies: "ship" });
    await api("POST", "auth/token/create", { policies: ["ship"] });
  });
  afterAll(async () => {
    await opened?.close();
    expect(opened.faults).toEqual([]);
  });

  const api = async (method: string, path: string, body?: unknown) => {
    const answer = await opened.send(method, path, body);
    expect(answer.status).toBeLessThan(300);
    return answer;
  };
  const textOf = (of: Page) => of.getByRole("textbox", { name: /^Text of the policy/ });
  const rule = (path: string) => `path "${path}" {\n  capabilities = ["read"]\n}\n`;
  const stored = async (name: string) => (await api("GET", `sys/policies/acl/${name}`)).body.data as Stored;

  it("shows what a policy's change is and whom it concerns, and keeps what is not saved", async () => {
    await openPlace(page, "policies/ship");
    await page.getByRole("link", { name: "1 token", exact: true }).waitFor();
    await page.getByRole("link", { name: "auth/token/roles/shipper" }).waitFor();
    await textOf(page).fill(rule("a") + rule("b"));
    await page.getByText("3 lines added, 0 lines removed").waitFor();
    await expectAccessible(page);

    await openPlace(page, "tokens");
    await openPlace(page, "policies/ship");
    await page.getByText("Your unsaved text is here again").waitFor();
    await expect.poll(() => textOf(page).inputValue()).toBe(rule("a") + rule("b"));
    expect((await stored("ship")).policy).toBe(rule("a"));
    await page.getByText(/^Version 1, changed/).waitFor();
    // What was saved is shown at once, not when it has been read again.
    const read = Promise.withResolvers<void>();
    await page.route(
      "**/v1/sys/policies/acl/ship",
      (route) => (route.request().method() === "GET" ? read.promise.then(() => route.continue()) : route.continue()),
      { times: 2 },
    );
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    await page.getByText(/^Version 2, changed/).waitFor();
    expect(await page.getByText("3 lines added").count()).toBe(0);
    read.resolve();
    // What the form does not show is as it was.
    expect(await stored("ship")).toMatchObject({ policy: rule("a") + rule("b"), version: 2, cas_required: true });
    expect((await stored("ship")).expiration).toBeTruthy();
  });

  it("of two tabs the second to save sees what the first one saved, and decides", async () => {
    await openPlace(page, "policies/ship");
    await textOf(page).fill(rule("mine"));
    const { version } = await stored("ship");
    await api("POST", "sys/policies/acl/ship", { policy: rule("theirs"), cas: version });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(`Not saved: it was changed meanwhile, to version ${version + 1}`).waitFor();
    expect((await stored("ship")).policy).toBe(rule("theirs"));
    expect(await page.getByRole("region", { name: "Changes" }).textContent()).toMatch(/removed: path "theirs"/);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Keep my text" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await stored("ship")).toMatchObject({ policy: rule("mine"), version: version + 2 });
  });

  it("goes back to an earlier version of a policy: its text becomes a new version once it is saved", async () => {
    const author = (await api("POST", "auth/token/create", { policies: ["root"], display_name: "ann" })).body;
    const { client_token: token } = author.auth as { client_token: string };
    const write = (body: unknown) => call(server, "POST", "/v1/sys/policies/acl/back", { token, body });
    await write({ policy: rule("good"), allow_slashes_in_identity_templates: true });
    await write({ policy: rule("bad") });
    await api("POST", "auth/token/create", { policies: ["back"] });
    await openPlace(page, "policies/back");
    const table = page.getByRole("region", { name: "Versions", exact: true });
    await table.getByText("2, the current one").waitFor();
    expect(await table.getByRole("link", { name: "token-ann" }).count()).toBe(2);
    await table.getByRole("button", { name: "Version 1" }).click();
    await expect.poll(() => page.getByLabel("Text of version 1").inputValue()).toBe(rule("good"));
    const difference = page.getByRole("region", { name: "What restoring version 1 changes", exact: true });
    expect(await difference.textContent()).toMatch(/removed: path "bad".*added: path "good"/s);
    await table.getByText("It had other settings (allow_slashes_in_identity_templates: true).").waitFor();
    await expectAccessible(page);

    const restore = table.getByRole("button", { name: "Restore as a new version…" });
    await textOf(page).fill(rule("typed"));
    expect(await restore.getAttribute("title")).toBe("save or undo your changes first");
    await page.getByRole("button", { name: "Undo the changes" }).click();
    await restore.click();
    await page.getByText("The text of version 1 is below. It is not saved yet").waitFor();
    await expect.poll(() => textOf(page).inputValue()).toBe(rule("good"));
    await page.getByText("It applies within seconds. Tokens that name it: 1 token.").waitFor();
    expect(await stored("back")).toMatchObject({ policy: rule("bad"), version: 2 });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await stored("back")).toMatchObject({ policy: rule("good"), version: 3 });
    await table.getByText("3, the current one").waitFor();
    await table.getByRole("button", { name: "Version 2" }).waitFor();

    // Another policy, and this one again, are shown as they are stored.
    for (const name of ["ship", "back"]) {
      await openPlace(page, `policies/${name}`);
      await expect.poll(() => textOf(page).inputValue()).toBe((await stored(name)).policy);
    }
  });

  it("keeps an unsaved text over the end of a session for the same person alone, and forgets it when its user signs out", async () => {
    const other = await openPage(browser);
    const policy = 'path "*" {\n  capabilities = ["create", "read", "update", "delete", "list", "sudo"]\n}\n';
    await api("POST", "sys/policies/acl/editors", { policy });
    await api("POST", "auth/token/roles/person", { allowed_policies: "editors", allowed_entity_aliases: "alice" });
    const tokenOfAlice = async (): Promise<string> => {
      const { auth } = (await api("POST", "auth/token/create/person", { entity_alias: "alice" })).body;
      return (auth as { client_token: string }).client_token;
    };
    const first = await tokenOfAlice();
    await signIn(other.page, server, first);
    await openPlace(other.page, "policies/ship");
    const before = (await stored("ship")).policy;
    await expect.poll(() => textOf(other.page).inputValue()).toBe(before);
    await textOf(other.page).fill(rule("kept"));
    await other.page.getByRole("button", { name: "Undo the changes" }).waitFor();
    await api("POST", "auth/token/revoke", { token: first });
    // What the page asks by itself may find the end before the click does.
    const ended = other.page.getByText("Your session has ended: the token expired or was revoked.");
    await other.page.getByRole("button", { name: "Save" }).or(ended).click();
    await ended.waitFor();
    await signIn(other.page, server, await tokenOfAlice());
    await openPlace(other.page, "policies/ship");
    await expect.poll(() => textOf(other.page).inputValue()).toBe(rule("kept"));
    // A token that is in memory alone is gone now.
    await other.page.reload();
    await signIn(other.page, server, server.rootToken);
    await openPlace(other.page, "policies/ship");
    await expect.poll(() => textOf(other.page).inputValue()).toBe(before);
    await textOf(other.page).fill(rule("typed by root"));
    await openPlace(other.page, "session");
    await other.page.getByRole("button", { name: "Sign out", exact: true }).click();
    await other.page.getByRole("button", { name: "Sign out only" }).click();
    await other.page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await other.page.evaluate("Object.keys(sessionStorage)")).toEqual([]);
    expect(other.faults).toEqual([]);
    await other.page.close();
  });

  it("deletes a policy by its name, and not one that was changed since", async () => {
    const { version } = await stored("ship");
    await openPlace(page, "policies/ship");
    await page.getByRole("button", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("link", { name: "1 token", exact: true }).waitFor();
    await expectAccessible(page);
    const remove = dialog.getByRole("button", { name: "Delete", exact: true });
    await remove.click();
    await dialog.getByText("Needed: nothing was sent.").waitFor();
    await dialog.getByLabel("Type ship to confirm").fill("shop");
    await remove.click();
    await dialog.getByText("Not ship: nothing was sent.").waitFor();
    await expect.poll(() => focusedField(page)).toBe("Type ship to confirm");
    await expectAccessible(page);
    expect((await stored("ship")).version).toBe(version);
    await dialog.getByLabel("Type ship to confirm").fill("ship");
    await api("POST", "sys/policies/acl/ship", { policy: rule("later") });
    await remove.click();
    await dialog.getByText("It was changed meanwhile: look at it again before you delete it.").waitFor();
    expect((await stored("ship")).version).toBe(version + 1);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Delete…" }).click();
    await dialog.getByLabel("Type ship to confirm").fill("ship");
    await remove.click();
    await page.getByRole("heading", { level: 1, name: "Policies" }).waitFor();
    const gone = await call(server, "GET", "/v1/sys/policies/acl/ship", { token: server.rootToken });
    expect(gone.status).toBe(404);
  });

  it("rotates a team's token by its name, with an overlap first, and does not lose the new one to Escape", async () => {
    const send = (path: string, type: string, attributes: Record<string, unknown>) =>
      call(server, "POST", `/api/v2/${path}`, {
        token: server.rootToken,
        body: { data: { type, attributes } },
        contentType: "application/vnd.api+json",
      });
    await send("organizations", "organizations", { name: "edge", email: "ops@example.com" });
    const team = (await send("organizations/edge/teams", "teams", { name: "platform" })).body.data as { id: string };
    const end = new Date(Date.now() + 10 * 86_400_000 + 5000).toISOString();
    for (const attributes of [{ description: "pipeline", "expired-at": end }, { description: "laptop" }]) {
      await send(`teams/${team.id}/authentication-tokens`, "authentication-tokens", attributes);
    }
    await send(`teams/${team.id}/authentication-token`, "authentication-tokens", {});
    await openPlace(page, `teams/edge/${team.id}`);
    const rotate = (name: RegExp) => page.getByRole("row", { name }).getByRole("button", { name: "Rotate…" }).click();
    await rotate(/laptop/);
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("heading", { name: "Rotate laptop of platform" }).waitFor();
    await dialog.getByText("Empty: never, like the old one.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await rotate(/pipeline/);
    await dialog.getByText(/^Empty: after 10d, as long as the old one was to live/).waitFor();
    await expect.poll(() => dialog.getByLabel("The old one stays good for").inputValue()).toBe("1d");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Rotate", exact: true }).click();
    const secret = await dialog.getByRole("status", { name: "Token" }).textContent();
    for (let times = 0; times < 3; times += 1) await page.keyboard.press("Escape");
    await dialog.getByText("Have you copied it?").waitFor();
    expect(await dialog.getByRole("status", { name: "Token" }).textContent()).toBe(secret);
    await dialog.getByRole("button", { name: "Yes, close" }).click();
    const listed = (await call(server, "GET", "/api/v2/organizations/edge/team-tokens", { token: server.rootToken }))
      .body.data as { attributes: { description: string; "expired-at": string; "rotated-at"?: string } }[];
    const old = listed.find(({ attributes }) => attributes["rotated-at"] !== undefined);
    const inHours = (Date.parse(old?.attributes["expired-at"] ?? "") - Date.now()) / 3_600_000;
    expect(inHours).toBeGreaterThan(23);
    const named = listed.map(({ attributes }) => attributes.description ?? "none");
    expect(named.sort()).toEqual(["laptop", "none", "pipeline", "pipeline"]);

    // The one without a description is rotated alone too, and a new one says what it takes the place of.
    await rotate(/ none /);
    await dialog.getByRole("heading", { name: "Rotate the token without a description of platform" }).waitFor();
    await dialog.getByRole("button", { name: "Rotate", exact: true }).click();
    const second = (await dialog.getByRole("status", { name: "Token" }).textContent()) ?? "";
    await dialog.getByRole("button", { name: "Done" }).click();
    const shown = await fetch(`${server.address}/api/v2/teams/${team.id}/authentication-token`, {
      headers: { Authorization: `Bearer ${second}` },
    });
    expect(await shown.json()).toMatchObject({ data: { attributes: { description: null } } });
  });

  it("makes no token of a team without a description, nor one whose end is only a part of a time", async () => {
    const made: string[] = [];
    page.on("request", (request) => made.push(`${request.method()} ${request.url()}`));
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "New token…" }).click();
    await dialog.getByRole("button", { name: "Make the token" }).click();
    await expect.poll(() => focusedField(page)).toBe("Description");
    await dialog.getByLabel("Description").fill("half an end");
    await dialog.getByLabel("Ends").focus();
    await page.keyboard.type("12012026");
    await page.keyboard.press("Enter");
    await dialog.getByText("A date and a time, both whole").waitFor();
    await dialog.getByRole("button", { name: "Make the token" }).click();
    await expect.poll(() => focusedField(page)).toBe("Ends");
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await openPlace(page, "tokens?ends_before=2026-12-01T00:00:00.000Z");
    await page.getByLabel(/^Ends before/).fill("");
    await page.waitForURL((url) => !url.search.includes("ends_before"));
    await page.getByLabel(/^Ends before/).focus();
    await page.keyboard.type("12012026");
    await page.keyboard.press("Enter");
    await page.getByText("A date and a time, both whole").waitFor();
    expect(page.url()).not.toContain("ends_before");
    page.removeAllListeners("request");
    expect(made.filter((request) => request.startsWith("POST") && request.includes("/authentication-token"))).toEqual(
      [],
    );
  });

  it("says at sign-in what is wrong with a pasted token", async () => {
    const { page: guest, faults } = await openPage(browser);
    await guest.goto(`${server.address}/ui/`);
    const field = guest.getByLabel("Token", { exact: true }).last();
    await field.fill("hvs.абв");
    await guest.getByText("It has a character that no token has: copy it again.").waitFor();
    expect(await guest.getByText("npm run").count()).toBe(0);
    // A token of a team would sign in to pages that refuse all it asks.
    const contentType = "application/vnd.api+json";
    const post = async (path: string, type: string, attributes: object) => {
      const body = { data: { type, attributes } };
      const sent = await call(server, "POST", `/api/v2/${path}`, { token: server.rootToken, contentType, body });
      return sent.body.data as { readonly id: string; readonly attributes: { readonly token: string } };
    };
    await post("organizations", "organizations", { name: "guests", email: "ops@example.com" });
    const team = await post("organizations/guests/teams", "teams", { name: "builders" });
    const made = await post(`teams/${team.id}/authentication-token`, "authentication-tokens", {});
    await field.fill(made.attributes.token);
    await guest.getByRole("button", { name: "Sign in" }).click();
    await guest.getByText(/^This is a token of the team builders of guests\./).waitFor();
    await expectAccessible(guest);
    // A wrapping token that was unwrapped says that somebody did.
    await guest.getByText("Wrapping token", { exact: true }).click();
    await guest
      .getByLabel("Wrapping token")
      .last()
      .fill(`s.${"A".repeat(84)}`);
    await guest.getByRole("button", { name: "Sign in" }).click();
    await guest.getByText(/If you did not unwrap it, report this to its sender/).waitFor();
    expect(faults).toEqual([]);
    await guest.close();
  });

  it("moves the focus to the server's refusal, in a form, in a dialog, and where a text was overtaken", async () => {
    await api("POST", "auth/token/roles/refusing", { token_period: "1h" });
    await api("POST", "sys/policies/acl/overtaken", { policy: rule("a") });
    const refuse = { status: 400, json: { errors: ["not today"] } };
    await openPlace(page, "methods/token?part=roles&name=refusing");
    await page.route("**/v1/auth/token/roles/refusing", (route) => {
      return route.request().method() === "GET" ? route.continue() : route.fulfill(refuse);
    });
    await page.getByLabel("Uses").fill("7");
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => focusedLabel(page)).toMatch(/^Not accepted.*not today/);
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByLabel("Type refusing to confirm").fill("refusing");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect.poll(() => focusedLabel(page)).toMatch(/^Not accepted.*not today/);
    expect(await page.evaluate("document.activeElement.closest('dialog') !== null")).toBe(true);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.unroute("**/v1/auth/token/roles/refusing");

    await openPlace(page, "policies/overtaken");
    await textOf(page).fill(rule("a") + rule("b"));
    await api("POST", "sys/policies/acl/overtaken", { policy: rule("c") });
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => focusedLabel(page)).toMatch(/^Not saved: it was changed meanwhile/);
    await page.getByRole("button", { name: /^Take version/ }).click();
  });

  it("sets up a login from a short form, and ends in the check of one", async () => {
    await openPlace(page, "methods");
    await page.getByRole("link", { name: "Set up a login…" }).click();
    await page.getByRole("link", { name: "AWS" }).click();
    await page.getByRole("button", { name: "Set up AWS" }).click();
    await expect.poll(() => page.getByText("Needed", { exact: true }).count()).toBe(3);
    await expect.poll(() => focusedField(page)).toBe("Account");
    await page.getByLabel("Account").fill("1111");
    await page.getByText("The number of an account: twelve digits.").waitFor();
    await page.getByLabel("Account").fill("111111111111");
    await page.getByLabel("IAM role", { exact: true }).fill("web");
    await page.getByLabel("Role", { exact: true }).fill("web-servers");
    await page.getByText("Terraform", { exact: true }).click();
    await page.getByText('resource "vault_aws_auth_backend_role" "web-servers"').waitFor();
    // All is made but the role.
    const unavailable = { status: 503, json: { errors: ["try again"] } };
    await page.route("**/v1/auth/aws/role/web-servers", (route) => route.fulfill(unavailable), { times: 1 });
    await page.getByRole("button", { name: "Set up AWS" }).click();
    await page.getByText("Grove can't answer now").waitFor();
    await page.getByText("The role web-servers: not written").waitFor();
    await page.getByText("The policy web-servers: written").waitFor();
    await page.getByText("Still to be written: the role web-servers.", { exact: true }).waitFor();
    await page.getByText("“Set up AWS” continues with these steps. What is written stays.").waitFor();
    // It says nothing of a policy that was there before: this page made it.
    expect(await page.getByText("already").count()).toBe(0);
    expect(await page.getByText("Exists, and stays").count()).toBe(0);
    // What was written for these values says nothing of others.
    await page.getByLabel("Role", { exact: true }).fill("other-servers");
    await page.getByText(": written").waitFor({ state: "detached" });
    await page.getByText("Grove can't answer now").waitFor({ state: "detached" });
    const kept = "the method aws at auth/aws/, the server id of auth/aws/";
    await page.getByText(`Written here before, and stays as it is: ${kept}.`, { exact: true }).waitFor();
    // Somebody leaves the page, and comes back to it.
    await openPlace(page, "methods?setup=aws");
    await page.getByLabel("Account").fill("111111111111");
    await page.getByLabel("IAM role", { exact: true }).fill("web");
    await page.getByLabel("Role", { exact: true }).fill("web-servers");
    await page.getByText(`Exists, and stays as it is: ${kept}, the policy web-servers.`, { exact: true }).waitFor();
    await page.getByRole("button", { name: "Set up AWS" }).click();
    await page.getByRole("heading", { name: "Check a login" }).waitFor();
    await page.getByText("The role web-servers: written").waitFor();
    const config = (await api("GET", "auth/aws/config/client")).body.data;
    expect(config).toMatchObject({ iam_server_id_header_value: "127.0.0.1" });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Check the login" }).click();
    await page.getByText("This login gets a token").waitFor();
    const role = (await api("GET", "auth/aws/role/web-servers")).body.data;
    expect(role).toMatchObject({ bound_iam_principal_arn: ["arn:aws:iam::111111111111:role/web"] });
    // What is there stays: only the role would be written again.
    await page.getByLabel("IAM role", { exact: true }).fill("web2");
    await page.getByText(`Exists, and stays as it is: ${kept}, the policy web-servers.`, { exact: true }).waitFor();
    await page.getByLabel("Path").fill("token");
    await page.getByText("auth/token/ is a method of the type token: choose another path.").waitFor();
    await page.getByRole("button", { name: "Set up AWS" }).click();
    await expect.poll(() => focusedField(page)).toBe("Path");
  });

  it("shows the policy that exists in the place of one that is not written, and whether other machines reach the address", async () => {
    await api("POST", "sys/policies/acl/releases", { policy: rule("releases/*") });
    await openPlace(page, "methods?setup=gitlab");
    await page.getByText("No other machine reaches this one: write the address that clients use").waitFor();
    await page.getByLabel("GitLab", { exact: true }).fill("https://gitlab.example.com");
    await page.getByLabel("Project").fill("acme/shop");
    await page.getByLabel("Role", { exact: true }).fill("releases");
    const shown = page.getByRole("region", { name: "What it is" }).getByRole("status").last();
    await page.getByText("There is a policy releases already: it stays as it is").waitFor();
    expect(await shown.textContent()).toBe(rule("releases/*"));
    await expectAccessible(page);
    await page.getByText("API calls", { exact: true }).click();
    expect(await shown.textContent()).not.toContain("lookup-self");
    await page.getByText("For the client", { exact: true }).click();
    // The job fails, and its log says why and by which request.
    const text = (await shown.textContent()) ?? "";
    const script = text.slice(text.indexOf("- |") + 3);
    const env = { ...process.env, VAULT_ADDR: server.address, JWT: "ey.secret" };
    const job = spawnSync("sh", ["-e"], { input: `${script}\necho went on`, env, encoding: "utf8" });
    expect([job.status, job.stdout]).toEqual([5, ""]);
    expect(job.stderr).toMatch(/HTTP\/1\.1 40\d [^,]+, X-Request-Id: [\w-]{36}, \S/i);
    expect(job.stderr).not.toContain("secret");
    await page.getByLabel("Address of Grove").fill("https://grove.example.com");
    await page.getByText("No other machine reaches").waitFor({ state: "detached" });
    expect(await shown.textContent()).toContain("VAULT_ADDR: https://grove.example.com\n");
    await page.getByLabel("Address of Grove").fill("grove.example.com");
    await page.getByText("As in https://grove.example.com.").waitFor();
  });

  it("opens a method that was just enabled where its next step is", async () => {
    await openPlace(page, "methods?new=1");
    await page.getByLabel("Type").selectOption("jwt");
    await page.getByLabel("Path").fill("by-hand");
    await page.getByRole("button", { name: "Enable", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "auth/by-hand/" }).waitFor();
    const tab = (name: string) => page.getByRole("link", { name, exact: true });
    await expect.poll(() => tab("Issuer").getAttribute("aria-current")).toBe("page");
    await page.getByLabel("Issuer, by discovery").waitFor();
    await tab("Roles").click();
    await page.getByText("No login works before “Issuer” is set").waitFor();
    await page.getByRole("link", { name: "Set it" }).waitFor();
    await expectAccessible(page);
    await api("POST", "auth/by-hand/config", { jwt_validation_pubkeys: PUBLIC_KEY });
    await openPlace(page, "methods/by-hand");
    await page.getByText("No roles yet").waitFor();
    expect(await tab("Roles").getAttribute("aria-current")).toBe("page");
    expect(await page.getByText("No login works before").count()).toBe(0);
  });

  it("changes one setting of an issuer or of a cluster, and leaves the others as they are", async () => {
    await api("POST", "sys/auth/kept", { type: "jwt" });
    await api("POST", "sys/auth/pods", { type: "kubernetes" });
    const cases: readonly (readonly [place: string, path: string, settings: object, field: string, name: string])[] = [
      [
        "kept?part=trust",
        "auth/kept/config",
        { jwt_validation_pubkeys: PUBLIC_KEY, bound_issuer: "https://a.example.com", namespace_in_state: false },
        "Role of logins that name none",
        "default_role",
      ],
      [
        "pods?part=cluster",
        "auth/pods/config",
        {
          kubernetes_host: "https://cluster.example.com",
          token_reviewer_jwt: "a.b.c",
          disable_iss_validation: false,
          disable_local_ca_jwt: true,
        },
        "Issuer that tokens must name",
        "issuer",
      ],
    ];
    for (const [place, path, settings, field, name] of cases) {
      await api("POST", path, settings);
      const before = (await api("GET", path)).body.data as object;
      await openPlace(page, `methods/${place}`);
      await page.getByLabel(field).fill("other");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Saved", { exact: true }).waitFor();
      expect((await api("GET", path)).body.data).toEqual({ ...before, [name]: "other" });
    }
  });

  it("does not call a list that had no answer refused, and has it at another attempt", async () => {
    await page.route("**/v1/auth/token/roles?list=true", (route) => route.abort(), { times: 1 });
    await openPlace(page, "new-token");
    await page.getByText("The list of roles was not read. You may still name one.").waitFor();
    await page.getByText("The server can't be reached.").waitFor();
    await page.getByRole("textbox", { name: "Name" }).fill("typed");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("combobox", { name: "Role" }).selectOption("shipper");
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("typed");
    // A role that allows aliases brings another field, and takes nothing away.
    await api("POST", "auth/token/roles/robots", { allowed_entity_aliases: "robot-*" });
    await openPlace(page, "tokens");
    await openPlace(page, "new-token");
    await page.getByRole("textbox", { name: "Name" }).fill("typed");
    await page.getByRole("combobox", { name: "Role" }).selectOption("robots");
    await page.getByLabel("Of whom").waitFor();
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("typed");
    expect(await page.getByRole("combobox", { name: "Role" }).inputValue()).toBe("robots");
  });

  it("says at the field what keeps a form from being sent, and goes there", async () => {
    const cases: readonly (readonly [place: string, button: string, field: string])[] = [
      ["policies?new=1", "Save", "Name"],
      ["policies/default", "Check", "Path"],
      ["new-token", "Make the token", "Policies"],
      ["methods?new=1", "Enable", "Path"],
      ["methods/by-hand?part=login-check", "Check the login", "Token or claims"],
    ];
    for (const [place, button, field] of cases) {
      await openPlace(page, place);
      await page.getByRole("button", { name: button, exact: true }).click();
      await expect.poll(() => focusedField(page), { message: place }).toBe(field);
      const described = page.getByRole("textbox", { name: field }).first();
      expect(await described.getAttribute("aria-invalid"), place).toBe("true");
      await expectAccessible(page);
    }
    // A name that is there already would change that role.
    await api("POST", "auth/token/roles/there", { token_period: "1h" });
    await openPlace(page, "methods/token?part=roles&new=1");
    await page.getByLabel("Role", { exact: true }).fill("there");
    await page.getByRole("button", { name: "Make the role" }).click();
    await page.getByText("There is there already: change it on its page, or choose another name").waitFor();
    await expect.poll(() => focusedField(page)).toBe("Role");
  });

  it("removes an irrevocable lease whose secret was taken back by hand, once its service is typed", async () => {
    const lease = {
      lease_id: "db/creds/app/x.1",
      mount_id: "db/",
      error: "the target answered 405",
      next_attempt: null,
    };
    const list = { data: { lease_count: 1, leases: [lease] } };
    const listOnce = () =>
      page.route("**/v1/sys/leases?type=failing*", (route) => route.fulfill({ json: list }), { times: 1 });
    await listOnce();
    const removed: string[] = [];
    await page.route("**/v1/sys/leases/revoke-force/**", (route) => {
      removed.push(new URL(route.request().url()).pathname);
      return route.fulfill({ status: 204 });
    });
    await openPlace(page, "leases?show=failing");
    const failing = page.getByRole("region", { name: "Leases that fail" });
    await failing.getByText("the target answered 405; irrevocable: nothing is sent any more").waitFor();
    await failing.getByRole("button", { name: "Remove…" }).click();
    const dialog = page.getByRole("dialog", { name: "Remove the lease" });
    await dialog.getByText("First take the secret back at db").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await dialog.getByText("Needed: nothing was sent.").waitFor();
    expect(removed).toEqual([]);
    await dialog.getByLabel("Type db to confirm").fill("db");
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await failing.getByText(/^None is irrevocable/).waitFor();
    expect(removed).toEqual(["/v1/sys/leases/revoke-force/db/creds/app/x.1"]);
    // Where the checks say that leases fail, they are made again.
    const check = { name: "leases", title: "Leases", state: "attention", advice: "", link: "" };
    const checksWith = (seen: string) => ({ data: { state: "attention", checks: [{ ...check, seen }] } });
    let checked = 0;
    await page.route("**/v1/sys/doctor*", (route) => {
      checked += 1;
      return route.fulfill({ json: checksWith(checked === 1 ? "one fails" : "none is left") });
    });
    await listOnce();
    await openPlace(page, "health");
    await page.getByText(": one fails").waitFor();
    await failing.getByRole("button", { name: "Remove…" }).click();
    await dialog.getByLabel("Type db to confirm").fill("db");
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText(": none is left").waitFor();
    await page.unroute("**/v1/sys/doctor*");
    await page.unroute("**/v1/sys/leases/revoke-force/**");
  });

  it("says of a button that does nothing now why", async () => {
    await openPlace(page, "methods/token?part=roles&name=there");
    const save = page.getByRole("button", { name: "Save", exact: true });
    await save.and(page.getByTitle("nothing is changed")).waitFor();
    await page.getByLabel("Uses").fill("3");
    await save.and(page.getByTitle("nothing is changed")).waitFor({ state: "detached" });
    await save.click();
    await page.getByText("Saved", { exact: true }).waitFor();
  });

  it("names fields as the API does, and gives what a form holds as a command that works", async () => {
    const role = { allowed_policies: "web", token_period: "1h", orphan: true };
    await api("POST", "auth/token/roles/copied", role);
    await openPlace(page, "methods/token?part=roles&name=copied");
    await page.getByText("token_explicit_max_ttl", { exact: true }).waitFor();
    await page.getByLabel("Uses").fill("7");
    await page.getByText("As a command").click();
    const shown = page.getByRole("status", { name: /^For / });
    expect(await shown.textContent()).toMatch(/^bao write auth\/token\/roles\/copied - <<'EOF'/);
    await page.getByText("Terraform", { exact: true }).click();
    expect(await shown.textContent()).toMatch(/^resource "vault_token_auth_backend_role" "copied" \{/);
    expect(await shown.textContent()).toMatch(/token_period +=\s3600\n/);
    await page.getByText("curl", { exact: true }).click();
    await expectAccessible(page);
    const command = (await shown.textContent()) ?? "";
    expect(command).not.toContain(server.rootToken);
    await api("DELETE", "auth/token/roles/copied");
    const env = { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken };
    execFileSync("bash", ["-c", command], { env, stdio: "pipe" });
    const made = (await api("GET", "auth/token/roles/copied")).body.data;
    expect(made).toMatchObject({ allowed_policies: ["web"], token_period: 3600, orphan: true, token_num_uses: 7 });
  });
});
