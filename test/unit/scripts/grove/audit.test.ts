import { beforeEach, describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { showEvents, verifyStore } from "../../../../scripts/grove/commands/audit.ts";
import type { Session } from "../../../../scripts/grove/terminal.ts";
import { type Leak, namedSecrets } from "../../../support/leaks.ts";

const ID = "3ec50187-719e-463c-9e51-ded1453cb163";
const GONE = "A".repeat(84);
const ACCESSOR = `k-${"A".repeat(76)}12345678`;

/** What the server answers, one after the other. */
let answers: object[];
/** Paths that it has nothing at, and paths at which it takes no body. */
let missing: string[];
let refused: string[];
/** What its token may do with what is asked for besides the events. */
let capabilities: string[];
let asked: { readonly method: string; readonly path: string; readonly body: unknown }[];
let out: string[];
let said: string[];

beforeEach(() => {
  refused = [];
  [answers, missing, capabilities, asked, out, said] = [[], [], ["root"], [], [], []];
});

/** The capabilities of the token of the command, on each path that is asked about. */
function held(body: unknown): string {
  const { paths } = body as { readonly paths: readonly string[] };
  return JSON.stringify({ data: Object.fromEntries(paths.map((path) => [path, capabilities])) });
}

/** Carries out a command that reads the audit store. */
function grove(words: string, columns: number | null = null, secret = ""): Promise<unknown> {
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ method, path, body }) => {
      if (path === "/v1/sys/capabilities-self") return { status: 200, retryAfter: null, text: held(body) };
      asked.push({ method, path, body });
      if (refused.includes(path) && method === "POST")
        return { status: 400, retryAfter: null, text: '{"errors":["it is none"]}' };
      if (missing.includes(path)) return { status: 404, retryAfter: null, text: '{"errors":[]}' };
      return { status: 200, retryAfter: null, text: JSON.stringify({ data: answers.shift() }) };
    },
  });
  const terminal = {
    ...{ colours: false, interactive: false, columns, progress: () => {}, ask: async () => "" },
    ...{ secret: async () => secret, piped: false, lines: async function* () {} },
    ...{ out: (line: string) => void out.push(line), say: (line: string) => void said.push(line) },
  };
  const command = parseGroveArguments(words.split(" "));
  if (!command.ok) throw new Error(String(command.error));
  const session: Session = { client, terminal, json: command.value.json };
  if (command.value.kind === "verify") return verifyStore(session);
  if (command.value.kind !== "audit") throw new Error("this is another command");
  return showEvents(session, command.value);
}

const CREDENTIAL = {
  ...{ accessor: "", display_name: "", policies: [], metadata: {}, entity_id: "", path: "" },
  ...{ created: null, expires: null, parent: null },
};
const made = (accessor: string, maker: string | null, change: object = {}) => ({
  ...{ accessor, display_name: `name-${accessor}`, entity_id: "", token_type: "service", made_by: maker },
  ...{ time: "2026-11-22T01:02:03.004Z", request_id: `r-${accessor}`, path: "auth/token/create" },
  client_address: "192.0.2.1",
  ...change,
});
const event = (change: object = {}) => ({
  ...{ kind: "change", type: "response", time: "2026-11-22T01:02:03.004Z", request_id: "r1", operation: "update" },
  ...{ path: "auth/token/create", client_address: "192.0.2.1", status: 200, via: "http" },
  auth: { accessor: ACCESSOR, display_name: "ci" },
  ...change,
});
const refusal = event({ kind: "refusal", status: 403, error: "permission denied", auth: undefined });

