import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserPath, expectAccessible, expectFitsWidths, openPage } from "./support/browser.ts";
import { openPlace, picture, signIn } from "./support/console-page.ts";
import { expectReachable } from "./support/keyboard.ts";
import { type OpenedConsole, openConsole } from "./support/opened-console.ts";
import type { RunningServer } from "./support/server.ts";

const executable = browserPath();

interface Auth {
  readonly client_token: string;
  readonly accessor: string;
  readonly entity_id: string;
}

/** A login makes an orphan, which reads, is refused, makes a token, is renewed, and is ended by somebody else. */
describe.skipIf(executable === undefined)("timelines in the console", () => {
  let opened: OpenedConsole;
  let server: RunningServer;
  let browser: Browser;
  let page: Page;
  let login: Auth;
  let leaked: Auth;
  let child: Auth;
  /** Of the secret-id of the login. */
  let secretIdAccessor = "";
  /** Id of the request that was refused. */
  let refused = "";

  const api = async (method: string, path: string, body?: unknown, token = server.rootToken) => {
    const answer = await opened.send(method, path, body, token);
    expect(answer.status, path).toBeLessThan(300);
    return answer.body as { readonly auth: Auth; readonly data: Readonly<Record<string, unknown>> };
  };

  /** The id that a client is given whose token may not write a policy. */
  const refusedId = async (path: string, token: string): Promise<string> => {
    const body = JSON.stringify({ policy: 'path "*" { capabilities = ["sudo"] }' });
    const headers = { "X-Vault-Token": token };
    const answer = await fetch(`${server.address}/v1/${path}`, { method: "POST", headers, body });
    expect(answer.status).toBe(403);
    return answer.headers.get("X-Request-Id") ?? "";
  };

  beforeAll(async () => {
    opened = await openConsole(executable);
    ({ server, browser, page } = opened);
    await plant();
  });
  afterAll(async () => {
    await opened?.close();
    expect(opened.faults).toEqual([]);
  });

  const plant = async (): Promise<void> => {
    const maker = 'path "auth/token/create*" { capabilities = ["create", "update", "sudo"] }';
    await api("POST", "sys/policies/acl/maker", { policy: maker });
    await api("POST", "sys/auth/jobs", { type: "approle" });
    await api("POST", "auth/jobs/role/web", { token_policies: "maker", token_ttl: "1h" });
    const { role_id } = (await api("GET", "auth/jobs/role/web/role-id")).data;
    const { secret_id, secret_id_accessor } = (await api("POST", "auth/jobs/role/web/secret-id", {})).data;
    secretIdAccessor = String(secret_id_accessor);
    login = (await api("POST", "auth/jobs/login", { role_id, secret_id })).auth;
    const orphan = { display_name: "leaked", policies: ["default", "maker"], ttl: "1h" };
    leaked = (await api("POST", "auth/token/create-orphan", orphan, login.client_token)).auth;
    const text = leaked.client_token;
    for (let read = 0; read < 3; read++) await api("GET", "auth/token/lookup-self", undefined, text);
    child = (await api("POST", "auth/token/create", { display_name: "child", ttl: "30m" }, text)).auth;
    await api("POST", "auth/token/renew-self", {}, text);
    await api("POST", "auth/token/renew-self", {}, child.client_token);
    refused = await refusedId("sys/policies/acl/more", text);
    const onCall = (await api("POST", "auth/token/create", { display_name: "on-call" })).auth;
    await api("POST", "auth/token/revoke-accessor", { accessor: leaked.accessor }, onCall.client_token);
    expect((await opened.send("POST", "auth/token/create", {}, text)).status).toBe(403);
  };

  const card = (name: string | RegExp) => page.getByRole("region", { name });
  const entry = (text: string | RegExp) => card("Timeline").getByRole("listitem").filter({ hasText: text });
  const search = async (text: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill(text);
  };

  it("says of a token that is dead who made it, what it did and from where, and who ended it", async () => {
    await search(leaked.client_token);
    await page.getByRole("option", { name: /ended: revoked/ }).click();
    await entry(/^ended.*Revoked by token-on-call/).waitFor();
    await entry(/^refused.*update sys\/policies\/acl\/more.*403: .*permission denied/).waitFor();
    await entry(/^renewed.*Renewed by itself/).waitFor();
    await entry(/^made.*Made token-child at auth\/token\/create/).waitFor();
    await entry(/^made.*Made at auth\/token\/create-orphan by jobs.*from 127\.0\.0\.1/).waitFor();
    expect(await entry(/^ended/).count()).toBe(1);
    await card("Tried with it after its end").getByText("without a valid token").waitFor();
    await picture(page, "console-timeline");
    const makers = card("Made by").getByRole("listitem");
    await makers.filter({ hasText: /at auth\/token\/create-orphan/ }).waitFor();
    await makers.filter({ hasText: /a login at auth\/jobs\/ with the role web as / }).waitFor();
    await card("Used from")
      .getByRole("row", { name: /127\.0\.0\.1 3/ })
      .waitFor();
    await page.setViewportSize({ width: 1440, height: 800 });
    const widths = card("Used from")
      .locator(".scroll")
      .evaluate((table) => [table.scrollWidth, table.clientWidth]);
    const [whole = 0, shown = 0] = await widths;
    expect(whole).toBeLessThanOrEqual(shown);
    await page.setViewportSize({ width: 1280, height: 800 });
    // The child's own requests are no events of the token.
    const ofChild = entry(/^renewed.*token-child/);
    expect(await ofChild.count()).toBe(0);
    await card("Timeline").getByText("With everything below", { exact: true }).click();
    await ofChild.waitFor();
    await entry(/^ended.*Revoked by token-on-call/).waitFor();
    await expectAccessible(page);
    await card("Timeline").getByText("This token", { exact: true }).click();
    await card("All that it made").getByRole("button", { name: "Show what hangs below it" }).click();
    await card("All that it made").getByRole("link", { name: "token-child" }).click();
    await page.waitForURL(new RegExp(child.accessor));
    await card("Made by").getByText("a login").waitFor();
  });

  it("has timelines of a role and an entity, and each page is within reach and readable at every width", async () => {
    await openPlace(page, "methods/jobs?part=roles&name=web");
    await entry(/^login.*A login at auth\/jobs\/ with the role web as .* made jobs/).waitFor();
    await entry(/^changed.*Wrote the role web of auth\/jobs\/ by root/).waitFor();
    const made = entry(/^changed.*role\/web\/secret-id of .* by root/);
    await made.getByText(secretIdAccessor, { exact: true }).waitFor();
    // It is no token: it has no page.
    expect(await made.getByRole("link", { name: secretIdAccessor }).count()).toBe(0);
    await openPlace(page, `identity?id=${login.entity_id}`);
    await entry(/^made.*Made token-leaked at auth\/token\/create-orphan by jobs/).waitFor();
    await card("Timeline").getByText("Refused", { exact: true }).click();
    await card("Timeline").getByText("No event of this kind").waitFor();
    await openPlace(page, `tokens/${leaked.accessor}`);
    await card("Timeline").getByText("Refused", { exact: true }).click();
    await expect.poll(() => entry(/^(?:made|renewed|ended)/).count()).toBe(0);
    await entry(/^refused/).waitFor();
    for (const place of [`tokens/${leaked.accessor}`, "audit", `requests/${refused}`]) {
      await openPlace(page, place);
      await expectReachable(page);
      await expectFitsWidths(page);
    }
  });

  it("leads from the id of a refused request to the reason, and to the policy that would allow it", async () => {
    await search(refused);
    await page.getByRole("option", { name: new RegExp(`Request ${refused}`) }).click();
    await page.getByRole("heading", { level: 1, name: "Request" }).waitFor();
    await card("What was asked").getByText("sys/policies/acl/more").first().waitFor();
    await card("Who asked").getByRole("link", { name: "token-leaked" }).waitFor();
    await card("Why it was refused").getByText("The policies that it had grant nothing there").waitFor();
    await openPlace(page, "audit");
    const alive = (await api("POST", "auth/token/create", { policies: ["default"], display_name: "alive" })).auth;
    const id = await refusedId("sys/policies/acl/other", alive.client_token);
    await page.getByLabel("Request id, address, name, accessor or path").fill(id);
    await picture(page, "console-audit");
    await page.getByRole("button", { name: "Find", exact: true }).click();
    await page.waitForURL(new RegExp(`requests/${id}`));
    await card("Why it was refused").getByText("update of sys/policies/acl/other: refused").waitFor();
    const policy = await card("Why it was refused").getByRole("status", { name: "Policy" }).textContent();
    expect(policy).toMatch(/path "sys\/policies\/acl\/other" \{\s+capabilities = \["update"\]/);
  });

  it("opens the search before the next key, so that nothing that is typed is lost", async () => {
    await openPlace(page, "session");
    // Within the task of the key: no picture and no other event comes between.
    const focused = await page.evaluate(`(async () => {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
      for (let at = 0; at < 20; at++) await null;
      return document.activeElement.getAttribute("aria-label");
    })()`);
    expect(focused).toBe("Search");
    await page.keyboard.press("Escape");
  });

  it("finds a request by a line that names its id, in two actions, and says where it is when it is not stored", async () => {
    const alive = (await api("POST", "auth/token/create", { policies: ["default"], display_name: "alive" })).auth;
    const id = await refusedId("sys/policies/acl/another", alive.client_token);
    // Enter waits for the answer, and opens nothing that was found for the text before.
    await search("token-alive");
    await page
      .getByRole("option", { name: /token-alive/ })
      .first()
      .waitFor();
    const line = `HTTP/1.1 403 Forbidden, X-Request-Id: ${id}, permission denied`;
    await page.getByRole("combobox", { name: "Search" }).fill(line);
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`requests/${id}`));
    await card("Why it was refused").getByText("update of sys/policies/acl/another: refused").waitFor();

    const none = "00000000-0000-4000-8000-000000000000";
    // An event that is stored late is found without another click.
    const own = `sys/audit/events?limit=1&request_id=${id}`;
    const late = (await opened.send("GET", own)).body;
    const events = `**/audit/events?*${none}*`;
    await page.route(events, (route) => route.fulfill({ json: late }), { times: 1 });
    // The last one that is set is asked first.
    await page.route(events, (route) => route.fulfill({ json: { data: { events: [], next: "" } } }), { times: 1 });
    await openPlace(page, `requests/${none}`);
    await card("The store has no event with this id")
      .getByText(/^A refusal is stored within ten seconds/)
      .waitFor();
    await card("Why it was refused").waitFor();
    await page.unroute(events);

    await openPlace(page, "requests/00000000-0000-4000-8000-000000000001");
    const missing = card("The store has no event with this id");
    await missing.getByText("Events are kept for 30 days").waitFor();
    const command = await missing.getByRole("status", { name: "In the log" }).textContent();
    expect(command).toContain("00000000-0000-4000-8000-000000000001");
    await expectFitsWidths(page);
    await expectReachable(page);
    const off = { errors: ["the audit store is off: the deployment sets AUDIT_STORE"] };
    await page.route("**/audit/events?*", (route) => route.fulfill({ status: 400, json: off }));
    await openPlace(page, `requests/${none}`);
    await card("Nothing is stored").getByText("the audit store is off").waitFor();
    await page.unroute("**/audit/events?*");
  });

  it("puts no secret-id into an address, whether it is known, no longer known, or looked for as a request", async () => {
    const { secret_id, secret_id_accessor } = (await api("POST", "auth/jobs/role/web/secret-id", {})).data;
    await api("POST", "auth/jobs/role/web/secret-id/destroy", { secret_id });
    const asked: string[] = [];
    const keep = (request: { url(): string }): number => asked.push(request.url());
    page.on("request", keep);
    await openPlace(page, "session");
    await search(String(secret_id));
    await page.getByText(/^No request is known by this id\. It may be a secret-id/).waitFor();
    expect(await page.getByRole("option").count()).toBe(0);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await openPlace(page, "tokens");
    await page.getByRole("searchbox", { name: "Search" }).fill(String(secret_id));
    await page.keyboard.press("Enter");
    await page.getByText("Nothing is known by this id. It may be a secret-id").waitFor();
    await openPlace(page, "audit");
    await page.getByLabel("Request id, address, name, accessor or path").fill(String(secret_id));
    await page.getByRole("button", { name: "Find", exact: true }).click();
    const missing = card("The store has no event with this id");
    expect(await missing.getByRole("status", { name: "In the log" }).textContent()).toContain(String(secret_id));
    expect([page.url(), ...asked].filter((url) => url.includes(String(secret_id)))).toEqual([]);
    page.off("request", keep);
    // Its accessor is no secret, and leads to what is recorded of it.
    await openPlace(page, "session");
    await search(String(secret_id_accessor));
    await page.getByRole("option", { name: /^Events of the secret-id with this accessor/ }).waitFor();
    await page.getByRole("option", { name: /^web/ }).click();
    await page.getByText("is not among these any more").waitFor();
    // The entity of a role's logins is named after its role-id.
    const { role_id } = (await api("GET", "auth/jobs/role/web/role-id")).data;
    await search(String(role_id));
    await page.getByRole("option", { name: new RegExp(`${role_id}.*auth/jobs/`) }).waitFor();
    expect(await page.getByRole("option", { name: /^Request/ }).count()).toBe(0);
    await page.keyboard.press("Escape");
    await expectFitsWidths(page);
    await expectReachable(page);
  });

  it("finds the events of an accessor, or of a name of an ended token, and keeps the question when only a time is new", async () => {
    const { page: other, faults } = await openPage(browser);
    await signIn(other, server, server.rootToken);
    const field = other.getByLabel("Request id, address, name, accessor or path");
    const find = async (text: string): Promise<void> => {
      await openPlace(other, "session");
      await openPlace(other, "audit");
      await other.getByLabel(/^From/).fill("2026-01-01T00:00");
      await field.fill(text);
      await other.getByRole("button", { name: "Find", exact: true }).click();
    };
    const events = (name: string) => other.getByRole("region", { name });
    await find(child.accessor);
    await other.waitForURL(new RegExp(`actor=${child.accessor}.*since=`));
    await find("token-leaked");
    await other.waitForURL(new RegExp(`actor=${leaked.accessor}.*since=`));
    await events("Events by token-leaked").getByText("sys/policies/acl/more").first().waitFor();
    // Only another time is asked for.
    await other.getByLabel(/^From/).fill("2026-02-01T00:00");
    await other.getByRole("button", { name: "Find", exact: true }).click();
    await other.waitForURL(new RegExp(`actor=${leaked.accessor}.*since=2026-0(?:1-3|2)`));
    // A time that ends before it begins is a mistake, and not a time without events.
    await other.getByLabel(/^To/).fill("2026-01-02T00:00");
    await other.getByRole("button", { name: "Find", exact: true }).click();
    await other.getByText("Not after From: no event is in between").waitFor();
    await expect.poll(() => other.getByLabel(/^To/).and(other.locator(":focus")).count()).toBe(1);
    expect(other.url()).not.toContain("until=");
    await other.getByLabel(/^To/).fill("");
    // The kind of the events is in the address too, and the choice keeps the focus.
    const choice = (name: string) => other.getByRole("radio", { name, exact: true });
    const asked = other.waitForRequest(/audit\/events\?.*kind=refusal/);
    await choice("Refused").check({ force: true });
    await asked;
    expect(other.url()).toMatch(/actor=.*kind=refusal%2Cfault/);
    expect(await choice("Refused").and(other.locator(":focus")).count()).toBe(1);
    await other.goBack();
    expect(other.url()).not.toContain("kind=");
    await expect.poll(() => choice("All").isChecked()).toBe(true);
    await find(`Error: GET ${server.address}/v1/sys/policies/acl/more Code: 403. permission denied`);
    await other.waitForURL(/path=sys%2Fpolicies%2Facl%2Fmore.*since=/);
    await find("nobody-has-this-name");
    await other
      .getByText(/^No entity, live token or lately ended token that you may read has exactly this name/)
      .waitFor();
    expect(other.url()).not.toContain("path=");
    await expectAccessible(other);
    expect(faults).toEqual([]);
    await other.close();
  });

  it("finds by their ids and paths what lists show by name", async () => {
    const group = (await api("POST", "identity/group", { name: "on-call" })).data;
    const mounts = (await api("GET", "sys/auth")).data as Record<string, { readonly accessor: string }>;
    const holder = (await api("POST", "auth/token/create", { ttl: "5m" })).auth.client_token;
    const target = "https://no-such-host.example.com/revoke";
    await api("POST", "sys/leases/register", { token: holder, path: "db/creds/app", ttl: "5m", target });
    const { page: other, faults } = await openPage(browser);
    await signIn(other, server, server.rootToken);
    await other.keyboard.press("Control+k");
    const option = async (text: string, name: RegExp): Promise<void> => {
      await other.getByRole("combobox", { name: "Search" }).fill(text);
      await other.getByRole("option", { name }).first().waitFor();
    };
    await option(String(group.id), /^on-call/);
    await option(mounts["jobs/"]?.accessor ?? "", /^auth\/jobs\//);
    await option("auth/jobs/role/web", /^web auth\/jobs\//);
    await option("db/creds", /^Leases below db\/creds\//);
    await other.keyboard.press("Enter");
    await other.waitForURL(/leases\?prefix=db%2Fcreds%2F/);
    expect(faults).toEqual([]);
    await other.close();
  });

  it("says of a refused login in words at which method it was, and for which role", async () => {
    const { role_id } = (await api("GET", "auth/jobs/role/web/role-id")).data;
    const body = JSON.stringify({ role_id, secret_id: "none" });
    const answer = await fetch(`${server.address}/v1/auth/jobs/login`, { method: "POST", body });
    expect(answer.status).toBe(400);
    await openPlace(page, `requests/${answer.headers.get("X-Request-Id")}`);
    const why = card("Why it was refused");
    await why.getByText("It was a login at the approle method auth/jobs/ with the role web.").waitFor();
    await why.getByText(/The check secret_id failed: “The role has no such secret-id/).waitFor();
    await why.getByRole("link", { name: "Refused logins of jobs" }).waitFor();
    await card("What was asked").getByText("at auth/jobs/ with the role web").waitFor();
    await expectAccessible(page);
  });

  it("says of a request with an ended token which one it was, and finds it by its id or the beginning of that", async () => {
    const id = await refusedId("sys/policies/acl/late", leaked.client_token);
    await openPlace(page, "audit");
    const events = card("Events");
    await events.getByRole("link", { name: id, exact: true }).waitFor();
    const field = page.getByLabel("Request id, address, name, accessor or path");
    await field.fill("00000000");
    await page.getByRole("button", { name: "Find", exact: true }).click();
    await page.getByText(/^No request of the last 1,000 events begins so/).waitFor();
    await expectAccessible(page);
    await field.fill(id.slice(0, 8));
    await page.getByRole("button", { name: "Find", exact: true }).click();
    await page.waitForURL(new RegExp(`requests/${id}`));
    const why = card("Why it was refused");
    await why.getByText(/^Its token had ended: it was token-leaked/).waitFor();
    await expectAccessible(page);
    await why.getByRole("link", { name: "token-leaked" }).click();
    await page.waitForURL(new RegExp(`tokens/${leaked.accessor}`));
    await search(id.slice(0, 8));
    await page.getByRole("option", { name: `Request ${id}` }).waitFor();
    await page.keyboard.press("Escape");
    // One form of a time, in the search too.
    await search(leaked.client_token);
    await page.getByText(/^This token has ended.*20\d\d, \d+:\d\d:\d\d.[AP]M \S+ by/).waitFor();
    await page.keyboard.press("Escape");
  });

  it("says which policy a token lacks that may not read events, and shows all else", async () => {
    const rules = 'path "sys/tokens/*" { capabilities = ["read", "sudo"] }';
    await api("POST", "sys/policies/acl/lists", { policy: rules });
    const body = { policies: ["lists", "default"], display_name: "helper" };
    const helper = (await api("POST", "auth/token/create", body)).auth;
    const { page: other, faults } = await openPage(browser);
    await signIn(other, server, helper.client_token);
    await openPlace(other, `tokens/${leaked.accessor}`);
    await other.getByText("This token has ended: revoked").waitFor();
    const timeline = other.getByRole("region", { name: "Timeline" });
    await timeline.getByText("Refused by the policies of your token").waitFor();
    const policy = await timeline.getByRole("status", { name: "Policy" }).textContent();
    expect(policy).toMatch(/path "sys\/audit\/events" \{\s+capabilities = \["read", "sudo"\]/);
    await expectAccessible(other);
    expect(faults).toEqual([]);
    await other.close();
  });
});
