import { formatRfc3339, type Ms } from "../../base/clock.ts";
import type { ArchivePage } from "../shard/archive-page.ts";

/** Keys of the archive in a bucket, below the id of the installation. */
function placeOf(clusterId: string): string {
  return `${clusterId}/audit`;
}

/** Puts a page of an object into the bucket. Safe to repeat. @param after number of the record before the page. */
export async function putPage(
  bucket: R2Bucket,
  clusterId: string,
  name: string,
  after: number,
  { lines }: ArchivePage,
) {
  const first = String(after + 1).padStart(12, "0");
  const key = `${placeOf(clusterId)}/${name.replace("/", "-")}/${first}.jsonl`;
  await bucket.put(key, lines.map((line) => `${line}\n`).join(""));
}

/** Puts signed heads beside the records. */
export async function putHeads(bucket: R2Bucket, clusterId: string, now: Ms, jws: string): Promise<void> {
  await bucket.put(`${placeOf(clusterId)}/heads/${formatRfc3339(now)}.jws`, jws);
}
