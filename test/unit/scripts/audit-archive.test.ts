import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GroveClient } from "../../../scripts/grove/client.ts";
import { archiveAudit } from "../../../scripts/grove/commands/audit-archive.ts";
import { digestAfter, FIRST_DIGEST } from "../../../src/audit/chain.ts";

const TYPE = "grove-audit-head";
const LINES = Array.from({ length: 6 }, (_, at) => JSON.stringify({ type: "response", number: at }));

let directory: string;
let signer: Awaited<ReturnType<typeof generateKeyPair>>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "auditstore-"));
  signer = await generateKeyPair("ES256");
});

afterEach(() => rmSync(directory, { recursive: true }));

const keys = async () => ({ keys: [{ ...(await exportJWK(signer.publicKey)), kid: "k", alg: "ES256" }] });

function signed(heads: readonly object[], key = signer.privateKey, hour = 10): Promise<string> {
  const time = `2026-11-29T${hour}:00:00.000Z`;
  const payload = new TextEncoder().encode(JSON.stringify({ type: TYPE, time, heads }));
  return new CompactSign(payload).setProtectedHeader({ alg: "ES256", kid: "k", typ: TYPE }).sign(key);
}

const head = (object: string, seq: number, lines = LINES, begins = FIRST_DIGEST) => ({
  ...{ object, begins, seq, digest: digestAfter(begins, lines.slice(0, seq)) },
});

const write = (name: string, lines: readonly string[]) =>
  writeFileSync(join(directory, name), lines.map((line) => `${line}\n`).join(""));

/** An archive of two objects of a shard, with two heads. */
async function archive(): Promise<void> {
  const end = digestAfter(FIRST_DIGEST, LINES);
  write("0-1.jsonl", LINES);
  write("0-2.jsonl", LINES.slice(0, 2));
  const heads = [await signed([head("0/1", 3)]), await signed([head("0/1", 6), head("0/2", 1, LINES, end)])];
  write("heads.jsonl", heads);
  writeFileSync(join(directory, "jwks.json"), JSON.stringify(await keys()));
}

/** What the script says, and its exit code. */
function verified(): { readonly code: number | null; readonly said: string[] } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/verify-audit-archive.js", directory], {
    encoding: "utf8",
  });
  return { code: status, said: (stdout + stderr).trim().split("\n") };
}

