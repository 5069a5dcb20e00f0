import { ok } from "../../../src/base/result.ts";
import { type Called, failed, type GroveClient } from "../../grove/client.ts";
import { readHealth } from "../../grove/health.ts";
import { ANSWERED_PART, HEAD, type Manifest, type Part, type Run, sumOf } from "./manifest.ts";
import type { BackupStore } from "./store.ts";

/**
 * Age (ms) up to which an unfinished run is continued, so that the parts of a backup are not from very different times.
 */
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
