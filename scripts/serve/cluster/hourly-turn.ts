import type { ClusterBucket } from "./bucket.ts";

/** The record of the last hour whose job a node has claimed. */
const HOUR_KEY = "hour.json";

/**
 * Claims the hourly job for this node: the node whose conditional write succeeds runs it.
 *
 * @param hour number of the hour since 1970
 * @returns false when another node has claimed it, or the bucket does not answer: then the next hour's job does the
 *   work
 */
export async function takeHour(bucket: Pick<ClusterBucket, "get" | "put">, hour: number): Promise<boolean> {
  const found = await bucket.get(HOUR_KEY);
  if (!found.ok) return false;
  const last = found.value === null ? 0 : Number(found.value.text);
  if (last >= hour) return false;
  const condition = found.value === null ? ({ ifNoneMatch: "*" } as const) : { ifMatch: found.value.etag };
  const written = await bucket.put(HOUR_KEY, String(hour), condition);
  return written.ok && written.value !== null;
}
