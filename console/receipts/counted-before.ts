import type { Preview } from "../tokens/revocation-preview.ts";

/** What was counted before tokens were ended. */
export interface CountedBefore {
  /** null when the token may not count them. */
  readonly preview: Preview | null;
  /** The first `MOST_NAMED` accessors, for the check afterwards. */
  readonly accessors: readonly string[];
}

export const NOT_COUNTED: CountedBefore = { preview: null, accessors: [] };

/** The counts before the last requests, for their receipts, which may be opened again. */
const kept = new Map<string, CountedBefore>();
const MOST_KEPT = 20;

/** Keeps what was counted before a request for the page of its receipt. */
export function keepCounted(request: string, counted: CountedBefore): void {
  kept.set(request, counted);
  for (const [oldest] of [...kept].slice(0, -MOST_KEPT)) kept.delete(oldest);
}

/** What was counted before the request; null when it was not asked on this page, or not lately. */
export const countedBefore = (request: string): CountedBefore | null => kept.get(request) ?? null;
