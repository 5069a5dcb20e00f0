import { beforeEach, describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { containText } from "../../../../scripts/grove/commands/contain-text.ts";

type Reply = { readonly status?: number; readonly body: unknown };

/** What the server answers, by method and path; a list is used up one by one, up to its last. */
let replies: Record<string, Reply | Reply[]>;
let asked: { readonly request: string; readonly body: unknown }[];
let out: string[];
let said: string[];

beforeEach(() => {
  [replies, asked, out, said] = [{}, [], [], []];
});

const data = (value: unknown): Reply => ({ body: { data: value } });
const SECRET_ID = "3ec50187-719e-463c-9e51-ded1453cb163";
const PATH = "auth/app?le/role/deploy";
const ADDRESS = "auth/app%3Fle/role/deploy";
const CREDENTIAL = {
  ...{ display_name: "", policies: [], metadata: {}, entity_id: "", created: null, expires: null, parent: null },
};
const LIVE = { state: "live", message: "It is alive.", chosen_id: false };
const UNKNOWN = data({ state: "unknown", kind: "", message: "Nothing is known.", chosen_id: false });
const LEASES = { waiting: 0, failing: 0, removed: 0, more: false, failures: [] };
const ended = (count: number, alive: readonly string[] = []) =>
  data({ checked: count + alive.length, ended: count, unknown: 0, alive, unrevoked_leases: LEASES, next: "" });
const login = (accessor: string) => ({
  ...{ kind: "login", type: "response", time: "2026-11-22T01:00:00Z" },
  response: { auth: { accessor, display_name: "approle" } },
});
const logins = (...accessors: string[]) => data({ events: accessors.map(login), next: "" });

/** @param answers what is typed at the questions; none: there is no terminal. */
async function contain(text: string, options = "", answers: string[] = []): Promise<number> {
  const command = parseGroveArguments(`contain - ${options}`.trim().split(" "));
  if (!command.ok || command.value.kind !== "contain-text") throw new Error("the command line is not taken");
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ method, path, body }) => {
      asked.push({ request: `${method} ${path}`, body });
      const found = replies[`${method} ${path.split("?")[0]}`];
      const reply = Array.isArray(found) ? (found.length > 1 ? found.shift() : found[0]) : found;
      const { status = 200, body: answer } = reply ?? { status: 404, body: { errors: [] } };
      return { status, retryAfter: null, text: JSON.stringify(answer) };
    },
  });
  const terminal = {
    ...{ colours: false, interactive: answers.length > 0, columns: null, progress: () => {}, piped: true },
    ...{ ask: async () => answers.shift() ?? "", secret: async () => text, lines: async function* () {} },
    ...{ out: (line: string) => void out.push(line), say: (line: string) => void said.push(line) },
  };
  const done = await containText({ client, terminal, json: command.value.json }, command.value);
  if (done.ok) return done.value;
  said.push(done.error.message);
  return 1;
}

const requests = (): string[] => asked.map(({ request }) => request);

/** The revocation of tokens, which ends all that it is asked for. */
function tokensCanBeRevoked(): void {
  const groups = { mount: [], type: [], role: [], owner: [] };
  const preview = { count: 2, total: 3, leases: { count: 0, more: false }, by: groups, skipped: { root: 0, self: 0 } };
  const times = { started: "2026-11-22T05:06:00Z", finished: "2026-11-22T05:06:07Z" };
  replies["POST /v1/sys/tokens/revoke"] = [data({ ...preview, sample: [] }), data({ job: "j1" })];
  replies["GET /v1/sys/tokens/jobs/j1"] = data({
    ...{ id: "j1", state: "done", counted: 2, matched: 2, total: 3, revoked: 2, preview, finished: times.finished },
  });
  replies["GET /v1/sys/tokens/jobs/j1/receipt"] = data({
    ...{ job: "j1", state: "done", request_id: "r1", asked_by: null, ...times },
    numbers: { matched: 2, total: 3, leases: { count: 0, more: false } },
  });
}

