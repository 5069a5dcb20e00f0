import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { fetchBackup, makeInBucket } from "../../../../scripts/backup/api/bucket.ts";
import type { Manifest, Part } from "../../../../scripts/backup/api/manifest.ts";
import { BackupStore } from "../../../../scripts/backup/api/store.ts";
import { verifyBackup } from "../../../../scripts/backup/api/verify.ts";
import { parseBackupArguments } from "../../../../scripts/backup/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";

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
  const bucket = ["--address", "https://grove.example", "--to", "r2"];
  expect(parseBackupArguments(bucket)).toMatchObject({ ok: true, value: { kind: "bucket" } });
  const fetched = ["--address", "https://grove.example", "--fetch", "b"];
  expect(parseBackupArguments(fetched)).toMatchObject({ ok: true, value: { kind: "fetch", directory: "b", name: "" } });
  for (const wrong of [
    [...bucket, "--keep", "3"],
    [...fetched, "--to", "c"],
    ["--fetch", "b"],
    [...ask, "--backup", "n"],
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
  expect(verifyBackup(store, short)).toEqual({ ok: false, error: `${short}: the manifest names 2 of 3 parts` });
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

it("continues after the last part with a complete entry", () => {
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

/** null hangs up. */
type Replies = (
  path: string,
  body: Record<string, unknown>,
) => { readonly status?: number; readonly body?: unknown } | null;

/** A server that answers calls, and a client of it. */
async function clientOf(replies: Replies, waits: number[] = []): Promise<GroveClient> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const path = (request.url ?? "").slice("/v1/".length).split("?")[0] ?? "";
    const reply = replies(path, text === "" ? {} : JSON.parse(text));
    if (!reply) return void request.socket.destroy();
    response.writeHead(reply.status ?? 200).end(JSON.stringify(reply.body ?? {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const wait = async (ms: number) => void waits.push(ms);
  return new GroveClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "t", { repeats: true, wait });
}

it("brings a backup from the bucket of a server, initialized or not, without the parts that are here", async () => {
  const name = "grove-2026-11-23T00-00-00-000Z";
  const files = [keep(0, "zero"), keep(1, "one")];
  rmSync(join(directory, "parts", `${files[1]?.sha256}.json.gz`));
  const asked: unknown[] = [];
  let initialized = false;
  const client = await clientOf((path, { backup, file }) => {
    if (path === "sys/health") return { body: { initialized } };
    const base = initialized ? "sys/backup/stored" : "sys/restore/stored";
    if (path === base) return { body: { data: { backups: [`c/${name.replace("2026", "2025")}`, `c/${name}`] } } };
    if (path !== `${base}/file` || backup !== `c/${name}`) return { status: 404 };
    asked.push(file);
    const content = file === "manifest" ? Buffer.from(JSON.stringify(manifest(files))) : gzipSync("one");
    return { body: { data: { content: content.toString("base64") } } };
  });
  const none = await fetchBackup(client, store, name.replace("2026", "2024"), () => {});
  expect(none).toMatchObject({ error: { message: "there is no such backup in the bucket" } });
  expect(await fetchBackup(client, store, "", () => {})).toEqual({ ok: true, value: { name, parts: 2, known: 1 } });
  expect(asked).toEqual(["manifest", files[1]?.sha256]);
  expect(verifyBackup(store, name)).toMatchObject({ ok: true });
  initialized = true;
  expect(await fetchBackup(client, store, name, () => {})).toMatchObject({ value: { known: 2 } });
});

it("has a server make a backup in its bucket, and waits for its end", async () => {
  const run = { name: "n", parts: 2, objects: 3, rows: 4, bytes: 5 };
  const states = ["running", "deleting", "done", "failed"];
  let begun = 0;
  const client = await clientOf((_, __) => {
    if (begun++ === 0) return { status: 204 };
    const state = states.shift() ?? "";
    const last = { ...run, state, error: state === "failed" ? "it changed" : null };
    return { body: { data: { running: state === "running" || state === "deleting" ? last : null, last } } };
  });
  const seen: number[] = [];
  const made = await makeInBucket(
    client,
    (parts) => seen.push(parts),
    async () => {},
  );
  expect(made).toEqual({ ok: true, value: run });
  expect(seen).toEqual([2, 2]);
  begun = 0;
  const failed = await makeInBucket(
    client,
    () => {},
    async () => {},
  );
  expect(failed).toMatchObject({ error: { message: "n failed: it changed" } });
});

it("sends a call again that got no answer or a temporary one, five times at most", async () => {
  const waits: number[] = [];
  const answers = [null, { status: 503 }, { status: 504 }, { body: { data: 1 } }];
  const client = await clientOf(() => answers.shift() ?? { status: 503 }, waits);
  expect(await client.call("GET", "x")).toMatchObject({ ok: true });
  expect(waits).toEqual([1000, 2000, 4000]);
  expect(await client.call("GET", "x")).toMatchObject({ ok: false, error: { status: 503 } });
  expect(waits).toHaveLength(3 + 4);
  answers.push({ status: 400 });
  expect(await client.call("GET", "x")).toMatchObject({ error: { status: 400 } });
  expect(waits).toHaveLength(7);
});
