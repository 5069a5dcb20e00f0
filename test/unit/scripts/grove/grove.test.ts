import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { runGrove } from "../../../../scripts/grove/run.ts";
import { type Terminal, wantsColours } from "../../../../scripts/grove/terminal.ts";

interface Asked {
  readonly request: string;
  readonly body: unknown;
}
type Reply = { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown };

let server: Server;
let address: string;
/** What the server answers, by method and path; a list is used up one by one, up to its last. */
let replies: Record<string, Reply | Reply[]>;
let asked: Asked[];
let out: string[];
let said: string[];

beforeEach(async () => {
  [replies, asked, out, said] = [{}, [], [], []];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => {
      text += piece;
    });
    request.on("end", () => {
      asked.push({ request: `${request.method} ${request.url}`, body: text === "" ? null : JSON.parse(text) });
      const found = replies[`${request.method} ${request.url?.split("?")[0]}`];
      const {
        status = 200,
        headers = {},
        body,
      } = (Array.isArray(found) ? (found.length > 1 ? found.shift() : found[0]) : found) ?? {
        status: 404,
        body: { errors: [] },
      };
      response.writeHead(status, headers).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => void server.close());

const terminal = (change: Partial<Terminal> = {}): Terminal => ({
  colours: false,
  interactive: false,
  out: (line) => void out.push(line),
  say: (line) => void said.push(line),
  progress: () => {},
  ask: async () => "",
  ...change,
});
const grove = (words: string, change: Partial<Terminal> = {}, url = address) => {
  const command = parseGroveArguments(words.split(" "));
  if (!command.ok) throw new Error(`the command line is not taken: ${command.error}`);
  return runGrove(command.value, { VAULT_ADDR: url, VAULT_TOKEN: "s.own" }, terminal(change));
};
const data = (value: unknown): Reply => ({ body: { data: value } });
const token = (accessor: string, change: Record<string, unknown> = {}) => ({
  accessor,
  display_name: `name-${accessor}`,
  path: "auth/token/create",
  role: "",
  mount: "auth/token/",
  policies: ["default"],
  created: "2026-11-22T01:02:03Z",
  expires: "2026-11-23T04:05:06Z",
  uses_left: 0,
  children: 0,
  last_used: null,
  ...change,
});

describe("grove tokens", () => {
  it("shows pages until there are as many as were asked for, with the filter in each", async () => {
    replies["GET /v1/sys/tokens"] = [
      data({ tokens: [token("a")], next: "c1" }),
      data({ tokens: [], next: "c2" }),
      data({ tokens: [token("b", { expires: null, role: "ci", uses_left: 2, children: 3 })], next: "" }),
    ];
    expect(await grove("tokens --role ci --limit 0")).toBe(0);
    expect(asked.map(({ request }) => request)).toEqual([
      "GET /v1/sys/tokens?role=ci&sort=created&limit=1000",
      "GET /v1/sys/tokens?role=ci&sort=created&limit=1000&after=c1",
      "GET /v1/sys/tokens?role=ci&sort=created&limit=1000&after=c2",
    ]);
    expect(out).toEqual([
      "ACCESSOR  NAME    PATH               ROLE  POLICIES  CREATED           ENDS              USES LEFT  CHILDREN  LAST USED",
      "a         name-a  auth/token/create  -     default   2026-11-22 01:02  2026-11-23 04:05  -          0         -",
      "b         name-b  auth/token/create  ci    default   2026-11-22 01:02  never             2          3         -",
    ]);
    expect(said).toEqual(["2 tokens"]);
  });

  it("gives a terminal no command that somebody put into a name", async () => {
    const name = "\u001b]0;owned\u0007\u202egpj\nroot";
    replies["GET /v1/sys/tokens"] = data({ tokens: [token("a", { display_name: name })], next: "" });
    await grove("tokens");
    expect(out.join("")).not.toMatch(/\p{Cc}|\p{Cf}/u);
    await grove("tokens --json");
    expect(JSON.parse(out.at(-1) ?? "")[0].display_name).toBe(name);
  });

  it("counts by group", async () => {
    replies["GET /v1/sys/tokens/summary"] = data({ groups: [{ key: "auth/aws/", count: 12 }], total: 15, other: 3 });
    expect(await grove("tokens --count-by mount")).toBe(0);
    expect(out).toEqual(["TOKENS  MOUNT", "12      auth/aws/", "3       (others)"]);
  });

  it("waits when the server says that it sends too much, and tells what it does not take", async () => {
    replies["GET /v1/sys/tokens"] = [
      { status: 429, headers: { "Retry-After": "0" }, body: { errors: ["rate limit quota exceeded"] } },
      { status: 403, body: { errors: ["permission denied"] } },
    ];
    expect(await grove("tokens")).toBe(1);
    expect(asked).toHaveLength(2);
    expect(said.at(-1)).toMatch(/^grove: permission denied \(VAULT_TOKEN needs/);
  });
});

describe("grove tree", () => {
  it("draws the forest", async () => {
    const root = token("a", { display_name: "root" });
    replies["GET /v1/sys/tokens/map"] = data({
      total: 9,
      groups: [
        {
          mount: "auth/aws/",
          count: 8,
          trees: 4,
          largest: [
            { tree: "t1", root, count: 5 },
            { tree: "t2", root: null, count: 1 },
          ],
          rest: { trees: 2, count: 2 },
        },
        { mount: "auth/x/", count: 1, trees: 1, largest: [], rest: { trees: 0, count: 0 } },
      ],
    });
    expect(await grove("tree")).toBe(0);
    expect(out).toEqual([
      "9 tokens",
      "├── auth/aws/ 8 tokens in 4 trees",
      "│   ├── 5 root a auth/token/create, default, ends 2026-11-23 04:05",
      "│   ├── 1 tree t2",
      "│   └── 2 more trees with 2 tokens",
      "└── auth/x/ 1 token in 1 tree",
    ]);
  });

  it("draws a token below its ancestors, with what would end with it", async () => {
    replies["GET /v1/sys/tokens/b"] = data({
      token: token("b"),
      ancestors: [token("a")],
      ancestors_more: true,
      descendants: { count: 100, more: true },
      leases: { count: 2, more: false },
      cubbyhole: { values: 1, bytes: 10 },
    });
    replies["GET /v1/sys/tokens/b/tree"] = data({
      token: token("b"),
      children: [{ token: token("c"), descendants: { count: 7, more: false } }],
      more: true,
    });
    expect(await grove("tree b")).toBe(0);
    expect(out.map((line) => line.replace(/ auth\/token.*?04:05/, ""))).toEqual([
      "older ancestors",
      "└── name-a a",
      "    └── name-b b  <- with it would end: more than 100 tokens, 2 leases, 1 values in its cubbyhole",
      "        ├── name-c c (7 below)",
      "        └── more that is not shown",
    ]);
  });
});

describe("grove revoke", () => {
  const preview = (change: Record<string, unknown> = {}) =>
    data({
      count: 2,
      more: false,
      sample: [token("a"), token("b")],
      leases: { count: 0, more: false },
      skipped: { root: 1, self: 0 },
      ...change,
    });
  const writes = () => asked.filter(({ request }) => request === "POST /v1/sys/tokens/revoke").map(({ body }) => body);

  it("shows what would end and stops there with --dry-run", async () => {
    replies["POST /v1/sys/tokens/revoke"] = preview();
    expect(await grove("revoke --role ci --dry-run")).toBe(0);
    expect(writes()).toEqual([{ role: "ci", include_root: false, include_self: false, dry_run: true }]);
    expect(out.slice(3)).toEqual([
      "2 tokens, with everything below them, and 0 leases would end",
      "left out: 1 root token (--include-root)",
    ]);
  });

  it("tells the server the number that was shown, and follows the job to its end", async () => {
    replies["POST /v1/sys/tokens/revoke"] = [preview(), data({ job: "j1" })];
    replies["GET /v1/sys/tokens/jobs/j1"] = data({ id: "j1", state: "done", expected: 2, revoked: 2, failures: [] });
    expect(await grove("revoke --accessor a --accessor b --yes")).toBe(0);
    expect(writes()[1]).toEqual({
      accessors: ["a", "b"],
      include_root: false,
      include_self: false,
      dry_run: false,
      expected_count: 2,
    });
    expect(out.at(-1)).toBe("done: 2 of 2 revoked, 0 failures");
  });

  it.each([
    ["without anybody to ask", {}],
    ["with another answer than the number", { interactive: true, ask: async () => "yes" }],
  ])("revokes nothing %s", async (_, change) => {
    replies["POST /v1/sys/tokens/revoke"] = preview();
    expect(await grove("revoke --role ci", change)).toBe(1);
    expect(writes()).toHaveLength(1);
  });

  it("goes on when the number is typed, and ends with 1 when something failed", async () => {
    replies["POST /v1/sys/tokens/revoke"] = [preview(), data({ job: "j1" })];
    replies["GET /v1/sys/tokens/jobs/j1"] = data({
      id: "j1",
      state: "failed",
      expected: 2,
      revoked: 1,
      failures: ["x"],
    });
    expect(await grove("revoke --role ci", { interactive: true, ask: async () => " 2\n" })).toBe(1);
    expect(out.at(-1)).toBe("failed: 1 of 2 revoked, 1 failures");
  });

  it("refuses to go on when nobody knows how many it would be", async () => {
    replies["POST /v1/sys/tokens/revoke"] = preview({ count: 1000, more: true });
    expect(await grove("revoke --role ci --yes")).toBe(1);
    expect(writes()).toHaveLength(1);
  });
});

describe("grove doctor", () => {
  const health = (change: Record<string, unknown> = {}): Reply => ({
    body: { initialized: true, sealed: false, server_time_utc: Math.floor(Date.now() / 1000), ...change },
  });

  it("ends with 0 when there is nothing to do, and leaves out what the token may not ask", async () => {
    replies["GET /v1/sys/health"] = health({ grove_version: "1.0.0" });
    replies["GET /v1/auth/token/lookup-self"] = data({
      policies: ["ops"],
      ttl: 60,
      expire_time: "2026-11-22T01:02:03Z",
    });
    replies["GET /v1/sys/key-status"] = { status: 403, body: { errors: ["permission denied"] } };
    replies["GET /v1/sys/quotas/config"] = data({ rate_limit_exempt_paths: [] });
    expect(await grove("doctor --json")).toBe(0);
    const findings = JSON.parse(out[0] ?? "") as { about: string; state: string }[];
    expect(Object.fromEntries(findings.map(({ about, state }) => [about, state]))).toEqual({
      server: "ok",
      clock: "ok",
      token: "ok",
      keys: "skipped",
      "root tokens": "skipped",
      "tokens without end": "skipped",
      leases: "skipped",
      quotas: "note",
    });
  });

  it.each([
    ["is sealed", { sealed: true }, /^fault {2}server {2}sealed/],
    ["is not initialised", { initialized: false }, /^fault {2}server {2}not initialised/],
  ])("ends with 1 at once when the server %s", async (_, change, line) => {
    replies["GET /v1/sys/health"] = health(change);
    expect(await grove("doctor")).toBe(1);
    expect(out).toHaveLength(2);
    expect(out[1]).toMatch(line);
  });

  it("ends with 1 when nobody answers", async () => {
    await new Promise((resolve) => server.close(resolve));
    expect(await grove("doctor")).toBe(1);
    expect(out[1]).toMatch(/^fault {2}server {2}no answer from http/);
  });
});

it("ends with 2 for an address that is no URL", async () => {
  expect(await grove("tokens", {}, "grove.example")).toBe(2);
  expect(asked).toEqual([]);
});

it.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: "1" }, true, false],
  [{ NO_COLOR: "" }, true, true],
  [{ TERM: "dumb" }, true, false],
])("with %j and a terminal %j there are colours: %j", (environment, isTerminal, colours) => {
  expect(wantsColours(environment, isTerminal)).toBe(colours);
});
