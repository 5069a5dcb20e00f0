import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BackupStore } from "../../../../scripts/backup/api/store.ts";
import { digestsOf } from "../../../../scripts/backup/files/digests.ts";
import { backupAt, newestBackup } from "../../../../scripts/backup/newest.ts";
import { backupName } from "../../../../src/backup/names.ts";
import { newKeyRing, parseSealKey, sealKeyRing } from "../../../../src/crypto/key-ring.ts";

const HOUR = 3_600_000;
const OLD = backupName(HOUR);
const NEW = backupName(2 * HOUR);

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "grove-newest-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const sealKey = (version: number) => `${version}:${Buffer.alloc(32).toString("base64")}`;

/** A copy of files with two databases, sealed with the second key, as releases before digests made it. */
function copy(name: string): string {
  const path = join(directory, name);
  mkdirSync(join(path, "objects/a"), { recursive: true });
  writeFileSync(join(path, "installation-id"), "x");
  writeFileSync(
    join(path, "backup.json"),
    JSON.stringify({ at: "2026", version: "1.0.0", databases: 2, pausedMs: 0, sealKeyVersion: 2 }),
  );
  for (const file of ["one", "two"]) {
    const database = new DatabaseSync(join(path, `objects/a/${file}.sqlite`));
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    database.close();
  }
  return path;
}

/** A copy of files whose note has the digest of each. */
function digested(name: string): string {
  const path = copy(name);
  const note = join(path, "backup.json");
  writeFileSync(note, JSON.stringify({ ...JSON.parse(readFileSync(note, "utf8")), files: digestsOf(path) }));
  return path;
}

/** What a server was asked for, with one part. */
function asked(at: number): string {
  const sha256 = createHash("sha256").update("rows").digest("hex");
  const store = new BackupStore(directory);
  store.open();
  store.keep(sha256, gzipSync("rows"));
  const place = { number: 0, position: "0", next: null, seal: "s", restored_first: false, objects: 1, rows: 1 };
  const times = { started_at: new Date(at).toISOString(), finished_at: new Date(at).toISOString() };
  const head = { format: 1 as const, run: `${at}.1.AAAAAAAAAAAAAAAAAAAAAA`, parts: 1, ...times, release: "1.0.0" };
  const keys = { cluster_id: "c", seal_key_version: 1, key_ring: "1.a.b", seal: "s" };
  store.finish({ ...head, ...keys, files: [{ ...place, sha256 }] }, at);
  return join(directory, "parts", `${sha256}.json.gz`);
}

describe("the newest backup", () => {
  it("is none in a directory without backups, and in none", () => {
    writeFileSync(join(directory, "notes.json"), "{}");
    expect(newestBackup(directory)).toBeNull();
    expect(newestBackup(join(directory, "nowhere"))).toBeNull();
  });

  it("is of either kind, and complete", () => {
    copy(OLD);
    expect(newestBackup(directory)).toMatchObject({ name: OLD, at: HOUR, problem: null, copy: { databases: 2 } });
    asked(2 * HOUR);
    expect(newestBackup(directory)).toMatchObject({ name: NEW, problem: null, copy: null, manifest: { parts: 1 } });
  });

  it("that came from a server is not complete when a part or the manifest is damaged", () => {
    const part = asked(2 * HOUR);
    writeFileSync(part, gzipSync("other rows"));
    expect(newestBackup(directory)).toMatchObject({ problem: "part 0 is damaged" });
    writeFileSync(join(directory, `${NEW}.json`), "{");
    expect(newestBackup(directory)).toMatchObject({ problem: `the manifest of ${NEW} can't be read` });
  });
});

