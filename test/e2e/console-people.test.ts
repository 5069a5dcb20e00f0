import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newIssuer } from "../support/issuer.ts";
import { browserPath, expectAccessible, openPage } from "./support/browser.ts";
import { openPlace, signIn } from "./support/console-page.ts";
import { type OpenedConsole, openConsole } from "./support/opened-console.ts";
import { call } from "./support/server.ts";

const executable = browserPath();

/** People whose provider names them by an id, and tokens of their team. */
describe.skipIf(executable === undefined)("people in the console", () => {
  let opened: OpenedConsole;
  let page: Page;

  beforeAll(async () => {
    opened = await openConsole(executable);
    ({ page } = opened);
  });
  afterAll(async () => {
    await opened?.close();
    expect(opened.faults).toEqual([]);
  });

  it("are listed and found by the name of their login, without a token too, and say why they are refused", async () => {
    const issuer = await newIssuer("EdDSA");
    await opened.data("POST", "sys/auth/people", { type: "jwt" });
    await opened.data("POST", "auth/people/config", { jwt_validation_pubkeys: [issuer.pem] });
    const role = { role_type: "jwt", user_claim: "sub", bound_audiences: ["grove"], claim_mappings: { name: "name" } };
    await opened.data("POST", "auth/people/role/staff", { ...role, token_ttl: "1h" });
    const jwt = await issuer.sign({ sub: "00u5-7f31", name: "Ann Example" });
    const login = () => opened.send("POST", "auth/people/login", { role: "staff", jwt });
    const { client_token: token, entity_id: id } = (await login()).body.auth as Record<string, string>;
    await opened.send("POST", "auth/token/revoke-self", {}, token);
    await opened.data("POST", `identity/entity/id/${id}`, { disabled: true });
    await opened.data("POST", "identity/group", { name: "on-call" });
    const refused = await fetch(`${opened.server.address}/v1/auth/people/login`, {
      method: "POST",
      body: JSON.stringify({ role: "staff", jwt }),
    });
    expect(refused.status).toBe(403);

    await openPlace(page, "identity");
    const listed = page
      .getByRole("region", { name: /^Entities/ })
      .getByRole("listitem")
      .filter({ hasText: "Ann Example" });
    await listed.getByText("disabled").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("on-c");
    await page.getByRole("group", { name: "Groups" }).getByRole("option", { name: "on-call" }).waitFor();
    await page.getByRole("combobox", { name: "Search" }).fill("Ann Ex");
    await page.getByRole("option", { name: /^Ann Example disabled/ }).click();
    await page.getByRole("region", { name: /^Entity Ann Example/ }).waitFor();
    await openPlace(page, `requests/${refused.headers.get("X-Request-Id")}`);
    await page.getByText(/The check entity failed: “The entity of the holder is disabled or can't be used.”/).waitFor();
  });

  it("with few rights read what they may not ask for, and send none of it", async () => {
    const made = await opened.send("POST", "auth/token/create", { policies: ["default"], ttl: "1h" });
    const { client_token: token } = made.body.auth as Record<string, string>;
    const { page: guest } = await openPage(opened.browser);
    await signIn(guest, opened.server, token ?? "");
    const refused: string[] = [];
    guest.on("response", (response) => response.status() === 403 && refused.push(response.url()));
    await openPlace(guest, "health");
    await guest.getByText("Not shown: your policies lack read and sudo on sys/doctor.").waitFor();
    await guest.getByText("Not shown: your policies lack list on sys/quotas/rate-limit.").waitFor();
    await openPlace(guest, "new-token");
    await guest.getByText("Your policies refuse the list of roles. You may still name one.").waitFor();
    expect(refused).toEqual([]);
    await guest.keyboard.press("Control+k");
    await guest.getByRole("combobox", { name: "Search" }).fill("payments");
    await guest.getByText(/No list of tokens was searched: your policies lack read and sudo on sys\/tokens/).waitFor();
    await guest.close();
  });

  it("are listed by the names that people read", async () => {
    await opened.send("POST", "sys/auth/listed", { type: "approle" });
    const mounts = (await opened.send("GET", "sys/auth")).body.data as Record<string, { readonly accessor: string }>;
    const made = await opened.send("POST", "identity/entity", {});
    const { id } = made.body.data as { readonly id: string };
    const alias = { name: "aaron", canonical_id: id, mount_accessor: mounts["listed/"]?.accessor };
    await opened.send("POST", "identity/entity-alias", alias);
    await opened.send("POST", "identity/entity", { name: "abel" });
    await opened.send("POST", "identity/entity", { name: "aachen" });
    await openPlace(page, "identity");
    const names = page.getByRole("region", { name: /^Entities/ }).getByRole("listitem");
    await names.filter({ hasText: "aaron" }).waitFor();
    const first = (await names.allInnerTexts()).filter((text) => /^(aa|ab)/.test(text));
    expect(first.map((text) => text.split(/\s/)[0])).toEqual(["aachen", "aaron", "abel"]);
  });

  it("are set up with the addresses for the provider before there is a client secret", async () => {
    await openPlace(page, "methods?setup=people");
    const returns = page.getByRole("region", { name: "Where the provider returns to" });
    await returns.getByText(`${opened.server.address}/ui/vault/auth/oidc/oidc/callback`).waitFor();
    await page.getByLabel("Path").fill("staff");
    await returns.getByText(`${opened.server.address}/ui/vault/auth/staff/oidc/callback`).waitFor();
    await expectAccessible(page);
  });

  it("are told which tokens of their team end, and get a record of it", async () => {
    const contentType = "application/vnd.api+json";
    const post = async (path: string, type: string, attributes: object): Promise<string> => {
      const body = { data: { type, attributes } };
      const answer = await call(opened.server, "POST", `/api/v2/${path}`, {
        ...{ token: opened.server.rootToken, contentType, body },
      });
      return (answer.body.data as { readonly id: string }).id;
    };
    await post("organizations", "organizations", { name: "acme", email: "admin@example.com" });
    const team = await post("organizations/acme/teams", "teams", { name: "platform" });
    const id = await post(`teams/${team}/authentication-tokens`, "authentication-tokens", { description: "laptop" });
    await openPlace(page, `teams/acme/${team}`);
    await page.getByRole("button", { name: "New token…" }).click();
    await page.getByRole("dialog").getByText("Without an end this token never ends").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("checkbox", { name: "Select laptop of platform" }).check();
    await page.getByRole("button", { name: "Revoke 1 token…" }).click();
    await page.getByRole("dialog").getByText(`laptop of platform ${id}`).waitFor();
    await page.getByLabel("Type 1 to confirm").fill("1");
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    const said = page.getByRole("status").filter({ hasText: "Revoked: 1 token of teams" });
    await said.getByText(/^By (?:root|token), /).waitFor();
    await expectAccessible(page);
    await said.getByRole("link", { name: "laptop of platform" }).click();
    const events = page.getByRole("region", { name: "The token that you looked for" }).getByRole("listitem");
    await events.filter({ hasText: `Deleted the team token ${id} by root` }).waitFor();
  });
});
