import { describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";

const TOKEN = `s.${"A".repeat(84)}`;
const CONTAIN = {
  ...{ kind: "contain", job: null, accessors: [], dryRun: false, includeRoot: false, includeSelf: false, yes: false },
  json: false,
};

describe("the command line of grove", () => {
  it.each([
    ["tokens", { kind: "tokens", filter: {}, sort: "created", limit: 100, json: false }],
    [
      "tokens --mount auth/aws --display-name ci* --never-ends --sort -end --limit 0 --json".replace("-end ", "=-end "),
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
        ends: { issuedSince: "2026-11-22T01:30:00Z", issuedBefore: "now" },
        json: false,
      },
    ],
    ["restore --from b --preview --json", { kind: "preview", from: "b", backup: null, json: true }],
    ["doctor", { kind: "doctor", json: false }],
    ["find --json", { kind: "find", json: true }],
    ["why abc", { kind: "why", request: "abc", json: false }],
    ["audit abc", { kind: "audit", hasText: false, fields: { accessor: "abc" }, limit: 100, json: false }],
    [
      "audit - --below --since 1 --until 2 --limit 0",
      { kind: "audit", hasText: true, fields: { since: "1", until: "2", lineage: "true" }, limit: 0, json: false },
    ],
    [
      "audit --entity e --role r --mount m/ --request i --address a --kind login --json",
      {
        ...{ kind: "audit", hasText: false, limit: 100, json: true },
        fields: { entity_id: "e", role: "r", mount: "m/", request_id: "i", address: "a", kind: "login" },
      },
    ],
    ["audit verify", { kind: "verify", json: false }],
    ["audit archive d", { kind: "archive", directory: "d", json: false }],
    ["why -", { kind: "why", request: null, json: false }],
    ["completion zsh", { kind: "completion", shell: "zsh", json: false }],
    ["contain --job 7", { ...CONTAIN, job: "7", filter: {} }],
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
    const read = parseGroveArguments(words.replace("--sort =", "--sort=").split(" "));
    expect(read).toEqual({ ok: true, value: command });
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
    [["constructor"], 'there is no command "constructor"'],
    [["tokens", "x"], 'tokens does not take "x"'],
    [["tokens", "--yes"], "tokens takes no --yes"],
    [["tokens", "--limit", "many"], '--limit takes a number, not "many"'],
    [["tokens", "--count-by", "role", "--limit", "3"], "--count-by takes no --sort and no --limit"],
    [["tokens", "--count-by", "role", "--policy", "x"], "--count-by takes no filter but --mount"],
    [["tree", "a", "b"], "Unexpected argument 'b'"],
    [["revoke"], "revoke needs a filter or --accessor: without one it would end everything"],
    [["revoke", "--dry-run"], "revoke needs a filter or --accessor: without one it would end everything"],
    [["revoke", "--role", "a", "--accessor", "b"], "revoke takes a filter or --accessor, not both"],
    [["revoke", "--job", "a", "--role", "b"], "--job and --stop stand alone"],
    [["explain"], "explain needs a path"],
    [["explain", "a", "--parameter", "b"], "--parameter takes NAME=VALUE"],
    [["explain", "a", "--accessor", "b", "--accessor", "c"], "explain takes one --accessor"],
    [["restore", "--preview"], "restore needs --from DIR"],
    [
      ["restore", "--from", "b", "--preview", "--not-before", "now"],
      "--preview takes no --not-before and no --issued-before",
    ],
    [["contain"], "contain needs a text, a filter or --accessor"],
    [["contain", "a", "--search", "b"], "contain takes a text or --search, not both"],
    [["contain", "a", "--accessor", "b"], "contain takes a text or filter, or --accessor, not both"],
    [["contain", "a", "--job", "b"], "--job stands alone"],
    [["why"], "why needs the id of a request, or - for the last one that was refused"],
    [["completion", "ksh"], "completion takes one of bash, zsh, fish"],
    [["audit"], "audit needs an accessor, - for a token, or an option such as --address"],
    [["audit", "--limit", "5"], "audit needs an accessor, - for a token, or an option such as --address"],
    [["audit", "a", "b"], "Unexpected argument 'b'"],
    [["audit", "a", "--limit", "b"], '--limit takes a number, not "b"'],
    [["audit", "--address", "a", "--below"], "--below needs an accessor, or - for a token"],
    [["audit", "--role", "web"], "--role needs its --mount, such as auth/aws/"],
    [["audit", "archive"], "audit archive needs a directory"],
    [["audit", "verify", "--since", "1"], "audit verify takes no --since"],
    [["audit", "verify", "x"], "audit verify takes no word"],
    [["audit", TOKEN], "this looks like a token, which no command line takes: grove audit - reads it"],
    [["audit", "--entity", TOKEN], "this looks like a token, which no command line takes: grove audit - reads it"],
    [["find", "x"], 'find does not take "x"'],
    [["tree", TOKEN], "this looks like a token, which no command line takes: grove find reads it"],
    [
      ["explain", "sys/mounts", `--accessor=${TOKEN}`],
      "this looks like a token, which no command line takes: grove find reads it",
    ],
    [["doctor", "--wrong"], "Unknown option '--wrong'"],
  ])("%j is refused", (words, error) => expect(parseGroveArguments(words)).toEqual({ ok: false, error }));
});