it("is read again by backup --verify, of either kind", () => {
  const script = join(import.meta.dirname, "../../../../scripts/backup.ts");
  const verify = (keys: NodeJS.ProcessEnv = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, "--verify", directory], {
      encoding: "utf8",
      env: { ...process.env, ...keys },
    });
    return { status, text: (stdout + stderr).trim() };
  };
  const path = digested(OLD);
  const whole = `${OLD}: 2 databases, opened; 3 files, each as its SHA-256 says; of 2026, release 1.0.0, seal key version 2`;
  expect(verify()).toEqual({ status: 0, text: `${whole}; GROVE_SEAL_KEY is not set, so no key was tried` });
  const keys = { GROVE_SEAL_KEY: sealKey(3), GROVE_SEAL_KEY_PREVIOUS: sealKey(2) };
  expect(verify(keys)).toEqual({ status: 0, text: whole });
  // A script that restores stops here: the server would be sealed.
  const unopened =
    "backup: it needs seal key version 2, and the configured one has version 3. A server with the configured key would be sealed on it: find that key, or make a backup now";
  expect(verify({ ...keys, GROVE_SEAL_KEY_PREVIOUS: "" })).toEqual({ status: 1, text: `${whole}\n${unopened}` });
  rmSync(join(path, "objects"), { recursive: true });
  const missing = "objects/a/one.sqlite is missing; objects/a/two.sqlite is missing";
  expect(verify()).toEqual({ status: 1, text: `backup: ${OLD}: ${missing}` });
  const part = asked(2 * HOUR);
  expect(verify()).toEqual({
    status: 0,
    text: expect.stringMatching(`^${NEW}: 1 object, 1 row in 1 part, whole; of `),
  });
  expect(verify({ GROVE_SEAL_KEY: sealKey(3) })).toMatchObject({
    status: 1,
    text: expect.stringContaining("backup: it needs seal key version 1,"),
  });
  rmSync(part);
  expect(verify()).toEqual({ status: 1, text: `backup: ${NEW}: part 0 is missing` });
});

describe("the seal key of a backup", () => {
  const [ours, other] = [1, 2].map((byte) => `2:${Buffer.alloc(32, byte).toString("base64")}`);
  const verify = (keys: Record<string, string | undefined>) => {
    const words = [join(import.meta.dirname, "../../../../scripts/backup.ts"), "--verify", directory];
    const { GROVE_SEAL_KEY: _, GROVE_SEAL_KEY_PREVIOUS: __, ...environment } = process.env;
    const run = spawnSync(process.execPath, words, { encoding: "utf8", env: { ...environment, ...keys } });
    return { status: run.status, text: (run.stdout + run.stderr).trim() };
  };
  const ring = async () => {
    const key = parseSealKey(ours ?? "");
    return key.ok ? sealKeyRing(newKeyRing(0), key.value) : "";
  };
  const makers = {
    "a copy of files": async () => {
      const path = copy(NEW);
      const system = join(path, "objects/System-x");
      mkdirSync(system);
      const database = new DatabaseSync(join(system, "0a.sqlite"));
      database.exec("PRAGMA journal_mode = WAL; CREATE TABLE installation (sealed_key_ring TEXT)");
      database.prepare("INSERT INTO installation VALUES (?)").run(await ring());
      database.close();
      const note = { at: "2026", version: "1.0.0", databases: 3, pausedMs: 0, sealKeyVersion: 2 };
      writeFileSync(join(path, "backup.json"), JSON.stringify({ ...note, files: digestsOf(path) }));
    },
    "what a server was asked for": async () => {
      asked(2 * HOUR);
      const store = new BackupStore(directory);
      const manifest = store.read(NEW);
      if (manifest.ok) store.put(NEW, { ...manifest.value, seal_key_version: 2, key_ring: await ring() });
    },
  };

  it.each(Object.entries(makers))("of %s is tried, and not only its version", async (_, make) => {
    await make();
    const unopened =
      "backup: it needs a different seal key of version 2: the configured one does not open its key ring";
    expect(verify({ GROVE_SEAL_KEY: ours }).text).toMatch(/seal key version 2; GROVE_SEAL_KEY opens it$/);
    expect(verify({ GROVE_SEAL_KEY: sealKey(3), GROVE_SEAL_KEY_PREVIOUS: ours }).text).toMatch(
      /; GROVE_SEAL_KEY_PREVIOUS opens it$/,
    );
    expect(verify({ GROVE_SEAL_KEY: other })).toEqual({ status: 1, text: expect.stringContaining(unopened) });
    expect(verify({})).toMatchObject({ status: 0, text: expect.not.stringContaining("needs") });
  });

  it.each(["GROVE_SEAL_KEY", "GROVE_SEAL_KEY_PREVIOUS"])("that is none is an error: %s", (name) => {
    copy(NEW);
    const { status, text } = verify({ [name]: "1:abc" });
    expect(status).toBe(1);
    expect(text).toMatch(new RegExp(`^backup: ${name} must be <version>`));
  });
});