describe("grove contain - of a secret-id", () => {
  const live = data({ ...LIVE, kind: "secret-id", credential: { ...CREDENTIAL, accessor: "a-1", path: PATH } });
  beforeEach(() => {
    replies["POST /v1/sys/tokens/find"] = [live, UNKNOWN];
    replies[`POST /v1/${ADDRESS}/secret-id-accessor/destroy`] = { body: null };
    replies["GET /v1/sys/audit/events"] = logins();
    replies[`GET /v1/${ADDRESS}`] = data({ token_ends_with_secret_id: true });
  });

  it("shows it and its tokens, asks, destroys it by its accessor, and proves what ended with it", async () => {
    replies["GET /v1/sys/audit/events"] = logins("t1", "t2", "t2");
    replies["POST /v1/sys/tokens/verify-ended"] = ended(2);
    expect(await contain(`SECRET_ID=${SECRET_ID}`, "", ["destroy"])).toBe(0);
    expect(out).toEqual([
      "live: It is alive.",
      "  accessor   a-1",
      `  path       ${PATH}`,
      "  ends       never",
      "  its logins made 2 tokens, which end with it, with all below",
      "destroyed: asked again, it is gone",
      "2 of 2 tokens of its logins refused",
    ]);
    const destroyed = asked.find(({ request }) => request.endsWith("/destroy"));
    expect(destroyed?.body).toEqual({ secret_id_accessor: "a-1" });
    expect(asked.at(-1)?.body).toEqual({ accessors: ["t1", "t2"] });
    const withText = asked.filter((one) => JSON.stringify(one).includes(SECRET_ID));
    expect(new Set(withText.map(({ request }) => request))).toEqual(new Set(["POST /v1/sys/tokens/find"]));
  });

  it("ends the tokens that outlive it, also those that were made meanwhile, after a second question", async () => {
    replies[`GET /v1/${ADDRESS}`] = data({ token_ends_with_secret_id: false });
    replies["GET /v1/sys/audit/events"] = [logins("t1"), logins("t1", "t2", "t3")];
    replies["POST /v1/sys/tokens/verify-ended"] = [ended(1, ["t1", "t2"]), ended(3)];
    tokensCanBeRevoked();
    expect(await contain(SECRET_ID, "", ["destroy", "3"])).toBe(0);
    expect(out).toContain("  its logins made 1 token, which does not end with it");
    expect(out).toContain("1 of 3 tokens of its logins refused; those are ended next");
    expect(out).toContain("refused   3 of 3 tokens: the trees that have them were asked");
    const revoked = asked.filter(({ request }) => request === "POST /v1/sys/tokens/revoke");
    expect(revoked[1]?.body).toMatchObject({ accessors: ["t1", "t2"], dry_run: false, expected_total: 3 });
    [asked, said] = [[], []];
    replies["POST /v1/sys/tokens/find"] = [live, UNKNOWN];
    replies["POST /v1/sys/tokens/verify-ended"] = ended(1, ["t1", "t2"]);
    tokensCanBeRevoked();
    expect(await contain(SECRET_ID, "", ["destroy", "no"])).toBe(1);
    expect(said).toEqual(["nothing was revoked"]);
  });

  it("destroys nothing without the word, and without a terminal only with --yes", async () => {
    expect(await contain(SECRET_ID, "", ["yes"])).toBe(1);
    expect(await contain(SECRET_ID)).toBe(1);
    expect(await contain(SECRET_ID, "--json")).toBe(1);
    expect(requests().filter((one) => one.includes("destroy"))).toEqual([]);
  });

  it("ends with 1 when it can still be used, and when it could not be asked about", async () => {
    replies["POST /v1/sys/tokens/find"] = live;
    expect(await contain(SECRET_ID, "--yes")).toBe(1);
    expect(said).toEqual(["it is not proved to be destroyed: It is alive."]);
    const unjudged = data({ state: "unjudged", kind: "", message: "Ask again.", chosen_id: false });
    replies["POST /v1/sys/tokens/find"] = [live, unjudged];
    replies["GET /v1/sys/audit/events"] = logins("t1");
    replies["POST /v1/sys/tokens/verify-ended"] = [ended(0, ["t1"]), ended(3)];
    tokensCanBeRevoked();
    expect(await contain(SECRET_ID, "--yes")).toBe(1);
    expect(said.at(-1)).toBe("it is not proved to be destroyed: Ask again.");
    // Its tokens are ended all the same.
    expect(out).toContain("refused   3 of 3 tokens: the trees that have them were asked");
  });

  it("ends with 1, and says how, where its tokens are not known or have no accessor", async () => {
    replies["GET /v1/sys/audit/events"] = [logins(), { status: 403, body: { errors: ["permission denied"] } }];
    expect(await contain(SECRET_ID, "--yes")).toBe(1);
    const how = "npm run -s grove -- contain --mount auth/app?le/ --role deploy ends those of all its secret-ids";
    expect(said).toEqual([`which tokens its logins made is not known (permission denied); ${how}`]);
    replies["POST /v1/sys/tokens/find"] = [live, UNKNOWN];
    replies["GET /v1/sys/audit/events"] = logins("", "t1");
    replies["POST /v1/sys/tokens/verify-ended"] = ended(1);
    expect(await contain(SECRET_ID, "--yes")).toBe(1);
    expect(said.at(-1)).toBe(`1 token of its logins may be alive; ${how}`);
  });

  it("is destroyed by its accessor alone, and asked for by that again", async () => {
    replies["POST /v1/sys/tokens/find"] = UNKNOWN;
    const made = { kind: "change", type: "response", time: "2026-11-22T01:00:00Z", path: `${PATH}/secret-id` };
    replies["POST /v1/sys/audit/events"] = data({ events: [made], next: "" });
    replies["GET /v1/sys/audit/events"] = logins();
    const lookup = `POST /v1/${ADDRESS}/secret-id-accessor/lookup`;
    const alive = data({ secret_id_accessor: SECRET_ID });
    replies[lookup] = alive;
    expect(await contain(SECRET_ID, "--yes")).toBe(1);
    expect(said.at(-1)).toMatch(/^it is not proved to be destroyed: /);
    replies[lookup] = [alive, { status: 404, body: { errors: [] } }];
    expect(await contain(SECRET_ID, "--yes")).toBe(0);
    expect(out.at(-1)).toBe("destroyed: asked again, it is ended");
  });

  describe("that is used up", () => {
    beforeEach(() => {
      const login = { kind: "login", type: "response", time: "2026-11-22T01:00:00Z" };
      const made = { role: "deploy", principal: "a-1", data: { secret_id: "hmac-1" } };
      replies["POST /v1/sys/tokens/find"] = UNKNOWN;
      replies["GET /v1/sys/auth"] = data({ "app?le/": { type: "approle" }, "ci/": { type: "jwt" } });
      replies["POST /v1/sys/audit-hash/store"] = data({ hash: "hmac-1" });
      replies["GET /v1/sys/audit/events"] = data({
        events: [{ ...login, ...made, response: { auth: { accessor: "t1", display_name: "approle" } } }],
        next: "",
      });
    });

    it("is known by its logins, whose tokens are ended", async () => {
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(0, ["t1"]), ended(0, ["t1"]), ended(3)];
      tokensCanBeRevoked();
      expect(await contain(SECRET_ID, "--yes")).toBe(0);
      expect(out[0]).toBe(
        `ended: A secret-id of ${PATH} that is used up, destroyed or expired: no login takes it any more.`,
      );
      expect(out).toContain("  tokens of its logins are alive");
      const revoked = asked.filter(({ request }) => request === "POST /v1/sys/tokens/revoke");
      expect(revoked[1]?.body).toMatchObject({ accessors: ["t1"] });
      // It is not destroyed by this command, which needs no right to destroy it.
      expect(out).toContain("ended before: asked again, it is ended");
      expect(requests().filter((one) => one.includes("destroy"))).toEqual([]);
      expect(await contain(SECRET_ID, "--yes")).toBe(0);
      expect(out.at(-1)).toBe("It had ended before.");
    });

    it("asks before it ends the tokens of its logins, and says that those are left", async () => {
      replies["POST /v1/sys/tokens/verify-ended"] = ended(0, ["t1"]);
      expect(await contain(SECRET_ID, "", ["no"])).toBe(1);
      expect(said.at(-1)).toBe("the tokens of its logins were not ended");
    });

    it("stays unknown without such a login, and when the store can't be read, which is said", async () => {
      replies["POST /v1/sys/audit-hash/store"] = data({ hash: "hmac-2" });
      replies["POST /v1/sys/audit/events"] = data({ events: [], next: "" });
      expect(await contain(SECRET_ID, "--yes")).toBe(1);
      expect(out).toEqual(["unknown: Nothing is known."]);
      replies["GET /v1/sys/audit/events"] = { status: 403, body: { errors: ["permission denied"] } };
      expect(await contain(SECRET_ID, "--yes")).toBe(1);
      expect(out.at(-1)).toMatch(
        /^unknown: Nothing is known\. Whether it is the accessor of a secret-id, .* is not known: /,
      );
    });
  });

  it("names the right that is missing", async () => {
    replies[`POST /v1/${ADDRESS}/secret-id-accessor/destroy`] = {
      status: 403,
      body: { errors: ["permission denied"] },
    };
    expect(await contain(SECRET_ID, "--yes")).toBe(1);
    expect(said).toEqual([`VAULT_TOKEN needs update on ${PATH}/secret-id-accessor/destroy`]);
  });
});

