import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseBackupArguments } from "../../../../scripts/backup/arguments.ts";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { COMMAND_NAMES, COMMANDS, isCommand, optionsOf } from "../../../../scripts/grove/command-table.ts";
import { parseUpgradeArguments } from "../../../../scripts/upgrade/arguments.ts";
import { AUDIT_KINDS } from "../../../../src/audit/query.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const TOKEN = `s.${"A".repeat(84)}`;
const JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJlc2lnbmF0dXJl";
/** What is said of a token in a command line. */
const looksLike = (reader: string) => {
  const called = `npm run -s grove -- ${reader}`;
  return `this looks like a token, which no command line takes: it is in the history of the shell now, and others on this machine may have seen it. Take it out of the history and treat it as leaked; ${called} reads it from a file (${called} < FILE), or typed when it asks`;
};
const CONTAIN = {
  ...{
    kind: "contain",
    job: null,
    retry: false,
    accessors: [],
    dryRun: false,
    includeRoot: false,
    includeSelf: false,
    yes: false,
  },
  json: false,
};

describe("the command line of grove", () => {
  it.each([
    ["tokens", { kind: "tokens", filter: {}, sort: "created", limit: 100, json: false }],
    [
      "tokens --mount auth/aws --display-name ci* --never-ends --sort -end --limit 0 --json",
      {
        kind: "tokens",
        filter: { mount: "auth/aws", display_name: "ci*", never_ends: "true" },
        sort: "-end",
        limit: 0,
        json: true,
      },
    ],
    ["tokens --count-by policy", { kind: "count", by: "policy", filter: {}, json: false }],
    ["tree", { kind: "tree", accessor: null, json: false }],
    ["tree abc --json", { kind: "tree", accessor: "abc", json: true }],
    ["revoke --job 7", { kind: "job", id: "7", json: false }],
    ["revoke --stop 7", { kind: "stop", id: "7", json: false }],
    [
      "restore --from b --not-before 2026-11-22T01:30:00Z --issued-before now",
      {
        kind: "restore",
        from: "b",
        backup: null,
        ends: { issuedSince: "2026-11-22T01:30:00.000Z", issuedBefore: "now" },
        json: false,
      },
    ],
    ["restore --from b --preview --json", { kind: "preview", from: "b", backup: null, json: true }],
    ["doctor", { kind: "doctor", copies: null, json: false }],
    ["doctor --copies b", { kind: "doctor", copies: "b", json: false }],
    ["version --json", { kind: "version", json: true }],
    ["find --json", { kind: "find", wholeLines: false, json: true }],
    ["find --whole-lines", { kind: "find", wholeLines: true, json: false }],
    ["why abc", { kind: "why", request: "abc", log: null, json: false }],
    ["audit", { kind: "audit", hasText: false, fields: {}, limit: 100, json: false }],
    ["audit abc", { kind: "audit", hasText: false, fields: { accessor: "abc" }, limit: 100, json: false }],
    [
      "audit - --below --since 1 --until 2h --limit 0",
      {
        ...{ kind: "audit", hasText: true, limit: 0, json: false },
        fields: { since: "1970-01-01T00:00:01.000Z", until: "2026-11-22T10:00:00.000Z", lineage: "true" },
      },
    ],
    [
      "audit --entity e --role r --mount m/ --request i --address 192.0.2.1 --kind login --json",
      {
        ...{ kind: "audit", hasText: false, limit: 100, json: true },
        fields: { entity_id: "e", role: "r", mount: "m/", request_id: "i", address: "192.0.2.1", kind: "login" },
      },
    ],
    ["audit verify", { kind: "verify", json: false }],
    ["audit archive d", { kind: "archive", directory: "d", json: false }],
    [
      "why X-Request-Id: 3EC50187-719e-463c-9e51-ded1453cb163",
      { kind: "why", request: "3ec50187-719e-463c-9e51-ded1453cb163", log: null, json: false },
    ],
    ["why -", { kind: "why", request: null, log: null, json: false }],
    ["why abc --log -", { kind: "why", request: "abc", log: "-", json: false }],
    ["completion zsh", { kind: "completion", shell: "zsh", json: false }],
    ["contain - --yes", { kind: "contain-text", includeRoot: false, includeSelf: false, yes: true, json: false }],
    ["contain --job 7", { ...CONTAIN, job: "7", filter: {} }],
    ["contain --job 7 --retry-leases", { ...CONTAIN, job: "7", retry: true, filter: {} }],
    [
      "contain payments --mount auth/aws/ --yes",
      { ...CONTAIN, filter: { search: "payments", mount: "auth/aws/" }, yes: true },
    ],
    [
      "explain sys/mounts --operation update --accessor a --parameter x=1=2",
      {
        kind: "explain",
        accessor: "a",
        path: "sys/mounts",
        operation: "update",
        parameters: { x: "1=2" },
        json: false,
      },
    ],
  ])("reads %s", (words, command) => {
    expect(parseGroveArguments(words.split(" "), NOW)).toEqual({ ok: true, value: command });
  });

  it("takes pairs of metadata more than once", () => {
    const read = parseGroveArguments(["tokens", "--metadata", "owner=a", "--metadata", "run=7"]);
    expect(read).toMatchObject({ ok: true, value: { filter: { metadata: ["owner=a", "run=7"] } } });
  });

  it("takes accessors more than once", () => {
    expect(parseGroveArguments(["revoke", "--accessor", "a", "--accessor", "b", "--dry-run"])).toMatchObject({
      ok: true,
      value: { kind: "revoke", accessors: ["a", "b"], filter: {}, dryRun: true, yes: false },
    });
  });

  it.each([
    [[], "which command?"],
    [["forest"], 'there is no command "forest"'],
    [["backup"], '"backup" is a script of its own here: npm run -s backup -- --help'],
    [["constructor"], 'there is no command "constructor"'],
    [["tokens", "x"], 'tokens does not take "x"'],
    [["tokens", "--yes"], "tokens takes no --yes"],
    [["toknes"], 'there is no command "toknes"; did you mean tokens?'],
    [["tokens", "--ends-befor", "1h"], "there is no option --ends-befor; did you mean --ends-before?"],
    [["apply", "f", "--json", "--chek"], "there is no option --chek; did you mean --check?"],
    [["tree", "--yse"], "there is no option --yse"],
    [["restore", "--since", "1h"], "restore takes no --since"],
    [["audit", "--from", "1h"], "audit takes no --from; did you mean --since?"],
    [["doctor", "--address", "http://a"], "doctor takes no --address; did you mean VAULT_ADDR?"],
    [["status"], 'there is no command "status"; did you mean doctor?'],
    [
      ["audit", "--since", "2026-11-22", "01:30"],
      '"01:30" stands alone: a time is one word, such as 2026-11-22T01:30:00Z',
    ],
    [["tokens", "--limit", "many"], '--limit takes a whole number from 0 on, not "many"'],
    [["tokens", "--limit", "-3"], '--limit takes a whole number from 0 on, not "-3"'],
    [
      ["tokens", "--sort", "creatd"],
      '--sort takes one of created, -created, end, -end, not "creatd"; did you mean created?',
    ],
    [
      ["tokens", "--count-by", "metadata."],
      '--count-by takes one of mount, role, policy, entity, display_name, metadata.NAME, end_hour, created_hour, tree, not "metadata."; did you mean metadata.NAME?',
    ],
    [["explain", "a", "--operation", "write"], expect.stringMatching(/^--operation takes one of read, list, /)],
    [["audit", "--kind", "login,nonsense"], expect.stringMatching(/^--kind takes one of change, login, /)],
    [["revoke", "--role", ""], '--role takes a value (NAME), not ""'],
    [["contain", "payments", "--retry-leases"], "--retry-leases stands beside --job"],
    [["tokens", "--count-by", "role", "--ends-after", "1h"], "--count-by takes --ends-after beside --ends-before"],
    [["tokens", "--count-by", "end_hour", "--ends-before", "1h"], "--count-by end_hour takes no time"],
    [["tokens", "--count-by", "role", "--limit", "3"], "--count-by takes no --sort and no --limit"],
    [
      ["tokens", "--count-by", "role", "--policy", "x"],
      "--count-by takes no filter but --mount, --ends-after and --ends-before: revoke --dry-run counts what other filters select",
    ],
    [["tree", "a", "b"], 'unexpected word "b"'],
    [["revoke"], "revoke needs a filter or --accessor: without one it would end everything"],
    [["revoke", "--dry-run"], "revoke needs a filter or --accessor: without one it would end everything"],
    [["revoke", "--role", "a", "--accessor", "b"], "revoke takes a filter or --accessor, not both"],
    [["revoke", "--job", "a", "--role", "b"], "--job and --stop stand alone"],
    [["explain"], "explain needs a path"],
    [["explain", "a", "--parameter", "b"], '--parameter takes NAME=VALUE, not "b"'],
    [["tokens", "--metadata", "a=b", "--metadata", "=c"], '--metadata takes NAME=VALUE, not "=c"'],
    [["revoke", "--accessor", ""], '--accessor takes a value (A), not ""'],
    [["explain", "a", "--accessor", "b", "--accessor", "c"], "explain takes one --accessor"],
    [["restore", "--preview"], "restore needs --from DIR"],
    [
      ["restore", "--from", "b", "--preview", "--not-before", "1h"],
      "--preview takes no --not-before and no --issued-before",
    ],
    [
      ["restore", "--from", "b", "--not-before", "9999-11-22T12:01:01Z"],
      "--not-before takes a time that has passed, by this machine's clock",
    ],
    [
      ["restore", "--from", "b", "--issued-before", "9999-01-01"],
      "--issued-before takes a time that has passed, by this machine's clock",
    ],
    [["contain"], "contain needs a text, a filter or --accessor"],
    [["contain", "ci"], "contain takes a text of 3 characters or more; --display-name takes a whole name"],
    [["contain", "a", "--search", "b"], "contain takes a text or --search, not both"],
    [["contain", "a", "--accessor", "b"], "contain takes a text or filter, or --accessor, not both"],
    [["contain", "a", "--job", "b"], "--job stands alone"],
    [["contain", "-", "--role", "ci"], "contain - takes no filter, no --accessor and no --job"],
    [["contain", "-", "--accessor", "a"], "contain - takes no filter, no --accessor and no --job"],
    [["contain", "-", "--job", "b"], "contain - takes no filter, no --accessor and no --job"],
    [["why"], "why needs the id of a request, or - for the last one that was refused"],
    [["completion", "ksh"], "completion takes one of bash, zsh, fish; did you mean zsh?"],
    [["audit", "a", "b"], 'unexpected word "b"'],
    [["audit", "a", "--limit", "b"], '--limit takes a whole number from 0 on, not "b"'],
    [["audit", "--address", "192.0.2.1", "--below"], "--below needs an accessor, or - for a token"],
    [["audit", "--address", "192.0.2"], '--address takes an IP address, not "192.0.2"'],
    [["audit", "--role", "web"], "--role needs its --mount, such as auth/aws/"],
    [["list", "--help"], 'there is no command "list"; did you mean tokens?'],
    [["completion", "bash", "--json"], "completion takes no --json: its answer is a script"],
    [["help", "tokens", "--json"], "help takes no --json: its answer is text"],
    [["help", "tokns"], 'there is no command "tokns"; did you mean tokens?'],
    [["audit", "archive"], "audit archive needs a directory"],
    [["audit", "verify", "--since", "1"], "audit verify takes no --since"],
    [["audit", "verify", "x"], "audit verify takes no word"],
    [["audit", TOKEN], looksLike("audit -")],
    [["audit", "--entity", TOKEN], looksLike("audit -")],
    [
      ["find", "x"],
      "find takes no word: it reads a file as npm run -s grove -- find < FILE, and asks when there is none",
    ],
    [["audit", "--path", "/v1/"], '--path takes a value (PATH), not "/v1/"'],
    [
      ["audit", "--since", "2999-01-01"],
      "--since is later than now by this machine's clock: nothing has happened since",
    ],
    [["tree", TOKEN], looksLike("find")],
    [["explain", "sys/mounts", `--accessor=${TOKEN}`], looksLike("find")],
    [["doctor", "--wrong"], "there is no option --wrong"],
  ])("%j is refused", (words, error) => expect(parseGroveArguments(words)).toEqual({ ok: false, error }));

  describe.each([TOKEN, JWT, `hvs.${"x".repeat(24)}`, "TRqLLOnBPXkEFA.atlasv1.zp8jFmKCc6"])("%s", (token) => {
    /** Each place in which a word of a command line can have it. */
    const places = [
      [token],
      [`--${token}`],
      [`-${token}`],
      ["tokens", `--${token}=1`],
      ["tokens", "--count-by", `metadata.${token}`],
      ["tokens", `--count-by=metadata.${token}`],
      ["tokens", "--metadata", `owner=${token}`],
      ["tokens", "--search", `x${encodeURIComponent(` ${token}`)}`],
      ["explain", `sys/tokens/${token}`],
      ["help", token],
      ["tokens", "--help", token],
      ["tokens", "--", token],
      ["apply", `./${token}`],
      ...COMMAND_NAMES.flatMap((name) =>
        Object.entries(optionsOf(name)).flatMap(([option, { type }]) =>
          type === "string" ? [[name, `--${option}`, token]] : [],
        ),
      ),
    ];

    it.each(places.map((words) => [words]))("is refused in %j, and not repeated", (words) => {
      const read = parseGroveArguments(words);
      expect(read).toEqual({ ok: false, error: looksLike(words[0] === "audit" ? "audit -" : "find") });
    });

    it("is refused by the other programs too", () => {
      for (const parse of [parseBackupArguments, (words: string[]) => parseUpgradeArguments(words, {})])
        for (const words of [[token], ["--data", token], [`--${token}`]])
          expect(parse(words)).toEqual({ ok: false, error: looksLike("find") });
    });
  });

  it("takes what only resembles one", () => {
    for (const text of ["x".repeat(84), "users.internal", "https://grove.s.example.com", "b.example", "a.b-c-d-e"])
      expect(parseGroveArguments(["tokens", "--search", text]).ok, text).toBe(true);
  });

  it.each([
    ["audit --since 1h --until 2h", "since", "until"],
    ["audit --since 2026-11-22T00:00:00Z --until 2026-11-22T00:00:00Z", "since", "until"],
    ["tokens --created-after 1h --created-before 2h", "created-after", "created-before"],
    ["revoke --ends-after 2h --ends-before 1h", "ends-after", "ends-before"],
  ])("%s has no time in it", (words, from, to) => {
    const error = `there is no time from --${from} to --${to}: the first is not earlier`;
    expect(parseGroveArguments(words.split(" "), NOW)).toEqual({ ok: false, error });
  });

  it("takes a time between two others, and one without an end", () => {
    for (const words of ["audit --since 2h --until 1h", "audit --since 1h", "tokens --created-before 1h"])
      expect(parseGroveArguments(words.split(" "), NOW).ok).toBe(true);
  });

  it.each(["sys/auth/", "/sys/auth/", "/v1/sys/auth/", "v1//sys/auth/", "https://grove.example/v1/sys/auth/"])(
    "takes %s as the path that logs and lists have",
    (path) => {
      for (const [words, sent] of [
        [["audit", "--path", path], { path_prefix: "sys/auth/" }],
        [["audit", "--mount", path], { mount: "sys/auth/" }],
      ] as const)
        expect(parseGroveArguments(words, NOW)).toMatchObject({ ok: true, value: { fields: sent } });
      for (const option of ["path-prefix", "mount"]) {
        const filter = { [option.replace("-", "_")]: "sys/auth/" };
        expect(parseGroveArguments(["revoke", `--${option}`, path], NOW)).toMatchObject({
          ok: true,
          value: { filter },
        });
      }
    },
  );

  it("suggests a program of the binary for a mistyped one", () => {
    const error = 'there is no command "srve"; did you mean serve?';
    expect(parseGroveArguments(["srve"], NOW, ["serve"])).toEqual({ ok: false, error });
  });

  it.each([["help"], ["help", "tokens"], ["tokens", "--help"]])("%s %s asks for the help", (...words) => {
    expect(parseGroveArguments(words)).toEqual({ ok: false, error: { show: "help" } });
  });

  it("takes the number of all events that audit shows without a subject", () => {
    const value = { kind: "audit", hasText: false, fields: {}, limit: 5, json: false };
    expect(parseGroveArguments(["audit", "--limit", "5"])).toEqual({ ok: true, value });
  });

  it("has the kinds of events of the server", () => {
    expect(COMMANDS.audit.options.kind.values).toEqual(AUDIT_KINDS);
  });
});

