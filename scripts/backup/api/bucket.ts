import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { type Called, failed, type GroveClient } from "../../grove/client.ts";
import { readHealth } from "../../grove/health.ts";
import { MANIFEST } from "./manifest.ts";
import type { BackupStore } from "./store.ts";

/** Interval of checks of a running backup (ms). */
const LOOK_MS = 2000;

const STORED = z.object({ backups: z.array(z.string()) });
const FILE = z.object({ content: z.string() });

const RUN = z.object({
  name: z.string(),
  state: z.string(),
  parts: z.number(),
  objects: z.number(),
  rows: z.number(),
  bytes: z.number(),
  error: z.string().nullable(),
});
const RUNS = z.object({ running: RUN.nullable(), last: RUN.nullable() });

/** A backup that the server made in its bucket. */
export type MadeInBucket = Omit<z.infer<typeof RUN>, "state" | "error">;

/** A backup that was fetched from the bucket of a server. */
export interface Fetched {
  readonly name: string;
  readonly parts: number;
  /** Parts that were in the directory already. */
  readonly known: number;
}

/**
 * Has a server make a backup in its bucket, and waits for its end.
 *
 * @param progress is called with the number of parts. @param wait ms.
 */
export async function makeInBucket(
  client: GroveClient,
  progress: (parts: number) => void,
  wait: (ms: number) => Promise<void>,
): Promise<Called<MadeInBucket>> {
  const begun = await client.call("POST", "sys/backup/runs");
  // A backup may be running already, for example when the answer to a first try was lost.
  if (!begun.ok && begun.error.status !== 400) return begun;
  for (let waited = begun.ok; ; waited = true) {
    const read = await client.get("sys/backup/runs", RUNS);
    if (!read.ok) return read;
    const { running, last } = read.value;
    if (running) {
      progress(running.parts);
      await wait(LOOK_MS);
      continue;
    }
    if (!begun.ok && !waited) return begun;
    if (!last) return failed("the server knows of no backup");
    const { state, error, ...made } = last;
    return state === "done" ? ok(made) : failed(`${made.name} failed: ${error ?? state}`);
  }
}

/**
 * Fetches a backup from the bucket of a server, initialized or not. After an interruption the next call continues.
 *
 * @param wanted the name; "" for the newest. @param progress is called after each part.
 */
export async function fetchBackup(
  client: GroveClient,
  store: BackupStore,
  wanted: string,
  progress: (parts: number) => void,
): Promise<Called<Fetched>> {
  const health = await readHealth(client);
  if (!health.ok) return health;
  const base = health.value.initialized ? "sys/backup/stored" : "sys/restore/stored";
  const listed = await client.get(base, STORED);
  if (!listed.ok) return listed;
  const found = listed.value.backups.filter((text) => wanted === "" || text === wanted || nameOf(text) === wanted);
  const backup = found.at(-1) ?? wanted;
  if (!backup.includes("/")) return failed("there is no such backup in the bucket");
  const name = nameOf(backup);
  const content = async (file: string): Promise<Called<Buffer>> => {
    const answered = await client.post(`${base}/file`, FILE, { backup, file });
    return answered.ok ? ok(Buffer.from(answered.value.content, "base64")) : answered;
  };
  const text = await content("manifest");
  if (!text.ok) return text;
  const manifest = MANIFEST.safeParse(parse(text.value));
  if (!manifest.success) return failed(`the manifest of ${name} can't be read`);
  const { files } = manifest.data;
  store.open();
  let known = 0;
  for (const [at, { sha256 }] of files.entries()) {
    if (store.has(sha256)) known++;
    else {
      const part = await content(sha256);
      if (!part.ok) return part;
      if (!store.keep(sha256, part.value)) return failed(`part ${at} is not what its SHA-256 says`);
    }
    progress(at + 1);
  }
  store.put(name, manifest.data);
  return ok({ name, parts: files.length, known });
}

function nameOf(backup: string): string {
  return backup.split("/").at(-1) ?? "";
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch {
    return null;
  }
}
