import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import project from "../../../../package.json" with { type: "json" };
import { BackupStore } from "../../../../scripts/backup/api/store.ts";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import type { Check } from "../../../../scripts/grove/commands/check.ts";
import { checkAddress, checkList } from "../../../../scripts/grove/commands/doctor.ts";
import { runGrove } from "../../../../scripts/grove/run-command.ts";
import { Interrupted, type Terminal, wantsColours } from "../../../../scripts/grove/terminal.ts";
import { backupName } from "../../../../src/backup/names.ts";
import { LOGIN_PATHS } from "../../../../src/base/login-paths.ts";

interface Asked {
  readonly request: string;
  readonly body: unknown;
}
type Reply = { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown };

let server: Server;
let address: string;
/** What the server answers, by method and path; a list is used up one by one, up to its last. */
let replies: Record<string, Reply | Reply[]>;
/** What the token of a command may do with what it asks for only to say more. */
let capabilities: string[];
let asked: Asked[];
let out: string[];
let said: string[];

beforeEach(async () => {
  [replies, capabilities, asked, out, said] = [{}, ["root"], [], [], []];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => {
      text += piece;
    });
    request.on("end", () => {
      if (request.url === "/v1/sys/capabilities-self") {
        const { paths } = JSON.parse(text) as { readonly paths: readonly string[] };
        response.end(JSON.stringify({ data: Object.fromEntries(paths.map((path) => [path, capabilities])) }));
        return;
      }
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
  secret: async () => "",
  piped: false,
  lines: async function* () {},
  columns: null,
  ...change,
});
const grove = (words: string, change: Partial<Terminal> = {}, url = address, VAULT_TOKEN = "s.own") => {
  const command = parseGroveArguments(words.split(" "));
  if (!command.ok) throw new Error(`the command line is not taken: ${command.error}`);
  return runGrove(command.value, { VAULT_ADDR: url, VAULT_TOKEN }, terminal(change));
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

/** The count of a revocation that nothing matches. */
const NOTHING = {
  ...{ count: 0, total: 0, leases: { count: 0, more: false }, skipped: { root: 0, self: 0 } },
  by: { mount: [], type: [], role: [], owner: [] },
};

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
      "NAME    ENDS               POLICIES  ROLE  METADATA  PATH               CREATED            USED IN THE HOUR  USES LEFT  CHILDREN  ACCESSOR",
      "name-a  2026-11-23 04:05Z  default   -     -         auth/token/create  2026-11-22 01:02Z  -                 -          0         a",
      "name-b  never              default   ci    -         auth/token/create  2026-11-22 01:02Z  -                 2          3         b",
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

  it("says what is wrong with a filter by what was typed", async () => {
    replies["GET /v1/sys/tokens"] = { status: 400, body: { errors: ["tree is not the id of a tree"] } };
    expect(await grove("tokens --tree nonsense")).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: "nonsense" is no id of a tree: /);
    replies["GET /v1/sys/tokens"] = data({ tokens: [], next: "" });
    expect(await grove("tokens --entity-id nonsense")).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: "nonsense" is no id of an entity: /);
  });

  it("tells a policy that nobody has from one that there is not", async () => {
    replies["GET /v1/sys/tokens"] = data({ tokens: [], next: "" });
    replies["GET /v1/sys/policies/acl/unused"] = data({ policy: "" });
    replies["GET /v1/sys/policies/acl/hidden"] = { status: 403, body: { errors: ["permission denied"] } };
    expect(await grove("tokens --policy unused")).toBe(0);
    expect(await grove("tokens --policy hidden")).toBe(0);
    expect(await grove("tokens --policy nope")).toBe(1);
    expect(said.at(-1)).toBe(
      `grove: there is no policy "nope", and no token has it: printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @- "$VAULT_ADDR/v1/sys/policies/acl?list=true" names them`,
    );
  });

  describe.each([["tokens"], ["revoke --yes"], ["contain --yes"]])("%s that selects nothing", (command) => {
    beforeEach(() => {
      replies["GET /v1/sys/tokens"] = data({ tokens: [], next: "" });
      replies["POST /v1/sys/tokens/revoke"] = data(NOTHING);
      replies["GET /v1/sys/auth"] = data({ "aws/": { type: "aws" }, "token/": { type: "token" } });
      replies["GET /v1/auth/token/roles/ci"] = data({});
      replies["GET /v1/auth/aws/role/hidden"] = { status: 403, body: { errors: ["permission denied"] } };
    });

    it.each([
      ["--policy deplyo", 'grove: there is no policy "deplyo", and no token has it: printf '],
      ["--role cii", 'grove: there is no role "cii", and no token was created by it'],
      ["--role ci --mount auth/aws/", 'grove: there is no role "ci" at auth/aws/, and no token was created by it'],
    ])("fails with %s, the name of nothing", async (filter, message) => {
      expect(await grove(`${command} ${filter}`)).toBe(1);
      expect(said.at(-1)).toContain(message);
    });

    it.each(["--role ci", "--role hidden", "--role ci --mount auth/token/"])(
      "says with %s only that there is none",
      async (filter) => {
        await grove(`${command} ${filter}`);
        expect(said.join()).not.toContain("there is no role");
      },
    );
  });

  it("names by tree those that are alone in theirs", async () => {
    replies["GET /v1/sys/tokens/summary"] = data({ groups: [], total: 4, other: 4 });
    expect(await grove("tokens --count-by tree")).toBe(0);
    expect(out).toEqual(["TOKENS  TREE", "4       (alone in their trees)"]);
  });

  it("cuts names in the middle: those of a service differ in their ends", async () => {
    const names = ["a", "b"].map((end) => `token-payments-production-europe-west-instance-${end}`);
    const tokens = names.map((display_name) =>
      token("x".repeat(84), { display_name, role: "ci", path: "auth/token/create/ci" }),
    );
    replies["GET /v1/sys/tokens"] = data({ tokens, next: "" });
    expect(await grove("tokens", { columns: 60 })).toBe(0);
    expect(out[1]).toMatch(/^token\S*…\S*-a /);
    expect(out[3]).toMatch(/^token\S*…\S*-b /);
    for (const line of out.filter((one) => !one.startsWith("x"))) expect(line.length).toBeLessThanOrEqual(60);
  });

  it("counts by group", async () => {
    replies["GET /v1/sys/tokens/summary"] = data({ groups: [{ key: "auth/aws/", count: 12 }], total: 15, other: 3 });
    expect(await grove("tokens --count-by mount")).toBe(0);
    expect(out).toEqual(["TOKENS  MOUNT", "12      auth/aws/", "3       (none)"]);
  });

  it("names entities, and says when there are more groups than an answer has", async () => {
    const id = "81b1cdd7-5b51-8679-af75-423ed9a751ea";
    replies["POST /v1/sys/capabilities-self"] = data({ "identity/lookup/entities": ["update"] });
    const bob = id.replace("8", "9");
    const generated = { name: "entity_91b1cdd75b518679af75.root", aliases: [{ name: "bob", metadata: null }] };
    const info = { [id]: { name: "alice", aliases: [] }, [bob]: generated };
    replies["POST /v1/identity/lookup/entities"] = data({ key_info: info });
    replies["GET /v1/sys/tokens/summary"] = data({
      ...{ groups: [id, bob].map((key) => ({ key, count: 6 })), total: 15, other: 3 },
    });
    expect(await grove("tokens --count-by entity")).toBe(0);
    expect(out.slice(1)).toEqual([`6       alice (${id})`, `6       bob (${bob})`, "3       (none)"]);
    const groups = Array.from({ length: 1000 }, (_, at) => ({ key: `role-${at}`, count: 1 }));
    replies["GET /v1/sys/tokens/summary"] = data({ groups, total: 1003, other: 3 });
    expect(await grove("tokens --count-by role")).toBe(0);
    expect(out.at(-1)).toBe("3       (others: more groups, or (none))");
    out.length = 0;
    const by = { mount: [], type: [], role: [], owner: [{ key: id, count: 12 }] };
    const counted = { count: 12, total: 12, leases: { count: 0, more: false }, by, skipped: { root: 0, self: 0 } };
    replies["POST /v1/sys/tokens/revoke"] = data(counted);
    expect(await grove("revoke --role ci --dry-run")).toBe(0);
    expect(out).toContain("by owner or entity: alice 12");
  });

  it("counts what ends in a time by group", async () => {
    const groups = [{ key: "token-web", count: 12, parts: [12] }];
    replies["GET /v1/sys/tokens/ends"] = data({ groups, total: 15, other: { count: 3, parts: [3] } });
    const time = "--ends-after 2026-11-01T00:00:00Z --ends-before 2026-12-31T00:00:00Z";
    expect(await grove(`tokens --count-by display_name --mount auth/aws ${time}`)).toBe(0);
    expect(out).toEqual(["TOKENS  DISPLAY_NAME", "12      token-web", "3       (none)"]);
    // A part has at most 31 days.
    expect(asked[0]?.request).toBe(
      "GET /v1/sys/tokens/ends?group_by=display_name&mount=auth%2Faws&from=2026-11-01T00%3A00%3A00.000Z&step=2592000&parts=2&limit=100",
    );
  });

  it("waits when the server says that it sends too much, and shows what was refused", async () => {
    replies["GET /v1/sys/tokens"] = [
      { status: 429, headers: { "Retry-After": "0" }, body: { errors: ["rate limit quota exceeded"] } },
      { status: 403, body: { errors: ["permission denied"] } },
    ];
    expect(await grove("tokens")).toBe(1);
    expect(asked.filter(({ request }) => request.includes("sys/tokens"))).toHaveLength(2);
    expect(said.at(-1)).toMatch(/^grove: permission denied \(VAULT_TOKEN needs/);
    await grove("tokens", {}, address, "");
    expect(said.at(-1)).toBe("grove: permission denied (VAULT_TOKEN is not set)");
  });

  it("reads the variables of OpenBao's CLI, and names them", async () => {
    replies["GET /v1/sys/tokens"] = { status: 403, body: { errors: ["permission denied"] } };
    const command = parseGroveArguments(["tokens"]);
    if (!command.ok) throw new Error(`not taken: ${command.error}`);
    expect(await runGrove(command.value, { BAO_ADDR: address, BAO_TOKEN: "s.bao" }, terminal())).toBe(1);
    expect(asked[0]?.request).toMatch(/^GET .v1.sys.tokens/);
    expect(said.at(-1)).toMatch(/^grove: permission denied \(BAO_TOKEN needs/);
    expect(await runGrove(command.value, { BAO_ADDR: "nowhere" }, terminal())).toBe(2);
    expect(said.at(-1)).toContain("BAO_ADDR has to begin with");
  });
});