describe("a time of grove", () => {
  /** The options with a time, with their command and what it needs besides. */
  const options = COMMAND_NAMES.flatMap((name) =>
    Object.entries(optionsOf(name)).flatMap(([option, { time }]) => (time ? [{ name, option, time }] : [])),
  );
  const NEEDED: Readonly<Record<string, readonly string[]>> = { restore: ["--from", "b"], audit: ["a"] };
  const read = (name: string, option: string, text: string) =>
    parseGroveArguments([name, ...(NEEDED[name] ?? []), `--${option}=${text}`], NOW);

  it("is taken by these", () => {
    expect(options.map(({ name, option }) => `${name} ${option}`)).toEqual([
      ...["tokens", "revoke", "contain"].flatMap((name) =>
        ["created-after", "created-before", "ends-after", "ends-before", "unused-since"].map((one) => `${name} ${one}`),
      ),
      ...["audit since", "audit until", "restore not-before", "restore issued-before"],
    ]);
  });

  describe.each(options)("$name --$option", ({ name, option, time }) => {
    it.each([
      ["2026-11-20T00:00:00Z", "2026-11-20T00:00:00.000Z"],
      ["2026-11-20", "2026-11-20T00:00:00.000Z"],
      ["2026-11-20 01:02:03Z", "2026-11-20T01:02:03.000Z"],
      ["2026-11-20 01:02Z", "2026-11-20T01:02:00.000Z"],
      ["2026-11-20t02:00:00.5+02:00", "2026-11-20T00:00:00.500Z"],
      ["1795000000", new Date(1_795_000_000_000).toISOString()],
      ["24h", time === "before" ? "2026-11-21T12:00:00.000Z" : "2026-11-23T12:00:00.000Z"],
      ["1h30m", time === "before" ? "2026-11-22T10:30:00.000Z" : "2026-11-22T13:30:00.000Z"],
      ["7d", time === "before" ? "2026-11-15T12:00:00.000Z" : "2026-11-29T12:00:00.000Z"],
    ])("is %s", (text, sent) => {
      const command = read(name, option, text);
      expect(command.ok && JSON.stringify(command.value)).toContain(`"${sent}"`);
    });

    it.each(["yesterday", "2026-11", "-24h", "1w", "2026-02-30", "2026-02-30T00:00:00Z", "h", ""])(
      "is not %j",
      (text) => {
        const command = read(name, option, text);
        expect(command).toEqual({
          ok: false,
          error: expect.stringMatching(`^--${option} takes a time: .*, not "${text}"$`),
        });
      },
    );
  });
});

