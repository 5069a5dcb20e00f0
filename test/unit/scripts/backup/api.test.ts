import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { fetchBackup, makeInBucket } from "../../../../scripts/backup/api/bucket.ts";
import { makeBackup } from "../../../../scripts/backup/api/make.ts";
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

it("deletes no part while a kept backup can't be read", () => {
  const old = store.finish(manifest([keep(0, "old")]), HOUR_MS);
  const newer = store.finish(manifest([keep(0, "new")]), 2 * HOUR_MS);
  writeFileSync(join(directory, `${newer}.json`), "{");
  expect(store.prune(1)).toEqual([]);
  expect(store.names()).toEqual([old, newer]);
  expect(readdirSync(join(directory, "parts"))).toHaveLength(2);
});

/** null hangs up. */
type Replies = (
  path: string,
  body: Record<string, unknown>,
  method: string,
) => { readonly status?: number; readonly body?: unknown } | null;

/** A server that answers calls, and a client of it. */
async function clientOf(replies: Replies, waits: number[] = []): Promise<GroveClient> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const path = (request.url ?? "").slice("/v1/".length).split("?")[0] ?? "";
    const reply = replies(path, text === "" ? {} : JSON.parse(text), request.method ?? "");
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

it("waits for a backup that the server makes already, and tells why it begins none", async () => {
  const run = { name: "n", parts: 2, objects: 3, rows: 4, bytes: 5 };
  const last = { ...run, state: "done", error: null };
  const states = [last, null];
  const client = await clientOf((path, _, method) => {
    if (method === "POST") return { status: 400, body: { errors: ["it is not begun"] } };
    return path === "sys/backup/runs" ? { body: { data: { running: states.shift() ?? null, last } } } : null;
  });
  const made = () =>
    makeInBucket(
      client,
      () => {},
      async () => {},
    );
  expect(await made()).toEqual({ ok: true, value: run });
  expect(await made()).toMatchObject({ ok: false, error: { status: 400 } });
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

it.runIf(process.platform === "linux")("ends where no directory can be made", () => {
  expect(() => new BackupStore("/proc/no/backups").open()).toThrow("ENOENT");
});

describe("a backup that is made part by part", () => {
  const NOW = 1_790_000_000_000;
  const TEXTS = ["zero", "one", "two"];

  /**
   * A server whose parts have `TEXTS`. It sends no part that the client says it has.
   *
   * @param fails number of a part that it does not send; -1: it sends all.
   */
  async function making({ clusterId = "c", fails = -1, now = NOW } = {}) {
    const asked: unknown[] = [];
    const client = await clientOf((path, { run, number, position, known }) => {
      if (path === "sys/health") return { body: { initialized: true, cluster_id: clusterId } };
      const named = run === "" ? `${now}.1.AAAAAAAAAAAAAAAAAAAAAA` : run;
      const head = manifest([], TEXTS.length);
      if (path === "sys/backup/seal") return { body: { data: { ...head, run: named, cluster_id: clusterId } } };
      asked.push([run, position]);
      const at = Number(number);
      if (at === fails) return { status: 400 };
      const sha256 = createHash("sha256")
        .update(TEXTS[at] ?? "")
        .digest("hex");
      const next = at + 1 < TEXTS.length ? `after ${at}` : null;
      const content = known === sha256 ? null : gzipSync(TEXTS[at] ?? "").toString("base64");
      const part = {
        number: at,
        position,
        next,
        sha256,
        seal: "s",
        restored_first: false,
        objects: 1,
        rows: 2,
        content,
      };
      return { body: { data: { ...part, run: named } } };
    });
    const made = await makeBackup(
      client,
      store,
      0,
      () => {},
      () => now,
    );
    return { made, asked };
  }

  it("continues after an interruption with the next part of its run", async () => {
    await making({ fails: 2 });
    const { made, asked } = await making({ now: NOW + HOUR_MS });
    expect(asked).toEqual([[`${NOW}.1.AAAAAAAAAAAAAAAAAAAAAA`, "after 1"]]);
    expect(made).toMatchObject({ value: { parts: 3, continued: 2 } });
  });

  it.each([
    ["of another server", { clusterId: "d" }],
    ["from six hours ago", { now: NOW + 6 * HOUR_MS }],
  ])("begins anew after an interrupted one %s", async (_, other) => {
    await making({ fails: 2 });
    const { made, asked } = await making(other);
    expect(asked.slice(0, 1)).toEqual([["", ""]]);
    expect(made).toMatchObject({ value: { parts: 3, continued: 0 } });
  });

  it("has no part sent again that the last backup of this server has, unless it is gone here", async () => {
    expect((await making()).made).toMatchObject({ value: { unchanged: 0 } });
    const [part] = store.read(store.names()[0] ?? "").ok ? readdirSync(join(directory, "parts")) : [];
    expect((await making({ now: NOW + HOUR_MS })).made).toMatchObject({ value: { unchanged: 3 } });
    rmSync(join(directory, "parts", part ?? ""));
    expect((await making({ now: NOW + 2 * HOUR_MS })).made).toMatchObject({ value: { unchanged: 2 } });
    // Another server may have the same positions, with other states of its objects.
    expect((await making({ clusterId: "d", now: NOW + 3 * HOUR_MS })).made).toMatchObject({ value: { unchanged: 0 } });
    for (const name of store.names()) expect(store.read(name)).toMatchObject({ ok: true });
  });

  it("fails when the server says of a part that it is unchanged, and it is not here", async () => {
    const sha256 = createHash("sha256").update("elsewhere").digest("hex");
    const client = await clientOf((path) => {
      if (path === "sys/health") return { body: { initialized: true, cluster_id: "c" } };
      const part = {
        number: 0,
        position: "",
        next: null,
        sha256,
        seal: "s",
        restored_first: false,
        objects: 1,
        rows: 2,
      };
      return { body: { data: { ...part, run: RUN.run, content: null } } };
    });
    const made = await makeBackup(
      client,
      store,
      0,
      () => {},
      () => NOW,
    );
    expect(made).toMatchObject({ error: { message: "part 0 is not what its SHA-256 says" } });
    expect(store.names()).toEqual([]);
  });
});