describe("a copy of files with digests", () => {
  const change = (file: string, by: (bytes: Buffer) => Buffer) => writeFileSync(file, by(readFileSync(file)));

  it("is whole as it was made, also by its own path", () => {
    const path = digested(NEW);
    expect(newestBackup(directory)).toMatchObject({ problem: null });
    expect(backupAt(`${path}/`)).toMatchObject({ name: NEW, at: 2 * HOUR, problem: null });
    expect(backupAt(directory)).toBeNull();
  });

  it.each<[string, (path: string) => void, string]>([
    [
      "a bit of a row has changed, and the database opens",
      (path) => {
        const file = join(path, "objects/a/one.sqlite");
        change(file, (bytes) => {
          // The last byte of a page that has one row is the row's value.
          const at = bytes.length - 1;
          bytes[at] = (bytes[at] ?? 0) ^ 2;
          return bytes;
        });
        const database = new DatabaseSync(`file:${file}?immutable=1`);
        expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
        database.close();
      },
      "objects/a/one.sqlite is damaged: it is not what its SHA-256 says",
    ],
    [
      "a file is cut short",
      (path) => change(join(path, "objects/a/two.sqlite"), (bytes) => bytes.subarray(0, 4096)),
      "objects/a/two.sqlite has 4096 of 8192 bytes",
    ],
    ["a file is gone", (path) => rmSync(join(path, "installation-id")), "installation-id is missing"],
    [
      "a database has a log that it was not backed up with",
      (path) => writeFileSync(join(path, "objects/a/one.sqlite-wal"), "x"),
      "objects/a/one.sqlite-wal does not belong to it",
    ],
    [
      "a file is a link",
      (path) => {
        rmSync(join(path, "installation-id"));
        symlinkSync("/dev/null", join(path, "installation-id"));
      },
      "installation-id is no file",
    ],
    [
      "a directory took the place of a file",
      (path) => {
        rmSync(join(path, "installation-id"));
        mkdirSync(join(path, "installation-id"));
      },
      "installation-id is missing",
    ],
    [
      "the digest itself is damaged",
      (path) =>
        change(join(path, "backup.json"), (bytes) => Buffer.from(`${bytes}`.replace('"sha256":"', '"sha256":"g'))),
      "backup.json can't be read",
    ],
  ])("is not whole when %s", (_, damage, problem) => {
    damage(digested(NEW));
    expect(newestBackup(directory)).toMatchObject({ problem });
  });

  it("names the first of many differences, and counts the others", () => {
    const path = digested(NEW);
    for (let at = 0; at < 7; at++) writeFileSync(join(path, `${at}`), "");
    expect(newestBackup(directory)?.problem).toMatch(
      /^0 does not belong to it; .*4 does not belong to it; and 2 more files$/,
    );
  });
});

describe("a copy of files of an earlier release", () => {
  it("is taken, and said to have no digests", () => {
    copy(NEW);
    const words = [join(import.meta.dirname, "../../../../scripts/backup.ts"), "--verify", directory];
    const { status, stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining("warning: its backup.json has no digests of its files"),
    });
  });

  it("is checked without a change", () => {
    const path = copy(NEW);
    const objects = join(path, "objects/a");
    utimesSync(objects, 1, 1);
    expect(newestBackup(directory)).toMatchObject({ problem: null });
    // A file that was made there and deleted again would have changed it.
    expect(statSync(objects).mtimeMs).toBe(1000);
  });

  it.each<[string, (path: string) => void, string]>([
    [
      "a database is damaged",
      (path) => {
        const file = join(path, "objects/a/one.sqlite");
        writeFileSync(file, readFileSync(file).fill(0xff, 4096));
      },
      "one.sqlite: ",
    ],
    [
      "a database is cut short",
      (path) => writeFileSync(join(path, "objects/a/two.sqlite"), "SQLite f"),
      "two.sqlite: ",
    ],
    ["a database is gone", (path) => rmSync(join(path, "objects/a/one.sqlite")), "it has 1 databases of 2"],
    ["all of them are gone", (path) => rmSync(join(path, "objects"), { recursive: true }), "objects is missing"],
    ["the id is gone", (path) => rmSync(join(path, "installation-id")), "installation-id is missing"],
    ["its note is gone", (path) => rmSync(join(path, "backup.json")), "backup.json can't be read"],
  ])("is not whole when %s", (_, damage, problem) => {
    damage(copy(NEW));
    expect(newestBackup(directory)).toMatchObject({ problem: expect.stringContaining(problem) });
  });
});
