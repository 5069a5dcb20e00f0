import { formatRfc3339, type Ms } from "../../base/clock.ts";
import type { AuditEnv } from "../env.ts";
import type { ArchivePage } from "../shard/archive-page.ts";

/** Where full objects are copied to. Writing a key again replaces its text. */
interface Archive {
  /** @throws when the text is not stored. */
  put(key: string, text: string): Promise<unknown>;
}

/** The archive of the deployment: a bucket of the network or of a cluster, or files; null when there is none. */
export function archiveOf({ AUDIT_ARCHIVE: bucket, ARCHIVE_SERVICE: service }: AuditEnv): Archive | null {
  if (bucket) return bucket;
  return service ? { put: (key, text) => putThrough(service, key, text) } : null;
}

/** Has the process that supervises workerd write: the Worker has no rights in the bucket, and none on the disk. */
async function putThrough(service: Fetcher, key: string, text: string): Promise<void> {
  const response = await service.fetch(`http://archive/${key}`, { method: "PUT", body: text });
  if (!response.ok) throw new Error(`the archive answered ${response.status}: ${await response.text()}`);
}

/** Keys of the archive, below the id of the installation. */
function placeOf(clusterId: string): string {
  return `${clusterId}/audit`;
}

/** Puts a page of an object into the archive. Safe to repeat. @param after number of the record before the page. */
export async function putPage(
  archive: Archive,
  clusterId: string,
  name: string,
  after: number,
  { lines }: ArchivePage,
): Promise<void> {
  const first = String(after + 1).padStart(12, "0");
  const key = `${placeOf(clusterId)}/${name.replace("/", "-")}/${first}.jsonl`;
  await archive.put(key, lines.map((line) => `${line}\n`).join(""));
}

/** Puts signed heads beside the records. */
export async function putHeads(archive: Archive, clusterId: string, now: Ms, jws: string): Promise<void> {
  await archive.put(`${placeOf(clusterId)}/heads/${formatRfc3339(now)}.jws`, jws);
}