describe("grove tree", () => {
  it("prints all trees", async () => {
    const root = token("a", { display_name: "root" });
    replies["GET /v1/sys/tokens/map"] = data({
      total: 9,
      groups: [
        {
          mount: "auth/aws/",
          count: 8,
          trees: 4,
          largest: [
            { tree: "t1", root, count: 5, ended: true },
            { tree: "t2", root: null, count: 1 },
          ],
          rest: { trees: 2, count: 1, estimated: true },
        },
        { mount: "auth/x/", count: 1, trees: 1, largest: [], rest: { trees: 1, count: 2 } },
      ],
    });
    expect(await grove("tree")).toBe(0);
    // Of the 8 tokens that auth/aws/ has issued one is in a tree of auth/x/.
    expect(out).toEqual([
      "9 tokens in 5 trees, 5 of them revoked; each tree counts where its first token was issued",
      "├── auth/aws/ about 7 tokens in 4 trees",
      "│   ├── 5 tokens: root a auth/token/create, default, ends 2026-11-23 04:05Z <- revoked",
      "│   ├── 1 token: tree t2",
      "│   └── about 1 token in 2 more trees",
      "└── auth/x/ 2 tokens in 1 tree",
      "    └── 2 tokens in 1 tree",
    ]);
  });

  it("prints nothing twice, and no mount without a tree", async () => {
    const rest = { trees: 0, count: 0 };
    replies["GET /v1/sys/tokens/map"] = data({
      total: 3,
      groups: [
        { mount: "auth/aws/", count: 1, trees: 1, largest: [{ tree: "t1", root: null, count: 3 }], rest },
        { mount: "auth/token/", count: 2, trees: 0, largest: [], rest },
      ],
    });
    expect(await grove("tree")).toBe(0);
    expect(out.slice(1)).toEqual(["└── auth/aws/ 3 tokens in 1 tree", "    └── 3 tokens: tree t1"]);
  });

  it.each([74, 80])("fits %i columns, with each accessor whole in a line of its own", async (columns) => {
    const accessor = (end: string) => "A".repeat(76) + end.repeat(8);
    const long = (end: string, change = {}) => token(accessor(end), { display_name: end, ...change });
    replies["GET /v1/sys/tokens/b"] = data({
      token: long("b", { role: "deploy", policies: ["default", "deploy-to-production", "read-all-of-it"] }),
      ancestors: [long("a")],
      descendants: { count: 1, more: false },
      leases: { count: 2, more: false },
      cubbyhole: { values: 1, bytes: 10 },
    });
    const children = [{ token: long("c") }];
    replies["GET /v1/sys/tokens/b/tree"] = data({ token: long("b"), children, more: false });
    expect(await grove("tree b", { columns })).toBe(0);
    const alone = out.filter((line) => /A{76}/.test(line));
    expect(alone.map((line) => line.replace(/^[│ ]+/, ""))).toEqual(["a", "b", "c"].map(accessor));
    for (const line of out.filter((one) => !alone.includes(one))) expect(line.length).toBeLessThanOrEqual(columns);
    expect(out.join(" ").replace(/[│ ]+/g, " ")).toContain("with it would end: 1 descendant, 2 leases, 1 value in");
  });

  it("prints a token below its ancestors, with the tokens that would end with it", async () => {
    replies["GET /v1/sys/tokens/b"] = data({
      token: token("b", { tree: "t1" }),
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
    expect(out.map((line) => line.replace(/ auth\/token.*?04:05Z/, ""))).toEqual([
      "older ancestors",
      "└── name-a a",
      "    └── name-b b <- with it would end: more than 100 descendants, 2 leases, 1 value in its cubbyhole",
      "        ├── name-c c (7 descendants)",
      "        └── more than 99 others below it are not shown: npm run -s grove -- tokens --tree t1 --limit 0 lists its tree",
    ]);
  });
});

it("grove tree of an accessor that no token has says so", async () => {
  expect(await grove("tree nonsense")).toBe(1);
  expect(said).toEqual(['grove: "nonsense" is no accessor: an accessor has 84 letters, digits, - and _']);
});

describe("grove tree of a token that has ended", () => {
  const end = (by: unknown, others: number) =>
    data({ token: token("b"), ended: { at: "2026-11-22T05:06:07.000Z", how: "revoked", by, with: others } });

  it("says when, how and by whom", async () => {
    replies["GET /v1/sys/tokens/b"] = [end({ accessor: "a", display_name: "token-on-call" }, 1), end(null, 0)];
    expect(await grove("tree b")).toBe(0);
    expect(await grove("tree b")).toBe(0);
    const token = "name-b b auth/token/create, default, ends 2026-11-23 04:05Z";
    expect(out).toEqual([
      `${token} <- ended 2026-11-22 05:06Z: revoked by token-on-call a, with 1 other`,
      `${token} <- ended 2026-11-22 05:06Z: revoked`,
    ]);
  });
});

describe("grove revoke", () => {
  const numbers = (change: Record<string, unknown> = {}) => ({
    count: 38,
    total: 1168,
    leases: { count: 2, more: false },
    by: {
      mount: [{ key: "auth/token/", count: 1168 }],
      type: [{ key: "service", count: 1168 }],
      role: [{ key: "", count: 1168 }],
      owner: [
        { key: "payments", count: 1100 },
        { key: "", count: 68 },
      ],
    },
    skipped: { root: 1, self: 0 },
    ...change,
  });
  const preview = (change: Record<string, unknown> = {}) => data({ ...numbers(), sample: [token("a")], ...change });
  const finished = "2026-11-22T05:06:07Z";
  const job = (change: Record<string, unknown>) =>
    data({
      ...{ id: "j1", counted: 1168, matched: 38, total: 0, revoked: 38, preview: numbers(), finished, failures: [] },
      ...change,
    });
  const writes = () => asked.filter(({ request }) => request === "POST /v1/sys/tokens/revoke").map(({ body }) => body);

  it("shows what would end and stops there with --dry-run", async () => {
    replies["POST /v1/sys/tokens/revoke"] = preview();
    expect(await grove("revoke --role ci --dry-run")).toBe(0);
    expect(writes()).toEqual([{ role: "ci", include_root: false, include_self: false, dry_run: true }]);
    expect(out.slice(2)).toEqual([
      "... and 37 others",
      "38 tokens match; 1168 end in all, with everything below, and 2 leases",
      "by mount: auth/token/ 1168",
      "by type: service 1168",
      "by owner or entity: payments 1100, (none) 68",
      "left out: 1 root token (--include-root)",
    ]);
  });

  it("sends the numbers that were shown, and follows the job to its end", async () => {
    replies["POST /v1/sys/tokens/revoke"] = [preview(), data({ job: "j1", state: "running" })];
    const running = job({ state: "running", total: 600, finished: null });
    replies["GET /v1/sys/tokens/jobs/j1"] = [...Array(5).fill(running), job({ state: "done", total: 1168 })];
    expect(await grove("revoke --accessor a --accessor b --yes")).toBe(0);
    expect(writes()[1]).toEqual({
      accessors: ["a", "b"],
      include_root: false,
      include_self: false,
      dry_run: false,
      expected_count: 38,
      expected_total: 1168,
    });
    expect(out.at(-1)).toBe("done: 1168 of 1168 ended, 38 that matched and everything below, 0 failures");
    const commands = said.flatMap((text) => /grove -- (.*?) {2,}/.exec(text)?.[1] ?? []);
    expect(commands).toEqual(["revoke --job j1", "revoke --stop j1"]);
    for (const words of commands) expect(parseGroveArguments(words.split(" ")).ok).toBe(true);
    // A job that ends soon needs neither.
    said.length = 0;
    replies["GET /v1/sys/tokens/jobs/j1"] = [...Array(4).fill(running), job({ state: "done", total: 1168 })];
    replies["POST /v1/sys/tokens/revoke"] = [preview(), data({ job: "j1", state: "running" })];
    expect(await grove("revoke --accessor a --yes")).toBe(0);
    expect(said.join("\n")).not.toContain("--stop");
  });

  it.each(["revoke", "contain"])("%s asks nothing about numbers that --json does not show", async (name) => {
    replies["POST /v1/sys/tokens/revoke"] = preview();
    const ask = async (): Promise<string> => "1168";
    expect(await grove(`${name} --role ci --json`, { interactive: true, ask })).toBe(1);
    expect(writes()).toHaveLength(1);
    expect(out).toEqual([]);
    expect(said.at(-1)).toMatch(/^grove: nothing was revoked: with --json nothing is asked/);
  });

  it("says of a wrong accessor what was typed, and of an entity that nothing is of", async () => {
    const errors = ["accessors has an item that is not an accessor"];
    replies["POST /v1/sys/tokens/revoke"] = { status: 400, body: { errors } };
    for (const words of ["revoke --accessor nonsense", "contain --accessor nonsense --yes"]) {
      expect(await grove(words)).toBe(1);
      expect(said.at(-1)).toMatch(/^grove: "nonsense" is no accessor: /);
    }
    replies["POST /v1/sys/tokens/revoke"] = preview({ count: 0, total: 0, sample: [] });
    expect(await grove("revoke --entity-id nonsense --yes")).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: "nonsense" is no id of an entity: /);
  });

  it("follows a count that the server continues with, and shows its numbers", async () => {
    replies["POST /v1/sys/tokens/revoke"] = data({ job: "j1", state: "counting", counted: 500 });
    replies["GET /v1/sys/tokens/jobs/j1"] = [
      job({ state: "counting", counted: 800, matched: null, preview: undefined, finished: null }),
      job({ state: "counted" }),
    ];
    const progress: (string | null)[] = [];
    const shown = { progress: (text: string | null) => void progress.push(text) };
    expect(await grove("revoke --role ci --dry-run", shown)).toBe(0);
    expect(progress).toContain("800 counted so far");
    expect(out).toContain("38 tokens match; 1168 end in all, with everything below, and 2 leases");
  });

  it.each([
    ["without anybody to ask", {}],
    ["with another answer than the number of all that end", { interactive: true, ask: async () => "38" }],
  ])("revokes nothing %s", async (_, change) => {
    replies["POST /v1/sys/tokens/revoke"] = preview();
    expect(await grove("revoke --role ci", change)).toBe(1);
    expect(writes()).toHaveLength(1);
  });

  it("continues when the number is typed, and ends with 1 when something failed", async () => {
    replies["POST /v1/sys/tokens/revoke"] = [preview(), data({ job: "j1", state: "running" })];
    replies["GET /v1/sys/tokens/jobs/j1"] = job({
      ...{ state: "failed", total: 40, revoked: 2, ended_before: 1, failures: ["x"] },
    });
    expect(await grove("revoke --role ci", { interactive: true, ask: async () => " 1168\n" })).toBe(1);
    expect(out.at(-1)).toBe(
      "failed: 40 of 1168 ended, 2 of the 38 that matched and everything below, 1 had ended already, 1 failure",
    );
  });

  it("follows a revocation that it stops until the step is done that it was at", async () => {
    replies["POST /v1/sys/tokens/jobs/j1/stop"] = job({ state: "stopped", finished: null });
    replies["GET /v1/sys/tokens/jobs/j1"] = [
      job({ state: "stopped", finished: null }),
      job({ state: "stopped", total: 200, revoked: 6 }),
    ];
    const progress: (string | null)[] = [];
    const shown = { progress: (text: string | null) => void progress.push(text) };
    expect(await grove("revoke --stop j1", shown)).toBe(1);
    expect(progress).toContain("job j1: 0 of 1168 ended, stops after this step");
    expect(out).toEqual(["stopped: 200 of 1168 ended, 6 of the 38 that matched and everything below, 0 failures"]);
  });

  it("says that nothing was revoked when more would end by then", async () => {
    replies["POST /v1/sys/tokens/revoke"] = [preview(), data({ job: "j1", state: "counting", counted: 1 })];
    replies["GET /v1/sys/tokens/jobs/j1"] = job({ state: "refused" });
    expect(await grove("revoke --role ci --yes")).toBe(1);
    expect(said.at(-1)).toContain("nothing was revoked");
  });
});

describe("grove leases", () => {
  const lease = (id: string, next: string | null = null) => ({
    ...{ lease_id: id, mount_id: "db/", accessor: "a.holder", error: "no answer from db.example" },
    next_attempt: next,
  });
  const list = (...leases: readonly object[]) => data({ lease_count: leases.length, leases });

  it("lists the leases that are given up or tried again, and ends with 1", async () => {
    replies["GET /v1/sys/leases"] = list(lease("db/creds/a/1", "2026-11-30T12:00:00Z"), lease("db/creds/a/2"));
    expect(await grove("leases")).toBe(1);
    expect(out.slice(0, 5)).toEqual([
      "  db/creds/a/1: no answer from db.example, next attempt at 2026-11-30 12:00Z",
      "    of the token a.holder",
      "  db/creds/a/2: no answer from db.example, irrevocable",
      "    of the token a.holder",
      "2 leases not revoked: the secret of each can be used",
    ]);
    expect(out.at(-1)).toContain("grove -- leases --retry");
    expect(asked.map(({ request }) => request)).toEqual(["GET /v1/sys/leases?type=failing&limit=none"]);
  });

  it("ends with 0 when none fails", async () => {
    replies["GET /v1/sys/leases"] = list();
    expect(await grove("leases")).toBe(0);
    expect(out).toEqual(["none is irrevocable, and none that ended lately fails"]);
  });

  it("does not say that none fails where the server has not looked at all", async () => {
    const body = { data: { lease_count: 0, leases: [] }, warnings: ["more may fail"] };
    replies["GET /v1/sys/leases"] = { body };
    expect(await grove("leases")).toBe(1);
    expect(out).toEqual(["none of those that were looked at fails"]);
    expect(said).toEqual(["more may fail"]);
  });

  it("sends each again, and says of each by a look at it whether it still fails", async () => {
    replies["GET /v1/sys/leases"] = list(lease("db/creds/a/1"), lease("db/creds/a/2"));
    replies["POST /v1/sys/leases/revoke"] = { status: 204, body: null };
    const left = { revoke_error: "still no answer", next_attempt: "2026-11-30T12:00:00Z" };
    const revoked = { status: 400, body: { errors: ["invalid lease"] } };
    replies["POST /v1/sys/leases/lookup"] = [revoked, data(left)];
    expect(await grove("leases --retry")).toBe(1);
    expect(out[0]).toMatch(/^ {2}db\/creds\/a\/\d: still no answer, next attempt/);
    expect(out).toContain("2 sent again, 1 lease not revoked: the secret of each can be used");
    out.length = 0;
    replies["POST /v1/sys/leases/lookup"] = revoked;
    expect(await grove("leases --retry")).toBe(0);
    expect(out).toEqual(["2 sent again, none is irrevocable, and none that ended lately fails"]);
  });
});

/** A backup through the API in a directory. */
function backupOf(directory: string, clusterId: string, at: number): void {
  const sha256 = createHash("sha256").update("rows").digest("hex");
  const store = new BackupStore(directory);
  store.open();
  store.keep(sha256, gzipSync("rows"));
  const place = { number: 0, position: "0", next: null, seal: "s", restored_first: false, objects: 1, rows: 1 };
  const times = { started_at: new Date(at).toISOString(), finished_at: new Date(at).toISOString() };
  const head = { format: 1 as const, run: `${at}.1.AAAAAAAAAAAAAAAAAAAAAA`, parts: 1, ...times, release: "1.0.0" };
  const keys = { cluster_id: clusterId, seal_key_version: 1, key_ring: "1.a.b", seal: "s" };
  store.finish({ ...head, ...keys, files: [{ ...place, sha256 }] }, at);
}

describe("grove doctor", () => {
  const health = (change: Record<string, unknown> = {}): Reply => ({
    body: { initialized: true, sealed: false, ...change },
  });
  const check = (name: string, state: string, more: Record<string, string> = {}) => ({
    ...{ name, title: name, state, seen: `${name} was seen`, advice: "", link: "" },
    ...more,
  });
  const statesOf = (text: string | undefined) =>
    Object.fromEntries((JSON.parse(text ?? "") as Check[]).map(({ name, state }) => [name, state]));

  beforeEach(() => {
    replies["GET /v1/sys/health"] = health({ grove_version: "1.0.0" });
    replies["GET /v1/auth/token/lookup-self"] = data({ policies: ["ops"], ttl: 60, expire_time: null });
  });

  it("shows the server's checks after its own, and ends with 0 when none is failing", async () => {
    const checks = [check("backups", "unknown"), check("tidy", "attention")];
    replies["GET /v1/sys/doctor"] = data({ state: "attention", checks });
    expect(await grove("doctor --json")).toBe(0);
    // The server of this test is one that refuses LIST.
    expect(statesOf(out[0])).toEqual({
      ...{ server: "ok", address: "ok", token: "ok", list_method: "attention" },
      ...{ backups: "unknown", tidy: "attention" },
    });
    const { request = "" } = asked.find(({ request }) => request.startsWith("GET /v1/sys/doctor?")) ?? {};
    expect(Number(request.split("client_time=")[1])).toBeGreaterThan(Date.now() / 1000 - 60);
  });

  it("checks copies of this machine, in the place of backups that the server does not know", async () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-copies-"));
    const states = async (checks: readonly object[]) => {
      out.length = 0;
      replies["GET /v1/sys/doctor"] = data({ state: "attention", checks });
      const code = await grove(`doctor --json --copies ${directory}`);
      const { server, address: _, token: __, list_method: ___, ...others } = statesOf(out[0]);
      return [code, server, others];
    };
    const cluster = "3ec50187-719e-463c-9e51-ded1453cb163";
    replies["GET /v1/sys/health"] = health({ grove_version: "1.0.0", cluster_id: cluster });
    expect(await states([check("backups", "unknown")])).toEqual([1, "ok", { copies: "failing" }]);
    expect(asked.filter(({ request }) => request.startsWith("GET /v1/sys/health"))).toHaveLength(1);
    const now = Date.now();
    backupOf(directory, cluster, now - 5 * 86_400_000);
    expect(await states([check("backups", "ok")])).toEqual([1, "ok", { backups: "ok", copies: "failing" }]);
    backupOf(directory, cluster, now - 30 * 3_600_000);
    expect(await states([])).toEqual([0, "ok", { copies: "attention" }]);
    backupOf(directory, cluster, now - 3_600_000);
    expect(await states([])).toEqual([0, "ok", { copies: "ok" }]);
    expect(out[0]).toContain("is whole, begun 60 min ago");
    // A backup that the key of this machine does not open can't be restored here.
    out.length = 0;
    const keys = { VAULT_ADDR: address, VAULT_TOKEN: "s.own", GROVE_SEAL_KEY: `3:${"A".repeat(43)}=` };
    expect(await runGrove({ kind: "doctor", copies: directory, json: true }, keys, terminal())).toBe(1);
    expect(out[0]).toContain("needs seal key version 1, and the configured one has version 3");
    const damaged = join(directory, backupName(now - 120_000));
    mkdirSync(damaged);
    expect(await states([])).toEqual([1, "ok", { copies: "failing" }]);
    out.length = 0;
    expect(await grove(`doctor --json --copies ${damaged}`)).toBe(1);
    expect(out[0]).toContain("can't be restored");
    rmSync(damaged, { recursive: true });
    replies["POST /v1/sys/restore/begin"] = { status: 403, body: { errors: ["it needs the secret GROVE_INIT_TOKEN"] } };
    asked.length = 0;
    expect(await grove(`restore --from ${directory}`)).toBe(1);
    // A server that was never initialized answers a question about a token as long as it lasts: not now.
    expect(asked.map(({ request }) => request)).toEqual(["POST /v1/sys/restore/begin"]);
    backupOf(directory, "another", now - 60_000);
    expect(await states([])).toEqual([1, "ok", { copies: "failing" }]);
    // A server that does not answer is no reason to know less of its backups.
    replies["GET /v1/sys/health"] = { status: 400, body: { errors: ["bad request"] } };
    expect(await states([])).toEqual([1, "failing", { copies: "ok" }]);
    rmSync(directory, { recursive: true });
  });

  it("says below a finding what to do and where that is described, and ends with 1", async () => {
    const more = { advice: "Start one.", link: "docs/runbook.md#backups-are-missing" };
    replies["GET /v1/sys/doctor"] = data({ state: "failing", checks: [check("backups", "failing", more)] });
    expect(await grove("doctor")).toBe(1);
    expect(out.slice(-2)).toEqual([
      expect.stringMatching(/^failing +backups +backups was seen/),
      "    Start one. (docs/runbook.md#backups-are-missing)",
    ]);
  });

  it("says an advice once, below the first of its findings", async () => {
    const more = { advice: "Make space.", link: "docs/runbook.md#the-disk-is-full" };
    replies["GET /v1/sys/doctor"] = data({
      state: "failing",
      checks: [check("disk", "failing", more), check("tidy", "failing", more)],
    });
    expect(await grove("doctor")).toBe(1);
    expect(out.filter((line) => line.includes("Make space."))).toHaveLength(1);
  });

  it("ends with what to do, by urgency", async () => {
    const checks = [check("backups", "unknown"), check("tidy", "attention"), check("disk", "failing")];
    replies["GET /v1/sys/doctor"] = data({ state: "failing", checks });
    await grove("doctor");
    expect(said).toEqual(["act on: disk; look at: Method LIST, tidy; not known: backups"]);
    said.length = 0;
    await grove("doctor --json");
    expect(said).toEqual([]);
  });

  it("fits a terminal of 80 columns, with nothing cut", async () => {
    const long = "none was made into a bucket or over the API; copies of the directory can't be seen from here";
    const more = { seen: long, advice: `${long}, ${long}`, link: "docs/runbook.md#backups-are-missing" };
    replies["GET /v1/sys/doctor"] = data({ state: "unknown", checks: [check("backups", "unknown", more)] });
    expect(await grove("doctor", { columns: 80 })).toBe(0);
    for (const line of out) expect(line.length).toBeLessThanOrEqual(80);
    const shown = out.join(" ").replace(/ +/g, " ");
    expect(shown).toContain(`unknown backups ${long} ${long}, ${long} (docs/runbook.md#backups-are-missing)`);
  });

  it("names the right that a check lacks", async () => {
    const client = new GroveClient(address, "s.own", {
      send: async () => ({ status: 403, retryAfter: null, text: '{"errors":["permission denied"]}' }),
    });
    const seen = "VAULT_TOKEN needs list on sys/policies/acl";
    expect(await checkList(client)).toMatchObject({ state: "unknown", seen });
  });

  it("says when there is no token to ask with", async () => {
    expect(await grove("doctor", {}, address, "")).toBe(1);
    expect(out.join("\n")).toMatch(/^failing +This token +VAULT_TOKEN is not set$/m);
  });

  it.each([
    ["its token may not ask", { status: 403, body: { errors: ["permission denied"] } }, "sudo on sys/doctor"],
    ["the server is older", { status: 404, body: { errors: [] } }, "older release"],
  ])("leaves out the server's checks when %s, and ends with 1: it has seen nothing", async (_, reply, seen) => {
    replies["GET /v1/sys/doctor"] = reply;
    expect(await grove("doctor")).toBe(1);
    expect(out.at(-1)).toMatch(/^unknown +Installation/);
    expect(out.at(-1)).toContain(seen);
  });

  it.each([
    [404, /no handler/, "Is the path in VAULT_ADDR right?"],
    [502, /status 502, without a word of Grove/, "Does the server behind the proxy run?"],
  ])("asks about what is in front of the server after a %i", async (status, seen, advice) => {
    replies["GET /v1/sys/health"] = { status, body: status === 404 ? { errors: ["no handler"] } : "<html>" };
    expect(await grove("doctor")).toBe(1);
    expect([out[1], out[2]]).toEqual([expect.stringMatching(seen), expect.stringContaining(advice)]);
  });

  it.each([
    ["is sealed", { sealed: true }, /^failing {2}Server {2}sealed/],
    ["is not initialised", { initialized: false }, /^failing {2}Server {2}not initialised/],
  ])("ends with 1 at once when the server %s", async (_, change, line) => {
    replies["GET /v1/sys/health"] = health(change);
    expect(await grove("doctor")).toBe(1);
    expect(out[1]).toMatch(line);
    expect(out).toHaveLength(3);
  });

  it("says of a lost installation what the server says, and not to initialize it", async () => {
    replies["GET /v1/sys/health"] = health({ initialized: false });
    const lost = "tokens of an earlier installation are stored here: do not initialize it, bring a backup back";
    const headers = { "X-Grove-Fault": "installation_lost" };
    replies["GET /v1/sys/auth"] = { status: 503, headers, body: { errors: [lost] } };
    expect(await grove("doctor")).toBe(1);
    expect(out.join(" ").replace(/\s+/g, " ")).toContain(`failing Server ${lost}`);
    expect(out.at(-1)).toContain("docs/runbook.md#installation-lost");
    expect(out.join("\n")).not.toContain("PUT /v1/sys/init");
  });

  it.each([
    ["disk_full", "docs/runbook.md#the-disk-is-full"],
    ["database_damaged", "docs/runbook.md#a-database-is-damaged"],
  ])("says once what a fault of the server is, and where it is described: %s", async (fault, link) => {
    const broken = {
      status: 503,
      headers: { "X-Grove-Fault": fault, "Retry-After": "60" },
      body: { errors: ["broken"] },
    };
    for (const path of ["auth/token/lookup-self", "sys/doctor"]) replies[`GET /v1/${path}`] = broken;
    expect(await grove("doctor")).toBe(1);
    expect(out.filter((line) => line.includes("broken"))).toHaveLength(1);
    expect(out.at(-1)).toContain(`(${link})`);
    out.length = 0;
    replies["GET /v1/sys/health"] = broken;
    expect(await grove("doctor")).toBe(1);
    expect(out).toHaveLength(3);
    expect(out.at(-1)).toContain(`(${link})`);
  });

  it("says what is wrong with the seal key, as a refusal has it", async () => {
    replies["GET /v1/sys/health"] = health({ sealed: true });
    const headers = { "X-Grove-Fault": "sealed" };
    replies["GET /v1/sys/auth"] = { status: 503, headers, body: { errors: ["GROVE_SEAL_KEY is another one"] } };
    expect(await grove("doctor")).toBe(1);
    expect(out[1]).toMatch(/^failing {2}Server {2}GROVE_SEAL_KEY is another one$/);
    expect(out.at(-1)).toContain("docs/runbook.md#seal-key-lost-or-wrong");
  });

  it("asks nothing more with a token that is refused, and says how to get another", async () => {
    replies["GET /v1/auth/token/lookup-self"] = { status: 403, body: { errors: ["permission denied"] } };
    expect(await grove("doctor --json")).toBe(1);
    expect(statesOf(out[0])).toEqual({ server: "ok", address: "ok", token: "failing" });
    expect(out[0]).toContain("grove generate-root");
  });

  it("says that a token is refused only when it is", async () => {
    replies["GET /v1/auth/token/lookup-self"] = {
      status: 503,
      headers: { "Retry-After": "60" },
      body: { errors: ["damaged"] },
    };
    await grove("doctor");
    expect(out.join("\n")).toMatch(/^failing {4}This token {4}damaged$/m);
    replies["GET /v1/auth/token/lookup-self"] = { status: 403, body: { errors: ["permission denied"] } };
    await grove("doctor");
    expect(out.join("\n")).toMatch(/^failing {2}This token {2}VAULT_TOKEN is refused: permission denied$/m);
  });

  it("finds an address without TLS that is not of this machine", () => {
    const stateAt = (address: string) => checkAddress({ url: new URL(address) }).state;
    expect(stateAt("http://grove.example.com")).toBe("failing");
    expect(["https://grove.example.com", "http://127.0.0.1:8200", "http://[::1]:8200"].map(stateAt)).toEqual([
      "ok",
      "ok",
      "ok",
    ]);
  });

  it("ends with 1 when nobody answers", async () => {
    await new Promise((resolve) => server.close(resolve));
    expect(await grove("doctor")).toBe(1);
    expect(out[1]).toMatch(/^failing {2}Server {2}no answer from http/);
  });
});

