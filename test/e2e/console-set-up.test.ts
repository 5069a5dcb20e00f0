import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page, Response } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserPath, expectAccessible, expectFitsWidths } from "./support/browser.ts";
import { openPlace } from "./support/console-page.ts";
import { expectReachable } from "./support/keyboard.ts";
import { type OpenedConsole, openConsole } from "./support/opened-console.ts";

const executable = browserPath();
const HOST = "https://cluster.example.com";

describe.skipIf(executable === undefined)("a login that is set up in the console", () => {
  let opened: OpenedConsole;
  let page: Page;
  let send: OpenedConsole["send"];
  let data: OpenedConsole["data"];

  beforeAll(async () => {
    opened = await openConsole(executable);
    ({ page, send, data } = opened);
  });
  afterAll(async () => {
    await opened?.close();
    expect(opened.faults).toEqual([]);
  });

  const fill = async (fields: Readonly<Record<string, string>>): Promise<void> => {
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text);
  };
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const mountCluster = async (mount: string, config: Readonly<Record<string, unknown>>): Promise<void> => {
    await data("POST", `sys/auth/${mount}`, { type: "kubernetes" });
    await data("POST", `auth/${mount}/config`, config);
  };
  const clusterAt = (mount: string) => data<Record<string, unknown>>("GET", `auth/${mount}/config`);
  const CLUSTER = { "API server": HOST, "Service account": "web/api", "Token of the reviewer": "ey.typed.x" };

  it("says before it is sent that a reviewer is not used, as the mount has one, and takes it when asked to", async () => {
    await mountCluster("has-one", { kubernetes_host: HOST, token_reviewer_jwt: "ey.first", issuer: "ours" });
    await openPlace(page, "methods?setup=kubernetes-review");
    await fill({ ...CLUSTER, Role: "api", Path: "has-one" });
    await page.getByText("auth/has-one/ has settings already: “Token of the reviewer” will not be used").waitFor();
    await page.getByText(`It asks ${HOST}, and has the token of a reviewer.`).waitFor();
    const takes = page.getByRole("checkbox", { name: /^Set “Token of the reviewer” there/ });
    expect(await takes.isChecked()).toBe(false);
    await page.getByText("It takes the place of the one that is there. The rest stays.").waitFor();
    await expectFitsWidths(page);
    await expectReachable(page);
    const sent: unknown[] = [];
    page.on(
      "request",
      (one) => one.method() === "POST" && one.url().endsWith("has-one/config") && sent.push(one.postDataJSON()),
    );
    await button("Set up Kubernetes, by TokenReview").click();
    await page.getByText("The role api: written").waitFor();
    expect(sent).toEqual([]);
    await takes.check();
    await page.getByText("auth/has-one/ has settings already", { exact: true }).waitFor();
    await button("Set up Kubernetes, by TokenReview").click();
    await page.getByText("The API server and its reviewer of auth/has-one/: written").waitFor();
    expect(sent).toMatchObject([{ kubernetes_host: HOST, token_reviewer_jwt: "ey.typed.x", issuer: "ours" }]);
    expect(await clusterAt("has-one")).toMatchObject({ token_reviewer_jwt_set: true, issuer: "ours" });
    // It is written: no word of it being lost.
    await page.getByText("has settings already").waitFor({ state: "detached" });
    // The role has the name that was typed.
    expect(await data("GET", "auth/has-one/role/api")).toMatchObject({ token_policies: ["api"] });
  });

  it("sets a reviewer where the mount has none, unless that is not wanted", async () => {
    await mountCluster("lacks-one", { kubernetes_host: HOST });
    await openPlace(page, "methods?setup=kubernetes-review");
    await fill({ ...CLUSTER, Role: "api", Path: "lacks-one" });
    await page.getByText(`It asks ${HOST}, and has no token of a reviewer.`).waitFor();
    const takes = page.getByRole("checkbox", { name: /^Set “Token of the reviewer” there/ });
    expect(await takes.isChecked()).toBe(true);
    await takes.uncheck();
    await page.getByText("auth/lacks-one/ has settings already: “Token of the reviewer” will not be used").waitFor();
    await takes.check();
    await button("Set up Kubernetes, by TokenReview").click();
    await page.getByRole("heading", { name: "Check a login" }).waitFor();
    expect(await clusterAt("lacks-one")).toMatchObject({ token_reviewer_jwt_set: true });
  });

  it("leaves a mount with other roles as it is, unless somebody agrees to what that does to them", async () => {
    await data("POST", "sys/auth/fleet", { type: "aws" });
    const principal = ["arn:aws:iam::111111111111:role/web"];
    const role = { auth_type: "iam", bound_iam_principal_arn: principal, resolve_aws_unique_ids: false };
    await data("POST", "auth/fleet/role/web", role);
    await openPlace(page, "methods?setup=aws");
    await fill({ Account: "111111111111", "IAM role": "jobs", Role: "jobs", Path: "fleet" });
    await page.getByText("auth/fleet/ has the role web, and no such settings: they are not made").waitFor();
    await page.getByText(/Logins of those that do not send it fail/).waitFor();
    await expectAccessible(page);
    await button("Set up AWS").click();
    await page.getByText("The role jobs: written").waitFor();
    expect((await send("GET", "auth/fleet/config/client")).status).toBe(404);
    await page.getByRole("checkbox", { name: "Write them all the same: the server id" }).check();
    await button("Set up AWS").click();
    await page.getByText("The server id of auth/fleet/: written").waitFor();
    expect(await data("GET", "auth/fleet/config/client")).toMatchObject({ iam_server_id_header_value: "127.0.0.1" });
  });

  it("replaces a role of the same name only when somebody agrees, and until then writes nothing", async () => {
    await data("POST", "sys/auth/scripts", { type: "approle" });
    await data("POST", "auth/scripts/role/backup", { token_policies: ["reports"] });
    await openPlace(page, "methods?setup=approle");
    await fill({ Role: "backup", Path: "scripts" });
    await page.getByText("auth/scripts/ has the role backup already", { exact: true }).waitFor();
    await button("Set up the AppRole").click();
    await page.getByText("auth/scripts/ has this role already: choose another name").waitFor();
    await expectAccessible(page);
    expect((await send("GET", "sys/policies/acl/backup")).status).toBe(404);
    expect(await data("GET", "auth/scripts/role/backup")).toMatchObject({ token_policies: ["reports"] });
    await page.getByRole("checkbox", { name: "Replace the role backup" }).check();
    await button("Set up the AppRole").click();
    await page.getByText("It is set up: what the client needs is below").waitFor();
    expect(await data("GET", "auth/scripts/role/backup")).toMatchObject({ token_policies: ["backup"] });
    // It is the page's own now: no question.
    await page.getByText("has the role backup already").waitFor({ state: "detached" });
  });

  it("says after a failure what is written and what is left, goes on with that, and asks for nothing that is not there", async () => {
    const failed: string[] = [];
    const note = (answer: Response): unknown => answer.status() >= 400 && failed.push(new URL(answer.url()).pathname);
    page.on("response", note);
    await openPlace(page, "methods?setup=github");
    await fill({ Repository: "acme/web", Branch: "main", Role: "ship" });
    const refusal = { status: 400, json: { errors: ["the issuer does not answer"] } };
    await page.route("**/v1/auth/github/config", (route) => route.fulfill(refusal), { times: 1 });
    await button("Set up GitHub Actions").click();
    await page.getByText("the issuer does not answer").waitFor();
    await page.getByText("The issuer of auth/github/: not written").waitFor();
    // Nothing is left of it.
    await page
      .getByText("The method jwt at auth/github/: disabled again, because no login works without its settings")
      .waitFor();
    await page.getByText("Nothing is written. “Set up GitHub Actions” begins again.").waitFor();
    expect(await page.getByText(/: written$/).count()).toBe(0);
    expect(Object.keys(await data<object>("GET", "sys/auth"))).not.toContain("github/");
    expect((await send("GET", "sys/policies/acl/ship")).status).toBe(404);
    await expectAccessible(page);
    // The issuer would be asked: the answer is that of one that was found.
    await page.route("**/v1/auth/github/config", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({ json: { data: null, warnings: ["its keys could not be fetched"] } })
        : route.fulfill({ json: { data: {} } }),
    );
    const full = { status: 400, json: { errors: ["the role is not taken"] } };
    await page.route("**/v1/auth/github/role/ship", (route) => route.fulfill(full), { times: 1 });
    await button("Set up GitHub Actions").click();
    await page.getByText("the role is not taken").waitFor();
    await page.getByText("The policy ship: written").waitFor();
    await page.getByText("The method jwt at auth/github/: written").waitFor();
    await page.getByText("The role ship: not written").waitFor();
    await page.getByText("Still to be written: the role ship.", { exact: true }).waitFor();
    await page.getByText("“Set up GitHub Actions” continues with these steps. What is written stays.").waitFor();
    await page.getByText("What a token of this login may do").waitFor();
    expect(await page.getByText("There is a policy ship already").count()).toBe(0);
    expect(await page.getByText("Exists, and stays").count()).toBe(0);
    await button("Set up GitHub Actions").click();
    await page.getByRole("heading", { name: "Check a login" }).waitFor();
    await page.getByText("its keys could not be fetched").waitFor();
    // All four, whenever they were written.
    expect(await page.getByText(/: written$/).count()).toBe(4);
    expect(await page.getByText("There is a policy ship already").count()).toBe(0);
    page.off("response", note);
    await page.unroute("**/v1/auth/github/config");
    // The refusals alone: the mount without settings was not asked for them.
    expect(failed).toEqual(["/v1/auth/github/config", "/v1/auth/github/role/ship"]);
  });

  it("says what people may do, has it written or chosen, and gives it", async () => {
    await data("POST", "sys/policies/acl/oncall", {
      policy: 'path "sys/audit/events" { capabilities = ["read", "sudo"] }',
    });
    await openPlace(page, "methods?setup=people");
    const policy = page.getByRole("group", { name: "What they may do" });
    const text = policy.getByLabel("Text of the new policy");
    const says = (words: string) => policy.getByRole("status").filter({ hasText: words }).waitFor();
    await says("With it people sign in, and see their own session and nothing else.");
    await policy.getByRole("button", { name: "Read the console" }).click();
    await says(
      "With it people open in the console: Forest, Tokens, What ends when, Ended lately, Leases, Policies, Auth methods",
    );
    await expectFitsWidths(page);
    await expectReachable(page);
    // A mistake is said at its place before anything is sent, and nothing is sent with it.
    await text.fill('path "sys/auth" { capabilities = ["red"] }');
    await policy.getByText(/capability.*\(line 1, column 35\)/).waitFor();
    await button("Set up sign-in").click();
    expect((await send("GET", "sys/policies/acl/people")).status).toBe(404);
    await text.fill('path "sys/auth" { capabilities = ["read"] }');
    await says("With it people open in the console: Auth methods.");
    // One that exists.
    await policy.getByText("One that exists").click();
    await button("Set up sign-in").click();
    await policy.getByText("Choose one").waitFor();
    await policy.getByLabel("Policy of the role").selectOption("oncall");
    await says("With it people open in the console: Audit log.");
    await expectAccessible(page);

    await openPlace(page, "methods?setup=aws");
    await fill({ Account: "111111111111", "IAM role": "web", Role: "web", Path: "cloud" });
    await policy.getByText("One that exists").click();
    await policy.getByLabel("Policy of the role").selectOption("oncall");
    await page.getByText("There is a policy oncall already: it stays as it is").waitFor();
    await button("Set up AWS").click();
    await page.getByText("The role web: written").waitFor();
    expect(await data("GET", "auth/cloud/role/web")).toMatchObject({ token_policies: ["oncall"] });
    expect((await send("GET", "sys/policies/acl/web")).status).toBe(404);

    await openPlace(page, "methods?setup=aws");
    await fill({ Account: "111111111111", "IAM role": "jobs", Role: "nightjobs", Path: "cloud2" });
    const rule = 'path "cubbyhole/jobs" { capabilities = ["read"] }';
    await text.fill(rule);
    await button("Set up AWS").click();
    await page.getByText("The policy nightjobs: written").waitFor();
    expect(await data("GET", "sys/policies/acl/nightjobs")).toMatchObject({ policy: rule });
    await policy.getByText("The policy nightjobs is written: the role gives it.").waitFor();
  });

  it("gives a script an AppRole, and ends with its role-id and a first secret-id, which log in", async () => {
    await openPlace(page, "methods");
    await page.getByRole("link", { name: "Set up a login…" }).click();
    await page.getByRole("link", { name: "AppRole, for a script" }).click();
    expect(await page.getByLabel("A secret-id is good for").inputValue()).toBe("30d");
    await fill({ Networks: "127.0.0.0/8", Role: "nightly" });
    await page.getByText("Terraform", { exact: true }).click();
    await page.getByText('resource "vault_approle_auth_backend_role" "nightly"').waitFor();
    await button("Set up the AppRole").click();
    await page.getByRole("heading", { name: "A first secret-id" }).waitFor();
    const { role_id: roleId } = await data<{ role_id: string }>("GET", "auth/approle/role/nightly/role-id");
    await expect.poll(() => page.getByRole("status", { name: "Role-id" }).textContent()).toBe(roleId);
    expect(await data("GET", "auth/approle/role/nightly")).toMatchObject({
      secret_id_ttl: 30 * 86_400,
      secret_id_bound_cidrs: ["127.0.0.0/8"],
      token_policies: ["nightly"],
    });
    await button("Make a secret-id…").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("At most 30d, which is also the default.").waitFor();
    await dialog.getByRole("button", { name: "Make the secret-id" }).click();
    const wrapped = (await dialog.getByRole("status", { name: "Wrapping token" }).textContent()) ?? "";
    await dialog.getByRole("button", { name: "Done" }).click();
    // The check is about the secret-id that was made.
    await button("Check the login").click();
    await page.getByText("This login gets a token").waitFor();
    // What the page says that the machine runs.
    const directory = mkdtempSync(join(tmpdir(), "machine-"));
    const runShown = async (title: string, after: string, input: string) => {
      const shown = (await page.getByRole("status", { name: title, exact: true }).textContent()) ?? "";
      const script = `SCRIPT_USER=$(id -un)\n${shown.replaceAll("/etc/", `${directory}/`)}\n${after}`;
      return spawnSync("bash", ["--norc", "-euc", script], { input, encoding: "utf8" });
    };
    const files = await runShown("On the machine, once", "", `${roleId}\n${wrapped}\n`);
    expect(files.stderr).toBe("");
    const run = await runShown("On the machine", 'echo "$VAULT_TOKEN"', "");
    expect(run.stderr).toBe("");
    rmSync(directory, { recursive: true });
    const own = await send("GET", "auth/token/lookup-self", undefined, run.stdout.trim());
    expect(own.body.data).toMatchObject({ policies: ["default", "nightly"], meta: { role_name: "nightly" } });
    await expectReachable(page);
    await expectFitsWidths(page);
    await page.getByRole("link", { name: "The role's page" }).click();
    await page.getByRole("heading", { level: 1, name: "auth/approle/" }).waitFor();
  });
});
