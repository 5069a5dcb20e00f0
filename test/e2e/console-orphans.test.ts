import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserPath, expectAccessible } from "./support/browser.ts";
import { openPlace } from "./support/console-page.ts";
import { type OpenedConsole, openConsole } from "./support/opened-console.ts";

const executable = browserPath();

interface Auth {
  readonly client_token: string;
  readonly accessor: string;
  readonly entity_id: string;
}

/** Somebody leaves an orphan, which outlives the token and the person that made it. */
describe.skipIf(executable === undefined)("orphans in the console", () => {
  let opened: OpenedConsole;
  let page: Page;

  beforeAll(async () => {
    opened = await openConsole(executable);
    ({ page } = opened);
    const policy = 'path "auth/token/create*" { capabilities = ["create", "update", "sudo"] }';
    await opened.send("POST", "sys/policies/acl/maker", { policy });
  });
  afterAll(async () => {
    await opened?.close();
    expect(opened.faults).toEqual([]);
  });

  const make = async (path: string, body: object, token?: string): Promise<Auth> => {
    const made = await opened.send("POST", path, body, token);
    expect(made.status).toBe(200);
    return made.body.auth as Auth;
  };
  const orphan = (name: string, policy: string, token?: string) =>
    make("auth/token/create-orphan", { display_name: name, policies: [policy], ttl: "1h" }, token);
  const isAlive = async ({ client_token: token }: Auth): Promise<boolean> =>
    (await opened.send("GET", "auth/token/lookup-self", undefined, token)).status === 200;

  it("says before and after the end of a token which orphans that it made stay, and ends them", async () => {
    const leaked = await orphan("leaked", "maker");
    await make("auth/token/create", { display_name: "child", ttl: "1h" }, leaked.client_token);
    const left = await orphan("left", "maker", leaked.client_token);
    const last = await orphan("last", "default", left.client_token);
    await openPlace(page, `tokens/${leaked.accessor}`);
    await page.getByRole("button", { name: "Revoke…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Orphans that they made stay: 2 tokens, with all below").waitFor();
    await dialog.getByRole("link", { name: "token-left" }).waitFor();
    await dialog.getByRole("link", { name: "token-last" }).waitFor();
    await expectAccessible(page);
    await page.getByLabel("Type token-leaked to confirm").fill("token-leaked");
    await page.getByRole("button", { name: "Revoke 2 tokens" }).click();
    await page.waitForURL(/receipts\//);
    const receipt = page.getByRole("region", { name: "What ended" });
    await receipt.getByText("All of these are refused: 2 of 2").waitFor();
    await receipt.getByText("Orphans that they made stay: 2 tokens, with all below").waitFor();
    expect([await isAlive(leaked), await isAlive(left), await isAlive(last)]).toEqual([false, true, true]);
    await expectAccessible(page);
    await receipt.getByRole("button", { name: "End these too…" }).click();
    await page.getByLabel("Type 2 to confirm").fill("2");
    await page.getByRole("button", { name: "Revoke 2 tokens" }).click();
    // Until the next receipt is there, the dialog and this one say the same.
    await dialog.waitFor({ state: "detached" });
    await receipt.getByText("All of these are refused: 2 of 2").waitFor();
    await receipt.getByText("The audit store has no live orphan that they made.").waitFor();
    expect([await isAlive(left), await isAlive(last)]).toEqual([false, false]);
  });

  it("says it of all that match a filter, and of a person", async () => {
    await opened.data("POST", "sys/auth/jobs", { type: "approle" });
    await opened.data("POST", "auth/jobs/role/web", { token_policies: "maker", token_ttl: "1h" });
    const { role_id } = await opened.data<{ role_id: string }>("GET", "auth/jobs/role/web/role-id");
    const { secret_id } = await opened.data<{ secret_id: string }>("POST", "auth/jobs/role/web/secret-id", {});
    const login = await make("auth/jobs/login", { role_id, secret_id });
    const kept = await orphan("kept", "default", login.client_token);
    await openPlace(page, `tokens?entity_id=${login.entity_id}`);
    await page.getByRole("button", { name: "Contain" }).click();
    await page.getByRole("dialog").getByText("Orphans that they made stay: 1 token, with all below").waitFor();
    await page.getByRole("button", { name: "Keep them" }).click();
    await openPlace(page, `identity?id=${login.entity_id}`);
    await page.getByRole("button", { name: "End its tokens…" }).click();
    await page.getByRole("dialog").getByText("Orphans that they made stay: 1 token, with all below").waitFor();
    await page.getByLabel(/^Type .* to confirm$/).fill(await typedName());
    await page.getByRole("button", { name: "End them" }).click();
    const receipt = page.getByRole("region", { name: "Its tokens have ended" });
    await receipt.getByText("Orphans that they made stay: 1 token, with all below").waitFor();
    await receipt.getByRole("link", { name: "token-kept" }).waitFor();
    expect([await isAlive(login), await isAlive(kept)]).toEqual([false, true]);
    await expectAccessible(page);
  });

  /** The name that the dialog asks for. */
  const typedName = async (): Promise<string> => {
    const label = await page.getByText(/^Type .* to confirm$/).textContent();
    return (label ?? "").replace(/^Type | to confirm$/g, "");
  };
});
