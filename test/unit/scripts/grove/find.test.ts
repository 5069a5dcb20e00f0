import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { parse as parseToml } from "smol-toml";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { findTexts } from "../../../../scripts/grove/commands/find.ts";
import { DEPLOYMENT_SECRET, TOKEN_FORMS } from "../../../../scripts/grove/secret-detection.ts";
import { linesIn } from "../../../../scripts/local/long-lines.ts";
import { type Leak, leaksOf, namedSecrets, PLACES } from "../../../support/leaks.ts";

/** What is known, by text; of another text nothing is. */
let known: Record<string, object>;
/** What the tokens of these accessors have above and below. */
let lineages: Record<string, object>;
/** What other endpoints answer, by path. */
let answers: Record<string, unknown>;
let status: number;
let asked: { readonly token?: string; readonly accessor?: string }[];
let out: string[];
let said: string[];

beforeEach(() => {
  [known, lineages, answers, status, asked, out, said] = [{}, {}, {}, 200, [], [], []];
});

const LIVE = { state: "live", kind: "service", message: "It is alive.", chosen_id: false };
const UNKNOWN = { state: "unknown", kind: "", message: "Nothing is known.", chosen_id: false };
const TOKEN = {
  ...{ accessor: "a", display_name: "ci", path: "auth/token/create", role: "", mount: "auth/token/", uses_left: 0 },
  ...{ policies: ["ci"], created: "2026-11-22T01:02:03Z", expires: null, children: 3, last_used: null },
};

async function find(secret: string, json = false, wholeLines = false): Promise<number> {
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ body, path }) => {
      const answer = answers[path.split("?")[0] ?? ""];
      if (answer) return { status: 200, retryAfter: null, text: JSON.stringify({ data: answer }) };
      // A text in the form of a UUID may be the accessor of a secret-id: there are no events of it.
      if (path === "/v1/sys/audit/events" && body !== undefined)
        return { status: 200, retryAfter: null, text: JSON.stringify({ data: { events: [], next: "" } }) };
      if (body === undefined) {
        const lineage = lineages[path.slice(path.lastIndexOf("/") + 1)];
        return { status: lineage ? 200 : 403, retryAfter: null, text: JSON.stringify({ data: lineage, errors: [] }) };
      }
      const text = body as { readonly token?: string; readonly accessor?: string };
      asked.push(text);
      const data = known[text.token ?? text.accessor ?? ""] ?? UNKNOWN;
      const found = status === 200 ? { data } : { errors: ["refused"] };
      return { status, retryAfter: null, text: JSON.stringify(found) };
    },
  });
  const terminal = {
    ...{ colours: false, interactive: false, columns: null, progress: () => {}, ask: async () => "" },
    ...{ piped: true, secret: async () => secret, lines: () => linesIn(Readable.from([Buffer.from(secret)])) },
    ...{ out: (line: string) => void out.push(line), say: (line: string) => void said.push(line) },
  };
  const done = await findTexts({ client, terminal, json }, wholeLines);
  if (done.ok) return done.value;
  said.push(done.error.message);
  return 1;
}

const findWhole = (secret: string, json = false) => find(secret, json, true);
const texts = () => asked.map(({ token }) => token);

