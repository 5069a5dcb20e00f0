import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Api } from "../../../console/api.ts";
import { tokensOfSecretId } from "../../../console/methods/secret-id-tokens.ts";
import { consoleToken } from "../../support/console-token.ts";

const PARENT = "p".repeat(84);
const STAYS = "s".repeat(84);
const PLACE = { path: "auth/jobs/role/web", accessor: "accessor-of-the-secret-id" };

/** The selections whose ends were counted. */
let counted: (readonly string[])[] = [];
/** The accessors of the parents of tokens that end with the secret-id. */
let parents: readonly string[] = [];
/** The accessors of its logins by page; "" for a batch token. */
let logins: readonly (readonly string[])[] = [];

function answerTo({ pathname, searchParams }: URL, body: { readonly accessors: readonly string[] }): object {
  if (pathname.endsWith("sys/tokens"))
    return { tokens: parents.map((accessor) => consoleToken({ accessor })), next: "" };
  if (pathname.endsWith("sys/audit/events")) {
    const page = Number(searchParams.get("after") ?? 0);
    const events = (logins[page] ?? []).map((accessor) => ({ response: { auth: { accessor } } }));
    return { events, next: page + 1 < logins.length ? String(page + 1) : "" };
  }
  counted.push(body.accessors);
  const { length } = body.accessors;
  return { count: length, total: 10 * length, leases: { count: 0, more: false } };
}

beforeEach(() => {
  counted = [];
  vi.stubGlobal("fetch", async (url: string | URL, { body = "{}" }: { readonly body?: string } = {}) =>
    Response.json({ data: answerTo(new URL(String(url), "https://grove.example.com"), JSON.parse(body)) }),
  );
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const numbers = async (readsLogins = true) => {
  const answer = await tokensOfSecretId(new Api("t"), PLACE, readsLogins);
  return answer.ok ? answer.value : answer.problem;
};

it("what ends with a secret-id is counted once, without its parent, and what stays is the rest", async () => {
  parents = [PARENT];
  logins = [[STAYS, ""], [""]];
  expect(await numbers()).toMatchObject({ ending: { total: 9 }, staying: { total: 10, more: false }, batch: 2 });
  expect(counted).toEqual([[PARENT], [PARENT, STAYS]]);
});

it("nothing ends without a parent, and what stays is not known without the logins", async () => {
  parents = [];
  logins = [[STAYS]];
  expect(await numbers()).toMatchObject({ ending: null, staying: { total: 10, more: false }, batch: 0 });
  expect(counted).toEqual([[STAYS]]);
  expect(await numbers(false)).toMatchObject({ ending: null, staying: null, batch: 0 });
});

it("at most five pages of logins are read", async () => {
  parents = [];
  logins = Array.from({ length: 6 }, (_, page) => [page === 0 ? STAYS : ""]);
  expect(await numbers()).toMatchObject({ staying: { total: 10, more: true }, batch: 4 });
});
