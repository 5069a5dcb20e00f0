import { formatRfc3339, type Ms } from "../base/clock.ts";
import type { AuditEntry } from "./entry.ts";

/** Records that the store does not have, and the times of the first and the last of them. */
export interface Dropped {
  readonly count: number;
  readonly from: Ms;
  readonly to: Ms;
}

/**
 * The record that says how many records are missing.
 *
 * @param more `at_most`: the number is an upper bound. `object`: the records were deleted with this object.
 */
export function droppedRecord(
  { count, from, to }: Dropped,
  now: Ms,
  more: { readonly at_most?: true; readonly object?: string } = {},
): AuditEntry {
  const times = { from: formatRfc3339(from), to: formatRfc3339(to) };
  const line = JSON.stringify({ type: "dropped", time: formatRfc3339(now), count, ...times, ...more });
  return { at: now, line, mentions: [] };
}