describe("the texts that grove find asks about", () => {
  let leaks: readonly Leak[];
  let token: string;
  beforeAll(async () => {
    leaks = (await leaksOf(Date.now())).secrets;
    token = leaks[0]?.[1] ?? "";
  });

  it("are signed identity documents, in one line or in several", async () => {
    const text = `MIAGCSqGSIb3DQEHAqCA${"MIACAQExDzAN".repeat(40)}==`;
    const lines = text.match(/.{1,64}/g) ?? [];
    await find(
      ["a log", ...lines, "token=none", `{"pkcs7": "${text}"}`, "MIIEvQIBADANBgkqhkiG9w0BAQEF", "the end"].join("\n"),
    );
    expect(texts()).toEqual([text]);
    asked = [];
    await find(lines.join("\n"));
    expect(texts()).toEqual([text]);
    asked = [];
    const der = `MIIFxwYJKoZIhvcNAQcC${"oIIFuDCCBbQC".repeat(30)}`;
    await find(["x", ...(der.match(/.{1,76}/g) ?? [])].join("\n"));
    expect(texts()).toEqual([der]);
  });

  it("have the forms by which scanners find them", () => {
    const { rules } = parseToml(readFileSync("ops/gitleaks.toml", "utf8")) as {
      rules: { id: string; regex: string }[];
    };
    const forms = { ...TOKEN_FORMS, "grove-deployment-secret": DEPLOYMENT_SECRET };
    expect(forms).toEqual(Object.fromEntries(rules.map(({ id, regex }) => [id, regex])));
  });

  it("are every kind of token, wherever it stands", async () => {
    for (const place of PLACES) {
      for (const [, secret] of leaks) {
        asked = [];
        await find(place(secret));
        expect(texts()).toEqual([secret]);
      }
    }
  });

  it("are tokens that are glued together, without their beginning, or in base64", async () => {
    const [, [, second = ""] = [], [, batch = ""] = [], , [, team = ""] = []] = leaks;
    for (const [text, ...all] of [
      [`x\n${token}${second}\n`, token, second],
      [`x\n${token}${team}${batch}${second}`, token, team, batch, second],
      [`x\n${batch}${batch}`, batch],
      [`a: b\ntoken=${token.slice(2)}`, token.slice(2)],
      [`"client_token": "${token.slice(2)}",\nx`, token.slice(2)],
      [`data:\n  token: ${btoa(token)}\n  other: ${btoa(`A=1\nB=${batch}\n`)}`, token, batch],
      [`x\n${btoa(`data:\n  token: ${btoa(token)}`)}`, token],
      [`x\nsecret-id: ${btoa("3ec50187-719e-463c-9e51-ded1453cb163")}`, "3ec50187-719e-463c-9e51-ded1453cb163"],
    ]) {
      asked = [];
      await find(text ?? "");
      expect(new Set(texts())).toEqual(new Set(all));
    }
  });

  it("are UUIDs and ids of leases among words, as long as they are few, and not named as what is no secret", async () => {
    const uuid = (at: number) => `3ec50187-719e-463c-9e51-ded1453cb${100 + at}`;
    const lease = `database/creds/app/${token.slice(2)}`;
    for (const text of [uuid(1), lease]) {
      for (const input of [`hey bob use ${text} thanks`, `ann: hi\nbob: it's "${text}".\nann: thanks`]) {
        known = { [text]: LIVE };
        asked = [];
        expect([input, await find(input)]).toEqual([input, 1]);
        expect(texts().filter((one) => one === text)).toHaveLength(1);
      }
    }
    asked = [];
    await find(`x\nrequest_id=${uuid(1)} "entity_id": "${uuid(2)}" secret_id_accessor: ${uuid(3)}`);
    expect(texts()).toEqual([]);
    await find(Array.from({ length: 33 }, (_, at) => `a ${uuid(at)}`).join("\n"));
    expect(texts()).toEqual([]);
    expect(said.at(-1)).toContain("Its UUIDs are too many to ask about");
    await find(`${uuid(1)} or\nGROVE_INIT_TOKEN=${uuid(2)}`);
    expect(texts()).toEqual([uuid(1)]);
  });

  it("are no accessors that are named as such, and what an accessor is said of is left out", async () => {
    const accessor = token.slice(2);
    for (const name of ['"accessor":"', "accessor: ", "secret_id_accessor="]) await find(`x\n${name}${accessor}`);
    expect(texts()).toEqual([]);
    known[accessor] = { ...LIVE, token: { ...TOKEN, accessor } };
    expect(await find(`x\nof=${accessor}`)).toBe(0);
    expect([texts(), out]).toEqual([[accessor], []]);
  });

  it("are shown and can't be used when they are an accessor or the id of a lease", async () => {
    known.a = { ...LIVE, token: TOKEN };
    known.lease = { ...LIVE, kind: "lease", token: TOKEN };
    known.text = { ...LIVE, token: TOKEN };
    expect([await find("a"), await find("lease"), await find("text")]).toEqual([0, 0, 1]);
    expect(out.filter((line) => line.includes("It is alive."))).toHaveLength(3);
  });

  it("are tokens that are wrapped over lines, plain or in base64", async () => {
    for (const [, secret] of leaks) {
      for (const text of [secret, btoa(secret), btoa(`VAULT_ADDR=https://grove.example\nVAULT_TOKEN=${secret}\n`)]) {
        for (const width of [30, 44, 64, 76]) {
          const lines = text.match(new RegExp(`.{1,${width}}`, "g")) ?? [];
          for (const wrapped of [
            ["a log", ...lines, "the end"],
            ["dumped into base64 by the namespace".padStart(80, "-"), ...lines, "end=1"],
            [`TOKEN="${lines[0]}\\`, ...lines.slice(1).map((line) => `    ${line}`), "END"],
            ["+ a", ...lines.map((line) => `+ ${line}`), "+ end"],
          ]) {
            asked = [];
            known[secret] = LIVE;
            expect([wrapped, await find(wrapped.join("\n"))]).toEqual([wrapped, 1]);
          }
        }
      }
    }
  });

  it("are not made of lines near a deployment's secret", async () => {
    const cut = token.slice(0, 50);
    expect(await find(`x\n${cut}\nGROVE_SEAL_KEY=abc\n`)).toBe(3);
    expect(texts()).toEqual([cut]);
    asked = [];
    for (const text of [`GROVE_SEAL_KEY=1:${btoa("k".repeat(32))}`, `1:${btoa("k".repeat(32))}`]) {
      expect(await find(`a\nenv: ${btoa(`A=1\n${text}\n`)}\n`)).toBe(3);
      expect(await findWhole(`a\nenv: ${btoa(`A=1\n${text}\n`)}\n`)).toBe(3);
    }
    expect(texts().filter((text) => (text ?? "").length > 3)).toEqual([]);
  });

  it.each([
    "VAULT_TOKEN=$T",
    "export VAULT_TOKEN=$T",
    "Bearer $T",
    "'$T'",
    '  "$T",',
    "$T,",
    "X-Vault-Token: $T",
    "token: $T",
  ])("are found in %s, also when the token is damaged", async (place) => {
    known[token] = LIVE;
    expect(await find(place.replace("$T", token))).toBe(1);
    const damaged = `${token.slice(0, -3)}AAA`;
    const short = token.slice(0, 60);
    for (const text of [damaged, short]) await find(place.replace("$T", text));
    expect(texts()).toEqual([token, damaged, short]);
  });

  it("are an id that was chosen, as a whole line and as a value", async () => {
    known["my chosen id"] = { ...LIVE, chosen_id: true };
    known["chosen-id"] = { ...LIVE, chosen_id: true };
    expect(await find("my chosen id")).toBe(1);
    expect(await find("export VAULT_TOKEN='chosen-id';")).toBe(1);
    expect(texts()).toEqual(["my chosen id", "export VAULT_TOKEN='chosen-id';", "chosen-id"]);
  });

  it("are named by their lines, each once, and counted", async () => {
    known[token] = LIVE;
    const file = `# settings\nVAULT_TOKEN=${token}\n\nHOST=example\nheader: Bearer ${token}\n`;
    expect(await findWhole(file)).toBe(1);
    expect(texts().filter((text) => text === token)).toHaveLength(1);
    expect(out).toEqual([
      "unknown, line 1: Nothing is known.",
      "live, lines 2, 5: It is alive.",
      "unknown, line 4: Nothing is known.",
    ]);
    expect(said).toEqual(["3 texts: 1 live (lines 2, 5), 2 unknown (lines 1, 4)"]);
    out.length = 0;
    expect(await findWhole(file, true)).toBe(1);
    expect(out.map((line) => JSON.parse(line).lines)).toEqual([[1], [2, 5], [4]]);
    expect(JSON.stringify([out, said])).not.toContain(token);
  });

  it.each(namedSecrets())("are no secret of a deployment, and find ends with 3: %s", async (_, text) => {
    expect(await find(text)).toBe(3);
    expect(texts()).toEqual([]);
    expect(out.at(-1)).toMatch(/^not judged(, lines 1, 2)?: .*not sent to the server/);
  });

  it.each([
    "GROVE_INIT_TOKEN=correct-horse-battery",
    "GROVE_INIT_TOKEN='pass phrase, with: punctuation!'",
    "grove_init_token: s.short-and-looks-like-a-token",
    '{ name = "GROVE_SEAL_KEY", value = "$KEY" }',
    "docker run -e GROVE_SEAL_KEY $KEY grove",
    '{"name":"GROVE_SEAL_KEY","value":"$KEY"}',
    '{\n"name": "GROVE_CLUSTER_KEY_PREVIOUS",\n\n"type": "secret",\n"value": "$KEY"\n}',
    '"value": "$KEY",\n"name": "GROVE_SEAL_KEY"',
    "- name: GROVE_SEAL_KEY\n  # of production\n  value: $KEY",
  ])("are nothing beside the name of a deployment's secret: %s", async (text) => {
    const key = "1:c2VhbCBrZXkgb2YgdGhpcyBkZXBsb3ltZW50IGhlcmU=";
    for (const look of [find, findWhole]) {
      out.length = 0;
      expect(await look(text.replace("$KEY", key))).toBe(3);
      expect(texts().filter((sent) => sent !== "{" && sent !== "}")).toEqual([]);
      expect(out.filter((line) => line.startsWith("not judged"))).toHaveLength(1);
    }
  });

  it("are no seal key without its name, alone or within other lines", async () => {
    const key = `1:${"c2VhbCBrZXkgb2YgdGhpcyBkZXBsb3ltZW50IGhlcmU"}`;
    for (const text of [`${key}=`, key, `one\nbackup of ${key}=\n`, `"${key}="`]) {
      out.length = 0;
      expect(await find(text)).toBe(3);
      expect(texts()).toEqual([]);
      expect(out.filter((line) => line.startsWith("not judged"))).toHaveLength(1);
    }
    // A line and column before a hash, or a part of a longer text.
    for (const text of [`a.ts:1:${"a".repeat(64)}`, `00:${key}=`, `${key}${key}`]) expect(await find(text)).toBe(0);
  });

  it("are whole tokens beside such a name, and all that stands further away", async () => {
    const lines = [`VAULT_TOKEN=${token} GROVE_SEAL_KEY=x`, "one", "two", "three", "GROVE_URL=x"];
    expect(await findWhole(lines.join("\n"))).toBe(3);
    expect(texts()).toEqual([token, "three", "GROVE_URL=x", "x"]);
    expect(out.find((line) => line.startsWith("not judged"))).toMatch(/^not judged, lines 1, 2, 3: /);
  });
});

