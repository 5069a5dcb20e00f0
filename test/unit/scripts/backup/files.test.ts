import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseBackupArguments } from "../../../../scripts/backup/arguments.ts";
import { DirectoryCopy } from "../../../../scripts/backup/files/copy.ts";
import { makeBackup, superfluous } from "../../../../scripts/backup/files/make.ts";
import { verifyDatabases } from "../../../../scripts/backup/files/verify.ts";
import { backupName } from "../../../../src/backup/names.ts";

let from: string;
let to: string;
let above: string;

beforeEach(() => {
  above = mkdtempSync(join(tmpdir(), "grove-backup-"));
  from = join(above, "from");
  to = join(above, "to");
  mkdirSync(join(from, "a"), { recursive: true });
});

afterEach(() => rmSync(above, { recursive: true, force: true }));

const LONG_AGO = new Date(2020, 1, 1);
const write = (name: string, text: string, at = LONG_AGO) => {
  writeFileSync(join(from, name), text);
  utimesSync(join(from, name), at, at);
};
const inCopy = () => (readdirSync(to, { recursive: true }) as string[]).filter((name) => name !== "a").sort();

it("the directory of a node of a cluster has nothing to copy, and the way to save the bucket is named", async () => {
  writeFileSync(join(from, "cluster-installation"), "c");
  const error = `${from} is of a node of a cluster, whose data are in its bucket: --address URL saves them`;
  expect(await makeBackup({ data: from, to, keep: 0 })).toEqual({ ok: false, error });
});

describe("the copy of a directory that changes", () => {
  it("has in the last pass what changed, came and went since the one before", () => {
    write("a/kept", "1");
    write("a/changed", "1");
    write("a/gone", "1");
    const copy = new DirectoryCopy(from, to);
    expect(copy.pass(Date.now)).toBe(3);
    write("a/changed", "2", new Date(2020, 1, 2));
    write("a/new", "1");
    rmSync(join(from, "a/gone"));
    expect(copy.pass(Date.now)).toBe(2);
    expect(inCopy()).toEqual(["a/changed", "a/kept", "a/new"]);
    expect(readFileSync(join(to, "a/changed"), "utf8")).toBe("2");
  });

  it("does not trust the time of a file that was written as it was copied", () => {
    const now = new Date();
    write("a/fresh", "1", now);
    const copy = new DirectoryCopy(from, to);
    copy.pass(() => now.getTime());
    write("a/fresh", "2", now);
    copy.pass(() => now.getTime() + 1);
    expect(readFileSync(join(to, "a/fresh"), "utf8")).toBe("2");
  });

  it("leaves out what only running processes share", () => {
    write("a/x.sqlite", "1");
    write("a/x.sqlite-shm", "1");
    new DirectoryCopy(from, to).pass(Date.now);
    expect(inCopy()).toEqual(["a/x.sqlite"]);
  });
});

describe("the check of a copy", () => {
  it("puts logs into their databases, and names those that are damaged", () => {
    const database = new DatabaseSync(join(from, "a/good.sqlite"));
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    new DirectoryCopy(from, to).pass(Date.now);
    database.close();
    expect(inCopy()).toEqual(["a/good.sqlite", "a/good.sqlite-wal"]);
    expect(verifyDatabases(to)).toEqual({ databases: 1, damage: [] });
    expect(inCopy()).toEqual(["a/good.sqlite"]);
    expect(new DatabaseSync(join(to, "a/good.sqlite")).prepare("SELECT x FROM t").get()).toEqual({ x: 1 });
    writeFileSync(
      join(to, "a/bad.sqlite"),
      "this is no database, though it is long enough to be taken for one".repeat(20),
    );
    expect(verifyDatabases(to)).toMatchObject({ databases: 2, damage: [expect.stringContaining("bad.sqlite")] });
  });
});

describe("names of backups", () => {
  const first = backupName(Date.UTC(2026, 0, 2, 3, 4, 5));
  const second = backupName(Date.UTC(2026, 0, 2, 3, 4, 6));
  const third = backupName(Date.UTC(2026, 10, 1));

  it("are in the order of time", () => {
    expect(first).toBe("grove-2026-01-02T03-04-05-000Z");
    expect([third, second, first].sort()).toEqual([first, second, third]);
  });

  it("tell which may go: the oldest, and those that never got finished; nothing else", () => {
    const others = ["grove", "grove-2026", "notes.txt", "x.partial", `${first}.tar`];
    expect(superfluous([third, first, second, ...others], 2)).toEqual([first]);
    expect(superfluous([third, first, `${second}.partial`, ...others], 0)).toEqual([`${second}.partial`]);
  });
});

it.each([
  [[], "--to says where backups are kept"],
  [["--to", "x", "--keep", "a"], '--keep takes a number of backups, not "a"'],
  [["--to", "x", "--data", ""], "--data takes a directory"],
])("the command line %j is refused", (words, error) => {
  expect(parseBackupArguments(words)).toEqual({ ok: false, error });
});