describe("grove contain - of the token of a team", () => {
  const TEXT = "AbCdEfGhIjKlMn.atlasv1.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz01234567";
  const live = data({
    ...LIVE,
    kind: "team",
    credential: { ...CREDENTIAL, accessor: "at-1", created_by: "ann", path: "" },
  });
  const path = "DELETE /api/v2/authentication-tokens/at-1";

  it("deletes it by its id, and proves that it is refused", async () => {
    replies["POST /v1/sys/tokens/find"] = [live, data({ ...LIVE, state: "ended", kind: "team" })];
    replies[path] = { status: 204, body: null };
    expect(await contain(`TFE_TOKEN=${TEXT}`, "", ["delete"])).toBe(0);
    expect(out).toContain("  made by    ann");
    expect(out.at(-1)).toBe("deleted: asked again, it is ended");
    expect(requests()).toEqual(["POST /v1/sys/tokens/find", path, "POST /v1/sys/tokens/find"]);
  });

  it("deletes nothing without the word, and ends with 1 where the caller may not", async () => {
    replies["POST /v1/sys/tokens/find"] = live;
    expect(await contain(TEXT, "", ["no"])).toBe(1);
    expect(requests()).not.toContain(path);
    expect(await contain(TEXT, "--yes")).toBe(1);
    replies[path] = { status: 403, body: { errors: [{ status: "403", title: "forbidden", detail: "not for you" }] } };
    expect(await contain(TEXT, "--yes")).toBe(1);
    expect(said).toEqual([
      "nothing was ended",
      "it is not deleted: VAULT_TOKEN may not manage its organization",
      "not for you",
    ]);
  });
});