describe("a path of this machine that can't be used", () => {
  const file = fileURLToPath(import.meta.url);
  it.each([
    `audit archive ${file}`,
    `audit archive ${file}/x`,
    `restore --from ${file}`,
    `restore --from ${file} --preview`,
  ])("%s says why", async (words) => {
    expect(await grove(words)).toBe(1);
    expect(said).toEqual([
      expect.stringMatching(
        /^grove: .*grove\.test\.ts.*: (?:a part of the path is no directory|something is there already)$/,
      ),
    ]);
  });
});

it("a restore that is refused says once which token it needs", async () => {
  const errors = ["sys/restore/begin needs the secret GROVE_INIT_TOKEN of this deployment as its token"];
  replies["GET /v1/sys/tokens/map"] = { status: 403, body: { errors } };
  expect(await grove("tree")).toBe(1);
  expect(said).toEqual([`grove: ${errors[0]}`]);
});

it.each([
  ["/v1/", "/v1"],
  ["/ui", "/ui"],
  ["/ui/tokens?q=a#b", "/ui"],
  ["/grove?q", "? and #"],
  ["#tokens", "? and #"],
])("an address with %s is named as what it is", async (more, without) => {
  expect(await grove("tree", {}, `${address}${more}`)).toBe(2);
  expect(said).toEqual([`grove: VAULT_ADDR is the address without ${without}`]);
  expect(asked).toEqual([]);
});