describe("grove audit", () => {
  it("of a token begins with who made it, and who made its maker", async () => {
    const login = { path: "auth/oidc/oidc/callback", mount: "auth/oidc/", role: "staff", principal: "mallory" };
    const makers = [made("a", "b"), made("b", null, login)];
    answers = [{ events: [event()], next: "", accessor: "a", makers, uses: [], more_uses: false }];
    expect(await grove("audit a --since 1")).toEqual({ ok: true, value: 0 });
    expect(asked).toEqual([
      {
        method: "GET",
        path: "/v1/sys/audit/events?since=1970-01-01T00%3A00%3A01.000Z&accessor=a&limit=100",
        body: undefined,
      },
    ]);
    expect(out.slice(0, 3)).toEqual([
      "made by name-b b: auth/token/create, 2026-11-22 01:02:03Z from 192.0.2.1, request r-a",
      "  which was made by a login at auth/oidc/ for staff as mallory: auth/oidc/oidc/callback, 2026-11-22 01:02:03Z from 192.0.2.1, request r-b",
      "accessor a",
    ]);
  });

  it("of the first root token says that no token and no login made it", async () => {
    answers = [{ events: [event()], next: "", accessor: "a", makers: [made("a", null, { path: "sys/init" })] }];
    await grove("audit a");
    expect(out[0]).toMatch(/^made by a request without a token: sys\/init, /);
  });

  it("takes the maker's name from the event when nothing is kept of the maker", async () => {
    const making = event({ request_id: "r-a", auth: { accessor: "root-1", display_name: "root" } });
    answers = [{ events: [making], next: "", accessor: "a", makers: [made("a", "root-1")] }];
    await grove("audit a");
    expect(out[0]).toMatch(/^made by root root-1: /);
  });

  it("asks for that event when it is not among those that are shown", async () => {
    const making = event({ request_id: "r-a", auth: { accessor: "root-1", display_name: "root" } });
    answers = [
      { events: [event()], next: "", accessor: "a", makers: [made("a", "root-1")] },
      { events: [making], next: "" },
    ];
    await grove("audit a");
    expect(asked.at(-1)?.path).toBe("/v1/sys/audit/events?request_id=r-a&limit=1");
    expect(out[0]).toMatch(/^made by root root-1: /);
  });

  it("says when there is no record of who made it", async () => {
    answers = [{ events: [], next: "", accessor: "a", makers: [] }];
    await grove("audit a");
    expect(out[0]).toMatch(/^who made it is not known/);
  });

  it("says what ended a token that no request named, and whom to ask next", async () => {
    const by = { accessor: "op", display_name: "on-call" };
    const ended = { at: "2026-11-22T05:06:07.000Z", how: "revoked with its parent", by, cause: "p", request_id: "r9" };
    answers = [{ events: [event()], next: "", accessor: "a", makers: [], ended }];
    await grove("audit a");
    expect(out).toContain("ended 2026-11-22 05:06:07Z: revoked with its parent by on-call op, as p ended, request r9");
    answers = [
      {
        events: [event()],
        next: "",
        accessor: "p",
        makers: [],
        ended: { ...ended, how: "expired", by: null, request_id: "" },
      },
    ];
    await grove("audit p");
    expect(out).toContain("ended 2026-11-22 05:06:07Z: expired");
  });

  it("tells a revocation of many from the count before it, and names the command of its receipt", async () => {
    const asked = (revocation: object) => event({ path: "sys/tokens/revoke", revocation });
    const fields = ["search"];
    answers = [
      {
        events: [
          asked({ dry_run: false, fields, count: 40, total: 320, job: "j1" }),
          asked({ dry_run: true, fields, count: 1, total: 1 }),
          asked({ dry_run: false, fields, job: "j2" }),
        ],
        next: "",
      },
    ];
    await grove("audit --since 24h");
    expect(out[1]).toMatch(/ ended 320 tokens: npm run -s grove -- contain --job j1\s+r1$/);
    expect(out[2]).toMatch(/ counted what would end: 1 token\s+r1$/);
    expect(out[3]).toMatch(/ began to end tokens: npm run -s grove -- contain --job j2\s+r1$/);
  });

  it("names entities by one look-up for all of them, and goes without where it is refused", async () => {
    const other = ID.replace("3", "4");
    const about = (ids: readonly string[]) => event({ path: "identity/entity/merge", target_entities: ids });
    const events = [about([other, ID]), about([other])];
    answers = [{ events, next: "" }, { key_info: { [ID]: { name: "alice" }, x: { name: "bob" } } }];
    await grove("audit --since 24h");
    expect(asked.slice(1)).toEqual([
      { method: "POST", path: "/v1/identity/lookup/entities", body: { ids: [other, ID] } },
    ]);
    expect(out[1]).toContain(`entity ${other} alice ${ID}`);
    expect(out[2]).toContain(`entity ${other} `);
    [asked, out] = [[], []];
    missing = ["/v1/identity/lookup/entities"];
    answers = [{ events, next: "" }];
    await grove("audit --since 24h");
    expect(out[1]).toContain(`entity ${other} ${ID}`);
    [asked, answers] = [[], [{ events: [event()], next: "" }]];
    await grove("audit --since 24h");
    expect(asked).toHaveLength(1);
    // A request that would be refused is not made: the audit log would have a refusal that nobody has caused.
    [asked, answers, capabilities] = [[], [{ events, next: "" }], ["read"]];
    await grove("audit --since 24h");
    expect(asked).toHaveLength(1);
  });

  it("of a wrapping token names the request whose answer it wraps", async () => {
    const wrapping = event({ response: { wrap_info: { accessor: "w" } } });
    answers = [{ events: [event(), wrapping], next: "", accessor: "w", makers: [], uses: [] }];
    await grove("audit w");
    expect(out[0]).toMatch(/^made by ci \S+, to wrap the answer: update auth\/token\/create, 2026-.*, request r1$/);
    answers = [{ events: [event()], next: "", accessor: "w", makers: [], uses: [] }];
    out = [];
    await grove("audit w");
    expect(out[0]).toMatch(/^who made it is not known/);
  });

  it("of the accessor of a secret-id says what was done with it, and not who made a token", async () => {
    const making = event({ path: "auth/approle/role/web/secret-id", target_accessor: ID });
    answers = [{ events: [making], next: "", accessor: ID, makers: [] }];
    await grove(`audit ${ID}`);
    expect(out[0]).toBe(`accessor ${ID}`);
    expect(out.join()).toContain(`secret-id ${ID}`);
  });

  it("sends a token in a body, and shows it nowhere", async () => {
    const uses = [{ hour: "2026-11-22T01:00:00Z", address: null, count: 7, first: "", last: "2026-11-22T01:02:03Z" }];
    answers = [{ events: [], next: "", accessor: "a", makers: [], uses, attempts: [refusal] }];
    await grove("audit -", null, " s.leaked \n");
    expect(asked).toEqual([
      { method: "POST", path: "/v1/sys/audit/events", body: { limit: "100", token: "s.leaked" } },
    ]);
    expect(out).toContain("2026-11-22 01:00:00Z  2026-11-22 01:02:03Z  7      -");
    expect(out).toContain("Tried with it while it was not valid:");
    expect(out.at(-1)).toMatch(/refusal 403 .* permission denied {2}r1$/);
    expect(JSON.stringify([out, said])).not.toContain("s.leaked");
  });

  it.each(["", "\n", "one\ntwo"])("asks nothing with the text %j", async (text) => {
    expect(await grove("audit -", null, text)).toMatchObject({ ok: false });
    expect(asked).toEqual([]);
  });

  describe("of a text with a secret of the deployment", () => {
    const token = `s.${"A".repeat(84)}`;
    const others = ["GROVE_SEAL_KEY=x", "GROVE_INIT_TOKEN=s.resembles-a-token-of-this"].map(
      (text): Leak => [text, text],
    );
    it.each([...namedSecrets(), ...others])("sends nothing of %s", async (_, text) => {
      const done = await grove("audit -", null, text);
      expect(done).toEqual({ ok: false, error: { status: null, message: expect.stringMatching(/was not sent/) } });
      expect(asked).toEqual([]);
    });

    it("sends the one whole token beside it", async () => {
      answers = [{ events: [event()], next: "", accessor: "a", makers: [] }];
      await grove("audit -", null, `VAULT_TOKEN=${token}\nGROVE_SEAL_KEY=x`);
      expect(asked.map(({ body }) => body)).toEqual([{ limit: "100", token }]);
    });
  });

  it("draws what hangs below, by what made it", async () => {
    const below = [made("b", "a", { depth: 1 }), made("d", "a", { depth: 1 }), made("c", "b", { depth: 2 })];
    const nothing = { events: [], next: "" };
    answers = [{ ...nothing, accessor: "a", makers: [], below, complete: false }, nothing, nothing, nothing];
    await grove("audit a --below");
    expect(asked[0]?.path).toContain("&lineage=true&");
    const about = "auth/token/create, 2026-11-22 01:02:03Z from 192.0.2.1";
    expect(out.slice(-4)).toEqual(["a", `├── name-b b ${about}`, `│   └── name-c c ${about}`, `└── name-d d ${about}`]);
    expect(said).toContain("3 tokens below it, and more that are not shown");
  });

  it("reads all answers about what hangs below", async () => {
    const nothing = { events: [], next: "" };
    const first = { below: [made("b", "a", { depth: 1 })], complete: false, below_next: "c1" };
    const second = { below: [made("c", "a", { depth: 1 })], complete: true, below_next: "" };
    answers = [{ ...nothing, accessor: "a", makers: [], ...first }, { ...nothing, ...second }, nothing, nothing];
    await grove("audit a --below");
    expect(asked[1]?.path).toBe("/v1/sys/audit/events?accessor=a&lineage=true&below_after=c1");
    expect(asked.slice(2).map(({ path }) => path.split("accessor=")[1]?.[0])).toEqual(["b", "c"]);
    expect(said).toContain("2 tokens below it");
  });

  describe("with what hangs below", () => {
    const use = (address: string, hour: string) => ({
      ...{ address, count: 1, hour: `2026-11-22T${hour}:00:00Z`, last: `2026-11-22T${hour}:01:00Z` },
    });
    const at = (second: number, change: object) => event({ time: `2026-11-22T01:02:0${second}.000Z`, ...change });
    const making = at(3, { request_id: "making" });
    beforeEach(() => {
      const below = [made("b", "a", { depth: 1 }), made("c", "b", { depth: 2 })];
      answers = [
        {
          events: [making],
          next: "",
          accessor: "a",
          makers: [],
          uses: [use("192.0.2.1", "01")],
          below,
          complete: true,
        },
        { events: [at(9, { request_id: "later", client_address: "198.51.100.9" }), making], next: "", accessor: "b" },
        { events: [at(1, { request_id: "first" })], next: "", accessor: "c", uses: [use("198.51.100.9", "02")] },
      ];
    });

    it("shows the events of all in the order of time, each once, and who read from where", async () => {
      expect(await grove("audit a --below --kind change,refusal")).toEqual({ ok: true, value: 0 });
      expect(asked.map(({ path }) => path)).toEqual([
        "/v1/sys/audit/events?kind=change%2Crefusal&accessor=a&lineage=true&limit=100",
        "/v1/sys/audit/events?kind=change%2Crefusal&accessor=b&limit=100",
        "/v1/sys/audit/events?kind=change%2Crefusal&accessor=c&limit=100",
      ]);
      const shown = out
        .filter((line) => line.includes("auth/token/create  "))
        .map((line) => line.split(/ {2,}/).at(-1));
      expect(shown).toEqual(["later", "making", "first"]);
      const reads = out.slice(out.findIndex((line) => line.startsWith("READS")));
      expect(reads[0]).toMatch(/FROM +BY$/);
      expect(reads.slice(1, 3).map((line) => line.split(/ {2,}/).slice(-2))).toEqual([
        ["198.51.100.9", "c name-c"],
        ["192.0.2.1", "a"],
      ]);
      expect(said.slice(-2)).toEqual(["2 tokens below it", "3 events"]);
    });

    it("shows as many as were asked for, the newest of all, and says that there are more", async () => {
      expect(await grove("audit a --below --limit 2 --json")).toEqual({ ok: true, value: 0 });
      const { events, more, below, uses } = JSON.parse(out[0] ?? "");
      expect(events.map(({ request_id: id }: { readonly request_id: string }) => id)).toEqual(["later", "making"]);
      expect({ more, below: below.length }).toEqual({ more: true, below: 2 });
      expect(uses.map(({ accessor }: { readonly accessor: string }) => accessor)).toEqual(["c", "a"]);
    });

    it("fits the terminal", async () => {
      await grove("audit a --below", 80);
      for (const line of out.filter((one) => !one.includes(ACCESSOR))) expect(line.length).toBeLessThanOrEqual(80);
    });

    it("cuts no address at a narrow terminal", async () => {
      await grove("audit a --below", 60);
      const reads = out.slice(out.indexOf("READS IN THE HOUR"));
      for (const line of reads.slice(0, 4)) expect(line.length).toBeLessThanOrEqual(60);
      expect(reads.join(" ").replaceAll(/\s+/g, " ")).toContain("from 198.51.100.9 by c name-c, the last at 2026-");
    });

    it("of a token by its text sends the text in no address", async () => {
      await grove("audit - --below", null, "s.leaked");
      expect(asked.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
      expect(asked[0]?.body).toEqual({ lineage: "true", limit: "100", token: "s.leaked" });
      expect(JSON.stringify(asked.map(({ path }) => path))).not.toContain("s.leaked");
    });

    it("says what was refused of one of them", async () => {
      answers[1] = { wrong: true };
      expect(await grove("audit a --below")).toMatchObject({ ok: false });
      expect(out).toEqual([]);
    });
  });

  describe("of a name that nothing is known of", () => {
    const nothing = { events: [], next: "" };

    it.each([
      ["audit nonsense", /^"nonsense" is no accessor: an accessor has 84 .*tokens --search NAME has the accessors/],
      [`audit ${GONE}`, /^nothing is known of A{84}: no token has this accessor, and no event is of it$/],
      [`audit ${ID}`, /^nothing is known of 3ec50187-719e-463c-9e51-ded1453cb163: /],
      ["audit --request r9", /^"r9" is no id of a request: it has the form /],
      [
        `audit --request ${ID}`,
        /^no request that is known has the id 3ec50187-719e-463c-9e51-ded1453cb163: .*changed nothing.*--log FILE/,
      ],
      ["audit --entity e9", /^"e9" is no id of an entity: /],
      [`audit --entity ${ID}`, /^no event is of the entity 3ec50187-719e-463c-9e51-ded1453cb163: /],
      ["audit --role web --mount auth/aws/", /^no event is of the role "web" of auth\/aws\/: /],
      [
        "audit --mount ci",
        /^no event is of the mount ci: it is mistyped \(its path is such as auth\/aws\/ or sys\/\), /,
      ],
    ])("%s says so, also with a time", async (words, message) => {
      missing = ["nonsense", GONE, ID].map((name) => `/v1/sys/tokens/${name}`);
      for (const more of ["", " --since 1h"]) {
        answers = [nothing, nothing];
        expect(await grove(words + more)).toEqual({
          ok: false,
          error: { status: null, message: expect.stringMatching(message) },
        });
      }
      expect(out).toEqual([]);
    });

    it.each([
      "0b4f2f5e-7f0b-4b9a-9d56-000000000001",
      '"0b4f2f5e-7f0b-4b9a-9d56-000000000001"',
      "secret_id=0b4f2f5e-7f0b-4b9a-9d56-000000000001",
      "hey bob\nuse 0b4f2f5e-7f0b-4b9a-9d56-000000000001 thanks",
    ])("of a text that is a secret-id, such as %j, asks by its accessor", async (text) => {
      refused = ["/v1/sys/audit/events"];
      answers = [
        {
          state: "live",
          kind: "secret-id",
          message: "",
          chosen_id: false,
          credential: { ...CREDENTIAL, accessor: ID },
        },
        { events: [event()], next: "" },
      ];
      expect(await grove("audit -", null, text)).toEqual({ ok: true, value: 0 });
      expect(asked.at(-1)?.path).toBe(`/v1/sys/audit/events?accessor=${ID}&limit=100`);
    });

    it("of a text that is no token says what tells what it is", async () => {
      refused = ["/v1/sys/audit/events"];
      answers = [{ state: "unjudged", kind: "jwt", message: "", chosen_id: false }];
      expect(await grove("audit -", null, "some.j.wt")).toMatchObject({
        error: { message: "it is none: npm run -s grove -- find says what it is, and what to ask" },
      });
      answers = [{ state: "unknown", kind: "", message: "", chosen_id: false }];
      expect(await grove("audit -", null, "some-text")).toMatchObject({
        error: { message: "it is none: npm run -s grove -- find says what it is, and what to ask" },
      });
    });

    it("of a text sends it to no address", async () => {
      missing = ["/v1/sys/tokens/hmac-sha256%3A0"];
      answers = [{ ...nothing, accessor: "hmac-sha256:0", makers: [] }];
      expect(await grove("audit -", null, "s.leaked")).toMatchObject({
        error: { message: "nothing is known of this token: npm run -s grove -- find says what the text is" },
      });
      expect(JSON.stringify(asked.map(({ path }) => path))).not.toContain("s.leaked");
    });

    it("asks for no token that it may not read", async () => {
      capabilities = ["read"];
      answers = [{ ...nothing, accessor: GONE, makers: [] }];
      expect(await grove(`audit ${GONE}`)).toMatchObject({
        error: { message: `nothing is known of ${GONE}: no event is of it` },
      });
      expect(asked).toHaveLength(1);
    });

    it("is none when only the selected time has nothing", async () => {
      answers = [nothing, { events: [event()], next: "" }];
      expect(await grove("audit --request r1 --since 1h")).toEqual({ ok: true, value: 0 });
      expect(asked.at(-1)?.path).toBe("/v1/sys/audit/events?request_id=r1&limit=1");
      expect(said).toEqual(["0 events"]);
    });

    it("is none when a token has this accessor", async () => {
      answers = [{ ...nothing, accessor: "a", makers: [] }, {}];
      expect(await grove("audit a")).toEqual({ ok: true, value: 0 });
      expect(asked.at(-1)?.path).toBe("/v1/sys/tokens/a");
    });

    it.each(["audit --address 192.0.2.1", "audit --kind fault"])("is none in %s, which only selects", async (words) => {
      answers = [nothing];
      expect(await grove(words)).toEqual({ ok: true, value: 0 });
    });

    it("is none of a mount that has other events", async () => {
      answers = [nothing, { events: [event()], next: "" }];
      expect(await grove("audit --mount auth/aws/ --kind fault")).toEqual({ ok: true, value: 0 });
    });
  });

  it("reads pages, also short ones, until there are as many as were asked for", async () => {
    answers = [
      { events: [event()], next: "c1", accessor: "a", makers: [] },
      { events: [], next: "c2" },
      // The record of the first page was stored twice.
      { events: [event(), event({ request_id: "r2" })], next: "c3" },
      { events: [event({ request_id: "r3" })], next: "c4" },
    ];
    await grove("audit a --limit 3 --json");
    expect(asked.map(({ path }) => path.split("&limit=")[1])).toEqual(["3", "2&after=c1", "2&after=c2", "1&after=c3"]);
    const shown = JSON.parse(out[0] ?? "");
    expect(shown).toMatchObject({ accessor: "a", next: "c4" });
    // A count of the items would be that of one page.
    expect(said).toEqual(["3 events, the newest, and there are more: --limit 0 shows all"]);
    // With all fields of the line.
    expect(shown.events.map(({ via }: { readonly via: string }) => via)).toEqual(["http", "http", "http"]);
  });

  it("fits the terminal, with each request whole, and all accessors below", async () => {
    const other = `k-${"A".repeat(76)}87654321`;
    const response = { auth: { accessor: other, display_name: "token-payments-api-of-the-first-team" } };
    const id = "5880dfd1-39a9-49f5-8879-44adb62b4946";
    for (const columns of [80, 120]) {
      [out, answers] = [[], [{ events: [event({ response, request_id: id }), refusal], next: "c1" }]];
      await grove("audit --address 192.0.2.1 --limit 2", columns);
      const wide = [`…12345678  ${ACCESSOR}`, `…87654321  ${other}`];
      expect(out.slice(-3)).toEqual(["Accessors:", ...wide]);
      for (const line of out.slice(0, -2)) expect(line.length).toBeLessThanOrEqual(columns);
      const shown = out.join(" ").replace(/ +/g, " ");
      expect(shown).toContain(
        `11-22 01:02:03Z change update auth/token/create from 192.0.2.1, by …12345678 ci, made …87654321 token-payments-api-of-the-first-team, request ${id}`,
      );
      expect(shown).toContain("refusal 403 update auth/token/create from 192.0.2.1, permission denied, request r1");
    }
    expect(said.at(-1)).toBe("2 events, the newest, and there are more: --limit 0 shows all");
  });

  it("names an accessor once, and not below when it is shown whole above", async () => {
    answers = [{ events: [event(), event({ request_id: "r2" })], next: "", accessor: ACCESSOR, makers: [] }];
    await grove(`audit ${ACCESSOR}`, 80);
    expect(out.filter((line) => line.includes(ACCESSOR))).toEqual([`accessor ${ACCESSOR}`]);
  });

  it("says what an event was about", async () => {
    const events = [
      event({ target_accessor: "t" }),
      event({
        kind: "login",
        role: "web",
        principal: "arn:x",
        response: { auth: { accessor: "n", display_name: "" } },
      }),
      { kind: "other", type: "dropped", time: "2026-11-22T01:02:03Z", count: 5 },
      event({ holder_accessor: "h" }),
    ];
    answers = [{ events, next: "" }];
    await grove("audit --kind login,change,other");
    const about = out.slice(1).map((line) => line.split(/ {2,}/).slice(1));
    expect(about[0]).toEqual(["change", "update auth/token/create", `${ACCESSOR} ci`, "192.0.2.1", "token t", "r1"]);
    expect(about[1]?.[4]).toBe("made n, role web, arn:x");
    expect(about[3]?.[4]).toBe("lease of token h");
    expect(about[2]).toEqual(["other", "dropped", "5"]);
  });

  it("gives a terminal no command that somebody put into a name", async () => {
    const name = "\u001b]0;owned\u0007\u202egpj\nroot";
    const evil = event({ auth: { accessor: "a", display_name: name }, role: name, error: name, status: 400 });
    const token = made("b", "a", { display_name: name, path: name, depth: 1 });
    const answer = { events: [evil], next: "", accessor: name };
    const own = { ...answer, makers: [token], attempts: [evil], below: [token] };
    answers = [own, answer, own, answer];
    for (const columns of [null, 200]) expect(await grove("audit a --below", columns)).toMatchObject({ ok: true });
    expect([...out, ...said].join("")).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });
});

describe("grove audit verify", () => {
  it("asks until all is checked", async () => {
    answers = [
      { objects: 1, records: 500, problems: [], cursor: "c1" },
      { objects: 1, records: 7, problems: [], cursor: "" },
    ];
    expect(await grove("audit verify")).toEqual({ ok: true, value: 0 });
    expect(asked.map(({ path }) => path)).toEqual(["/v1/sys/audit/verify", "/v1/sys/audit/verify?cursor=c1"]);
    expect(said).toEqual(["507 records of 2 objects: nothing was changed or taken out"]);
  });

  it("ends with 1, and shows all problems, when something was taken out", async () => {
    const [gap, cut] = [
      { object: "0/1", problem: "gap", seq: 12 },
      { object: "1/1", problem: "cut", seq: 3 },
    ];
    answers = [
      { objects: 1, records: 11, problems: [gap], cursor: "c1" },
      { objects: 1, records: 2, problems: [cut], cursor: "" },
    ];
    expect(await grove("audit verify")).toEqual({ ok: true, value: 1 });
    expect(out).toEqual(["OBJECT  PROBLEM  RECORD", "0/1     gap      12", "1/1     cut      3"]);
    expect(said).toEqual(["13 records of 2 objects: 2 problems"]);
  });
});