describe("grove find", () => {
  it("goes on after a text that the server does not take, and ends with 3", async () => {
    status = 400;
    expect(await findWhole("one\ntwo")).toBe(3);
    expect(said).toEqual(["2 texts: 2 not judged (lines 1, 2)"]);
  });

  it("ends with 0 when nothing can be used", async () => {
    known.one = { ...UNKNOWN, state: "elsewhere" };
    expect(await findWhole("one\ntwo")).toBe(0);
    expect(said).toEqual(["2 texts: 1 elsewhere (line 1), 1 unknown (line 2)"]);
  });

  it("ends with 3 when a text is a part of a token, or like one that has not ended", async () => {
    const ended = { at: "2026-11-22T01:02:03Z", how: "revoked", by: null, request_id: "" };
    for (const [found, code] of [
      [{ state: "unjudged", kind: "part" }, 3],
      [{ state: "mistyped" }, 3],
      [{ state: "mistyped", token: TOKEN }, 3],
      [{ state: "mistyped", token: TOKEN, ended }, 0],
    ] as const) {
      known.one = { ...UNKNOWN, ...found };
      expect([found, await find("one")]).toEqual([found, code]);
    }
  });

  const CREDENTIAL = {
    ...{ accessor: "at-1", display_name: "team-a", policies: [], metadata: {}, entity_id: "", path: "teams/t" },
    ...{ created: null, expires: null, parent: null },
  };

  it("shows of a team's token and of a JWT what to do next", async () => {
    known.one = { ...LIVE, kind: "team", credential: CREDENTIAL };
    known.two = { ...LIVE, kind: "team", state: "ended", credential: { ...CREDENTIAL, accessor: "" } };
    known.three = { ...LIVE, kind: "jwt", state: "unjudged", mounts: ["auth/ci/"] };
    known.four = { ...LIVE, kind: "jwt", state: "unjudged", mounts: ["auth/ci/"], roles: { "auth/ci/": ["a", "b"] } };
    const nextOf = async (text: string) => {
      out = [];
      await findWhole(text);
      return out.filter((line) => /: (?:npm|printf) /.test(line));
    };
    expect(await nextOf("one")).toEqual([
      "  who made it, and what it did: npm run -s grove -- audit at-1",
      "  delete it: npm run -s grove -- contain - (which reads the text as this command does)",
    ]);
    expect(await nextOf("two")).toEqual([
      "  what it did: npm run -s grove -- audit - (which reads the text as this command does)",
    ]);
    expect(await nextOf("three")).toEqual([
      "  logins at auth/ci/: npm run -s grove -- audit --mount auth/ci/ --kind login",
      "  end the tokens of a role's logins: npm run -s grove -- contain --mount auth/ci/ --role NAME",
    ]);
    expect((await nextOf("four")).slice(1)).toEqual([
      "  end the tokens of a role's logins: npm run -s grove -- contain --mount auth/ci/ --role a",
      "  end the tokens of a role's logins: npm run -s grove -- contain --mount auth/ci/ --role b",
    ]);
    known.six = { ...LIVE, kind: "role-id", mounts: ["auth/a/"], roles: { "auth/a/": ["open"] } };
    expect(await nextOf("six")).toEqual([
      "  logins at auth/a/: npm run -s grove -- audit --mount auth/a/ --kind login",
      "  end the tokens of a role's logins: npm run -s grove -- contain --mount auth/a/ --role open",
    ]);
    const entity = { id: "e1", name: "ann", disabled: true, alias: "sub-1", mount: "auth/ci/" };
    known.five = { ...LIVE, kind: "jwt", state: "unjudged", mounts: ["auth/ci/"], entities: [entity] };
    expect((await nextOf("five")).at(-1)).toBe("  end the tokens of ann: npm run -s grove -- contain --entity-id e1");
    expect(out).toContain("  of entity  ann (e1, disabled)");
    known.one = { ...LIVE, kind: "team", credential: { ...CREDENTIAL, created_by: "user ann" } };
    await nextOf("one");
    expect(out).toContain("  made by    user ann");
  });

  it("says of a mistyped text whether the token that it resembles is alive, and how that is ended", async () => {
    known.one = { ...LIVE, kind: "", state: "mistyped", token: TOKEN };
    await findWhole("one");
    expect(out).toContain("  ends       never");
    expect(out.at(-1)).toBe(
      "  revoke it with all below, if its text may have leaked as well: npm run -s grove -- contain --accessor a",
    );
    out = [];
    const ended = { at: "2026-11-22T01:02:03Z", how: "revoked", by: null, request_id: "" };
    known.one = { ...LIVE, kind: "", state: "mistyped", token: TOKEN, ended };
    await findWhole("one");
    expect(out.join("\n")).not.toMatch(/contain|ends /);
  });

  it("calls what the list knows children, of a live token alone, and asks about all below it", async () => {
    known.one = { ...LIVE, token: TOKEN };
    const ended = { at: "2026-11-22T05:06:07Z", how: "revoked", by: null, request_id: "" };
    known.two = { ...LIVE, state: "ended", token: TOKEN, ended };
    await findWhole("one\ntwo");
    expect(out.filter((line) => line.includes("below it"))).toEqual([
      "  below it   3 children, with all below them",
      "  who made it, and what it and all below it did: npm run -s grove -- audit a --below",
      "  what is above and below it: npm run -s grove -- tree a",
      "  who made it, and what it and all below it did: npm run -s grove -- audit a --below",
    ]);
    out.length = 0;
    known.one = { ...LIVE, token: { ...TOKEN, children: 0 } };
    await findWhole("one");
    expect(out.join("\n")).not.toContain("below it");
  });

  it("says who made a token, and how many leases it and all below it hold", async () => {
    known.one = { ...LIVE, token: TOKEN };
    const parent = { ...TOKEN, accessor: "p", display_name: "deployer", entity_id: "e1" };
    const count = { count: 2, more: false };
    lineages.a = {
      ...{ token: TOKEN, ancestors: [{ ...TOKEN, accessor: "top" }, parent], descendants: count, leases: count },
      cubbyhole: { values: 0, bytes: 0 },
    };
    await find("one");
    expect(out).toContain("  made by    its parent, deployer p, of the entity e1");
    expect(out).toContain("  leases     2 leases, with those below it");
    expect(out).toContain("  what is above and below it: npm run -s grove -- tree a");
  });

  it("shows of the id of a lease how it is ended alone", async () => {
    known.one = { ...LIVE, kind: "lease", token: TOKEN };
    expect(await find("one")).toBe(0);
    expect(out).toContain(
      "  end the lease alone: npm run -s grove -- contain - (which reads the text as this command does)",
    );
  });

  it("ends with 1 for a token that ended and whose leases were not revoked, and says how they are", async () => {
    const failures = [{ lease_id: "db/x", accessor: "a", error: "answered 503", next_attempt: null }];
    const unrevoked = { waiting: 0, failing: 1, more: false, failures };
    for (const kind of ["service", "lease"] as const) {
      out = [];
      known.one = { ...LIVE, kind, state: "ended", token: TOKEN, unrevoked_leases: unrevoked };
      expect(await find("one")).toBe(1);
      expect(out).toContain("  db/x: answered 503, irrevocable");
      // No list has a lease that was ended alone, as long as its token is alive.
      const again = {
        service: "sends them again, .*: .* leases --retry$",
        lease: "sends it again, .*: .* contain - \\(",
      };
      expect(out).toContainEqual(expect.stringMatching(again[kind]));
    }
  });

  it("names what a wrapping token held and is alive, with 1, and with 3 when that is not known", async () => {
    const SECRET_ID = "3ec50187-719e-463c-9e51-ded1453cb163";
    const path = "auth/approle/role/ci";
    const contain = "npm run -s grove -- contain";
    known.one = { ...LIVE, state: "ended", kind: "wrapping", token: { ...TOKEN, path: `${path}/secret-id` } };
    expect(await find("one")).toBe(3);
    expect(out.at(-1)).toMatch(/^ {2}what it held may be alive: it is not known \(/);
    const info = (inside: string) => ({ accessor: "a", wrapped_accessor: inside });
    const wrapped = (inside: string) => ({
      events: [{ kind: "change", type: "response", time: "", response: { wrap_info: info(inside) } }],
      next: "",
    });
    const leases = { waiting: 0, failing: 0, more: false, failures: [] };
    const check = { checked: 1, ended: 0, unknown: 0, unrevoked_leases: leases, next: "" };
    answers["/v1/sys/audit/events"] = wrapped("t2");
    answers["/v1/sys/tokens/verify-ended"] = { ...check, alive: ["t2"] };
    expect(await find("one")).toBe(1);
    expect(out).toContain(`  the token that it held is alive: ${contain} --accessor t2`);
    answers["/v1/sys/audit/events"] = wrapped(SECRET_ID);
    answers[`/v1/${path}/secret-id-accessor/lookup`] = { secret_id_accessor: SECRET_ID };
    expect(await find("one")).toBe(1);
    expect(out).toContain(`  the secret-id that it held is alive, or tokens of its logins: ${SECRET_ID} of ${path}`);
    expect(await find("one", true)).toBe(1);
    expect(JSON.parse(out.at(-1) ?? "")).toMatchObject({ held_alive: [SECRET_ID] });
    answers["/v1/sys/audit/events"] = wrapped("t2");
    answers["/v1/sys/tokens/verify-ended"] = { ...check, alive: [] };
    expect(await find("one")).toBe(0);
  });

  it("leads from a live wrapping token to what ends also what it holds", async () => {
    known.one = { ...LIVE, kind: "wrapping", token: TOKEN };
    expect(await find("one")).toBe(1);
    const line =
      "  end it, with what it holds: npm run -s grove -- contain - (which reads the text as this command does)";
    expect(out.filter((one) => one.includes("contain"))).toEqual([line]);
  });

  it("leads from a token of a team that ended to its log", async () => {
    const metadata = { organization: "acme", team: "dev", team_id: "team-6XLiiLfsjXTUw8vA" };
    known.one = { ...LIVE, state: "ended", kind: "team", credential: { ...CREDENTIAL, accessor: "at-1", metadata } };
    await findWhole("one");
    const line = "  who made it, what it did, and who ended it: npm run -s grove -- audit at-1";
    expect(out.filter((one) => one.includes("audit"))).toEqual([line]);
  });

  it("says where the log has the name of a deleted token of a team, and who deleted it", async () => {
    const credential = {
      ...{ accessor: "", display_name: "", policies: [], entity_id: "", path: "", created: null, expires: null },
      ...{ parent: null, metadata: { organization: "acme", team: "dev", team_id: "team-6XLiiLfsjXTUw8vA" } },
    };
    known.one = { ...LIVE, state: "ended", kind: "team", credential };
    await findWhole("one");
    const commands = out.flatMap((line) => /: npm run -s grove -- (.+)$/.exec(line)?.[1] ?? []);
    expect(commands).toEqual([
      "audit --path teams/team-6XLiiLfsjXTUw8vA/authentication-token",
      "audit --path authentication-tokens/at-6XLiiLfs",
    ]);
    expect(parseGroveArguments(commands[0]?.split(" ") ?? [])).toMatchObject({
      value: { fields: { path_prefix: "teams/team-6XLiiLfsjXTUw8vA/authentication-token" } },
    });
  });

  it("asks only about what has the form of a credential in several lines, and shows what is known", async () => {
    const secretId = "3ec50187-719e-463c-9e51-ded1453cb163";
    const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl";
    const token = `s.${"A".repeat(40)}`;
    known[token] = { ...LIVE, state: "ended" };
    known[jwt] = { ...LIVE, state: "unjudged", kind: "jwt" };
    const lines = [
      ...Array.from({ length: 3_000 }, (_, at) => `GET /x/${at} 200 request_id=${crypto.randomUUID()}`),
      `{"secret_id":"${secretId}","secret_id_accessor":"${crypto.randomUUID()}"}`,
      `export SECRET_ID=${secretId}`,
      `Authorization: Bearer ${jwt}`,
      token,
    ];
    expect(await find(lines.join("\n"))).toBe(3);
    expect(texts()).toEqual([secretId, jwt, token]);
    expect(out).toEqual(["not judged, line 3003: It is alive.", "ended, line 3004: It is alive."]);
    expect(said.join()).toContain(
      "3004 lines, 3 texts in the form of a token or another credential: 1 not judged (line 3003), 1 ended (line 3004), 1 unknown (lines 3001, 3002).",
    );
    out.length = 0;
    expect(await find(lines.slice(0, 9).join("\n"))).toBe(0);
    expect(out).toEqual([]);
    expect(said.at(-1)).toMatch(/^9 lines, 0 texts .*--whole-lines/);
  });

  it("takes more texts than it keeps, and a line that is longer than it keeps", async () => {
    const all = Array.from({ length: 10_050 }, (_, at) => `hvs.${String(at).padStart(20, "x")}`);
    expect(await find([...all, "", all[0]].join("\n"))).toBe(0);
    expect(new Set(texts())).toEqual(new Set(all));
    asked = [];
    const token = `s.${"A".repeat(84)}`;
    known[token] = LIVE;
    expect(await find(`${"x ".repeat(300_000)}${token} ${"y ".repeat(300_000)}\nend`)).toBe(1);
    expect(texts()).toEqual([token]);
    expect(out.at(-1)).toContain("live, line 1: ");
  });

  it("says of a secret-id whose it is and how to destroy it", async () => {
    const credential = {
      ...{ accessor: "acc", display_name: "", policies: [], metadata: {}, entity_id: "", created: null, expires: null },
      ...{ parent: null, path: "auth/approle/role/deploy" },
    };
    known.one = { ...LIVE, kind: "secret-id", credential };
    expect(await find("one")).toBe(1);
    expect(out.slice(-3)).toEqual([
      "  who made it, and its logins: npm run -s grove -- audit acc",
      "  destroy it, and end the tokens that it gave: npm run -s grove -- contain - (which reads the text as this command does)",
      "  (docs/runbook.md, A secret-id has leaked)",
    ]);
  });

  it("says how many uses a token has left, unless it has ended", async () => {
    for (const [state, shown] of [
      ["live", true],
      ["ended", false],
    ] as const) {
      out = [];
      known.one = { ...LIVE, state, token: { ...TOKEN, uses_left: 2 } };
      await find("one");
      expect(out.includes("  uses left  2")).toBe(shown);
    }
  });

  describe("of the accessor of a secret-id", () => {
    const ACCESSOR = "3ec50187-719e-463c-9e51-ded1453cb163";
    const path = "auth/approle/role/deploy";
    const events = (event: object) => ({
      events: [{ kind: "change", type: "response", time: "", ...event }],
      next: "",
    });

    it.each([
      ["the request that made it", { path: `${path}/secret-id`, target_accessor: ACCESSOR }],
      ["a login", { path: "auth/approle/login", mount: "auth/approle/", role: "deploy", principal: ACCESSOR }],
    ])("names its role, known from %s, and that it is alive, with 0", async (_, event) => {
      answers["/v1/sys/audit/events"] = events(event);
      const times = { creation_time: "2026-11-22T01:02:03Z", expiration_time: "2026-11-23T01:02:03Z" };
      answers[`/v1/${path}/secret-id-accessor/lookup`] = { secret_id_accessor: ACCESSOR, ...times };
      expect(await find(ACCESSOR)).toBe(0);
      expect(out.slice(0, 5)).toEqual([
        `live: This is the accessor of a secret-id of ${path} that is alive. It is no secret: nobody logs in by it.`,
        `  accessor   ${ACCESSOR}`,
        `  path       ${path}`,
        "  created    2026-11-22 01:02Z",
        "  ends       2026-11-23 01:02Z",
      ]);
    });

    it("says when it is not known whether that is alive, with 3, and takes no other event for one about it", async () => {
      answers["/v1/sys/audit/events"] = events({ path: `${path}/secret-id` });
      answers["/v1/sys/tokens/find"] = UNKNOWN;
      status = 403;
      expect(await find(ACCESSOR)).toBe(3);
      expect(out.at(-1)).toMatch(/^not judged: This is the accessor .* not known: VAULT_TOKEN needs update on auth/);
      answers["/v1/sys/audit/events"] = events({ path: "sys/init/begin" });
      expect(await find(ACCESSOR)).toBe(0);
      expect(out.at(-1)).toMatch(/^unknown: /);
    });
  });

  describe("of a batch token that is alive", () => {
    const credential = {
      ...{ accessor: "", display_name: "ci", policies: ["ci"], metadata: {}, entity_id: "e1", created: null },
      ...{ path: "auth/approle/login", expires: null, parent: null },
    };
    const batch = { ...LIVE, kind: "batch", credential };

    it("says how to end it with its parent", async () => {
      known.one = { ...batch, credential: { ...credential, parent: "p" } };
      known.p = { ...LIVE, token: TOKEN };
      expect(await find("one")).toBe(1);
      expect(asked).toEqual([{ token: "one" }, { accessor: "p" }]);
      expect(out.slice(-3)).toEqual([
        "  what it did: npm run -s grove -- audit - (which reads the text as this command does)",
        "  a batch token can't be ended alone",
        "  revoke it with its parent and everything below that: npm run -s grove -- contain --accessor p",
      ]);
    });

    it.each([
      ["has no parent", null],
      ["is a child of a root token", "p"],
    ])("that %s says how to end it by its path or its entity", async (_, parent) => {
      known.one = { ...batch, credential: { ...credential, parent } };
      known.p = { ...LIVE, token: { ...TOKEN, policies: ["root"] } };
      const path = "auth/approle/login";
      const tokens = [path, `${path}/x`, `${path}-other`].map((made) => ({ ...TOKEN, path: made }));
      answers["/v1/sys/tokens"] = { tokens, next: "" };
      expect(await find("one")).toBe(1);
      expect(out.slice(-4)).toEqual([
        "  a batch token can't be ended alone",
        `  revoke it with everything issued at its path, 2 service tokens with all below, and batch tokens, which no list has: printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @- -X POST "$VAULT_ADDR/v1/sys/leases/revoke-prefix/auth/approle/login"`,
        `  or with everything issued to its entity: printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @- -X POST -d '{"not_before":"now"}' "$VAULT_ADDR/v1/identity/entity/id/e1/not-before"`,
        "  (docs/leases.md, What ends at once)",
      ]);
      answers = {};
      expect(await find("one")).toBe(1);
      expect(out.join("\n")).toContain("at its path, service tokens and batch tokens that no list has: printf");
    });
  });
});
