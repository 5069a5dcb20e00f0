import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserPath, expectAccessible, expectFitsWidths } from "./support/browser.ts";
import { openPlace, signIn } from "./support/console-page.ts";
import { expectReachable, focusedField } from "./support/keyboard.ts";
import { type OpenedConsole, openConsole } from "./support/opened-console.ts";

const executable = browserPath();

interface SecretIdFacts {
  readonly secret_id_num_uses: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly cidr_list: readonly string[];
}

describe.skipIf(executable === undefined)("AppRole in the console", () => {
  let opened: OpenedConsole;
  let page: Page;
  let send: OpenedConsole["send"];
  let data: OpenedConsole["data"];
  const asked: string[] = [];
  const secrets: string[] = [];

  beforeAll(async () => {
    opened = await openConsole(executable);
    ({ page, send, data } = opened);
    page.on("request", (request) => asked.push(request.url()));
    await send("POST", "sys/auth/jobs", { type: "approle" });
    await send("POST", "sys/policies/acl/deploy", { policy: 'path "deploy/*" { capabilities = ["read"] }' });
  });
  afterAll(async () => {
    await opened?.close();
    expect(opened.faults).toEqual([]);
  });

  const login = async (roleId: string, secretId: string) =>
    (await send("POST", "auth/jobs/login", { role_id: roleId, secret_id: secretId }, "")).status;
  const roleIdOf = async (name: string) =>
    (await data<{ role_id: string }>("GET", `auth/jobs/role/${name}/role-id`)).role_id;
  const lookUp = (accessor: string) =>
    data<SecretIdFacts>("POST", "auth/jobs/role/deploy/secret-id-accessor/lookup", { secret_id_accessor: accessor });
  const card = (name: string) => page.getByRole("region", { name, exact: true });
  const shownIn = async (name: string) =>
    (await page.getByRole("dialog").getByRole("status", { name }).textContent()) ?? "";
  /** A figure of the open dialog. */
  const figure = (label: string) =>
    page.getByRole("dialog").getByText(label, { exact: true }).locator("..").getByRole("definition").textContent();
  const rows = () => card("Secret-ids").getByRole("row", { name: /Destroy…/ });

  /** Fills in the form of a new secret-id and sends it. */
  async function makeSecretId(fields: Readonly<Record<string, string>>, handOver?: string): Promise<void> {
    await card("Secret-ids").getByRole("button", { name: "New secret-id…" }).click();
    const dialog = page.getByRole("dialog");
    if (handOver !== undefined) await dialog.getByLabel("Hand over").selectOption(handOver);
    for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(text);
    await dialog.getByRole("button", { name: "Make the secret-id" }).click();
  }

  it("says that a role is made, and shows its role-id and how a client logs in", async () => {
    await openPlace(page, "methods/jobs?part=roles&new=1");
    await page.getByLabel("Role", { exact: true }).fill("deploy");
    await page.getByLabel("Policies", { exact: true }).fill("deploy");
    await page.getByLabel("Logins of a secret-id").fill("5");
    await page.getByRole("button", { name: "Make the role" }).click();
    await page.getByText("The role deploy is made").waitFor();
    const roleId = await roleIdOf("deploy");
    const access = card("How a client logs in");
    await expect.poll(() => access.getByRole("status", { name: "Role-id" }).textContent()).toBe(roleId);
    // It is no field of the form, which would show an empty one.
    expect(await page.getByRole("textbox", { name: "Role-id" }).count()).toBe(0);
    const commands = await access.getByRole("status", { name: "By command" }).textContent();
    expect(commands).toContain(`export VAULT_ADDR=${opened.server.address}\n`);
    expect(commands).toContain(`bao write -field=token auth/jobs/login role_id=${roleId} secret_id=-`);
    await access.getByText("bao agent", { exact: true }).click();
    expect(await access.getByRole("status", { name: "bao agent" }).textContent()).toMatch(
      /mount_path = "auth\/jobs"[\s\S]*secret_id_response_wrapping_path = "auth\/jobs\/role\/deploy\/secret-id"\n/,
    );
    await openPlace(page, "methods/jobs?part=roles");
    await openPlace(page, "methods/jobs?part=roles&name=deploy");
    expect(await page.getByText("The role deploy is made").count()).toBe(0);
  });

  it("hands a secret-id over wrapped, shows it once, and does not lose it to Escape", async () => {
    await openPlace(page, "methods/jobs?part=roles&name=deploy");
    await page.getByText("No secret-ids yet").waitFor();
    await makeSecretId({ Metadata: "job=42", "Good for": "1h" });
    const dialog = page.getByRole("dialog", { name: "Wrapped secret-id made" });
    await dialog.getByText("Shown once").waitFor();
    const [wrapping, accessor] = [await shownIn("Wrapping token"), await shownIn("Accessor")];
    secrets.push(wrapping);
    // An agent compares the path that its configuration names.
    const found = (await send("POST", "sys/wrapping/lookup", {}, wrapping)).body.data;
    expect(found).toMatchObject({ creation_path: "auth/jobs/role/deploy/secret-id" });
    await expectAccessible(page);
    for (let times = 0; times < 3; times += 1) await page.keyboard.press("Escape");
    await dialog.getByText("Have you copied it?").waitFor();
    await dialog.getByRole("button", { name: "Yes, close" }).click();
    const unwrapped = (await send("POST", "sys/wrapping/unwrap", {}, wrapping)).body.data as {
      secret_id: string;
      secret_id_accessor: string;
    };
    expect(unwrapped.secret_id_accessor).toBe(accessor);
    expect(await login(await roleIdOf("deploy"), unwrapped.secret_id)).toBe(200);
    expect(await lookUp(accessor)).toMatchObject({ secret_id_num_uses: 4, metadata: { job: "42" } });
    await page.reload();
    await signIn(page, opened.server, opened.server.rootToken);
    await openPlace(page, "methods/jobs?part=roles&name=deploy");
    await rows()
      .filter({ hasText: accessor.slice(-10) })
      .filter({ hasText: "job=42" })
      .getByText("4", { exact: true })
      .waitFor();
  });

  it("shows a secret-id in plain when that is asked, and the server's refusal of one that its role excludes", async () => {
    await makeSecretId({ Logins: "9" }, "");
    await page.getByText("num_uses cannot be higher than the role's secret_id_num_uses").waitFor();
    await page.getByRole("dialog").getByLabel("Logins", { exact: true }).fill("2");
    await page.getByRole("dialog").getByLabel("Networks of logins").fill("10.0.0.0/8");
    await page.getByRole("button", { name: "Make the secret-id" }).click();
    await page.getByRole("dialog", { name: "Secret-id made" }).waitFor();
    const [secretId, accessor] = [await shownIn("Secret-id"), await shownIn("Accessor")];
    await page.getByRole("button", { name: "Done" }).click();
    const row = rows().filter({ hasText: accessor.slice(-10) });
    await row.getByText("10.0.0.0/8").waitFor();
    const found = await data<{ secret_id_accessor: string }>("POST", "auth/jobs/role/deploy/secret-id/lookup", {
      secret_id: secretId,
    });
    expect(found.secret_id_accessor).toBe(accessor);
    // Neither it nor a wrapping token is in an address.
    secrets.push(secretId);
    expect(asked.filter((url) => secrets.some((one) => url.includes(one)))).toEqual([]);
  });

  it("checks a login by the accessor of a secret-id, which costs it no use", async () => {
    const { secret_id_accessor: accessor } = await data<{ secret_id_accessor: string }>(
      "POST",
      "auth/jobs/role/deploy/secret-id",
      { num_uses: 3 },
    );
    await openPlace(page, "methods/jobs?part=login-check");
    const check = page.getByRole("button", { name: "Check the login" });
    await page.getByLabel("Role", { exact: true }).fill("nobody");
    await check.click();
    await page.getByText("There is no role nobody.").waitFor();
    await page.getByLabel("Role", { exact: true }).fill("deploy");
    await check.click();
    await page.getByText("missing secret_id").waitFor();
    await page.getByLabel("Accessor of a secret-id").fill(accessor);
    await check.click();
    await page.getByText("This login gets a token").waitFor();
    expect((await lookUp(accessor)).secret_id_num_uses).toBe(3);
    await expectAccessible(page);
  });

  it("destroys a secret-id by its accessor, after a question", async () => {
    const made = await data<{ secret_id: string; secret_id_accessor: string }>(
      "POST",
      "auth/jobs/role/deploy/secret-id",
      {},
    );
    const { secret_id: secretId, secret_id_accessor: accessor } = made;
    expect(await login(await roleIdOf("deploy"), secretId)).toBe(200);
    await openPlace(page, "methods/jobs?part=roles&name=deploy");
    const row = rows().filter({ hasText: accessor.slice(-10) });
    await row.getByRole("button", { name: "Destroy…" }).click();
    const dialog = page.getByRole("dialog", { name: "Destroy the secret-id" });
    await expect.poll(() => figure("Tokens of its logins that stay")).toBe("1");
    expect(await figure("Tokens that end with it")).toBe("0");
    await dialog.getByText("The tokens that it gave stay until they end.").waitFor();
    await dialog.getByRole("button", { name: "Destroy", exact: true }).click();
    await expect.poll(() => focusedField(page)).toBe(`Type ${accessor.slice(-6)} to confirm`);
    expect(await login(await roleIdOf("deploy"), secretId)).toBe(200);
    // The way to the tokens that it gave.
    const logins = dialog.getByRole("link", { name: "Its logins, and the tokens that they made" });
    const address = (await logins.getAttribute("href")) ?? "";
    await dialog.getByRole("textbox").fill(accessor.slice(-6));
    await dialog.getByRole("button", { name: "Destroy", exact: true }).click();
    await row.waitFor({ state: "detached" });
    expect(await login(await roleIdOf("deploy"), secretId)).toBe(400);
    await openPlace(page, address.replace(/^\/ui\//, ""));
    const events = card(`Events of ${accessor}`).getByRole("listitem");
    await events
      .filter({ hasText: "A login at auth/jobs/ with the role deploy" })
      .getByRole("link", { name: /jobs/ })
      .first()
      .waitFor();
  });

  it("says first how many tokens end with a secret-id, where its role says that they do", async () => {
    await send("POST", "sys/policies/acl/maker", { policy: 'path "auth/token/create" { capabilities = ["update"] }' });
    await data("POST", "auth/jobs/role/tied", { token_policies: "maker" });
    const roleId = await roleIdOf("tied");
    const made = await data<{ secret_id: string; secret_id_accessor: string }>(
      "POST",
      "auth/jobs/role/tied/secret-id",
      {},
    );
    // The token of this login stays.
    expect(await login(roleId, made.secret_id)).toBe(200);
    await data("POST", "auth/jobs/role/tied", { token_ends_with_secret_id: true });
    const answers = [1, 2].map(() =>
      send("POST", "auth/jobs/login", { role_id: roleId, secret_id: made.secret_id }, ""),
    );
    const [first] = await Promise.all(answers);
    const { client_token: token } = (first?.body.auth ?? {}) as Record<string, string>;
    expect((await send("POST", "auth/token/create", {}, token)).status).toBe(200);
    await openPlace(page, "methods/jobs?part=roles&name=tied");
    await rows().getByRole("button", { name: "Destroy…" }).click();
    await expect.poll(() => figure("Tokens that end with it")).toBe("3");
    expect(await figure("Leases that end")).toBe("0");
    expect(await figure("Tokens of its logins that stay")).toBe("1");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Keep it" }).click();
    // The deletion of the role ends the same tokens.
    await card("Role tied").getByRole("button", { name: "Delete…" }).click();
    await expect.poll(() => figure("Tokens that end with it")).toBe("3");
    await page.getByRole("dialog").getByText("3 live tokens came by it.").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Keep it" }).click();
  });

  it("lists secret-ids page by page, and is within reach and readable at every width", async () => {
    await data("POST", "auth/jobs/role/many", { token_policies: "deploy", token_ends_with_secret_id: true });
    await Promise.all(Array.from({ length: 21 }, () => data("POST", "auth/jobs/role/many/secret-id", {})));
    await openPlace(page, "methods/jobs?part=roles&name=many");
    await expect.poll(() => rows().count()).toBe(20);
    const first = await rows().allTextContents();
    await card("Secret-ids").getByRole("button", { name: "Next" }).click();
    await expect.poll(() => rows().count()).toBe(1);
    const [last = ""] = await rows().allTextContents();
    expect(first).not.toContain(last);
    await rows().getByText("no limit").waitFor();
    await rows().getByText("never").waitFor();
    await rows().getByRole("button", { name: "Destroy…" }).click();
    await page.getByText("The tokens that it gave end with it, and everything below them.").waitFor();
    await page.getByRole("button", { name: "Keep it" }).click();
    await expectReachable(page);
    await expectFitsWidths(page);
    await card("Secret-ids").getByRole("button", { name: "Back" }).click();
    await expect.poll(() => rows().count()).toBe(20);
  });

  it("asks for no secret-id where a role needs none", async () => {
    await data("POST", "auth/jobs/role/open", {
      token_policies: "deploy",
      bind_secret_id: false,
      secret_id_bound_cidrs: "127.0.0.0/8",
    });
    await openPlace(page, "methods/jobs?part=roles&name=open");
    await card("Secret-ids").getByText("This role needs none").waitFor();
    expect(await page.getByRole("button", { name: "New secret-id…" }).count()).toBe(0);
    const commands = await card("How a client logs in").getByRole("status", { name: "By command" }).textContent();
    expect(commands).not.toMatch(/secret_id/);
    await openPlace(page, "methods/jobs?part=login-check");
    await page.getByLabel("Role", { exact: true }).fill("open");
    await page.getByRole("button", { name: "Check the login" }).click();
    await page.getByText("This login gets a token").waitFor();
  });

  it("ends all tokens of the method: the number before, and what their trees say after", async () => {
    expect((await send("POST", "auth/jobs/login", { role_id: await roleIdOf("open") }, "")).status).toBe(200);
    await openPlace(page, "methods/jobs");
    await page.getByRole("button", { name: "End all tokens…" }).click();
    const dialog = page.getByRole("dialog");
    await expect.poll(async () => Number(await figure("Tokens that end, with all below"))).toBeGreaterThan(1);
    const matching = await figure("Tokens that match");
    await dialog.getByLabel("Type jobs to confirm").fill("jobs");
    await dialog.getByRole("button", { name: "End them" }).click();
    const receipt = card("All tokens of auth/jobs/");
    await receipt.getByText(`All of these are refused: ${matching} of ${matching}`).waitFor();
    await expectAccessible(page);
    await expectReachable(page);
    await openPlace(page, "health");
    await card("Revocations of many").getByRole("link", { name: "receipt" }).first().click();
    await receipt
      .getByText(/^All .* (are refused|can no longer be used)/)
      .first()
      .waitFor();
  });
});