describe("grove contain -", () => {
  const token = {
    ...{ accessor: "t1", display_name: "ci", path: "auth/token/create", role: "", mount: "auth/token/", uses_left: 0 },
    ...{ policies: ["ci"], created: "2026-11-22T01:02:03Z", expires: null, children: 3, last_used: null },
  };

  it("ends a service token with all below it, by its accessor, and proves it", async () => {
    const text = `s.${"A".repeat(84)}`;
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "service", token });
    replies["POST /v1/sys/tokens/verify-ended"] = ended(3);
    tokensCanBeRevoked();
    expect(await contain(`export VAULT_TOKEN=${text}`, "--include-root", ["3"])).toBe(0);
    expect(asked[1]?.body).toMatchObject({ accessors: ["t1"], include_root: true, include_self: false, dry_run: true });
    expect(asked.slice(1).filter((one) => JSON.stringify(one).includes(text))).toEqual([]);
    expect(out).toContain("refused   3 of 3 tokens: the trees that have them were asked");
  });

  it.each([
    [
      "a batch token",
      { ...LIVE, kind: "batch", credential: { ...CREDENTIAL, accessor: "", path: "auth/token/create" } },
    ],
    ["a JWT that is over", { ...LIVE, state: "ended", kind: "jwt", mounts: ["auth/ci/"] }],
    ["a JWT", { ...LIVE, state: "unjudged", kind: "jwt", mounts: ["auth/ci/"] }],
    ["a setup token", { ...LIVE, kind: "setup", credential: { ...CREDENTIAL, accessor: SECRET_ID, path: "sys/init" } }],
    ["an unknown text", { ...LIVE, state: "unknown", kind: "" }],
  ])("only says of %s what it is", async (_, found) => {
    replies["POST /v1/sys/tokens/find"] = data(found);
    expect(await contain("one", "--yes")).toBe(1);
    expect(out[0]).toMatch(/It is alive\.$/);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^nothing was ended/);
    expect(requests().filter((one) => !one.startsWith("GET") && one !== "POST /v1/sys/tokens/find")).toEqual([]);
  });

  it("ends a root token without a further option: its text was given", async () => {
    const root = { ...token, policies: ["root"] };
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "service", token: root });
    replies["POST /v1/sys/tokens/verify-ended"] = ended(3);
    tokensCanBeRevoked();
    expect(await contain(`s.${"A".repeat(84)}`, "", ["3"])).toBe(0);
    expect(out).toContain("  it is a root token, to which nothing is forbidden");
    const sent = asked.filter(({ request }) => request === "POST /v1/sys/tokens/revoke");
    expect(sent.map(({ body }) => body)).toMatchObject([
      { include_root: true },
      { include_root: true, dry_run: false },
    ]);
  });

  describe("of a token that made others", () => {
    const made = { made_by: "t1", time: "", request_id: "r", path: "auth/token/create-orphan", client_address: null };
    const of = (accessor: string, type = "service") => ({
      ...{ ...made, accessor, display_name: "ops", token_type: type, depth: 1 },
    });
    beforeEach(() => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "service", token });
      replies["GET /v1/sys/audit/events"] = data({ events: [], next: "", below: [of("o1"), of("h", "batch")] });
      replies["GET /v1/sys/tokens/o1"] = data({
        ...{ token: { ...token, accessor: "o1", display_name: "token-ops", policies: ["root"] }, ancestors: [] },
        ...{ descendants: { count: 0, more: false }, leases: { count: 0, more: false } },
        cubbyhole: { values: 0, bytes: 0 },
      });
      tokensCanBeRevoked();
    });
    const lines = [
      "alive     1 token that it made and that is not below:",
      "  o1 (token-ops, policies root)",
      "    end it with all below: npm run -s grove -- contain --accessor o1 --include-root",
    ];

    it("names the live ones that are not below it, with 1", async () => {
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(3), ended(0, ["o1"])];
      expect(await contain("one", "--yes")).toBe(1);
      expect(out.slice(-3)).toEqual(lines);
      expect(asked.findLast(({ request }) => request.endsWith("verify-ended"))?.body).toEqual({ accessors: ["o1"] });
      tokensCanBeRevoked();
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(3), ended(1)];
      expect(await contain("one", "--yes")).toBe(0);
    });

    it("names them also when it had ended before, and says when they are not known", async () => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, state: "ended", kind: "service", token });
      replies["POST /v1/sys/tokens/verify-ended"] = ended(0, ["o1"]);
      expect(await contain("one", "--yes")).toBe(1);
      expect(out.slice(-3)).toEqual(lines);
      replies["GET /v1/sys/audit/events"] = { status: 403, body: { errors: ["permission denied"] } };
      expect(await contain("one", "--yes")).toBe(0);
      expect(said).toEqual([expect.stringMatching(/^whether it made tokens that are not below it is not known: /)]);
    });
  });

  it("names the token of the command, which is alive and left out", async () => {
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "service", token });
    const none = { count: 0, total: 0, leases: { count: 0, more: false }, sample: [] };
    const by = { mount: [], type: [], role: [], owner: [] };
    replies["POST /v1/sys/tokens/revoke"] = data({ ...none, by, skipped: { root: 0, self: 1 } });
    expect(await contain(`s.${"A".repeat(84)}`, "--yes")).toBe(1);
    expect(said).toEqual([
      "nothing that is alive matches but what was left out: the token of this command or one above it (better ended by another administrator's token): nothing was ended",
    ]);
  });

  it("can be run twice: a token that has ended is contained", async () => {
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, state: "ended", kind: "service", token });
    replies["GET /v1/sys/audit/events"] = logins();
    expect(await contain("one", "--yes")).toBe(0);
    expect(out.at(-1)).toBe("It had ended before.");
    const unrevoked = { ...LEASES, failing: 1 };
    replies["POST /v1/sys/tokens/find"] = data({
      ...LIVE,
      state: "ended",
      kind: "service",
      unrevoked_leases: unrevoked,
    });
    expect(await contain("one", "--yes")).toBe(1);
    expect(said).toEqual(["nothing was ended: it had ended before, but a secret can still be used"]);
  });

  describe("of a wrapping token", () => {
    const held = { response: { wrap_info: { accessor: "t1", wrapped_accessor: "t2" } } };
    beforeEach(() => {
      const event = { kind: "change", type: "response", time: "2026-11-22T01:00:00Z", ...held };
      replies["GET /v1/sys/audit/events"] = data({ events: [event], next: "" });
    });

    it("ends the token that it holds too", async () => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "wrapping", token });
      replies["POST /v1/sys/tokens/verify-ended"] = ended(3);
      tokensCanBeRevoked();
      expect(await contain("one", "--yes")).toBe(0);
      expect(out).toContain("  holds the token t2, which ends with it");
      expect(asked.find(({ request }) => request.endsWith("tokens/revoke"))?.body).toMatchObject({
        accessors: ["t1", "t2"],
      });
    });

    it("ends with 1 when it is not known what it holds", async () => {
      replies["GET /v1/sys/audit/events"] = { status: 403, body: { errors: ["permission denied"] } };
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "wrapping", token });
      replies["POST /v1/sys/tokens/verify-ended"] = ended(3);
      tokensCanBeRevoked();
      expect(await contain("one", "--yes")).toBe(1);
      expect(out).toContain("refused   3 of 3 tokens: the trees that have them were asked");
      expect(said.at(-1)).toBe("what it held may be alive: it is not known (permission denied)");
    });

    it("is not contained while the token that was taken from it is alive", async () => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, state: "ended", kind: "wrapping", token });
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(0, ["t2"]), ended(1)];
      expect(await contain("one", "--yes")).toBe(1);
      expect(said.at(-1)).toBe(
        "it had ended before, but the token that it held is alive: npm run -s grove -- contain --accessor t2",
      );
      expect(await contain("one", "--yes")).toBe(0);
    });
  });

  it("of a wrapping token is no success when a batch token was taken from it, which has no accessor", async () => {
    const response = { auth: { accessor: "", display_name: "", token_type: "batch" }, wrap_info: { accessor: "t1" } };
    const event = { kind: "login", type: "response", time: "2026-11-22T01:00:00Z", response };
    replies["GET /v1/sys/audit/events"] = data({ events: [event], next: "" });
    const gone = (how: string) => ({ ended: { at: "", how, by: null, request_id: "" }, state: "ended" });
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, ...gone("unwrapped"), kind: "wrapping", token });
    expect(await contain("one", "--yes")).toBe(1);
    expect(said.at(-1)).toMatch(/^it had ended before, but the batch token that it held may be alive/);
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, ...gone("revoked"), kind: "wrapping", token });
    expect(await contain("one", "--yes")).toBe(0);
  });

  describe("of a wrapping token with a secret-id", () => {
    const LOOKUP = "POST /v1/auth/app%3Fle/role/deploy/secret-id-accessor/lookup";
    const wrapping = { ...token, path: `${PATH}/secret-id` };
    const alive = data({ secret_id_accessor: SECRET_ID });
    const wasWrapped = () => {
      const event = {
        ...{ kind: "change", type: "response", time: "2026-11-22T01:00:00Z" },
        response: { wrap_info: { accessor: "t1", wrapped_accessor: SECRET_ID } },
      };
      replies["GET /v1/sys/audit/events"] = [data({ events: [event], next: "" }), logins("t9")];
    };
    beforeEach(() => {
      wasWrapped();
      replies[`POST /v1/${ADDRESS}/secret-id-accessor/destroy`] = { body: null };
      replies[`GET /v1/${ADDRESS}`] = data({ token_ends_with_secret_id: true });
    });
    const destroyed = () => asked.find(({ request }) => request.endsWith("/destroy"))?.body;

    it("ends it, and destroys the secret-id by its accessor, with the tokens of its logins", async () => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "wrapping", token: wrapping });
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(3), ended(1)];
      tokensCanBeRevoked();
      expect(await contain("one", "", ["3", "destroy"])).toBe(0);
      expect(asked.find(({ request }) => request.endsWith("tokens/revoke"))?.body).toMatchObject({ accessors: ["t1"] });
      expect(destroyed()).toEqual({ secret_id_accessor: SECRET_ID });
      expect(out).toContain(`  holds the secret-id ${SECRET_ID} of ${PATH}, which is destroyed next`);
      expect(out.slice(-2)).toEqual(["destroyed: asked again, it is ended", "1 of 1 token of its logins refused"]);
      wasWrapped();
      replies[LOOKUP] = alive;
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(3), ended(1)];
      tokensCanBeRevoked();
      expect(await contain("one", "--yes")).toBe(1);
      expect(said.at(-1)).toBe("it is not proved to be destroyed: A look-up by its accessor finds it.");
    });

    it("destroys the secret-id that was taken from it, and says when the token alone has ended", async () => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, state: "ended", kind: "wrapping", token: wrapping });
      replies["POST /v1/sys/tokens/verify-ended"] = ended(1);
      replies[LOOKUP] = [alive, { status: 404, body: { errors: [] } }];
      expect(await contain("one", "", ["no"])).toBe(1);
      expect([said.at(-1), destroyed()]).toEqual(["the secret-id was not destroyed", undefined]);
      wasWrapped();
      replies[LOOKUP] = [alive, { status: 404, body: { errors: [] } }];
      expect(await contain("one", "", ["destroy"])).toBe(0);
      expect(destroyed()).toEqual({ secret_id_accessor: SECRET_ID });
      expect(out).toContain("destroyed: asked again, it is ended");
    });

    it("ends the tokens of a secret-id that is used up, and is contained once they are", async () => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, state: "ended", kind: "wrapping", token: wrapping });
      replies["POST /v1/sys/tokens/verify-ended"] = [ended(0, ["t9"]), ended(0, ["t9"]), ended(3)];
      tokensCanBeRevoked();
      expect(await contain("one", "--yes")).toBe(0);
      const revoked = asked.filter(({ request }) => request === "POST /v1/sys/tokens/revoke");
      expect(revoked[1]?.body).toMatchObject({ accessors: ["t9"] });
      asked = [];
      wasWrapped();
      expect(await contain("one", "--yes")).toBe(0);
      expect([out.at(-1), destroyed()]).toEqual(["It had ended before.", undefined]);
    });
  });

  describe("of a lease", () => {
    const LEASE = "database/creds/app/AbC";
    const check = (state: object) =>
      data({ checked: 1, ended: 0, unknown: 0, alive: [], next: "", unrevoked_leases: LEASES, ...state });
    beforeEach(() => {
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "lease", token });
      replies["POST /v1/sys/leases/revoke"] = { body: null };
    });

    it("revokes it alone, and proves it", async () => {
      replies["POST /v1/sys/tokens/verify-ended"] = [check({ alive: [LEASE] }), check({ ended: 1 })];
      expect(await contain(LEASE, "", ["revoke"])).toBe(0);
      expect(asked.find(({ request }) => request.endsWith("leases/revoke"))?.body).toEqual({ lease_id: LEASE });
      expect(out.at(-1)).toBe(`revoked: asked again, the lease ${LEASE} has ended`);
      expect(requests()).not.toContain("POST /v1/sys/tokens/revoke");
    });

    it("sends it again when its target had not accepted the end", async () => {
      const failures = [{ lease_id: LEASE, error: "503 of db.test", next_attempt: null }];
      const state = { state: "ended", unrevoked_leases: { ...LEASES, failing: 1, failures } };
      replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "lease", token, ...state });
      replies["POST /v1/sys/tokens/verify-ended"] = check({ ended: 1 });
      expect(await contain(LEASE)).toBe(0);
      expect(asked.find(({ request }) => request.endsWith("leases/revoke"))?.body).toEqual({ lease_id: LEASE });
      expect(out.at(-1)).toBe(`revoked: asked again, the lease ${LEASE} has ended`);
    });

    it("revokes nothing without the word, and ends with 1 while its target has not accepted it", async () => {
      replies["POST /v1/sys/tokens/verify-ended"] = check({ alive: [LEASE] });
      expect(await contain(LEASE, "", ["yes"])).toBe(1);
      expect(requests()).not.toContain("POST /v1/sys/leases/revoke");
      const failures = [{ lease_id: LEASE, error: "503 of db.test", next_attempt: null }];
      const failing = check({ unrevoked_leases: { ...LEASES, failing: 1, failures } });
      replies["POST /v1/sys/tokens/verify-ended"] = [check({ alive: [LEASE] }), failing];
      expect(await contain(LEASE, "--yes")).toBe(1);
      expect(said.slice(1)).toEqual([
        `  ${LEASE}: 503 of db.test, irrevocable`,
        expect.stringMatching(/^it is not proved that the lease has ended: its secret can still be used/),
      ]);
    });
  });

  it("takes one text, of several the one that is known", async () => {
    expect(await contain(" \n")).toBe(1);
    const both = `s.${"A".repeat(84)}\ns.${"B".repeat(84)}`;
    expect(asked).toEqual([]);
    replies["POST /v1/sys/tokens/find"] = data({ ...LIVE, kind: "service", token });
    expect(await contain(both, "--yes")).toBe(1);
    expect(said).toEqual([
      "there is no text: give it on standard input",
      "this is more than one text: give one; npm run -s grove -- find says what each is",
    ]);
    replies["POST /v1/sys/tokens/verify-ended"] = ended(3);
    replies["POST /v1/sys/tokens/find"] = [UNKNOWN, data({ ...LIVE, kind: "service", token })];
    tokensCanBeRevoked();
    expect(await contain(both, "--yes")).toBe(0);
    replies["POST /v1/sys/tokens/find"] = UNKNOWN;
    const gone = { credential: { ...CREDENTIAL, accessor: "a-1", path: PATH }, kind: "secret-id", ...LIVE };
    replies["POST /v1/sys/tokens/find"] = [data(gone), UNKNOWN];
    replies[`POST /v1/${ADDRESS}/secret-id-accessor/destroy`] = { body: null };
    replies["GET /v1/sys/audit/events"] = logins();
    expect(await contain(`bob: which one?\nann: use ${SECRET_ID} please`, "--yes")).toBe(0);
    expect(out.at(-1)).toBe("destroyed: asked again, it is gone");
  });
});