it("the answer of another service asks for the address", async () => {
  replies["GET /v1/sys/tokens/map"] = { body: { status: "ok" } };
  expect(await grove("tree")).toBe(1);
  expect(said).toEqual(["grove: no answer of Grove came, but something else (no data) (is VAULT_ADDR right?)"]);
});

describe("a refusal", () => {
  const denied = { status: 403, body: { errors: ["permission denied"] } };
  it.each([
    [
      "is about the rights of a token that can look itself up",
      data({ policies: [] }),
      /\(VAULT_TOKEN needs the capabilities read and sudo on sys\/tokens\*; see/,
    ],
    ["is about a token that can't", denied, /\(VAULT_TOKEN can't look itself up either: it is no token of/],
    [
      "may be about either when nobody says",
      { status: 500, body: null },
      /\(VAULT_TOKEN needs .*, or the token is not valid; see/,
    ],
  ])("%s", async (_, self, advice) => {
    replies["GET /v1/sys/tokens/map"] = denied;
    replies["GET /v1/auth/token/lookup-self"] = self;
    expect(await grove("tree")).toBe(1);
    expect(said).toEqual([expect.stringMatching(advice)]);
  });
});

/** A file that declares one policy. */
const START = `initialize "p" {
  request "ci" {
    operation = "update"
    path = "sys/policies/acl/ci"
    data = { policy = "path \\"a\\" { capabilities = [\\"read\\"] }" }
  }
}
`;

describe("Ctrl-C or Ctrl-D at a question", () => {
  const interrupt = async (): Promise<string> => {
    throw new Interrupted();
  };
  const start = join(mkdtempSync(join(tmpdir(), "grove-start-")), "start.hcl");
  beforeEach(() => {
    const groups = { mount: [], type: [], role: [], owner: [] };
    const numbers = {
      count: 1,
      total: 2,
      leases: { count: 3, more: false },
      by: groups,
      skipped: { root: 0, self: 0 },
    };
    replies["POST /v1/sys/tokens/revoke"] = data(numbers);
    replies["GET /v1/sys/policies/acl/ci"] = { status: 404, body: { errors: [] } };
    writeFileSync(start, START);
  });
  afterAll(() => rmSync(dirname(start), { recursive: true }));

  it.each([
    ["contain payments", "revoked"],
    ["revoke --role ci", "revoked"],
    [`apply ${start}`, "written"],
    ["find", "looked for"],
    ["audit -", "asked"],
  ])("ends %s with 130, and nothing was %s", async (words, what) => {
    expect(await grove(words, { interactive: true, ask: interrupt, secret: interrupt })).toBe(130);
    expect(said).toEqual([`grove: nothing was ${what}`]);
    expect(asked.every(({ request, body }) => request.startsWith("GET") || Object(body).dry_run === true)).toBe(true);
  });
});

it("a failure and its advice fit the terminal", async () => {
  replies["GET /v1/sys/tokens/map"] = { status: 403, body: { errors: ["permission denied"] } };
  expect(await grove("tree", { columns: 80 })).toBe(1);
  expect(said.length).toBeGreaterThan(1);
  for (const line of said) expect(line.length).toBeLessThanOrEqual(80);
  expect(said.join(" ")).toMatch(
    /^grove: permission denied \(VAULT_TOKEN needs .* see npm run -s grove -- explain PATH\)$/,
  );
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

describe("grove explain", () => {
  const refused = {
    allowed: false,
    reason: "capability",
    message: "The rule sys/* (ours) lacks read.",
    operation: "read",
    path: "sys/mounts",
    endpoint: "sys/mounts",
    policies: ["ours", "gone"],
    missing_policies: ["gone"],
    rule: { path: "sys/*", capabilities: ["list"], policies: [{ name: "ours", path: "sys/*", lines: [6] }] },
    missing_capabilities: ["read"],
    parameter: null,
    hcl: 'path "sys/mounts" {\n  capabilities = ["read"]\n}\n',
  };

  it("asks about its own token, says why, and writes the policy to standard output", async () => {
    replies["POST /v1/sys/explain/access-self"] = data(refused);
    expect(await grove("explain sys/mounts")).toBe(1);
    expect(asked[0]?.body).toEqual({ path: "sys/mounts", operation: "read", parameters: {} });
    expect(said).toEqual([
      "refused: read sys/mounts",
      "The rule sys/* (ours) lacks read.",
      '  policy ours, path "sys/*", line 6',
      "policies of the token: ours, gone",
      "there is no policy gone",
      "This policy, given to the token besides the others, would allow it:",
    ]);
    expect(out).toEqual(['path "sys/mounts" {', '  capabilities = ["read"]', "}"]);
  });

  it("says how a denial is ended, unless a further policy does it", async () => {
    const further = expect.stringMatching(/^A deny wins over other rules of its path: change /);
    replies["POST /v1/sys/explain/access-self"] = data({ ...refused, reason: "deny", hcl: null });
    expect(await grove("explain sys/mounts")).toBe(1);
    expect(said.at(-1)).toEqual(further);
    replies["POST /v1/sys/explain/access-self"] = data({ ...refused, reason: "deny" });
    expect(await grove("explain sys/mounts")).toBe(1);
    expect(said.at(-1)).not.toEqual(further);
  });

  it("asks about another token by its accessor, and says what that needs", async () => {
    replies["POST /v1/sys/explain/access"] = data({ ...refused, allowed: true, hcl: null });
    expect(await grove("explain sys/mounts --accessor abc --json")).toBe(0);
    expect(asked[0]?.body).toMatchObject({ accessor: "abc" });
    replies["POST /v1/sys/explain/access"] = { status: 403, body: { errors: ["permission denied"] } };
    expect(await grove("explain sys/mounts --accessor abc")).toBe(1);
    expect(said.at(-1)).toContain("needs update and sudo on sys/explain/access");
    replies["POST /v1/sys/explain/access"] = data({ ...refused, reason: "token_unknown" });
    expect(await grove("explain sys/mounts --accessor abc")).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: "abc" is no accessor: /);
    replies["POST /v1/sys/explain/access-self"] = { status: 403, body: { errors: ["permission denied"] } };
    expect(await grove("explain sys/mounts")).toBe(1);
    expect(said.at(-1)).toBe("grove: permission denied (VAULT_TOKEN is no token of this server, or has ended)");
  });
});

describe("the notes of grove restore", () => {
  // Of 2026-11-22T03:00Z.
  const AT = "2026-11-22T03:00:00.000Z";
  const AGAIN = /What was revoked after 2026-11-22T03:00:00.000Z is valid again(, if it was .*?)?: --issued-before now/;
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "grove-restored-"));
    backupOf(directory, "c", Date.parse(AT));
    replies["POST /v1/sys/restore/begin"] = { status: 204, body: {} };
    replies["POST /v1/sys/restore/part"] = data({ receipt: "" });
    replies["POST /v1/sys/restore/finish"] = { status: 204, body: {} };
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const notesOf = async (flags: string): Promise<string> => {
    [out.length, said.length] = [0, 0];
    expect(await grove(`restore --from ${directory} ${flags}`.trim()), said.join()).toBe(0);
    return out.slice(1).join("\n");
  };

  it("say what was not ended, within the times of the flags", async () => {
    expect(await notesOf("")).toMatch(AGAIN);
    const early = await notesOf("--issued-before 2026-11-20");
    expect(early.match(AGAIN)?.[1]).toBe(", if it was issued from 2026-11-20T00:00:00.000Z on");
    const late = await notesOf("--not-before 2026-11-21");
    expect(late.match(AGAIN)?.[1]).toBe(", if it was issued before 2026-11-21T00:00:00.000Z");
    const between = await notesOf("--issued-before 2026-11-20 --not-before 2026-11-21");
    expect(between.match(AGAIN)?.[1]).toMatch(
      /^, if it was issued from 2026-11-20\S+ on and issued before 2026-11-21\S+$/,
    );
    for (const flags of [
      "--issued-before now",
      "--issued-before 2026-11-23",
      "--issued-before 2026-11-21 --not-before 2026-11-21",
    ])
      expect(await notesOf(flags)).not.toMatch(AGAIN);
  });

  it("say of root tokens and tokens of teams which of them are back", async () => {
    expect(await notesOf("--issued-before now")).toMatch(/^Root tokens and tokens of teams are as they were at 2026-/);
    expect(await notesOf("--issued-before now --not-before 2026-11-21")).toMatch(
      /^Everything issued at 2026-11-21T00:00:00.000Z or later has ended, root tokens included. .* make a root token with .*generate-root.\nRoot tokens and tokens of teams, if issued before 2026-11-21T00:00:00.000Z, are as they were/,
    );
  });

  it("are on standard error beside JSON", async () => {
    expect(await notesOf("--json")).toBe("");
    expect(said.join("\n")).toMatch(AGAIN);
  });
});

describe("grove restore --preview", () => {
  const BEGUN = Date.parse("2026-11-22T03:00:00.000Z");
  const BEFORE = "2026-11-22T02:59:59.999Z";
  const SINCE = "2026-11-22T04:05:06.000Z";
  const by = { accessor: "op", display_name: "on-call" };
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "grove-preview-"));
    const store = new BackupStore(directory);
    store.open();
    const times = { started_at: new Date(BEGUN).toISOString(), finished_at: "2026-11-22T03:01:00.000Z" };
    const sealed = { seal_key_version: 1, key_ring: "k", seal: "s", files: [] };
    const head = { format: 1 as const, run: `${BEGUN}.1.a`, parts: 0, release: "1.0.0", cluster_id: "c" };
    store.put("grove-2026-11-22T03-01-00-000Z", { ...head, ...times, ...sealed });
    replies["GET /v1/sys/health"] = { body: { initialized: true, cluster_id: "c" } };
    replies["GET /v1/sys/leases/revocations"] = data({ revocations: [] });
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const end = (accessor: string, how: string, change: { token?: object; ended?: object } = {}) => ({
    token: token(accessor, { expires: null, ...change.token }),
    ended: { at: SINCE, how, by, cause: accessor, job: "", ...change.ended },
  });
  const named = async (...tokens: object[]) => {
    replies["GET /v1/sys/tokens/ended"] = data({ tokens, next: "" });
    expect(await grove(`restore --from ${directory} --preview --json`)).toBe(0);
    return JSON.parse(out.at(-1) ?? "");
  };
  const accessors = (found: { tokens: { token: { accessor: string } }[] }) =>
    found.tokens.map((one) => one.token.accessor);

  it("names what was revoked after the backup, and neither what was before nor what expired", async () => {
    const found = await named(
      end("revoked", "revoked"),
      end("used", "uses spent"),
      end("expired", "expired"),
      end("late", "revoked", { token: { expires: "2026-11-22T05:00:00Z" } }),
      end("below", "ended with its parent", { ended: { cause: "used" } }),
      end("below-expired", "ended with its parent", { ended: { cause: "expired" } }),
      end("new", "revoked", { token: { created: "2026-11-22T03:30:00.000Z" } }),
      end("before", "revoked", { ended: { at: BEFORE } }),
    );
    expect(accessors(found)).toEqual(["revoked", "used", "below"]);
    expect(found).toMatchObject({ at: new Date(BEGUN).toISOString(), count: 3, revocations: [], gaps: [] });
    expect(asked.every(({ request }) => request.startsWith("GET "))).toBe(true);
  });

  it("reads pages back to the backup and no further", async () => {
    replies["GET /v1/sys/tokens/ended"] = [
      data({ tokens: [end("a", "revoked")], next: "c1" }),
      data({ tokens: [end("b", "revoked"), end("c", "revoked", { ended: { at: BEFORE } })], next: "c2" }),
    ];
    expect(await grove(`restore --from ${directory} --preview --json`)).toBe(0);
    expect(accessors(JSON.parse(out[0] ?? ""))).toEqual(["a", "b"]);
    expect(asked.map(({ request }) => request).filter((path) => path.includes("ended"))).toEqual([
      "GET /v1/sys/tokens/ended?limit=1000",
      "GET /v1/sys/tokens/ended?limit=1000&after=c1",
    ]);
  });

  it("says when the list may lack some", async () => {
    const kept = /^the earliest end that is kept is of 2026-11-22T04:05:06.000Z: the list may not reach back/;
    expect((await named(end("a", "revoked"))).gaps).toEqual([expect.stringMatching(kept)]);
    expect((await named()).gaps).toEqual([expect.stringMatching(/^no end is kept: .*TOMBSTONE_DAYS/)]);
    const many = Array.from({ length: 16_384 }, () => end("a", "expired"));
    const before = end("before", "revoked", { ended: { at: BEFORE } });
    expect((await named(...many.slice(1), before)).gaps).toEqual([]);
    expect((await named(...many, before)).gaps).toEqual([expect.stringContaining("may have dropped the earliest")]);
    replies["GET /v1/sys/tokens/ended"] = data({ tokens: [end("a", "revoked")], next: "again" });
    expect(await grove(`restore --from ${directory} --preview --json`)).toBe(0);
    expect(JSON.parse(out.at(-1) ?? "").gaps).toEqual([expect.stringMatching(/^only the last 500 ends/)]);
  });

  it("shows who revoked what and how to end it again, with nothing that a terminal interprets", async () => {
    const revocation = { created_before: null, asked_by: by, clean_up: "finished" };
    replies["GET /v1/sys/leases/revocations"] = data({
      revocations: [
        { ...revocation, prefix: "auth/aws/", time: SINCE },
        { ...revocation, prefix: "auth/jwt/", time: BEFORE },
      ],
    });
    const name = "\u001b]0;owned\u0007x";
    replies["GET /v1/sys/tokens/ended"] = data({
      tokens: [end("a", "revoked", { token: { display_name: name } })],
      next: "",
    });
    expect(await grove(`restore --from ${directory} --preview`)).toBe(0);
    expect(out.slice(0, 5)).toEqual([
      "ACCESSOR  NAME         ENDED              HOW      BY",
      "a         \ufffd]0;owned\ufffdx  2026-11-22 04:05Z  revoked  on-call op",
      "REVOKED    AT                 BY",
      "auth/aws/  2026-11-22 04:05Z  on-call op",
      "grove-2026-11-22T03-01-00-000Z is of 2026-11-22T03:00:00.000Z; a restore would make valid again: 1 token, and what 1 revocation by path or entity ended",
    ]);
    expect(out.join("\n")).toMatch(
      /There may be more: .*--issued-before now .*--not-before T .*from 2026-11-22T01:02:03Z/s,
    );
    expect(out.at(-1)).toMatch(/Not named: batch tokens, .* and tokens of teams/);
  });

  it("fits 80 columns, with each accessor whole in a line of its own", async () => {
    const whole = (letter: string) => letter.repeat(84);
    const asker = { accessor: whole("B"), display_name: "token-of-the-operator-on-call" };
    const one = end(whole("A"), "revoked", {
      token: { display_name: "token-of-a-service-with-a-long-name-1" },
      ended: { by: asker },
    });
    replies["GET /v1/sys/tokens/ended"] = data({ tokens: [one], next: "" });
    expect(await grove(`restore --from ${directory} --preview`, { columns: 80 })).toBe(0);
    expect(out.slice(0, 3)).toEqual([
      expect.stringMatching(/^NAME +ENDED +HOW +BY$/),
      expect.stringMatching(/^\S+…\S*long-name-1 +2026-11-22 04:05Z +revoked +token-of/),
      whole("A"),
    ]);
    for (const line of out.filter((text) => text !== whole("A"))) expect(line.length).toBeLessThanOrEqual(80);
    expect(out.join(" ")).toContain("would make valid again: 1 token There may be more");
  });

  it("asks no other server than the one of the backup, and says which rights it needs", async () => {
    replies["GET /v1/sys/tokens/ended"] = { status: 403, body: { errors: ["permission denied"] } };
    expect(await grove(`restore --from ${directory} --preview`)).toBe(1);
    expect(said.at(-1)).toContain("needs read and sudo on sys/tokens/ended");
    replies["GET /v1/sys/health"] = { body: { initialized: true, cluster_id: "d" } };
    expect(await grove(`restore --from ${directory} --preview`)).toBe(1);
    expect(said.at(-1)).toContain("not the one that the backup was made of");
  });
});

describe("grove find", () => {
  const found = (change: Record<string, unknown>) =>
    data({ state: "live", kind: "service", message: "It is alive.", chosen_id: false, ...change });

  it("asks in a body, shows what is known, and ends with 1 when a token is alive", async () => {
    replies["POST /v1/sys/tokens/find"] = found({ token: { ...token("a"), metadata: { owner: "payments" } } });
    expect(await grove("find", { secret: async () => " s.leaked \n" })).toBe(1);
    expect(asked[0]).toEqual({ request: "POST /v1/sys/tokens/find", body: { token: "s.leaked" } });
    expect(out[0]).toBe("live: It is alive.");
    expect(out).toContain("  metadata   owner=payments");
    expect(out.at(-1)).toBe("  revoke it with all below: npm run -s grove -- contain --accessor a");
    replies["POST /v1/sys/tokens/find"] = found({ token: { ...token("a"), policies: ["root"] } });
    expect(await grove("find", { secret: async () => " s.leaked \n" })).toBe(1);
    expect(out.at(-1)).toBe("  revoke it with all below: npm run -s grove -- contain --accessor a --include-root");
    expect(JSON.stringify([out, said])).not.toContain("s.leaked");
  });

  it("names the token of the command itself to contain, and the job that ended a token", async () => {
    replies["GET /v1/auth/token/lookup-self"] = data({ accessor: "a" });
    replies["POST /v1/sys/tokens/find"] = found({ token: token("a") });
    await grove("find", { secret: async () => "s.own" });
    expect(out.at(-1)).toBe("  revoke it with all below: npm run -s grove -- contain --accessor a --include-self");
    const ended = { at: "2026-11-22T05:06:07Z", how: "revoked", by: null, request_id: "r1", job: "j1" };
    replies["POST /v1/sys/tokens/find"] = found({ state: "ended", token: token("b"), ended });
    await grove("find", { secret: async () => "s.ended" });
    expect(out).toContain("  by job     j1");
    expect(out.at(-1)).toBe("  what else that job ended: npm run -s grove -- contain --job j1");
  });

  it("ends with 1 also for a token that its disabled entity has refused, and says how to end it", async () => {
    replies["POST /v1/sys/tokens/find"] = found({ state: "refused", message: "Refused.", token: token("a") });
    expect(await grove("find", { secret: async () => "s.leaked" })).toBe(1);
    expect(out[0]).toBe("refused: Refused.");
    expect(out.at(-1)).toBe("  revoke it with all below: npm run -s grove -- contain --accessor a");
  });

  it("says how it ended, of which team it is, and of each line", async () => {
    const ended = {
      at: "2026-11-22T05:06:07Z",
      how: "revoked",
      by: { accessor: "b", display_name: "on-call" },
      request_id: "r1",
    };
    const metadata = { organization: "acme", team: "platform" };
    const credential = { accessor: "at-1", display_name: "", policies: [], entity_id: "", path: "", metadata };
    replies["POST /v1/sys/tokens/find"] = [
      found({ state: "ended", token: token("a"), ended }),
      found({
        state: "ended",
        kind: "team",
        credential: { ...credential, created: null, expires: null, parent: null },
      }),
    ];
    expect(await grove("find", { secret: async () => "one\n\ntwo\n" })).toBe(0);
    expect(out).toContain("  ended      2026-11-22 05:06Z, revoked by on-call b");
    expect(out).toContain("  metadata   organization=acme, team=platform");
  });

  it("asks nothing without a text", async () => {
    expect(await grove("find", { secret: async () => "\n" })).toBe(1);
    expect(asked).toEqual([]);
  });
});

describe("grove contain", () => {
  const leases = (change: Record<string, unknown> = {}) => ({
    waiting: 0,
    failing: 0,
    more: false,
    failures: [],
    ...change,
  });
  const check = (change: Record<string, unknown> = {}) =>
    data({ checked: 2, ended: 2, unknown: 0, alive: [], unrevoked_leases: leases(), next: "", ...change });
  const groups = { mount: [], type: [], role: [], owner: [] };
  const preview = { count: 1, total: 2, leases: { count: 3, more: false }, by: groups, skipped: { root: 0, self: 0 } };

  beforeEach(() => {
    replies["POST /v1/sys/tokens/revoke"] = [data({ ...preview, sample: [] }), data({ job: "j1", state: "running" })];
    replies["GET /v1/sys/tokens/jobs/j1"] = data({
      ...{ id: "j1", state: "done", counted: 2, matched: 1, total: 2, revoked: 1, preview, failures: [] },
      finished: "2026-11-22T05:06:07Z",
    });
    replies["GET /v1/sys/tokens/jobs/j1/receipt"] = data({
      ...{
        job: "j1",
        state: "done",
        request_id: "r1",
        started: "2026-11-22T05:06:00Z",
        finished: "2026-11-22T05:06:07Z",
      },
      asked_by: { accessor: "b", display_name: "on-call" },
      numbers: { matched: 1, total: 2, leases: { count: 3, more: false } },
    });
  });

  it("counts, asks, revokes, and shows the receipt and what the trees say, page by page", async () => {
    const pages = [check({ checked: 1, ended: 1, next: "c1" }), check({ checked: 1, ended: 1 })];
    replies["POST /v1/sys/tokens/verify-ended"] = pages;
    expect(await grove("contain payments", { interactive: true, ask: async () => "2" })).toBe(0);
    const posts = asked.filter(({ request }) => request.startsWith("POST")).map(({ body }) => body);
    expect(posts[0]).toMatchObject({ search: "payments", dry_run: true });
    expect(posts[1]).toMatchObject({ search: "payments", dry_run: false, expected_count: 1, expected_total: 2 });
    expect(posts.slice(2)).toEqual([{ job: "j1" }, { job: "j1", after: "c1" }]);
    expect(out.slice(-6)).toEqual([
      "receipt   j1, done",
      "asked by  on-call b",
      "request   r1",
      "time      2026-11-22 05:06:00Z to 2026-11-22 05:06:07Z",
      "refused   2 of 2 tokens: the trees that have them were asked",
      "leases    3 leases asked, 3 ended, 0 waiting, 0 failing",
    ]);
  });

  it("shows a receipt that fits 80 columns, but for what is to be copied", async () => {
    const accessor = "A".repeat(84);
    const id = "3ec50187-719e-463c-9e51-ded1453cb163";
    const receipt = {
      ...{ job: id, state: "done", request_id: id, started: "2026-11-22T05:06:00Z", finished: "2026-11-22T05:06:07Z" },
      asked_by: { accessor, display_name: "root" },
      numbers: { matched: 1, total: 2, leases: { count: 3, more: false } },
    };
    replies[`GET /v1/sys/tokens/jobs/${id}/receipt`] = data(receipt);
    replies["POST /v1/sys/tokens/verify-ended"] = check();
    expect(await grove(`contain --job ${id}`, { columns: 80 })).toBe(0);
    for (const line of out.filter((one) => !one.includes(accessor))) expect(line.length).toBeLessThanOrEqual(80);
    expect(out.slice(1, 4)).toEqual(["asked by  root", `          ${accessor}`, `request   ${id}`]);
  });

  it("ends with 1, and names them, when a token can be used or a lease is not revoked", async () => {
    replies["POST /v1/sys/tokens/verify-ended"] = check({ ended: 1, alive: ["a"] });
    expect(await grove("contain --job j1")).toBe(1);
    expect(out).toContain("  can be used: a");
    expect(out).toContain("leases    3 leases asked, 0 waiting, 0 failing");
    const failures = [{ lease_id: "db/x", error: "the target can't be reached", next_attempt: null }];
    replies["POST /v1/sys/tokens/verify-ended"] = check({ unrevoked_leases: leases({ failing: 1, failures }) });
    expect(await grove("contain --job j1")).toBe(1);
    expect(out).toContain("leases    3 leases asked, 2 ended, 0 waiting, 1 failing");
    expect(out).toContain("  db/x: the target can't be reached, irrevocable");
    expect(out).toContain("  sends them again: npm run -s grove -- contain --job j1 --retry-leases");
    expect(await grove("contain --job j1 --json")).toBe(1);
    expect(JSON.parse(out.at(-1) ?? "")).toMatchObject({ receipt: { job: "j1" }, check: { ended: 2 } });
  });

  it("ends with 1, and names what has not ended and why, when a tree kept failing", async () => {
    replies["GET /v1/sys/tokens/jobs/j1/receipt"] = data({
      ...{ job: "j1", state: "incomplete", request_id: "r1", asked_by: null },
      ...{ started: "2026-11-22T05:06:00Z", finished: "2026-11-22T05:06:07Z" },
      numbers: { matched: 2, total: 1, leases: { count: 0, more: false }, not_ended: 1 },
      not_ended: [{ accessor: "d", cause: "a database of the service is damaged" }],
    });
    replies["POST /v1/sys/tokens/verify-ended"] = check({ ended: 1, unanswered: ["d"] });
    expect(await grove("contain --job j1")).toBe(1);
    expect(out).toContain("refused   1 of 1 token: the trees that have them were asked");
    expect(out).toContain("not ended 1 token that matched, and everything below");
    expect(out).toContain("  d: a database of the service is damaged");
    expect(out).toContain("    refused for now: requests with it are answered 503");
  });

  it("ends with 1 for what is on any of the pages", async () => {
    const failures = [{ lease_id: "db/x", error: "no answer", next_attempt: null }];
    const left = leases({ waiting: 1, failing: 1, more: true, failures });
    replies["POST /v1/sys/tokens/verify-ended"] = [
      check({ checked: 1, ended: 0, alive: ["a"], unrevoked_leases: left, next: "c1" }),
      check({ checked: 2, ended: 2 }),
    ];
    expect(await grove("contain --job j1")).toBe(1);
    expect(out).toContain("  can be used: a");
    expect(out).toContain("leases    3 leases asked, 1 waiting, 1 failing");
    expect(out).toContain("  db/x: no answer, irrevocable");
  });

  it("ends with 1 for a lease that was removed by force: its target never accepted the end", async () => {
    replies["POST /v1/sys/tokens/verify-ended"] = check({ unrevoked_leases: leases({ removed: 1 }) });
    expect(await grove("contain --job j1")).toBe(1);
    expect(out).toContain(
      "leases    3 leases asked, 2 ended, 0 waiting, 0 failing, 1 removed without the target's answer",
    );
  });

  it("ends with 1 when a tree has more leases than it counts", async () => {
    replies["POST /v1/sys/tokens/verify-ended"] = check({ unrevoked_leases: leases({ more: true }) });
    expect(await grove("contain --job j1")).toBe(1);
  });

  it("sends the leases again that fail, and proves then", async () => {
    const failures = ["db/x", "db/y"].map((lease_id) => ({ lease_id, error: "no answer", next_attempt: null }));
    const failing = check({ unrevoked_leases: leases({ failing: 2, failures }) });
    replies["POST /v1/sys/tokens/verify-ended"] = [failing, check()];
    replies["POST /v1/sys/leases/revoke"] = [{ status: 400, body: { errors: ["no answer"] } }, { body: null }];
    expect(await grove("contain --job j1 --retry-leases")).toBe(0);
    const sent = asked.filter(({ request }) => request === "POST /v1/sys/leases/revoke");
    expect(sent.map(({ body }) => body)).toEqual([{ lease_id: "db/x" }, { lease_id: "db/y" }]);
    expect(out).toContain("leases    3 leases asked, 3 ended, 0 waiting, 0 failing");
    replies["POST /v1/sys/tokens/verify-ended"] = failing;
    replies["POST /v1/sys/leases/revoke"] = { status: 403, body: { errors: ["permission denied"] } };
    expect(await grove("contain --job j1 --retry-leases")).toBe(1);
    expect(said.at(-1)).toContain("permission denied");
  });

  it("shows the receipt before it says that the trees could not be asked", async () => {
    const cause = "a database of the service is damaged";
    const receipt = (replies["GET /v1/sys/tokens/jobs/j1/receipt"] as Reply).body as { data: { numbers: object } };
    const numbers = { ...receipt.data.numbers, not_ended: 1 };
    const left = { ...receipt.data, state: "incomplete", numbers, not_ended: [{ accessor: "a9", cause }] };
    replies["GET /v1/sys/tokens/jobs/j1/receipt"] = data(left);
    replies["POST /v1/sys/tokens/verify-ended"] = { status: 503, body: { errors: [cause] } };
    expect(await grove("contain --job j1")).toBe(1);
    expect(out[0]).toBe("receipt   j1, incomplete");
    expect(out).toContain(`  a9: ${cause}`);
    expect(said.join(" ").replaceAll(/\s+/g, " ")).toBe(
      `grove: whether its tokens are refused could not be asked: ${cause}`,
    );
  });

  it("ends with 1 when nothing matches: a mistyped name is not a service that is contained", async () => {
    replies["POST /v1/sys/tokens/revoke"] = data({ ...preview, count: 0, total: 0, sample: [] });
    expect(await grove("contain paymnets --yes")).toBe(1);
    expect(said.join(" ").replaceAll(/\s+/g, " ")).toMatch(
      /^grove: nothing that is alive matches: nothing was ended; tokens of teams, organizations and batch tokens are in no list/,
    );
  });

  it("says when only a root token matches, which is left out and alive", async () => {
    const leftOut = { ...preview, count: 0, total: 0, sample: [], skipped: { root: 1, self: 0 } };
    replies["POST /v1/sys/tokens/revoke"] = data(leftOut);
    expect(await grove("contain --accessor a1 --yes")).toBe(1);
    expect(said.join(" ").replaceAll(/\s+/g, " ")).toBe(
      "grove: nothing that is alive matches but what was left out: 1 root token (--include-root ends it too): nothing was ended",
    );
    expect(await grove("contain --accessor a1 --yes", { colours: true })).toBe(1);
    expect(out.at(-2)).toContain("\u001b[33m0 tokens match");
  });

  it("says of a search that finds nothing which tokens it can't find", async () => {
    replies["GET /v1/sys/tokens"] = data({ tokens: [], next: "" });
    const note = /tokens of teams, organizations and batch tokens are in no list of tokens/;
    expect(await grove("tokens --search acme")).toBe(0);
    expect(said.join(" ").replaceAll(/\s+/g, " ")).toMatch(note);
    said.length = 0;
    expect(await grove("tokens --never-ends")).toBe(0);
    expect(said.join(" ")).not.toMatch(note);
  });

  it("says that it knows no such job", async () => {
    const id = "3ec50187-719e-463c-9e51-ded1453cb163";
    for (const words of ["contain --job", "revoke --job", "revoke --stop"]) {
      expect(await grove(`${words} ${id}`)).toBe(1);
      expect(await grove(`${words} j9`)).toBe(1);
      expect(said).toEqual([
        `grove: no job has the id ${id}: it is mistyped, or not kept any more`,
        expect.stringMatching(/^grove: "j9" is no id of a job: it has the form /),
      ]);
      said.length = 0;
    }
  });

  it("revokes nothing without the number", async () => {
    expect(await grove("contain payments", { interactive: true, ask: async () => "1" })).toBe(1);
    expect(asked).toHaveLength(1);
  });
});

it("grove audit archive says as JSON how many records were copied", async () => {
  const directory = mkdtempSync(join(tmpdir(), "grove-archive-"));
  replies["GET /v1/sys/audit/archive"] = data({
    objects: [{ object: "0/1", state: "full", records: 2, opened_at: "2026-11-22T05:00:00Z" }],
    signed_heads: [],
  });
  replies["GET /v1/sys/audit/archive/0/1"] = data({ lines: ["{}", "{}"], after: 2, last: true });
  replies["GET /v1/identity/oidc/.well-known/keys"] = { body: { keys: [] } };
  expect(await grove(`audit archive ${directory} --json`)).toBe(0);
  expect(JSON.parse(out[0] ?? "")).toEqual({ directory, records: 2, damaged: [] });
  rmSync(directory, { recursive: true });
});

describe("grove why", () => {
  const line = (change: Record<string, unknown> = {}) =>
    JSON.stringify({
      ...{ type: "response", time: "2026-11-22T05:06:07Z", request_id: "r1", operation: "update", path: "sys/mounts" },
      ...{ status: 403, error: "permission denied", client_address: "192.0.2.1" },
      auth: { accessor: "a", display_name: "ci", token_type: "service" },
      ...change,
    });
  const log = (...lines: readonly string[]) => ({
    lines: async function* () {
      for (const [at, text] of lines.entries()) yield { number: at + 1, text };
    },
  });
  const explanation = {
    ...{ allowed: false, message: "No rule.", operation: "update", path: "sys/mounts", policies: ["ci"] },
    ...{ missing_policies: [], hcl: null },
  };

  it("of a request that no policy refused says that it was wrong in itself", async () => {
    replies["POST /v1/sys/explain/access"] = data({ ...explanation, allowed: true });
    expect(
      await grove("why r1 --log -", log(line({ status: 400, error: "child policies must be subset of parent" }))),
    ).toBe(1);
    expect(out.join("\n")).toContain("So no policy refused it. The request asks for what is not possible");
    out = [];
    expect(await grove("why r1 --log -", log(line()))).toBe(0);
    expect(out.join("\n")).not.toContain("no policy refused it");
  });

  it("finds the line of a request, and asks why with its token, path and address", async () => {
    replies["POST /v1/sys/explain/access"] = data(explanation);
    const lines = log(
      "no json r1",
      line({ request_id: "r0" }),
      line({ type: "request" }),
      `Nov 22 grove: ${line()}`,
      line({ path: "x" }),
    );
    expect(await grove("why r1 --log -", lines)).toBe(1);
    expect(asked[0]?.body).toEqual({
      accessor: "a",
      path: "sys/mounts",
      operation: "update",
      client_address: "192.0.2.1",
    });
    expect(out[0]).toBe("2026-11-22T05:06:07Z: update sys/mounts, status 403: permission denied");
    expect(out).toContain("No rule.");
    expect(out.at(-1)).toBe("who made it, and what else was done: npm run -s grove -- audit a");
  });

  it("takes the last refused request for -", async () => {
    replies["POST /v1/sys/explain/access"] = data(explanation);
    expect(await grove("why -", log(line(), line({ path: "sys/auth" }), line({ status: 200 })))).toBe(1);
    expect(asked[0]?.body).toMatchObject({ path: "sys/auth" });
  });

  it.each([
    ["without a token", { auth: null }, "It had no token"],
    ["that is malformed", { auth: null, status: 400 }, "refused before a token was read, for what its error says"],
    [
      "whose token was not read",
      { auth: null, status: 400 },
      "by a client without a token, or whose token was not read",
    ],
    [
      "by an organization's token",
      { auth: { accessor: "at-1", display_name: "o", token_type: "organization" } },
      "the token of an organization: sys/explain",
    ],
    [
      "without a good token",
      { auth: null, token_hash: "hmac-sha256:1", client_address: null },
      "Its token was not valid",
    ],
    ["at no mount", { auth: null, path: "auth/<unknown>/login" }, "no auth method is mounted"],
    ["by a login", { auth: null, role: "ci" }, "It is a login"],
    ["by a batch token", { auth: { accessor: "", display_name: "", token_type: "batch" } }, "no accessor"],
    ["whose path is not in the log", { path: "sys/tokens/<token>" }, "whole path"],
    ["that the gateway answered", { type: "gateway" }, "Grove was not asked"],
  ])("says of a request %s why nobody can be asked", async (_, change, text) => {
    expect(await grove("why r1 --log -", log(line(change)))).toBe(1);
    expect(asked).toEqual([]);
    expect(out.join("\n")).toContain(text);
  });

  describe("of a login", () => {
    const login = { path: "auth/approle/login", mount: "auth/approle/", auth: null, role: "web", status: 400 };
    const check = { name: "secret_id", description: "It has a use left." };
    beforeEach(() => {
      replies["GET /v1/sys/auth"] = data({ "approle/": { type: "approle" } });
    });
    const asksNothingOfPolicies = () =>
      expect(asked.map(({ request }) => request)).not.toContain("POST /v1/sys/explain/access");

    it("says by which method it was, where, for which role, and which check failed", async () => {
      expect(await grove("why r1 --log -", log(line({ ...login, check, error: "invalid role or secret ID" })))).toBe(1);
      expect(out.slice(0, 5)).toEqual([
        "2026-11-22T05:06:07Z: a login by AppRole at auth/approle/, for the role web, from 192.0.2.1, was refused with status 400: invalid role or secret ID",
        "The check that failed: secret_id (It has a use left.)",
        `what was refused there lately, and why: printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @- "$VAULT_ADDR/v1/auth/approle/explain/refused"`,
        `to try it again, its body in login.json: printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @- -X POST -d @login.json "$VAULT_ADDR/v1/auth/approle/explain/login"`,
        "It is a login: no policy refused it, but a check of its method.",
      ]);
      asksNothingOfPolicies();
    });

    it("that a quota refused says so", async () => {
      expect(await grove("why r1 --log -", log(line({ ...login, status: 429 })))).toBe(1);
      expect(out.join("\n")).toContain("It is a login: a quota refused it before its token was read: ");
    });

    it("that the state of its entity refused leads to who changed the entity", async () => {
      const disabled = { name: "entity", description: "The entity of the holder is not disabled." };
      const event = { ...login, status: 403, check: disabled, target_entities: ["e1"] };
      expect(await grove("why r1 --log -", log(line(event)))).toBe(1);
      expect(out).toContain("The check that failed: entity (The entity of the holder is not disabled.)");
      expect(out).toContain("It is a login: no policy refused it, but the state of its entity.");
      expect(out.at(-1)).toBe("who disabled its entity: npm run -s grove -- audit --entity e1");
    });

    it("at a path without a mount has no command for one", async () => {
      expect(
        await grove("why r1 --log -", log(line({ ...login, role: null, mount: null, path: "auth/<unknown>/login" }))),
      ).toBe(1);
      expect(out.join("\n")).not.toContain("curl");
    });

    it("without a failed check says nothing of one, and shows no hash of a role", async () => {
      expect(await grove("why r1 --log -", log(line({ ...login, role: "hmac-sha256:00" })))).toBe(1);
      expect(out[0]).toContain("at auth/approle/, for a role that it does not have, from 192.0.2.1");
      expect(out.join("\n")).not.toMatch(/The check that failed|hmac/);
    });

    it("is not the writing of a role that is named so", async () => {
      replies["POST /v1/sys/explain/access"] = data(explanation);
      const writing = { path: "auth/approle/role/login", mount: "auth/approle/" };
      expect(await grove("why r1 --log -", log(line(writing)))).toBe(1);
      expect(out[0]).toContain(": update auth/approle/role/login, status 403");
    });

    it("that succeeded names whom it proved, and its token", async () => {
      const good = {
        ...login,
        status: 200,
        error: null,
        principal: "arn:x",
        auth: { accessor: "n", display_name: "web", token_type: "service" },
      };
      expect(await grove("why r1 --log -", log(line(good)))).toBe(0);
      expect(out.slice(0, 2)).toEqual([
        "2026-11-22T05:06:07Z: a login by AppRole at auth/approle/, for the role web, as arn:x, from 192.0.2.1, succeeded",
        "its token: web n",
      ]);
      asksNothingOfPolicies();
    });

    it.each(LOGIN_PATHS)("is one at the path %s, also without a role and a mount", async (path) => {
      const without = { ...login, role: null, mount: null, path: `auth/sso/${path}` };
      expect(await grove("why -", log(line(without)))).toBe(1);
      expect(out[0]).toContain(": a login at auth/sso/, from 192.0.2.1, was refused with status 400");
      asksNothingOfPolicies();
    });

    it("through a browser that began, or waits for the person, was not refused", async () => {
      const begun = line({ ...login, path: "auth/approle/oidc/auth_url", status: 200, error: null });
      const waits = line({
        ...login,
        path: "auth/approle/oidc/poll",
        error: "authorization_pending",
        request_id: "r2",
      });
      expect(await grove("why r1 --log -", log(begun))).toBe(0);
      expect(out[0]).toMatch(/, began$/);
      out = [];
      expect(await grove("why r2 --log -", log(begun, waits))).toBe(1);
      expect(out[0]).toMatch(/, waits for the person: authorization_pending$/);
      expect(await grove("why -", log(begun, waits))).toBe(1);
      expect(said.at(-1)).toBe("grove: no line of the log is of a refused request");
    });

    it("that this token may not ask more about says what the line has", async () => {
      replies = {};
      expect(await grove("why r1 --log -", log(line({ ...login, role: null })))).toBe(1);
      expect(out[0]).toMatch(/: a login at auth\/approle\/, from 192.0.2.1, was refused with status 400/);
    });
  });

  it("says of a request with an ended token when and how the token ended", async () => {
    const refused = { auth: null, token_hash: "hmac-sha256:1" };
    const ended = { at: "2026-11-22T05:00:00Z", how: "revoked", by: null, cause: "a", request_id: "r0" };
    const before = { kind: "change", ...JSON.parse(line({ token_hash: "hmac-sha256:1" })) };
    replies["GET /v1/sys/audit/events"] = data({ events: [before], next: "", ended });
    expect(await grove("why r1 --log -", log(line(refused)))).toBe(1);
    expect(out).toContain("Its token, ci, ended 2026-11-22 05:00:00Z: revoked, request r0.");
    expect(out.at(-1)).toBe("who made it, and what else was done: npm run -s grove -- audit a");
    out = [];
    replies["GET /v1/sys/audit/events"] = data({ events: [before], next: "" });
    expect(await grove("why r1 --log -", log(line(refused)))).toBe(1);
    expect(out.join("\n")).toContain("Its token was not valid: it had ended, or is mistyped.");
  });

  it("at a terminal takes the event of the audit store", async () => {
    const event = { kind: "refusal", ...JSON.parse(line({ auth: undefined })) };
    replies["GET /v1/sys/audit/events"] = data({ events: [event], next: "" });
    for (const request of ["r1", "-"]) expect(await grove(`why ${request}`, { interactive: true })).toBe(1);
    expect(asked.map(({ request }) => request)).toEqual([
      "GET /v1/sys/audit/events?request_id=r1&limit=1",
      "GET /v1/sys/audit/events?kind=refusal&limit=100",
    ]);
    expect(out.at(-1)).toBe("what else came from there: npm run -s grove -- audit --address 192.0.2.1");
  });

  it("asks the audit store when there is no log on standard input", async () => {
    replies["GET /v1/sys/audit/events"] = data({ events: [{ kind: "refusal", ...JSON.parse(line()) }], next: "" });
    replies["POST /v1/sys/explain/access"] = data(explanation);
    expect(await grove("why r1")).toBe(1);
    expect(out).toContain("No rule.");
  });

  it("reads no standard input for the id of a request: it is the list of a loop", async () => {
    const lines = (): AsyncIterable<never> => {
      throw new Error("standard input was read");
    };
    expect(await grove("why r1", { lines })).toBe(1);
    replies["GET /v1/sys/audit/events"] = data({ events: [], next: "" });
    const id = "3ec50187-719e-463c-9e51-ded1453cb163";
    expect(await grove(`why ${id}`, { lines })).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: no request that is known has the id 3ec5/);
    expect(await grove(`why ${id}`, { lines }, "http://127.0.0.1:1")).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: no answer from http:/);
  });

  it("reads the log that a file is, and says that the log has no such request", async () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-why-"));
    const file = join(directory, "audit.log");
    const id = "3ec50187-719e-463c-9e51-ded1453cb163";
    writeFileSync(file, `${line()}\n${line({ path: "sys/auth", request_id: id })}\n`);
    replies["POST /v1/sys/explain/access"] = data(explanation);
    expect(await grove(`why ${id} --log ${file}`)).toBe(1);
    expect(asked[0]?.body).toMatchObject({ path: "sys/auth" });
    expect(await grove(`why ${id.replace("3", "4")} --log ${file}`)).toBe(1);
    expect(said.at(-1)).toBe(`grove: no line of the log has the id ${id.replace("3", "4")}`);
    expect(await grove(`why r1 --log ${directory}`)).toBe(1);
    expect(said.at(-1)).toBe(`grove: ${directory} is a directory`);
    expect(await grove(`why r1 --log ${file}x`)).toBe(1);
    expect(said.at(-1)).toBe(`grove: ${file}x: there is no such file or directory`);
    rmSync(directory, { recursive: true });
  });

  it("takes for refused what was refused, and no request that was wrong", async () => {
    replies["POST /v1/sys/explain/access"] = data(explanation);
    const login = { path: "auth/approle/login", mount: "auth/approle/", auth: null, status: 400 };
    const wrong = [line({ status: 404, path: "gone" }), line({ status: 400, path: "wrong" })];
    expect(await grove("why -", log(line({ path: "sys/auth" }), ...wrong))).toBe(1);
    expect(asked[0]?.body).toMatchObject({ path: "sys/auth" });
    await grove("why -", log(line(), line(login), ...wrong));
    expect(out.join("\n")).toContain("a login at auth/approle/");
    const events = [...wrong, line({ status: 429, path: "sys/mounts" })].map((one) => ({
      kind: "refusal",
      ...JSON.parse(one),
    }));
    replies["GET /v1/sys/audit/events"] = data({ events, next: "" });
    expect(await grove("why -", { interactive: true })).toBe(1);
    expect(out.join("\n")).toContain("update sys/mounts, status 429");
    expect(out.join("\n")).toContain("No policy was asked: a quota refused it before its token was read: ");
  });

  const BAO = (url: string) => [
    `Error reading: Error making API request.`,
    ...["", `URL: PUT http://127.0.0.1:8200${url}`, "Code: 403. Errors:", "", "* permission denied"],
  ];
  const ENTITY = "1f2e3d4c-719e-463c-9e51-ded1453cb163";
  it.each([
    [BAO("/v1/sys/policies/acl/x"), / audit --kind refusal --since 4h --path sys\/policies\/acl\/x shows/],
    [BAO(`/v1/identity/entity/id/${ENTITY}?a=b`), /--path identity\/entity\/id\/[\da-f-]{36} shows/],
    [BAO("/api/v2/organizations/acme/teams"), /--path organizations\/acme\/teams shows/],
    [BAO("/v1/secret/foo"), /There is no such endpoint: .* has no secret engines .* --since 4h shows/],
    [BAO(`/v1/sys/leases/s.${"A".repeat(84)}`), / --since 4h shows/],
    [['{"errors":["permission denied"]}'], / audit --kind refusal --since 4h shows/],
  ])("names the search when a pasted text has no id of a request: %j", async (text, search) => {
    expect(await grove("why -", log(...text))).toBe(1);
    expect(said.at(-1)).toMatch(/^grove: the text has no id of a request, which is in the header X-Request-Id/);
    expect(said.at(-1)).toMatch(search);
    expect(asked).toEqual([]);
  });

  it("takes the id of a request out of a pasted text", async () => {
    const id = "3ec50187-719e-463c-9e51-ded1453cb163";
    replies["GET /v1/sys/audit/events"] = data({ events: [], next: "" });
    const headers = ["HTTP/1.1 403 Forbidden", `Location: /v1/identity/entity/id/${ENTITY}`, `X-Request-Id: ${id}`];
    for (const text of [headers, [`{"request_id":"${id}","errors":[]}`], [id]])
      expect(await grove("why -", log(...text))).toBe(1);
    expect(asked.map(({ request }) => request)).toEqual(
      Array(3).fill(`GET /v1/sys/audit/events?request_id=${id}&limit=1`),
    );
  });

  it.each([
    [{ path: "<unknown>/<unknown>", status: 404, error: "no handler for route" }, "has no secret engines"],
    [{ path: "<unknown>", status: 403 }, "has no secret engines"],
    [{ path: "auth/<unknown>/role/x", status: 404, error: "no handler for route" }, "no auth method is mounted there"],
    [{ path: "sys/auth/mounts", status: 404, error: "unsupported path" }, "has no secret engines"],
  ])("says that nothing serves %j", async (change, text) => {
    expect(await grove("why r1 --log -", log(line(change)))).toBe(1);
    expect(out.join("\n")).toContain("There is no such endpoint: ");
    expect(out.join("\n")).toContain(text);
    expect(asked).toEqual([]);
  });

  it("ends with 1 when no line is found", async () => {
    expect(await grove("why r2 --log -", log(line()))).toBe(1);
    expect(said.at(-1)).toContain("audit --kind refusal --since 4h shows what was refused");
    expect(said.at(-1)).toMatch(/^grove: "r2" is no id of a request: /);
  });
});

