import { err, ok, type Result } from "../../src/base/result.ts";
import { type Called, failed, type GroveClient } from "../grove/client.ts";
import { readHealth } from "../grove/health.ts";
import { helpAsCalled } from "../local/command-line.ts";
import { ANSWERED_PART, HEAD, type Manifest, type Part, type Run, sumOf } from "./manifest.ts";
import { BackupStore } from "./store.ts";

/** An older unfinished run (ms) is not continued: a backup is of one time. */
const MAX_AGE_MS = 6 * 3_600_000;

/** A backup that was made. */
export interface MadeBackup {
  readonly name: string;
  /** Everything that was answered before this time (RFC 3339) is in the backup. */
  readonly at: string;
  readonly parts: number;
  readonly objects: number;
  readonly rows: number;
  /** Parts that an earlier backup has and the server did not send again. */
  readonly unchanged: number;
  /** Parts of an earlier, interrupted call. */
  readonly continued: number;
  readonly deleted: readonly string[];
}

/**
 * Makes a backup by asking a server for part after part. An interrupted backup is continued.
 *
 * @param progress is called after each part. @param clock ms.
 */
export async function makeBackup(
  client: GroveClient,
  store: BackupStore,
  keep: number,
  progress: (parts: number) => void,
  clock: () => number,
): Promise<Called<MadeBackup>> {
  const health = await readHealth(client);
  if (!health.ok) return health;
  const { cluster_id: clusterId } = health.value;
  store.open();
  const parts: Part[] = [];
  const earlier = store.unfinished();
  let run: Run | null = null;
  if (earlier && earlier.run.cluster_id === clusterId && clock() - startOf(earlier.run) < MAX_AGE_MS) {
    run = earlier.run;
    parts.push(...earlier.parts);
    store.begin(run, parts);
  }
  const continued = parts.length;
  const before = partsBefore(store, clusterId);
  let unchanged = 0;
  for (let position = parts.length === 0 ? "" : (parts.at(-1)?.next ?? null); position !== null; ) {
    const known = before.get(position);
    const answered = await client.post("sys/backup/part", ANSWERED_PART, {
      run: run?.run ?? "",
      number: parts.length,
      position,
      until: known?.next ?? "",
      known: known?.sha256 ?? "",
    });
    if (!answered.ok) return answered;
    const { content, run: named, ...part } = answered.value;
    if (!run) {
      run = { run: named, cluster_id: clusterId };
      store.begin(run, []);
    }
    // A stored part is never overwritten with another content.
    const isKept = content !== null ? store.keep(part.sha256, Buffer.from(content, "base64")) : store.has(part.sha256);
    if (!isKept) return failed(`part ${part.number} is not what its SHA-256 says`);
    if (content === null) unchanged++;
    store.note(part);
    parts.push(part);
    progress(parts.length);
    position = part.next;
  }
  const head = await client.post("sys/backup/seal", HEAD, { run: run?.run ?? "", parts: parts.length });
  if (!head.ok) return head;
  const manifest: Manifest = { ...head.value, files: parts };
  const name = store.finish(manifest, clock());
  const made = { name, at: manifest.started_at, parts: parts.length, ...sumOf(parts), unchanged, continued };
  return ok({ ...made, deleted: store.prune(keep) });
}

/** Parts of the newest backup of the server, by their first position. */
function partsBefore(store: BackupStore, clusterId: string): ReadonlyMap<string, Part> {
  const newest = store.names().at(-1);
  const manifest = newest === undefined ? null : store.read(newest);
  if (!manifest?.ok || manifest.value.cluster_id !== clusterId) return new Map();
  const here = manifest.value.files.filter(({ sha256 }) => store.has(sha256));
  return new Map(here.map((part) => [part.position, part]));
}

function startOf({ run }: Run): number {
  return Number(run.split(".")[0]);
}

/** Reads all files of a backup and compares them with the manifest. The error is for the operator. */
export function verifyBackup(store: BackupStore, name: string): Result<Manifest, string> {
  const manifest = store.read(name);
  if (!manifest.ok) return manifest;
  const { files, parts, run, started_at: at } = manifest.value;
  // The seal covers the name of the run, which begins with its time.
  if (Date.parse(at) !== Number(run.split(".")[0])) return err(`${name}: it was not begun at ${at}`);
  if (files.length !== parts) return err(`${name}: the manifest names ${files.length} of ${parts} parts`);
  for (const part of files) {
    const content = store.content(part);
    if (!content.ok) return err(`${name}: ${content.error}`);
  }
  return manifest;
}

/** A verified backup. */
export interface Restorable {
  readonly store: BackupStore;
  readonly name: string;
  readonly manifest: Manifest;
}

/** Finds a backup by its name (null for the newest) and verifies it. The error is for the operator. */
export function restorableBackup(directory: string, wanted: string | null): Result<Restorable, string> {
  const store = new BackupStore(directory);
  const name = wanted ?? store.names().at(-1);
  if (name === undefined) {
    return err(
      `there is no backup in ${directory} that was made with --address; a copy of files is put back by hand (${helpAsCalled("docs/runbook.md")}, Restore)`,
    );
  }
  const verified = verifyBackup(store, name);
  return verified.ok ? ok({ store, name, manifest: verified.value }) : verified;
}