describe("pages", () => {
  const root = join(import.meta.dirname, "../../../..");
  const pages = ["README.md", ...readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))];
  const calls = pages.flatMap((page) => {
    const text = readFileSync(join(root, page === "README.md" ? page : `docs/${page}`), "utf8");
    const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) => block.split("\n"));
    const inline = [...text.matchAll(/`((?:npm run -s grove --|grove) [^`\n]+)`/g)].map(([, call = ""]) => call);
    const found = [...blocks, ...inline].flatMap((line) => {
      const [, words = ""] =
        /(?:^|[|(] ?|\$ )(?:npm run -s grove --|grove) ([a-z][^#<|]*)/.exec(line.replace(/"\$\(.*\)"/g, "x")) ?? [];
      const [name = ""] = words.split(" ");
      return isCommand(name) && words.includes(" --") ? [words.trim()] : [];
    });
    return found.map((words) => [page, words] as const);
  });

  it("name commands", () => expect(calls.length).toBeGreaterThan(10));

  it.each(calls)("%s: grove %s is a command line", (_, words) => {
    // What a shell would put in their place, and the dots of what is only named.
    const argv = words
      .replace(/"\$\w+"/g, "x")
      .replace(/ T\b/g, " 1h")
      .split(" ");
    const read = parseGroveArguments(argv, NOW);
    expect(read.ok || !/option|takes/.test(String(read.error)) ? null : read.error).toBeNull();
  });
});
