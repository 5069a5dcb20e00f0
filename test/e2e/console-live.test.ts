import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DocumentSigner, documentOf } from "../support/cloud-login.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../support/fake-cloud/server.ts";
import { ISSUER, newIssuer } from "../support/issuer.ts";
import { browserPath, expectAccessible, openPage, startBrowser, type WatchedPage } from "./support/browser.ts";
import { signIn, visit } from "./support/console-page.ts";
import { call, killWhole, type RunningServer, startServe } from "./support/server.ts";

const executable = browserPath();
const HOME = "111111111111";
const SECRETS = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
};

/** What the console shows of others: a cloud, who is told of tokens that end, and a server that is killed. */
describe.skipIf(executable === undefined)("the console beside other services", () => {
  const cloud = new FakeCloud();
  const signer = new DocumentSigner();
  let data: string;
  let env: Readonly<Record<string, string>>;
  let cloudServer: CloudServer;
  let hook: Server;
  let server: RunningServer;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "grove-e2e-"));
    cloudServer = await serveCloud(cloud);
    // The server asks the cloud with the role of the machine that it runs on.
    cloud.world.addRole(HOME, "Machine");
    hook = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
    env = { ...SECRETS, AWS_EC2_METADATA_SERVICE_ENDPOINT: cloudServer.endpoint };
    server = await startServe({ data, env, flags: ["--allow-private-host=127.0.0.1"] });
    browser = await startBrowser(executable ?? "");
    watched = await openPage(browser);
    page = watched.page;
    await signIn(page, server, server.rootToken);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    await cloudServer?.close();
    hook?.close();
    hook?.closeAllConnections();
    await rm(data, { recursive: true, force: true });
  });
  beforeEach(() => expect(watched.faults).toEqual([]));

  const write = async (path: string, body: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer = await call(server, "POST", `/v1/${path}`, { token: server.rootToken, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();

  it("explains a login that passes: each check in its order, and the token that it would get", async () => {
    const { endpoint } = cloudServer;
    await write("sys/auth/aws", { type: "aws" });
    await write("auth/aws/config/client", { endpoint, iam_endpoint: endpoint, sts_endpoint: endpoint });
    await write("auth/aws/config/certificate/own", { aws_public_cert: signer.pem, type: "pkcs7" });
    await write("auth/aws/role/web", { auth_type: "ec2", bound_account_id: HOME, token_policies: "web,deploy" });
    const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
    const body = { role: "web", pkcs7, nonce: "first" };
    const told = await write("auth/aws/explain/login", body);
    const { checks } = told.data as { checks: { description: string; outcome: string }[] };
    expect(checks.filter(({ outcome }) => outcome !== "passed")).toEqual([]);

    await visit(page, "Auth methods");
    await page.getByRole("link", { name: "auth/aws/" }).click();
    await page.getByRole("link", { name: "Login check" }).click();
    await page.getByLabel("Identity").fill(JSON.stringify(body));
    await page.getByRole("button", { name: "Check the login" }).click();
    await shows("This login gets a token");
    const rows = page.getByRole("region", { name: "Checks, in the order of a login" }).getByRole("listitem");
    expect(await rows.count()).toBe(checks.length);
    for (const [at, { description }] of checks.entries()) {
      expect(await rows.nth(at).textContent()).toMatch(/^\s*passed/);
      expect(await rows.nth(at).textContent()).toContain(description);
    }
    await expectAccessible(page);
  });

  it("explains a login by JWT claim by claim, and lists the logins that were refused", async () => {
    const issuer = await newIssuer("ES256", "key-1");
    await write("sys/auth/ci", { type: "jwt" });
    await write("auth/ci/config", { jwt_validation_pubkeys: issuer.pem, bound_issuer: ISSUER });
    const bound = { bound_audiences: "grove", bound_claims: { ref: "main" } };
    await write("auth/ci/role/build", { user_claim: "sub", token_policies: "deploi", ...bound });
    const jwt = await issuer.sign({ ref: "topic" });
    const refused = await call(server, "POST", "/v1/auth/ci/login", { body: { role: "build", jwt } });
    expect(refused.status).toBe(400);

    await visit(page, "Auth methods");
    await page.getByRole("link", { name: "auth/ci/" }).click();
    await page.getByRole("link", { name: "Login check" }).click();
    await page.getByLabel("Role", { exact: true }).fill("build");
    await page.getByLabel("Token or claims").fill(jwt);
    await page.getByRole("button", { name: "Check the login" }).click();
    await shows("This login is refused");
    const rows = page.getByRole("region", { name: "Checks, in the order of a login" }).getByRole("listitem");
    const failed = await rows.filter({ hasText: "failed" }).allTextContents();
    expect(failed).toEqual([expect.stringContaining('claim "ref" does not match')]);
    await expectAccessible(page);
    await page.getByLabel("Token or claims").fill(await issuer.sign({ ref: "main" }));
    await page.getByRole("button", { name: "Check the login" }).click();
    await shows('policy "deploi" does not exist');

    await page.getByRole("link", { name: "Refused logins" }).click();
    const row = page.getByRole("row").filter({ hasText: "bound_claims.ref" });
    await row.waitFor();
    expect(await row.getByRole("cell").allTextContents()).toEqual([
      ...["build", expect.stringContaining('The claim "ref" has none of the values'), "1"],
      ...[expect.anything(), expect.anything(), expect.anything()],
    ]);
    await expectAccessible(page);
    await visit(page, "Auth methods");
    await page.getByRole("link", { name: "auth/aws/" }).click();
  });

  it("makes a role tag, which narrows the role", async () => {
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await page.getByRole("link", { name: "web", exact: true }).click();
    await shows("Name the key of the tag in the role first");
    await page.getByLabel("Key of the tag that narrows it").fill("grove-role");
    await page.getByRole("button", { name: "Save" }).click();
    const tags = page.getByRole("region", { name: "Role tags" });
    await tags.getByLabel("Policies").fill("root");
    await tags.getByRole("button", { name: "Make the tag" }).click();
    await tags.getByText(/^Request/).waitFor();
    await tags.getByLabel("Policies").fill("web");
    await tags.getByLabel("Tokens live at most").fill("10m");
    await tags.getByRole("button", { name: "Make the tag" }).click();
    const value = await tags.getByRole("status", { name: "Value of the tag" }).textContent();
    expect(value).toMatch(/^v1:.*:r=web:.*:p=web:t=600:/);
    await expectAccessible(page);
  });

  it("makes a webhook that takes the verification, changes it, and shows what was sent", async () => {
    const { port } = hook.address() as AddressInfo;
    await visit(page, "Teams");
    await page.getByRole("link", { name: "New organization" }).click();
    await page.getByLabel("Name", { exact: true }).fill("edge");
    await page.getByLabel(/^E-mail/).fill("ops@example.com");
    await page.getByRole("button", { name: "Make the organization" }).click();
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByLabel("Name", { exact: true }).fill("pager");
    await page.getByLabel("Address").fill(`http://127.0.0.1:${port}/hook`);
    await page.getByLabel("Enabled").check();
    await page.getByRole("button", { name: "Make the webhook" }).click();
    await page.getByRole("button", { name: "pager" }).click();
    await shows("Nothing was sent yet.");
    await page.getByLabel("Name", { exact: true }).fill("night shift");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Webhook night shift" }).waitFor();
    await page.getByRole("button", { name: "Verify" }).click();
    await shows("It took the verification");
    const sent = {
      id: "at-1.team_token:expired",
      attributes: {
        trigger: "team_token:expired",
        state: "failed",
        attempts: 12,
        "sent-at": new Date().toISOString(),
        code: 503,
        error: null,
      },
    };
    await page.route("**/deliveries?**", (route) => route.fulfill({ json: { data: [sent] } }));
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByRole("row", { name: /^expired failed .* 12 503$/ }).waitFor();
    await page.unroute("**/deliveries?**");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByLabel("Type night shift to confirm").fill("night shift");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await shows("No webhooks yet");
  });

  it("makes a key and a role of identity tokens, rotates the key, and keeps what is typed as soon as a form appears", async () => {
    await visit(page, "Identity tokens");
    await shows("No roles yet");
    await page.getByRole("link", { name: "Keys" }).click();
    await page.getByRole("link", { name: "New key" }).click();
    await page.getByLabel("Key", { exact: true }).fill("services");
    await page.getByLabel("Algorithm").selectOption("ES256");
    await page.getByLabel("Audiences").fill("*");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByRole("heading", { name: "Key services" }).waitFor();
    await page.getByRole("button", { name: "Rotate…" }).click();
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectAccessible(page);
    await page.getByRole("link", { name: "Roles", exact: true }).click();
    await page.getByRole("link", { name: "New role" }).click();
    await page.getByLabel("Role", { exact: true }).fill("billing");
    await page.getByLabel("Signing key").fill("services");
    await page.getByLabel("Good for").fill("15m");
    await page.getByRole("button", { name: "Make the role" }).click();
    await page.getByRole("heading", { name: "Role billing" }).waitFor();
    const role = await call(server, "GET", "/v1/identity/oidc/role/billing", { token: server.rootToken });
    expect(role.body.data).toMatchObject({ key: "services", ttl: 900 });
    // Types in the same task in which the form appears, before its first paint.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const input = document.querySelector('input[name="issuer"]');
      if (!input) return;
      observer.disconnect();
      input.value = "https://grove.example.com";
      input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole("link", { name: "Issuer" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await shows("Saved");
    await expectAccessible(page);
  });

  it("crosses out on the map what was revoked, until it is swept", async () => {
    await write("sys/policies/acl/grow", { policy: 'path "auth/token/create" { capabilities = ["update"] }' });
    const make = async (name: string, token: string, path = "auth/token/create"): Promise<string> => {
      const made = await call(server, "POST", `/v1/${path}`, {
        token,
        body: { display_name: name, policies: ["grow"], ttl: "1h" },
      });
      return (made.body.auth as { client_token: string }).client_token;
    };
    await make("job", await make("fleet", server.rootToken, "auth/token/create-orphan"));
    await make("stays", await make("other", server.rootToken, "auth/token/create-orphan"));
    const unswept = await call(server, "GET", "/v1/sys/tokens/map?group_by=display_name", { token: server.rootToken });

    await visit(page, "Tokens");
    await page.getByLabel("Name", { exact: true }).fill("token-fleet");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "token-fleet", exact: true }).click();
    await page.getByRole("button", { name: "Revoke…" }).click();
    await page.getByLabel("Type token-fleet to confirm").fill("token-fleet");
    // The map as it is while the sweep is still on its way.
    await page.route("**/v1/sys/tokens/map*", (route) => route.fulfill({ json: unswept.body }));
    await page.getByRole("button", { name: "Revoke 2 tokens" }).click();
    await page.waitForURL(/receipts\//);
    const whose = /^Revocation of token-fleet \(….{10}\) and 1 below$/;
    await page.getByRole("heading", { level: 1, name: whose }).waitFor();
    await visit(page, "Health");
    await page.getByRole("link", { name: /^token-fleet \(….{10}\) and 1 below$/ }).waitFor();
    await visit(page, "Forest");
    const fleet = page.getByRole("button", { name: /^(?:token-|…)fleet.*revoked$/ });
    await fleet.waitFor();
    expect(await fleet.getAttribute("class")).toContain("going");
    expect(await page.getByRole("button", { name: /^(?:token-|…)other/ }).getAttribute("class")).not.toContain("going");
    await expectAccessible(page);
    await page.unroute("**/v1/sys/tokens/map*");
    await fleet.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^(?:token-|…)other/ }).waitFor();
  });

  it("says that the server is gone when it was killed, and continues when it is back", async () => {
    await killWhole(server);
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Tokens", exact: true }).click();
    await shows("The server can't be reached.");
    await expectAccessible(page);
    const { host } = new URL(server.address);
    server = await startServe({
      data,
      env,
      flags: ["--allow-private-host=127.0.0.1", `--listen=${host}`],
    });
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "token-other", exact: true }).waitFor();
  });
});
