import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { parseBackupArguments } from "../../../scripts/backup/arguments.ts";
import { verifyBackup } from "../../../scripts/saved/make.ts";
import type { Manifest, Part } from "../../../scripts/saved/manifest.ts";
import { BackupStore } from "../../../scripts/saved/store.ts";

const RUN = { run: "1790000000000.1.AAAAAAAAAAAAAAAAAAAAAA", cluster_id: "c" };
const HOUR_MS = 3_600_000;

let directory: string;
let store: BackupStore;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "grove-saved-"));
  store = new BackupStore(directory);
  store.open();
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function keep(number: number, text: string): Part {
  const sha256 = createHash("sha256").update(text).digest("hex");
  expect(store.keep(sha256, gzipSync(text))).toBe(true);
  const place = { number, position: String(number), next: null, seal: "s", restored_first: false };
  return { ...place, sha256, objects: 1, rows: 2 };
}

function manifest(files: Part[], parts = files.length): Manifest {
  const times = { started_at: new Date(1_790_000_000_000).toISOString(), finished_at: "2026-11-23T00:00:01Z" };
  const head = { format: 1 as const, run: RUN.run, parts, ...times, release: "1.0.0", cluster_id: "c" };
  return { ...head, seal_key_version: 1, key_ring: "1.a.b", seal: "s", files };
}

it("reads a command line that asks a server, that copies files, and that verifies", () => {
  const ask = ["--address", "https://grove.example", "--to", "b"];
  expect(parseBackupArguments(ask)).toMatchObject({ ok: true, value: { kind: "ask", to: "b", keep: 0 } });
  expect(parseBackupArguments(["--to", "b"])).toMatchObject({ value: { kind: "copy", data: ".grove/data" } });
  expect(parseBackupArguments(["--verify", "b"])).toMatchObject({ value: { kind: "verify", directory: "b" } });
  for (const wrong of [
    [...ask, "--data", "d"],
    ["--verify", "b", "--to", "c"],
    ["--address", "grove", "--to", "b"],
  ]) {
    expect(parseBackupArguments(wrong)).toMatchObject({ ok: false });
  }
});

it("finds what is missing or damaged", () => {
  const parts = [keep(0, "zero"), keep(1, "one")];
  const whole = store.finish(manifest(parts), HOUR_MS);
  expect(verifyBackup(store, whole)).toMatchObject({ ok: true });
  const short = store.finish(manifest(parts, 3), 2 * HOUR_MS);
  expect(verifyBackup(store, short)).toEqual({ ok: false, error: `${short}: the manifest names 2 parts of 3` });
  writeFileSync(join(directory, "parts", `${parts[1]?.sha256}.json.gz`), gzipSync("other"));
  expect(verifyBackup(store, whole)).toEqual({ ok: false, error: `${whole}: part 1 is damaged` });
  rmSync(join(directory, "parts", `${parts[0]?.sha256}.json.gz`));
  expect(verifyBackup(store, whole)).toMatchObject({ error: `${whole}: part 0 is missing` });
});

it("replaces no part by another text", () => {
  const part = keep(0, "zero");
  const name = store.finish(manifest([part]), HOUR_MS);
  expect(store.keep(part.sha256, gzipSync("other"))).toBe(false);
  expect(store.keep(part.sha256, new TextEncoder().encode("no gzip"))).toBe(false);
  expect(verifyBackup(store, name)).toMatchObject({ ok: true });
});

it("believes no manifest about when its run began", () => {
  const files = [keep(0, "zero")];
  const name = store.finish({ ...manifest(files), started_at: "2026-11-24T00:00:00Z" }, HOUR_MS);
  expect(verifyBackup(store, name)).toEqual({ ok: false, error: `${name}: it was not begun at 2026-11-24T00:00:00Z` });
});

it("shows nothing of a manifest that a terminal would obey", () => {
  const name = store.finish({ ...manifest([keep(0, "zero")]), release: "1.0.0\u001b[2J" }, HOUR_MS);
  expect(verifyBackup(store, name)).toMatchObject({ ok: false });
});

it("goes on after the last part whose note is whole", () => {
  const parts = [keep(0, "zero"), keep(1, "one")];
  store.begin(RUN, []);
  for (const part of parts) store.note(part);
  appendFileSync(join(directory, "unfinished.jsonl"), '{"number":2,"posi');
  expect(store.unfinished()).toEqual({ run: RUN, parts });
  store.begin(RUN, parts.slice(0, 1));
  store.note(keep(1, "again"));
  expect(store.unfinished()?.parts.map(({ number }) => number)).toEqual([0, 1]);
  store.finish(manifest(parts), HOUR_MS);
  expect(store.unfinished()).toBeNull();
});

it("deletes the oldest backups with the parts that no other has", () => {
  const shared = keep(0, "shared");
  const old = store.finish(manifest([shared, keep(1, "old")]), HOUR_MS);
  const newer = store.finish(manifest([shared, keep(1, "new")]), 2 * HOUR_MS);
  expect(store.prune(0)).toEqual([]);
  expect(store.prune(1)).toEqual([old]);
  expect(store.names()).toEqual([newer]);
  expect(readdirSync(join(directory, "parts"))).toHaveLength(2);
  expect(verifyBackup(store, newer)).toMatchObject({ ok: true });
});
