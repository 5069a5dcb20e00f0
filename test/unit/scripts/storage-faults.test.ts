import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { damagedDatabases } from "../../../scripts/serve/damaged-databases.ts";
import { isEnough, StorageFaults } from "../../../scripts/serve/storage-faults.ts";

const FULL = "workerd/jsg/util.c++:320: error: e = workerd/util/sqlite.c++:1827: failed: disk is full: SQLITE_FULL";
const MALFORMED = "warning: exception = jsg.Error: database disk image is malformed: SQLITE_CORRUPT_VTAB";

it("says once a minute what workerd's lines about the disk mean, names damaged files, and tells the Worker", async () => {
  const said: string[] = [];
  const reported: string[] = [];
  let now = 0;
  let hasSpace = false;
  let look = () => {};
  const faults = new StorageFaults({
    data: "/data",
    show: (line) => void said.push(line),
    say: (line) => void said.push(`serve: ${line}`),
    report: async (path) => void reported.push(path),
    find: async (objects) => [{ file: `${objects}/TokenTree-secret/0a.sqlite`, problem: "malformed" }],
    hasSpace: () => hasSpace,
    repeat: (work) => {
      look = work;
      return () => {
        look = () => {};
      };
    },
    now: () => now,
  });
  for (const line of ["another line", FULL, FULL, MALFORMED, FULL, "another line"]) {
    faults.follow(line);
    await faults.settled();
  }
  const full = expect.stringMatching(/^serve: the disk of \/data is full: .*docs\/runbook\.md, The disk is full\)$/);
  const damaged = expect.stringMatching(
    /^serve: damaged: \/data\/objects\/TokenTree-secret\/0a\.sqlite \(malformed\); .*A database is damaged\)$/,
  );
  expect(said).toEqual(["another line", FULL, full, MALFORMED, damaged, "another line"]);
  // The Worker may show it to others, who must not learn the id of the installation.
  const reports = ["/storage-faults?full=true", "/storage-faults?damaged=TokenTree%2F0a.sqlite"];
  expect(reported).toEqual(reports);
  faults.reportAgain();
  await faults.settled();
  expect(reported).toEqual([...reports, ...reports]);
  now = 60_000;
  said.length = 0;
  faults.follow(FULL);
  await faults.settled();
  expect(said).toEqual([FULL, full]);
  look();
  hasSpace = true;
  look();
  look();
  await faults.settled();
  expect(said.slice(2)).toEqual(["serve: the disk of /data has space again"]);
  expect(reported.slice(4)).toEqual(["/storage-faults?full=false"]);
  // Another full disk within a minute is reported, and not explained again.
  faults.follow(FULL);
  await faults.settled();
  expect(said).toHaveLength(3);
  expect(reported.at(-1)).toBe("/storage-faults?full=true");
});

it("a disk has space with a MiB that is free, whatever the size of its blocks", () => {
  const bsize = 4096;
  expect([255, 256].map((bavail) => isEnough({ bavail, bsize }))).toEqual([false, true]);
});

it("says that a database is damaged also where a check of all does not find it", async () => {
  const said: string[] = [];
  const faults = new StorageFaults({
    ...{ data: "/data", show: () => {}, say: (line: string) => void said.push(line) },
    ...{ report: async () => expect.fail("there is nothing to report"), find: async () => [] },
  });
  faults.follow(MALFORMED);
  await faults.settled();
  expect(said).toEqual([expect.stringMatching(/^a database in \/data is damaged, .*A database is damaged\)$/)]);
});

it("finds the databases whose beginning or middle is damaged, also one that is in use", async () => {
  const objects = mkdtempSync(join(tmpdir(), "grove-damaged-"));
  onTestFinished(() => rmSync(objects, { recursive: true }));
  mkdirSync(join(objects, "Class-1"));
  const make = (name: string) => {
    const file = join(objects, "Class-1", name);
    const database = new DatabaseSync(file);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); PRAGMA page_size");
    for (let row = 0; row < 200; row++) database.prepare("INSERT INTO t VALUES (?)").run("x".repeat(500));
    return { file, database };
  };
  const damage = (name: string, at: (bytes: Buffer) => number) => {
    const { file, database } = make(name);
    database.close();
    const bytes = readFileSync(file);
    bytes.fill("garbage", at(bytes), at(bytes) + 9000);
    writeFileSync(file, bytes);
    return file;
  };
  const used = make("used.sqlite").database;
  onTestFinished(() => used.close());
  const beginning = damage("metadata.sqlite", () => 0);
  const middle = damage("middle.sqlite", ({ length }) => length / 2);
  const found = await damagedDatabases(objects);
  expect(found.map(({ file }) => file).sort()).toEqual([beginning, middle]);
  for (const { problem } of found) expect(problem).toMatch(/\w/);
  expect(await damagedDatabases(join(objects, "missing"))).toEqual([]);
});