describe("the verification of an archive", () => {
  it("is short and needs nothing", () => {
    const script = readFileSync("scripts/verify-audit-archive.js", "utf8");
    expect(script.split("\n").length).toBeLessThanOrEqual(120);
    expect([...script.matchAll(/from "(?!node:)/g)]).toEqual([]);
  });

  it("finds a whole archive good", async () => {
    await archive();
    expect(verified()).toEqual({
      code: 0,
      said: ["0/1: 6 records are good", "0/2: 1 records are good, 1 later ones have no signed head yet"],
    });
  });

  it.each([
    [
      "a record is changed",
      () => write("0-1.jsonl", LINES.with(4, "{}")),
      "0/1: a record was changed or taken out between 4 and 6",
    ],
    [
      "a record is deleted",
      () => write("0-1.jsonl", LINES.toSpliced(1, 1)),
      "0/1: a record was changed or taken out between 1 and 3",
    ],
    [
      "two records are swapped",
      () => write("0-1.jsonl", LINES.with(0, LINES[1] ?? "").with(1, LINES[0] ?? "")),
      "between 1 and 3",
    ],
    [
      "the end is cut",
      () => write("0-1.jsonl", LINES.slice(0, 5)),
      "0/1: the archive has 5 of 6 records: one or more after record 3 are missing",
    ],
    [
      "a record before the end is deleted",
      () => write("0-1.jsonl", LINES.toSpliced(4, 1)),
      "0/1: the archive has 5 of 6 records: one or more after record 3 are missing",
    ],
    [
      "a file is deleted",
      () => rmSync(join(directory, "0-1.jsonl")),
      "0/1: the archive has 0 of 6 records: one or more after record 0 are missing",
    ],
  ])("says so when %s", async (_, forge, message) => {
    await archive();
    forge();
    const { code, said } = verified();
    expect([code, said.join("\n")]).toEqual([1, expect.stringContaining(message)]);
  });

  const KEYS = () => join(directory, "jwks.json");
  it.each<[string, () => void, () => string]>([
    [
      "there are no keys",
      () => rmSync(KEYS()),
      () => `it can't be read: ENOENT: no such file or directory, open '${KEYS()}'`,
    ],
    ["the keys are damaged", () => writeFileSync(KEYS(), "{"), () => "it can't be read: "],
    ["a head is no JWS", () => write("heads.jsonl", ["head"]), () => "it can't be read: "],
  ])("says so in a line, with another exit code, when %s", async (_, take, message) => {
    await archive();
    take();
    const { code, said } = verified();
    expect([code, said]).toEqual([2, [expect.stringContaining(message())]]);
  });

  const NO_HEAD = () => `${directory}: no signed head: not made yet (once an hour), or taken away`;

  it("says what there is without a head, as in the first hour of a server", async () => {
    await archive();
    write("heads.jsonl", []);
    rmSync(KEYS());
    const counted = (object: string, count: number) =>
      `${object}: ${count} records, without a head that says if they were changed`;
    expect(verified()).toEqual({ code: 2, said: [counted("0/1", 6), counted("0/2", 2), NO_HEAD()] });
    write("0-1.jsonl", LINES.with(2, '{"type":"missing"}').with(4, '{"type":"unreadable"}'));
    const wrong = "0/1: 2 records are missing or can't be read, the first 3";
    expect(verified()).toEqual({ code: 1, said: [counted("0/1", 6), wrong, counted("0/2", 2), NO_HEAD()] });
  });

  it("says when there is no archive, as of a mistyped name", () => {
    const none = `${directory}: no records and no head: this is no archive, or all of it was taken away`;
    expect(verified()).toEqual({ code: 2, said: [none] });
    rmSync(directory, { recursive: true });
    expect(verified()).toEqual({ code: 2, said: [`${directory}: there is no such directory`] });
    mkdirSync(directory);
  });

  it("finds a missing record among those after the last head", async () => {
    await archive();
    write("0-2.jsonl", [...LINES.slice(0, 2), '{"type":"missing"}']);
    expect(verified()).toMatchObject({
      code: 1,
      said: expect.arrayContaining([expect.stringContaining("0/2: 1 records are missing or can't be read")]),
    });
  });

  it("does not take a head that another key signed, or an object that begins elsewhere", async () => {
    await archive();
    const other = await generateKeyPair("ES256");
    write("heads.jsonl", [await signed([head("0/1", 6)], other.privateKey)]);
    expect(verified()).toEqual({
      code: 1,
      said: ["head 1 is not signed by a known key", "there is no signed head"],
    });
    write("heads.jsonl", [await signed([head("0/1", 6), head("0/2", 2)])]);
    expect(verified().said).toContain("0/1: the next object does not begin with its end");
  });
});

describe("a head that names less than one before it", () => {
  const chainOf = (numbers: readonly number[], more = {}) =>
    numbers.map((number) => ({ ...head(`0/${number}`, 6), ...more }));
  const verifiedHeads = async (...heads: readonly (readonly object[])[]) => {
    for (const number of [1, 2, 3]) write(`0-${number}.jsonl`, LINES);
    write("heads.jsonl", await Promise.all(heads.map((one, at) => signed(one, signer.privateKey, 10 + at))));
    writeFileSync(join(directory, "jwks.json"), JSON.stringify(await keys()));
    return verified().said.filter((line) => line.includes("an earlier head"));
  };

  it.each<[string, (readonly object[])[], string | null]>([
    ["is empty", [chainOf([1, 2]), []], "0/2"],
    ["lacks the newest", [chainOf([1, 2]), chainOf([1])], "0/2"],
    ["lacks one between others", [chainOf([1, 2, 3]), chainOf([1, 3])], "0/2"],
    ["begins anew", [chainOf([2, 3]), chainOf([1])], "0/2"],
    ["lacks the first, which retention deleted", [chainOf([1, 2]), chainOf([2, 3])], null],
    ["is only the newest, deleted too", [chainOf([1, 2]), chainOf([2], { dropped: true })], null],
  ])("is found when it %s", async (_, heads, object) => {
    const said = object ? [`${object}: an earlier head names it, that of 2026-11-29T11:00:00.000Z does not`] : [];
    expect(await verifiedHeads(...heads)).toEqual(said);
  });

  it("is found in whatever order the heads are", async () => {
    for (const number of [1, 2]) write(`0-${number}.jsonl`, LINES);
    const [later, earlier] = [signed([], signer.privateKey, 12), signed(chainOf([1]), signer.privateKey, 11)];
    write("heads.jsonl", [await later, await earlier]);
    writeFileSync(join(directory, "jwks.json"), JSON.stringify(await keys()));
    expect(verified().said).toContainEqual(expect.stringContaining("0/1: an earlier head names it"));
  });
});

describe("the verification of a bucket's folder", () => {
  const page = (object: string, first: number, lines: readonly string[]) => {
    mkdirSync(join(directory, object), { recursive: true });
    write(`${object}/${String(first).padStart(12, "0")}.jsonl`, lines);
  };

  beforeEach(async () => {
    const end = digestAfter(FIRST_DIGEST, LINES);
    page("0-1", 1, LINES.slice(0, 4));
    page("0-1", 5, LINES.slice(4));
    mkdirSync(join(directory, "heads"));
    writeFileSync(join(directory, "heads/2026-11-29T10:00:00Z.jws"), await signed([head("0/1", 3)]));
    await addHeads(11, [head("0/1", 6), head("0/2", 1, LINES, end)]);
    writeFileSync(join(directory, "jwks.json"), JSON.stringify(await keys()));
  });

  /** Signed heads of an hour, whose file has a name that says nothing of it. */
  const addHeads = async (hour: number, heads: readonly object[]) =>
    writeFileSync(join(directory, `heads/${99 - hour}.jws`), await signed(heads, signer.privateKey, hour));

  /** Heads of the first objects of a shard, each full with all lines but the last, which is open. */
  const chain = (count: number) => {
    let begins = FIRST_DIGEST;
    return Array.from({ length: count }, (_, at) => {
      const one = head(`0/${at + 1}`, at + 1 === count ? 2 : LINES.length, LINES, begins);
      begins = one.digest;
      return one;
    });
  };

  const MISSING = (object: string) =>
    `${object}: the archive has 0 of 6 records: one or more after record 0 are missing`;

  it("finds full objects good, and says which one is not there yet", () => {
    const said = ["0/1: 6 records are good", "0/2: not in the archive yet, at least 1 records"];
    expect(verified()).toEqual({ code: 0, said });
  });

  it("says so when a page is gone, or an object before another", () => {
    rmSync(join(directory, "0-1/000000000005.jsonl"));
    expect(verified()).toMatchObject({
      code: 1,
      said: ["0/1: the archive has 4 of 6 records: one or more after record 3 are missing", expect.anything()],
    });
    page("0-2", 1, LINES.slice(0, 1));
    rmSync(join(directory, "0-1"), { recursive: true });
    expect(verified()).toEqual({
      code: 1,
      said: ["0/1: the archive has 0 of 6 records: one or more after record 0 are missing", "0/2: 1 records are good"],
    });
  });

  it("says so when all folders are gone: only the open object may be", async () => {
    await addHeads(12, chain(4));
    await addHeads(13, chain(4));
    rmSync(join(directory, "0-1"), { recursive: true });
    const open = "0/4: not in the archive yet, at least 2 records";
    expect(verified()).toEqual({ code: 1, said: [...["0/1", "0/2", "0/3"].map(MISSING), open] });
    for (const number of [1, 2, 3]) page(`0-${number}`, 1, LINES);
    const good = [1, 2, 3].map((number) => `0/${number}: 6 records are good`);
    expect(verified()).toEqual({ code: 0, said: [...good, open] });
  });

  it("lets the last full object be on its way when only the newest head names the next one", async () => {
    await addHeads(12, chain(4));
    page("0-2", 1, LINES);
    const late = "0/3: full since the newest head, and not in the archive yet, at least 6 records";
    expect(verified()).toMatchObject({ code: 0, said: expect.arrayContaining([late]) });
    rmSync(join(directory, "0-2"), { recursive: true });
    expect(verified()).toMatchObject({ code: 1, said: expect.arrayContaining([MISSING("0/2"), late]) });
    page("0-2", 1, LINES);
    await addHeads(13, chain(4));
    expect(verified()).toMatchObject({ code: 1, said: expect.arrayContaining([MISSING("0/3")]) });
  });

  it("says so when no head names an object between others", async () => {
    await addHeads(12, chain(4).toSpliced(2, 1));
    page("0-2", 1, LINES);
    expect(verified()).toMatchObject({
      code: 1,
      said: expect.arrayContaining(["0/2: no signed head names the next object"]),
    });
  });

  it("is no copy of a bucket with heads.jsonl: every object must be there", async () => {
    write("heads.jsonl", []);
    expect(verified()).toMatchObject({
      code: 1,
      said: expect.arrayContaining(["0/2: the archive has 0 of 1 records: one or more after record 0 are missing"]),
    });
  });
});

describe("grove audit archive", () => {
  let server: Server;
  let asked: string[];
  let said: string[];
  let session: Parameters<typeof archiveAudit>[0];
  let jws: string;
  let heads: string[];
  let records: number;
  let deleted: readonly number[];
  let published: Awaited<ReturnType<typeof keys>>;

  beforeEach(async () => {
    jws = await signed([head("0/1", 4)]);
    heads = [jws];
    records = 5;
    deleted = [];
    asked = [];
    said = [];
    published = await keys();
    server = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://localhost");
      asked.push(`${url.pathname}${url.search}`);
      const after = Number(url.searchParams.get("after") ?? "0");
      const lines = LINES.slice(after, after + 4);
      const objects = [
        { object: "0/1", state: "open", records, opened_at: "2026-11-29T09:12:00Z" },
        { object: "1/1", state: "dropped", records: 9, opened_at: "2026-11-29T09:15:00Z" },
      ];
      // A row of the storage was deleted: its records have numbers, and no lines.
      const given = lines.filter((_, at) => !deleted.includes(after + at + 1));
      const page = { lines: given, after: after + lines.length, last: after + lines.length === LINES.length };
      const data = url.pathname.endsWith("archive") ? { objects, signed_heads: heads } : page;
      response.end(JSON.stringify(url.pathname.endsWith("keys") ? published : { data }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const client = new GroveClient(`http://127.0.0.1:${port}`, "t");
    const terminal = {
      out: (line: string) => said.push(line),
      say: (line: string) => said.push(line),
      progress: () => {},
    };
    session = { client, terminal, json: false } as unknown as typeof session;
  });

  afterEach(() => void server.close());

  it("copies what is missing, in pages, and what it has copied verifies", async () => {
    writeFileSync(join(directory, "0-1.jsonl"), `${LINES[0]}\n{"cut by a cra`);
    for (let times = 0; times < 2; times++)
      expect(await archiveAudit(session, directory)).toEqual({ ok: true, value: 0 });
    expect(asked.filter((path) => path.includes("0/1"))).toEqual(
      [1, 5, 6].map((after) => `/v1/sys/audit/archive/0/1?after=${after}`),
    );
    expect(said).toEqual([`5 records were copied into ${directory}`, `0 records were copied into ${directory}`]);
    expect(readFileSync(join(directory, "heads.jsonl"), "utf8")).toBe(`${jws}\n`);
    expect(verified()).toEqual({ code: 0, said: ["0/1: 4 records are good, 2 later ones have no signed head yet"] });
  });

  it("says so when no head is signed yet, and when", async () => {
    heads = [];
    expect(await archiveAudit(session, directory)).toEqual({ ok: true, value: 0 });
    expect(said.at(-1)).toBe("no head is signed yet, the first at 2026-11-29 10:12Z");
  });

  it("says which records the server no longer has, copies the others once, and the copy does not verify", async () => {
    heads = [];
    deleted = [2, 3];
    for (const count of [4, 0]) {
      said = [];
      expect(await archiveAudit(session, directory)).toEqual({ ok: true, value: count === 0 ? 0 : 1 });
      expect(said[0]).toBe(`${count} records were copied into ${directory}`);
      expect(said[2]).toBe(
        count === 0 ? undefined : "0/1: 2 records are missing or can't be read: npm run -s grove -- audit verify",
      );
    }
    expect(readFileSync(join(directory, "0-1.jsonl"), "utf8").split("\n").slice(4, 6)).toEqual(LINES.slice(4));
    expect(verified()).toMatchObject({ code: 1 });
    write("heads.jsonl", [jws]);
    expect(verified()).toMatchObject({ code: 1 });
  });

  it("says so when the end was cut", async () => {
    records = 8;
    expect(await archiveAudit(session, directory)).toEqual({ ok: true, value: 1 });
    expect(said.at(-1)).toContain("0/1: 2 records are missing");
  });

  it("takes nothing but a cut line from a file of several MiB", async () => {
    const file = join(directory, "0-1.jsonl");
    const whole = LINES.map((line) => `${line}${" ".repeat(700_000)}\n`).join("");
    writeFileSync(file, `${whole}{"cut by a cra`);
    expect(await archiveAudit(session, directory)).toEqual({ ok: true, value: 0 });
    expect(readFileSync(file, "utf8") === whole).toBe(true);
  });

  it("keeps the keys of earlier heads beside those of now", async () => {
    await archiveAudit(session, directory);
    published = { keys: published.keys.map((key) => ({ ...key, kid: "newer" })) };
    await archiveAudit(session, directory);
    const stored = JSON.parse(readFileSync(join(directory, "jwks.json"), "utf8")) as typeof published;
    expect(stored.keys.map(({ kid }) => kid)).toEqual(["k", "newer"]);
    expect(verified()).toMatchObject({ code: 0 });
  });

  it("goes on after a crash at any byte", async () => {
    const [file, heads] = [join(directory, "0-1.jsonl"), join(directory, "heads.jsonl")];
    const whole = LINES.map((line) => `${line}\n`).join("");
    for (let bytes = 0; bytes <= whole.length; bytes++) {
      writeFileSync(file, whole.slice(0, bytes));
      writeFileSync(heads, `${jws}\n`.slice(0, bytes));
      expect(await archiveAudit(session, directory)).toEqual({ ok: true, value: 0 });
      expect(readFileSync(file, "utf8")).toBe(whole);
      expect(readFileSync(heads, "utf8")).toBe(`${jws}\n`);
    }
  });
});
