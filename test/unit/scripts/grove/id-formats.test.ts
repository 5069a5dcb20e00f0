import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { byWhatWasTyped, isMalformed, MESSAGES, nothingIs } from "../../../../scripts/grove/id-formats.ts";

const ACCESSOR = "A".repeat(84);
const ID = "3ec50187-719e-463c-9e51-ded1453cb163";
const TREE = "0".repeat(64);

describe("a text that names nothing", () => {
  it.each([
    ["accessor", "nonsense", '"nonsense" is no accessor: an accessor has 84 letters, digits, - and _'],
    [
      "accessor",
      "…zGPRiMw6",
      '"…zGPRiMw6" is only the end of an accessor: an accessor has 84 letters, digits, - and _',
    ],
    [
      "accessor",
      "at-NDdHbDXZIVWo4pj1",
      "at-NDdHbDXZIVWo4pj1 is the id of a token of a team: DELETE /api/v2/authentication-tokens/at-NDdHbDXZIVWo4pj1 deletes it (docs/runbook.md, A person has left)",
    ],
    [
      "accessor",
      ID,
      `${ID} is no accessor of a token; of a secret-id it is one: npm run -s grove -- find shows how that is destroyed`,
    ],
    ["accessor", "a\u001b[2J", '"a\ufffd[2J" is no accessor: an accessor has 84 letters, digits, - and _'],
    ["entity", "e", `"e" is no id of an entity: it has the form ${ID}`],
    ["request", "r", `"r" is no id of a request: it has the form ${ID}`],
    ["job", "j", `"j" is no id of a job: it has the form ${ID}`],
    ["tree", ID, `"${ID}" is no id of a tree: it has 64 digits, 0 to 9 and a to f`],
  ] as const)("as %s %j is said to have another form", (kind, text, message) => {
    expect(isMalformed(kind, text)).toBe(true);
    expect(nothingIs(kind, text)).toBe(message);
  });

  it.each([
    ["accessor", ACCESSOR, `no token has the accessor ${ACCESSOR}: it is mistyped, was made by another server, or `],
    ["entity", ID, `no entity has the id ${ID}: it is mistyped, or was deleted`],
    [
      "request",
      ID,
      `no request that is known has the id ${ID}: it is mistyped, less than ten seconds old, not kept any more, was refused by a quota (429) soon after another one of its client, or was allowed and changed nothing, as a read`,
    ],
    ["job", ID, `no job has the id ${ID}: it is mistyped, or not kept any more`],
    ["tree", TREE, `no tree has the id ${TREE}: it is mistyped, or of another server`],
  ] as const)("as %s of the right form is said to be unknown", (kind, text, message) => {
    expect(isMalformed(kind, text)).toBe(false);
    expect(nothingIs(kind, text)).toContain(message);
  });
});

describe("a refusal of what selects tokens", () => {
  const refused = (message: string, status = 400) => ({ status, message });
  const item = refused("accessors has an item that is not an accessor");
  const messageOf = (...given: Parameters<typeof byWhatWasTyped>) => byWhatWasTyped(...given).message;

  it("names the accessor that is none", () => {
    expect(messageOf(item, { accessors: [ACCESSOR, "nonsense"] })).toMatch(/^"nonsense" is no accessor/);
    expect(messageOf(item, { accessors: [ACCESSOR] })).toMatch(/^no token has the accessor A{84}: it is mistyped/);
    expect(messageOf(item, { accessors: [ACCESSOR, ACCESSOR] })).toMatch(/^one of the accessors is mistyped/);
  });

  it("names the tree and the mount", () => {
    const filter = { tree: "t", mount: "nonsense" };
    expect(messageOf(refused("tree is not the id of a tree"), { filter })).toMatch(/^"t" is no id of a tree/);
    const mount = refused("no auth method is mounted at the path of mount");
    expect(messageOf(mount, { filter })).toBe(
      `no auth method is mounted at "nonsense": printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @- "$VAULT_ADDR/v1/sys/auth" names them`,
    );
  });

  it("is known by what the server says", () => {
    const folder = join(import.meta.dirname, "../../../../src/api/sys/tokens");
    const sources = ["revoke.ts", "filter-fields.ts"].map((name) => readFileSync(join(folder, name), "utf8")).join("");
    for (const message of Object.keys(MESSAGES)) expect(sources).toContain(`refuse("${message}")`);
  });

  it("stays as it is for another reason", () => {
    const others = [refused("limit is at most 1000"), { ...item, status: 403 }];
    for (const other of others) expect(byWhatWasTyped(other, { accessors: ["nonsense"] })).toEqual(other);
  });
});