it("grove version is the release", async () => {
  expect(await grove("version")).toBe(0);
  expect(await grove("version --json")).toBe(0);
  expect(out[0]).toMatch(new RegExp(`^Grove ${project.version.replaceAll(".", "\\.")}`));
  expect(JSON.parse(out[1] ?? "")).toEqual({ version: out[0]?.slice("Grove ".length) });
});

it("a table fits the terminal, with the names first, and says how many there are in all", async () => {
  const long = {
    ...token("x".repeat(84)),
    display_name: "token-payments-api-of-the-first-team",
    policies: Array(9).fill("policy"),
  };
  replies["GET /v1/sys/tokens"] = data({ tokens: [long], next: "c1" });
  replies["POST /v1/sys/tokens/revoke"] = data({
    ...{ count: 1174, total: 1174, leases: { count: 0, more: false }, skipped: { root: 0, self: 0 } },
    by: { mount: [], type: [], role: [], owner: [] },
  });
  expect(await grove("tokens --policy policy --limit 1", { columns: 80 })).toBe(0);
  // The accessor is to be copied: it is whole, in a line of its own.
  expect(out.slice(2)).toEqual(["x".repeat(84)]);
  for (const line of out.slice(0, 2)) expect(line.length).toBeLessThanOrEqual(80);
  expect(out[0]).toMatch(/^NAME /);
  expect(said.at(-1)).toBe("1 token of 1174: --limit 0 shows all");
  said.length = 0;
  await grove("tokens --policy policy --limit 1 --json");
  expect(said).toEqual(["1 token of 1174: --limit 0 shows all"]);
});

it.each([60, 80, 100, 140])("a table of %i columns has each time whole or not at all", async (columns) => {
  const used = token("x".repeat(84), {
    display_name: "token-payments-api",
    role: "ci",
    metadata: { owner: "payments" },
  });
  replies["GET /v1/sys/tokens"] = data({ tokens: [{ ...used, last_used: "2026-11-22T05:00:00Z" }], next: "" });
  expect(await grove("tokens", { columns })).toBe(0);
  expect(out[0]).toMatch(/^NAME +ENDS /);
  expect(out[1]).toContain("2026-11-23 04:05Z");
  expect(out[1]).not.toMatch(/\d…/);
  expect(out[0]?.includes("USED IN THE HOUR")).toBe(columns >= 140);
  expect(out[1]?.length).toBeLessThanOrEqual(columns);
});

it("no call carries what looks like a token in its address", async () => {
  const client = new GroveClient(address, "");
  expect(await client.call("GET", `sys/tokens/s.${"A".repeat(84)}`)).toMatchObject({ ok: false });
  expect(asked).toEqual([]);
});
