import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  browserPath,
  expectAccessible,
  expectFitsWidths,
  openPage,
  startBrowser,
  type WatchedPage,
} from "./support/browser.ts";
import { openPlace, picture, signIn } from "./support/console-page.ts";
import { focusedField, focusedLabel } from "./support/keyboard.ts";
import { call, PROJECT, type RunningServer, startServe, wordsOf } from "./support/server.ts";

const run = promisify(execFile);
const executable = browserPath();
const TREES = 40;
/** Tokens of the service in all: its trees, and what hangs below them. */
const TOTAL = 1168;
const TOTAL_TEXT = "1,168";
/** Tokens below the first of each of the first trees: one right below it, and all others below that one. */
const BELOW_FIRST = 29;

/** A service leaks: what it has is found, counted, ended, and shown to be dead. */
describe.skipIf(executable === undefined)("an incident in the console", () => {
  let server: RunningServer;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  /** A token of the service, with its accessor. */
  let leaked: { readonly client_token: string; readonly accessor: string };
  const addresses: string[] = [];

  beforeAll(async () => {
    server = await startServe();
    browser = await startBrowser(executable ?? "");
    leaked = await plant(server);
    watched = await openPage(browser);
    page = watched.page;
    page.on("request", (request) => addresses.push(request.url()));
    await signIn(page, server, server.rootToken);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });
  beforeEach(() => expect(watched.faults).toEqual([]));

  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();
  /** What the command of operators answers, as JSON. */
  const grove = async (...words: readonly string[]): Promise<unknown> => {
    const env = { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken };
    const { stdout } = await run(process.execPath, [...wordsOf("grove"), ...words], { env });
    return JSON.parse(stdout);
  };
  /** The service has ended: by the page that does it, or here where a step runs alone. */
  const endService = async (): Promise<void> => {
    const token = server.rootToken;
    const { body } = await call(server, "GET", `/v1/sys/tokens/${leaked.accessor}`, { token });
    if (!("ended" in (body.data as object))) {
      const all = { search: "payments-api", dry_run: false, expected_count: TREES };
      await call(server, "POST", "/v1/sys/tokens/revoke", { token, body: all });
    }
    const jobs = async () => (await call(server, "GET", "/v1/sys/tokens/jobs", { token })).body.data;
    await expect
      .poll(jobs)
      .toMatchObject({ jobs: expect.arrayContaining([expect.objectContaining({ total: TOTAL, state: "done" })]) });
  };
  const search = () => page.getByRole("combobox", { name: "Search" });

  it("shows the trees of the service as one area, which opens", async () => {
    await openPlace(page, "");
    await page.getByRole("button", { name: /^(?:token-|…)payments-api.*1,168 tokens in 40 trees/ }).click();
    await page.getByRole("heading", { level: 1, name: "token-payments-api" }).waitFor();
    await shows(`${TOTAL_TEXT} tokens in ${TREES} trees`);
    await expectAccessible(page);
  });

  it("finds its tokens by a part of the name, by a value of metadata, by an alias, and by one that is pasted", async () => {
    for (const text of ["yments-a", "LEDGER", "run-1007", "Robot@ACME"]) {
      await page.keyboard.press("Control+k");
      await search().fill(text);
      await page
        .getByRole("option", { name: /payments-api/ })
        .first()
        .waitFor();
      await page.keyboard.press("Escape");
    }
    // The alias is of the entity, which is found too, and to which all of one tree belong.
    await page.keyboard.press("Control+k");
    await search().fill("robot@acme");
    await page.getByRole("option", { name: /robot@acme\.example/ }).waitFor();
    await page.getByRole("option", { name: /^All tokens/ }).click();
    await shows(`${BELOW_FIRST + 1} tokens`);
    await page.keyboard.press("Control+k");
    await search().fill(leaked.client_token);
    await page.getByRole("option", { name: new RegExp(leaked.accessor.slice(-8)) }).click();
    await page.getByRole("heading", { level: 1, name: "token-payments-api" }).waitFor();
    await page.getByRole("link", { name: "owner=ledger" }).click();
    await page.waitForURL(/metadata=owner%3Dledger/);
    await openPlace(page, "tokens");
    await page.getByRole("searchbox", { name: "Search" }).fill(leaked.client_token);
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(leaked.accessor));
  });

  it("has one number for each thing in the API, the command and the console", async () => {
    const { body } = await call(server, "GET", `/v1/sys/tokens/${leaked.accessor}`, { token: server.rootToken });
    const one = { children: [{ descendants: { count: BELOW_FIRST - 1 } }], descendants: { count: BELOW_FIRST } };
    expect(body.data).toMatchObject({ ...one, token: { children: 1 } });
    expect(await grove("tree", leaked.accessor, "--json")).toMatchObject(one);
    await openPlace(page, `tokens/${leaked.accessor}`);
    await shows(`${BELOW_FIRST} descendants`);
    await shows("1 child");
    await shows(new RegExp(`^${BELOW_FIRST - 1} descendants`));
    const path = "/v1/sys/tokens/revoke";
    const all = { search: "payments-api" };
    const dry = await call(server, "POST", path, { token: server.rootToken, body: all });
    const numbers = { count: TREES, total: TOTAL, leases: { count: 0, more: false } };
    expect(dry.body.data).toMatchObject({ ...numbers, by: { owner: [{ key: "ledger", count: TOTAL }] } });
    expect(await grove("revoke", "--search", "payments-api", "--dry-run", "--json")).toMatchObject(numbers);
  });

  it("counts all tokens by group, and says when a filter lets it count only what it read", async () => {
    await openPlace(page, "tokens?group=metadata.owner");
    const groups = page.getByRole("region", { name: "Groups of tokens" });
    await groups.getByText("every token is counted").waitFor();
    await groups.getByRole("row", { name: `ledger ${TOTAL_TEXT} ${TREES}` }).waitFor();
    await expectAccessible(page);
    await openPlace(page, "tokens?group=metadata.owner&search=payments-api");
    await groups.getByText("exact: all that match are read").waitFor();
    await groups.getByRole("row", { name: new RegExp(`^ledger.*${TREES}$`) }).waitFor();
  });

  it("counts what would end, takes the number typed in, and shows the receipt, which is checked again", async () => {
    await page.keyboard.press("Control+k");
    await search().fill("payments-api");
    await page.getByRole("option", { name: /^All tokens/ }).click();
    await shows(`${TREES} tokens`);
    await page.getByRole("button", { name: "Contain" }).click();
    await page.getByRole("dialog").getByText(TOTAL_TEXT, { exact: true }).waitFor();
    await shows(`${TOTAL_TEXT} ledger`);
    // The number can be typed as soon as it is there.
    await expect.poll(() => focusedField(page)).toBe(`Type ${TOTAL_TEXT} to confirm`);
    await expectAccessible(page);
    await picture(page, "console-contain");
    await page.getByLabel(`Type ${TOTAL_TEXT} to confirm`).fill(String(TREES));
    await page.getByRole("button", { name: `Revoke ${TOTAL_TEXT} tokens` }).click();
    await shows(`Not ${TOTAL_TEXT}, the number of all tokens that end: nothing was sent.`);
    await expect.poll(() => focusedField(page)).toBe(`Type ${TOTAL_TEXT} to confirm`);
    await expectAccessible(page);
    await page.getByLabel(`Type ${TOTAL_TEXT} to confirm`).fill(String(TOTAL));
    // The answer is slow: the dialog says at once what is done.
    const answered = Promise.withResolvers<void>();
    await page.route("**/v1/sys/tokens/revoke", (route) => answered.promise.then(() => route.continue()), { times: 1 });
    await page.getByRole("button", { name: `Revoke ${TOTAL_TEXT} tokens` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("status").filter({ hasText: "Counting again, and beginning the revocation…" }).waitFor();
    await dialog.getByRole("button", { name: "Working…" }).waitFor();
    answered.resolve();
    await page.waitForURL(/receipts\//);
    await page.getByRole("heading", { level: 1, name: /^Revocation: “payments-api” in name/ }).waitFor();
    const job = /receipts\/([^/?]+)/.exec(page.url())?.[1] ?? "";
    const receipt = page.getByRole("region", { name: "What ended" });
    await receipt.getByText(`${TOTAL_TEXT} accessors`).waitFor();
    await page.keyboard.press("Control+k");
    // Of a job that the list does not have any more, the id leads to the receipt too.
    const listed: string[] = [];
    await page.route("**/v1/sys/tokens/jobs", (route) => {
      listed.push(route.request().url());
      return route.fulfill({ json: { data: { jobs: [] } } });
    });
    await search().fill(job);
    await page.getByRole("option", { name: `Receipt ${job}` }).waitFor();
    await search().fill(`${job.slice(0, 35)}`);
    await page.getByText(/^No request of the last/).waitFor();
    expect(listed).toHaveLength(1);
    await page.unroute("**/v1/sys/tokens/jobs");
    await page.keyboard.press("Escape");
    await receipt
      .getByText("“payments-api” in name, metadata, role, path, entity or accessor", { exact: true })
      .waitFor();
    // It is checked without being asked to, whenever it is opened, and says when.
    await receipt.getByText(`All of these are refused: ${TOTAL_TEXT} of ${TOTAL_TEXT}`).waitFor();
    await page.reload();
    await signIn(page, server, server.rootToken);
    await page.keyboard.press("Control+k");
    await search().fill(job.slice(0, 8));
    await page.getByRole("option", { name: `Receipt ${job}` }).waitFor();
    await page.keyboard.press("Escape");
    await openPlace(page, "health");
    // Without an answer it can be asked for again.
    await page.route("**/v1/sys/tokens/jobs/*", (route) => route.abort(), { times: 1 });
    await openPlace(page, `receipts/${job}`);
    await page.getByRole("region", { name: "Progress" }).getByRole("button", { name: "Try again" }).click();
    await receipt.getByText(`All of these are refused: ${TOTAL_TEXT} of ${TOTAL_TEXT}`).waitFor();
    await receipt.getByText(/^Checked .*20\d\d/).waitFor();
    await expectAccessible(page);
    await picture(page, "console-receipt");
    // The log leads to it, and its count is no event.
    await openPlace(page, "audit");
    const entry = (text: string) => page.getByRole("listitem").filter({ hasText: text });
    const meant = "“payments-api” in name, metadata, role, path, entity or accessor";
    await entry(`Ended ${TOTAL_TEXT} tokens (${meant}) → receipt by root`).waitFor();
    expect(await entry("Counted what would end").count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole("link", { name: "receipt", exact: true }).click();
    await page.waitForURL(new RegExp(`receipts/${job}`));
    await receipt.getByText(`${TOTAL_TEXT} accessors`).waitFor();
    const { body: ended } = await call(server, "GET", `/v1/sys/tokens/jobs/${job}`, { token: server.rootToken });
    expect(ended.data).toMatchObject({ state: "done", matched: TREES, total: TOTAL });
    expect(await grove("revoke", "--job", job, "--json")).toMatchObject({ matched: TREES, total: TOTAL });
    const proof = { receipt: { numbers: { total: TOTAL } }, check: { ended: TOTAL, alive: [] } };
    expect(await grove("contain", "--job", job, "--json")).toMatchObject(proof);
    const saved = page.waitForEvent("download");
    await receipt.getByRole("button", { name: "Export JSON" }).click();
    const file = JSON.parse(await readFile(await (await saved).path(), "utf8")) as {
      readonly job: string;
      readonly accessors: readonly string[];
    };
    expect(file).toMatchObject({ filter: { search: "payments-api" }, numbers: { matched: TREES, total: TOTAL } });
    expect(file).toMatchObject({ complete: true, asked_by: { display_name: "root" }, next: "" });
    expect(new Set(file.accessors).size).toBe(TOTAL);
    expect(file.accessors).toContain(leaked.accessor);
    const path = "/v1/sys/tokens/verify-ended";
    for (const accessors of [file.accessors.slice(0, 600), file.accessors.slice(600)]) {
      const { body: checked } = await call(server, "POST", path, { token: server.rootToken, body: { accessors } });
      expect(checked.data).toMatchObject({ ended: accessors.length, unknown: 0, alive: [] });
    }
  });

  it("shows on the receipt which leases fail, with the error and another attempt", async () => {
    // The log then has two receipts.
    await endService();
    const token = server.rootToken;
    const body = { display_name: "with-leases", policies: ["fleet"], ttl: "20h" };
    const made = await call(server, "POST", "/v1/auth/token/create-orphan", { token, body });
    const { accessor } = made.body.auth as { readonly accessor: string };
    const lease = { accessor, path: "db/creds/app", ttl: "1h", target: "https://no-such-host.example.com/revoke" };
    for (const path of ["db/creds/app", "db/creds/jobs"]) {
      const { status } = await call(server, "POST", "/v1/sys/leases/register", { token, body: { ...lease, path } });
      expect(status).toBe(200);
    }
    await openPlace(page, "tokens?search=with-leases");
    await page.getByRole("button", { name: "Contain" }).click();
    await page.getByLabel("Type 1 to confirm").fill("1");
    await page.getByRole("button", { name: "Revoke 1 token" }).click();
    await page.waitForURL(/receipts\//);
    const receipt = page.getByRole("region", { name: "What ended" });
    await receipt.getByText("Leases: 2 in all: 0 ended").waitFor();
    await receipt.getByText("can still be used").waitFor();
    // The first attempt of each has failed, or does so now.
    await expect
      .poll(async () => {
        await receipt.getByRole("button", { name: "Check again" }).click();
        return receipt.getByRole("list", { name: "Leases that fail" }).getByRole("listitem").count();
      })
      .toBe(2);
    await receipt.getByText("Leases: 2 in all: 0 ended, 0 waiting, 2 failing").waitFor();
    // Whose they are, and of which target; the sentence that says how many tokens ended has them, without scrolling.
    const failing = receipt.getByRole("list", { name: "Leases that fail" });
    await failing.getByRole("link", { name: "token-with-leases" }).first().waitFor();
    await failing.getByText("the target no-such-host.example.com can't be reached").first().waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    const headline = page.getByText("But 2 of their leases have not ended: not accepted by their targets");
    const place = await headline.boundingBox();
    expect((place?.y ?? 844) + (place?.height ?? 0)).toBeLessThan(844);
    await page.setViewportSize({ width: 1280, height: 800 });
    await receipt.getByRole("button", { name: "Try all 2 again" }).click();
    await receipt.getByText("0 leases of 2 ended").waitFor();
    // The text of the id begins where that of the error does.
    const link = `document.querySelector('[aria-label="Leases that fail"] a')`;
    expect(await page.evaluate(`getComputedStyle(${link}).paddingLeft`)).toBe("0px");
    await receipt.getByRole("button", { name: "Try again" }).first().click();
    await receipt.getByText(/^failed to revoke .*the target no-such-host.example.com can't be reached/).waitFor();
    await expectAccessible(page);
    // The search finds a lease by its id, which the log of its target has. Its page says whose it is, and tries it again.
    const id = (await failing.getByRole("link", { name: /^db\/creds\/app/ }).textContent()) ?? "";
    await page.keyboard.press("Control+k");
    await search().fill(id);
    await page.getByRole("option", { name: /token-with-leases ended: revoked/ }).waitFor();
    await page.getByRole("option", { name: `${id} ended` }).click();
    const own = page.getByRole("region", { name: "Lease", exact: true });
    await own.getByText("It has ended, and its secret can still be used").waitFor();
    await own.getByRole("link", { name: "token-with-leases" }).waitFor();
    await own.getByText(/the target no-such-host\.example\.com can't be reached; /).waitFor();
    await expectAccessible(page);
    await own.getByRole("button", { name: "Try again" }).click();
    await own.getByText(/^failed to revoke /).waitFor();
    // The list marks it with its error, and each folder above it with the number of such leases.
    await openPlace(page, "leases");
    const listed = page.getByRole("region", { name: "Leases", exact: true }).getByRole("listitem");
    await listed.filter({ hasText: /^db\/2 leases fail$/ }).waitFor();
    await openPlace(page, "leases?prefix=db%2Fcreds%2Fapp%2F");
    await listed.filter({ hasText: /fails, tried again.*no-such-host\.example\.com can't be reached/ }).waitFor();
    await expectFitsWidths(page);
    await page.getByRole("navigation", { name: "Which leases" }).getByRole("link", { name: "Failing (2)" }).click();
    const all = page.getByRole("region", { name: "Leases that fail" });
    await all.getByText("2 leases: the targets did not accept the revocation").waitFor();
    await all.getByRole("button", { name: "Try all 2 again" }).waitFor();
    await expectFitsWidths(page);
    // Health says it as long as the receipt does, and leads to the failing ones.
    await openPlace(page, "health");
    await page.getByRole("link", { name: "Leases that fail" }).click();
    await all.getByRole("list", { name: "Leases that fail" }).getByText("token-with-leases").first().waitFor();
    await openPlace(page, "health");
    await shows(/^\d+ things? to do: /);
    await page
      .getByRole("region", { name: "Revocations of many" })
      .getByRole("row")
      .filter({ hasText: "with-leases" })
      .getByText(/^But 2 of their leases have not ended/)
      .waitFor();
    const finding = page.getByRole("listitem").filter({ hasText: "2 that ended are not accepted by their targets" });
    await finding.getByRole("link", { name: "Ended lately, with receipts" }).click();
    await page
      .getByRole("row", { name: /with-leases/ })
      .getByRole("link", { name: "receipt" })
      .click();
    await receipt.getByText("Leases: 2 in all").waitFor();
    // Opened anew, it does not say that all is done before the trees have answered, nor when they do not.
    const asked = Promise.withResolvers<void>();
    const check = "**/v1/sys/tokens/verify-ended";
    await page.route(check, (route) =>
      asked.promise.then(() => route.fulfill({ status: 500, json: { errors: ["internal error"] } })),
    );
    await openPlace(page, "leases");
    await page.goBack();
    await shows("Their 2 leases: being checked…");
    asked.resolve();
    await shows("Their leases are not known: check again.");
    expect(await page.getByText("Done.").count()).toBe(0);
    await page.unroute(check);
    // A check of a part is no proof of the whole.
    const none = { waiting: 0, failing: 0, removed: 0, more: false, failures: [] };
    const part = { checked: 0, ended: 0, unknown: 0, alive: [], unanswered: [], unrevoked_leases: none, next: "" };
    await page.route(check, (route) => route.fulfill({ json: { data: part } }));
    await receipt.getByRole("button", { name: "Check again" }).click();
    await receipt.getByText("Leases: those of the tokens that were not checked are not known").waitFor();
    expect(await receipt.getByText("have ended", { exact: false }).count()).toBe(0);
    await page.unroute(check);
    await receipt.getByRole("button", { name: "Check again" }).click();
    await headline.waitFor();
    // The log asks once for the words of all revocations in it.
    const before = addresses.length;
    await openPlace(page, "audit");
    expect(await page.getByRole("link", { name: "receipt", exact: true }).count()).toBeGreaterThan(1);
    expect(addresses.slice(before).filter((url) => url.endsWith("/v1/sys/tokens/jobs"))).toHaveLength(1);
  });

  it("says of a text what it is: ended, mistyped, of another installation, a token of a team", async () => {
    const token = server.rootToken;
    await endService();
    const asked = run(process.execPath, [...wordsOf("grove"), "find", "--json"], {
      env: { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: token },
    });
    asked.child.stdin?.end(`${leaked.client_token}\n`);
    expect(JSON.parse((await asked).stdout)).toMatchObject({ state: "ended", token: { accessor: leaked.accessor } });
    await page.keyboard.press("Control+k");
    await search().fill(leaked.client_token);
    await shows(/^This token has ended: it can't be used any more. Revoked .* by root/);
    await page.getByRole("option", { name: /ended: revoked/ }).waitFor();
    await search().fill(`A=${leaked.client_token} B=s.${"A".repeat(84)}`);
    await shows(/^The first of 2 tokens in this text: .* This token has ended/);
    await search().fill(leaked.client_token.slice(0, 70));
    await shows(/mistyped: it is cut off. It begins like that of the token shown/);
    await search().fill("hvs.CAESIJ0m2nDwk1H0eHbA");
    await shows(/A token of Vault or OpenBao/);
    const contentType = "application/vnd.api+json";
    const post = async (path: string, type: string, attributes: object) => {
      const body = { data: { type, attributes } };
      const { body: made } = await call(server, "POST", `/api/v2/${path}`, { token, contentType, body });
      return made.data as { readonly id: string; readonly attributes: { readonly token: string } };
    };
    await post("organizations", "organizations", { name: "acme", email: "admin@example.com" });
    const team = await post("organizations/acme/teams", "teams", { name: "platform" });
    const made = await post(`teams/${team.id}/authentication-token`, "authentication-tokens", {});
    await search().fill(made.attributes.token);
    await page.getByRole("option", { name: /platform.*live token of this team of acme/ }).click();
    // Its row is marked, with who made it.
    const row = page.getByRole("row", { name: /the one you looked for/ });
    await row.getByText(/by root/).waitFor();
    expect(await row.getAttribute("class")).toBe("selected");
    await expectAccessible(page);
    // Of one that was deleted it still has the name, when it ended and by whom.
    const named = await post(`teams/${team.id}/authentication-tokens`, "authentication-tokens", {
      description: "laptop of ann",
    });
    await call(server, "DELETE", `/api/v2/authentication-tokens/${named.id}`, { token });
    await page.keyboard.press("Control+k");
    await search().fill(named.attributes.token);
    await shows(/^A team token that is not valid any more: "laptop of ann"\. Deleted .* by root\./);
    await page.getByRole("option", { name: /platform.*ended token of this team of acme/ }).click();
    await shows(`The token ${named.id} is not among these`);
    const events = page.getByRole("region", { name: "The token that you looked for" }).getByRole("listitem");
    await events.filter({ hasText: `Deleted the team token ${named.id} by root` }).waitFor();
    await expectFitsWidths(page);
    // A deletion says first how many tokens go with it.
    const said = page.getByRole("dialog").getByText(/^With it go/);
    await page.getByRole("button", { name: "Delete…" }).first().click();
    await expect.poll(() => said.textContent()).toBe("With it go 1 token, which are refused from the answer on.");
    await page.getByRole("button", { name: "Keep it" }).click();
    await openPlace(page, "teams/acme?part=settings");
    await page.getByRole("button", { name: "Delete the organization…" }).click();
    await expect
      .poll(() => said.textContent())
      .toBe(
        "With it go 2 teams, and 1 token of these, and the tokens of the organization itself. All are refused from the answer on.",
      );
    await expectAccessible(page);
    await page.getByRole("button", { name: "Keep it" }).click();
    await openPlace(page, "ends");
    await page.getByRole("region", { name: "Tokens of teams that end in this time" }).getByText("None.").waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Control+k");
    // Of what ended by its name, too, and a link where nothing is known.
    await search().fill("with-leases");
    await page.getByRole("option", { name: /token-with-leases ended: revoked/ }).waitFor();
    await search().fill("nobody-has-this-name");
    await page
      .getByText(/^Nothing is found by this\. Batch tokens/)
      .getByRole("link", { name: "Ended lately" })
      .waitFor();
    await search().fill(leaked.accessor);
    await page.getByRole("option", { name: /ended: revoked/ }).click();
    await page.waitForURL(new RegExp(`tokens/${leaked.accessor}`));
    await shows(/^This token has ended: revoked/);
  });

  it("says of a token that has ended when, how and by whom, and what ended with it", async () => {
    await endService();
    await openPlace(page, `tokens/${leaked.accessor}`);
    await shows(/^This token has ended: revoked/);
    await page.getByRole("link", { name: "1,167 other tokens" }).click();
    await page.getByRole("heading", { level: 1, name: "Ended lately" }).waitFor();
    await page
      .getByRole("link", { name: /^token-/ })
      .first()
      .waitFor();
    await openPlace(page, "ended");
    const receipt = page.getByRole("link", { name: "receipt", exact: true }).first();
    const cell = page.getByRole("cell").filter({ has: receipt }).first();
    expect(await cell.textContent()).toMatch(/^(?:\d+ others? · )?receipt$/);
    // The link is seen, whatever the length of the name.
    expect(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await expectAccessible(page);
    const { status } = await call(server, "GET", "/v1/auth/token/lookup-self", { token: leaked.client_token });
    expect(status).toBe(403);
  });

  it("does not say that nothing ended with a token while that may not be recorded yet", async () => {
    await endService();
    const address = `**/v1/sys/tokens/${leaked.accessor}*`;
    await page.route(
      address,
      async (route) => {
        const answer = await route.fetch();
        const body = (await answer.json()) as { data: { ended: object } };
        await route.fulfill({ json: { ...body, data: { ...body.data, ended: { ...body.data.ended, with: 0 } } } });
      },
      { times: 1 },
    );
    await openPlace(page, `tokens/${leaked.accessor}`);
    await shows(/^This token has ended: revoked/);
    const facts = page.getByRole("region", { name: "Its end" });
    expect(await facts.getByRole("term").allTextContents()).not.toContain("With it");
    await page.unroute(address);
  });

  // Before the console ends tokens of an entity: the tidy run that it begins takes these off the map too.
  it("shows in the list and on the map at once what somebody else has ended with all of its entity", async () => {
    const token = server.rootToken;
    await call(server, "POST", "/v1/auth/token/roles/shared", {
      token,
      body: { allowed_entity_aliases: "third@acme.example", allowed_policies: "fleet", orphan: true },
    });
    const body = { display_name: "shared", entity_alias: "third@acme.example", policies: ["fleet"], ttl: "20h" };
    const made = await call(server, "POST", "/v1/auth/token/create/shared", { token, body });
    const auth = made.body.auth as { readonly client_token: string; readonly entity_id: string };
    await call(server, "POST", "/v1/auth/token/create", { token: auth.client_token, body: { ttl: "1h" } });
    const listed = `/v1/sys/tokens?entity_id=${auth.entity_id}`;
    await expect
      .poll(async () => (await call(server, "GET", listed, { token })).body.data)
      .toMatchObject({
        tokens: [{}, {}],
      });
    const path = `/v1/identity/entity/id/${auth.entity_id}/not-before`;
    const { status } = await call(server, "POST", path, { token, body: { not_before: "now" } });
    expect(status).toBeLessThan(300);
    await openPlace(page, `tokens?entity_id=${auth.entity_id}`);
    await shows("No token matches");
    await shows(/^Batch tokens and tokens of teams are in no list, and may be alive/);
    // The filter has the id, and says whose it is.
    await page.getByRole("form", { name: "Filter" }).getByText("third@acme.example", { exact: true }).waitFor();
    await openPlace(page, "");
    await shows(/, \d+ of them revoked and not swept yet$/);
    await page.getByRole("button", { name: /^(?:token-|…)shared.*revoked$/ }).waitFor();
    await expectAccessible(page);
  });

  it("ends the tokens of an entity with their number before, and a receipt after", async () => {
    const token = server.rootToken;
    const body = { display_name: "robot", entity_alias: "second@acme.example", policies: ["fleet"], ttl: "20h" };
    const made = await call(server, "POST", "/v1/auth/token/create/robots", { token, body });
    const auth = made.body.auth as { readonly client_token: string; readonly entity_id: string };
    await call(server, "POST", "/v1/auth/token/create", { token: auth.client_token, body: { ttl: "1h" } });
    await openPlace(page, `identity?id=${auth.entity_id}`);
    await page.getByRole("link", { name: "Its tokens (2)" }).waitFor();
    await page.getByRole("button", { name: "End its tokens…" }).click();
    const dialog = page.getByRole("dialog");
    const tile = dialog.getByText("Tokens that end, with all below").locator("..");
    await tile.getByText("2", { exact: true }).waitFor();
    await dialog
      .getByText("By owner or entity")
      .locator("xpath=following-sibling::dd[1]")
      .getByText(/^2 (?!.*-.*-)/)
      .waitFor();
    await dialog.getByRole("heading", { name: "End the tokens of second@acme.example" }).waitFor();
    await dialog.getByLabel("Type second@acme.example to confirm").fill("second@acme.example");
    const answered = Promise.withResolvers<void>();
    await page.route("**/not-before", (route) => answered.promise.then(() => route.continue()), { times: 1 });
    await dialog.getByRole("button", { name: "End them" }).click();
    await dialog
      .getByRole("status")
      .filter({ hasText: /^Ending the tokens: .*…$/ })
      .waitFor();
    answered.resolve();
    const receipt = page.getByRole("region", { name: "Its tokens have ended" });
    await receipt.getByText(/^All of these are refused/).waitFor();
    await receipt.getByText(/^Asked by$/).waitFor();
    await receipt.getByText("It can log in again", { exact: true }).waitFor();
    await expectAccessible(page);
    // Tab, title and list have the name by which people know it, and the generated one beside it.
    expect(await page.title()).toBe("Entity second@acme.example · Grove");
    await page.getByRole("link", { name: /^second@acme\.example entity_/ }).waitFor();
    // The receipt is the server's: it is there for who comes later, and the timeline says who did it.
    await openPlace(page, "identity");
    await openPlace(page, `identity?id=${auth.entity_id}`);
    await receipt.getByText(/^Asked by$/).waitFor();
    // With its proof, once tidy has recorded what ended.
    await expect
      .poll(async () => {
        await openPlace(page, "identity");
        await openPlace(page, `identity?id=${auth.entity_id}`);
        return receipt.getByText("All of these are refused: 2 tokens").count();
      })
      .toBe(1);
    await receipt.getByText(/^Checked .*20\d\d/).waitFor();
    await receipt.getByText("Ended in all").locator("xpath=following-sibling::dd[1]").getByText("2 tokens").waitFor();
    const saved = page.waitForEvent("download");
    await receipt.getByRole("button", { name: "Export JSON" }).click();
    const file = JSON.parse(await readFile(await (await saved).path(), "utf8")) as object;
    expect(file).toMatchObject({ entity_id: auth.entity_id, numbers: { total: 2 }, accessors: { length: 2 } });
    // One request has one time.
    const said = receipt.getByText("When", { exact: true }).locator("xpath=following-sibling::dd[1]//time");
    const listed = page.getByRole("region", { name: "Timeline" }).getByRole("listitem");
    const logged = listed.filter({ hasText: "Ended the tokens of" }).locator("time");
    expect(await said.getAttribute("datetime")).toBe(await logged.first().getAttribute("datetime"));
    await receipt.getByRole("link", { name: "all that ended" }).click();
    await shows("2 tokens");
    await shows("by the request");
    await page.goBack();
    await receipt.getByText(/^Asked by$/).waitFor();
    await receipt.getByRole("link", { name: "root", exact: true }).waitFor();
    const timeline = page.getByRole("region", { name: "Timeline" });
    await timeline
      .getByRole("listitem")
      .filter({ hasText: "Ended the tokens of the entity second@acme.example by root" })
      .waitFor();
    await expectAccessible(page);
    // Health calls it by its name.
    await openPlace(page, "health");
    const ends = page.getByRole("region", { name: "Revocations of many" }).getByRole("table").last();
    await ends.getByRole("link", { name: "second@acme.example" }).first().waitFor();
    const map = await call(server, "GET", `/v1/sys/tokens?entity_id=${auth.entity_id}`, { token });
    expect(map.body.data).toMatchObject({ tokens: [] });
    // Its deletion ends tokens too.
    expect((await call(server, "POST", "/v1/auth/token/create/robots", { token, body })).status).toBe(200);
    await openPlace(page, `identity?id=${auth.entity_id}`);
    await page.getByRole("button", { name: "Delete…" }).first().click();
    await tile.getByText("1", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
  });

  it("disables an entity before its tokens end, so that nothing of it is accepted when the end is refused", async () => {
    const token = server.rootToken;
    await call(server, "POST", "/v1/identity/entity", { token, body: { name: "guest", policies: ["fleet"] } });
    const standing = async () => (await call(server, "GET", "/v1/identity/entity/name/guest", { token })).body.data;
    await openPlace(page, "identity?name=guest");
    await page.getByRole("button", { name: "End its tokens…" }).click();
    const dialog = page.getByRole("dialog");
    const box = dialog.getByRole("checkbox", { name: "Disable the entity too" });
    expect(await box.isChecked()).toBe(false);
    await box.check();
    await expectAccessible(page);
    await dialog.getByLabel("Type guest to confirm").fill("guest");
    const unavailable = { status: 503, json: { errors: ["try again"] } };
    await page.route("**/not-before", (route) => route.fulfill(unavailable), { times: 1 });
    await dialog.getByRole("button", { name: "End them" }).click();
    await dialog.getByText("Grove can't answer now").waitFor();
    expect(await standing()).toMatchObject({ disabled: true, policies: ["fleet"] });
    await dialog.getByRole("button", { name: "End them" }).click();
    const receipt = page.getByRole("region", { name: "Its tokens have ended" });
    await receipt.getByText("It is disabled: it can't log in again").waitFor();
    expect(await page.getByRole("checkbox", { name: /^Disabled/ }).isChecked()).toBe(true);
    await page.getByRole("heading", { name: "Entity guest · disabled" }).waitFor();
    // The proof is in view, without scrolling.
    await expect.poll(async () => ((await receipt.boundingBox()) ?? { y: 800 }).y).toBeLessThan(400);
    await page.getByRole("button", { name: "End its tokens…" }).click();
    await dialog.getByText("It is disabled: it can't log in again.").waitFor();
    expect(await box.count()).toBe(0);
    await page.keyboard.press("Escape");
    // The answer takes as long as another part of the service may not know it: the form says at once what it waits for.
    const answered = Promise.withResolvers<void>();
    await page.route("**/v1/identity/entity/id/*", (route) => answered.promise.then(() => route.continue()), {
      times: 1,
    });
    await page.getByRole("checkbox", { name: /^Disabled/ }).uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("status").filter({ hasText: "Saving: the answer comes when" }).waitFor();
    await expectAccessible(page);
    answered.resolve();
    await page.getByRole("heading", { name: "Entity guest", exact: true }).waitFor();
    await page.keyboard.press("Escape");
  });

  it("says what another token may do, by its text, on a path that was copied with a query", async () => {
    const body = { policies: ["fleet"], ttl: "1h" };
    const made = await call(server, "POST", "/v1/auth/token/create-orphan", { token: server.rootToken, body });
    const { client_token: text } = made.body.auth as { readonly client_token: string };
    await openPlace(page, "policies");
    const check = page.getByRole("region", { name: /^What may a token do on a path/ });
    await check.getByText("Another token").click();
    await check.getByLabel("Accessor or token").fill(text);
    await check.getByLabel("Path", { exact: true }).fill("/v1/sys/quotas/config?x=1");
    await check.getByRole("button", { name: "Check" }).click();
    await check.getByText("All that is allowed on").getByText("sys/quotas/config", { exact: true }).waitFor();
    await check
      .getByText(/No rule|no rule|lacks/)
      .first()
      .waitFor();
    addresses.push(page.url());
    expect(addresses.filter((address) => address.includes(text))).toEqual([]);
  });

  it("lets an on-call user follow the runbook with the documented policy, and says why what that refuses is refused", async () => {
    const token = server.rootToken;
    const written = await readFile(join(PROJECT, "docs/policies.md"), "utf8");
    const policy = /\*\*Who is on call\*\*[\s\S]*?```hcl\n([\s\S]*?)```/.exec(written)?.[1];
    await call(server, "POST", "/v1/sys/policies/acl/on-call", { token, body: { policy } });
    const make = async (body: object) => {
      const made = await call(server, "POST", "/v1/auth/token/create-orphan", { token, body: { ttl: "1h", ...body } });
      return made.body.auth as { readonly client_token: string; readonly accessor: string };
    };
    const own = await make({ display_name: "on-call", policies: ["on-call"] });
    const bad = await make({ display_name: "bad", policies: ["fleet"] });
    await signIn(page, server, own.client_token);
    await page.keyboard.press("Control+k");
    await search().fill("robot@acme");
    await page.getByRole("option", { name: /robot@acme\.example/ }).click();
    await page.getByRole("button", { name: "End its tokens…" }).waitFor();
    const refused: string[] = [];
    page.on("response", (response) => response.status() === 403 && refused.push(response.url()));
    for (const place of ["tokens?search=bad", "ended", "leases", "audit", `tokens/${bad.accessor}`])
      await openPlace(page, place);
    expect(refused).toEqual([]);
    await page.getByRole("button", { name: "Revoke…" }).click();
    await page.getByLabel("Type token-bad to confirm").fill("token-bad");
    await page.getByRole("button", { name: "Revoke 1 token" }).click();
    await shows("All of these are refused: 1 of 1");
    expect(refused).toEqual([]);
    // A button that does nothing says why to who presses it, by a finger or by a key.
    await openPlace(page, "tokens");
    const locked = page.getByRole("button", { name: /^New token/ });
    // The browser's driver takes it for disabled; a finger does not.
    await locked.click({ force: true });
    await page
      .getByRole("status")
      .filter({ hasText: "Your policies lack create or update on auth/token/create" })
      .waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Tab");
    await expect.poll(() => page.getByRole("status").filter({ hasText: "Your policies lack" }).count()).toBe(0);
    await locked.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Your policies lack" }).waitFor();
    page.removeAllListeners("response");
    await signIn(page, server, token);
  });

  it("counts again when there are more tokens than it counted, and goes on", async () => {
    const token = server.rootToken;
    const make = () =>
      call(server, "POST", "/v1/auth/token/create", { token, body: { display_name: "grower", policies: ["default"] } });
    await make();
    await openPlace(page, "tokens?search=grower");
    await page.getByRole("button", { name: "Contain" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Type 1 to confirm").fill("1");
    await make();
    await dialog.getByRole("button", { name: "Revoke 1 token" }).click();
    await dialog.getByText("Nothing has ended: there are more now").waitFor();
    await dialog.getByText(/^2 tokens would end, and not 1/).waitFor();
    await expect.poll(() => focusedLabel(page)).toMatch(/^Nothing has ended/);
    expect(await dialog.getByLabel("Type 2 to confirm").inputValue()).toBe("");
    await expectAccessible(page);
    await dialog.getByLabel("Type 2 to confirm").fill("2");
    await dialog.getByRole("button", { name: "Revoke 2 tokens" }).click();
    await page.waitForURL(/receipts\//);
    await shows(/^2 of 2 tokens ended/);
    // Tokens that look the same in the list are told apart.
    await make();
    await make();
    await openPlace(page, "tokens?search=grower");
    const boxes = page.getByRole("checkbox", { name: /^Select token-grower …[\w-]{10}$/ });
    await expect.poll(() => boxes.count()).toBe(2);
    expect(await page.getByRole("link", { name: /^token-grower …[\w-]{10}$/ }).count()).toBe(2);
  });

  it("refuses a token that would become part of a URL", async () => {
    await openPlace(page, "tokens");
    const name = page.getByRole("searchbox", { name: "Name", exact: true });
    await name.fill(leaked.client_token);
    await page.keyboard.press("Enter");
    await shows(/^This is a token, or looks like one/);
    expect(page.url()).not.toContain("s.");
  });

  it("asks the server in a body whether a word is a custom token id, before a URL may contain it", async () => {
    const chosen = "id-of-somebody-1";
    await openPlace(page, "tokens");
    const body = { id: chosen, ttl: "1h", display_name: "chosen" };
    const made = await call(server, "POST", "/v1/auth/token/create", { token: server.rootToken, body });
    const { accessor } = made.body.auth as { readonly accessor: string };
    await page.keyboard.press("Control+k");
    await search().fill(chosen);
    await page.getByRole("option", { name: new RegExp(accessor.slice(-8)) }).waitFor();
    expect(await page.getByRole("option", { name: /^All tokens/ }).count()).toBe(0);
    await page.keyboard.press("Escape");
    for (const name of ["Name", "Policy", "Metadata"]) {
      await page.getByRole("searchbox", { name, exact: true }).fill(name === "Metadata" ? `owner=${chosen}` : chosen);
      await page.keyboard.press("Enter");
      await shows(/^This is a token, or looks like one/);
      await page.getByRole("searchbox", { name, exact: true }).fill("");
    }
    await page.getByRole("searchbox", { name: "Search" }).fill(chosen);
    await page.waitForURL(new RegExp(accessor));
    await openPlace(page, "policies?new=1");
    await page.getByLabel("Name", { exact: true }).fill(chosen);
    await page.getByRole("button", { name: "Save" }).click();
    await shows(/^This is a token, or looks like one/);
    addresses.push(page.url());
    expect(addresses.filter((address) => address.includes(chosen))).toEqual([]);
  });

  it("has put no token into a URL", () => {
    expect(addresses.length).toBeGreaterThan(0);
    expect(addresses.filter((address) => address.includes(leaked.client_token))).toEqual([]);
  });
});

/** Forty trees of one service, each with a worker and jobs, beside those of others. Returns a token of the service. */
async function plant(server: RunningServer): Promise<{ readonly client_token: string; readonly accessor: string }> {
  const root = server.rootToken;
  const make = async (name: string, token: string, meta: object, how: "" | "-orphan" | "/robots" = "") => {
    const alias = how === "/robots" ? { entity_alias: "robot@acme.example" } : {};
    const body = { display_name: name, policies: ["fleet"], ttl: "20h", meta, ...alias };
    const path = `/v1/auth/token/create${how}`;
    const made = await call(server, "POST", path, { token, body });
    return made.body.auth as { readonly client_token: string; readonly accessor: string };
  };
  const policy = 'path "auth/token/create" { capabilities = ["update"] }';
  await call(server, "POST", "/v1/sys/policies/acl/fleet", { token: root, body: { policy } });
  const robots = { orphan: true, allowed_policies: "fleet", allowed_entity_aliases: "*" };
  await call(server, "POST", "/v1/auth/token/roles/robots", { token: root, body: robots });
  const first = await Promise.all(
    Array.from({ length: TREES }, async (_, at) => {
      const owner = { owner: "ledger" };
      const top = await make(
        "payments-api",
        root,
        { ...owner, run_id: `run-${1000 + at}` },
        at === 1 ? "/robots" : "-orphan",
      );
      const worker = await make("worker", top.client_token, owner);
      const jobs = Math.floor((TOTAL + TREES - 1 - at) / TREES) - 2;
      for (let job = 0; job < jobs; job++) await make("job", worker.client_token, owner);
      return top;
    }),
  );
  for (let at = 0; at < 3; at++) {
    const other = await make("checkout", root, { owner: "shop" }, "-orphan");
    await make("job", other.client_token, { owner: "shop" });
  }
  const [leaked] = first;
  if (!leaked) throw new Error("no token was made");
  return leaked;
}
