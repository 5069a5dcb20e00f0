import type { Preview } from "../tokens/revocation-preview.ts";

/** What was counted before tokens were ended. */
export interface CountedBefore {
  /** null when the token may not count them. */
  readonly preview: Preview | null;
  /** The first `MOST_NAMED` accessors, for the check afterwards. */
  readonly accessors: readonly string[];
}

export const NOT_COUNTED: CountedBefore = { preview: null, accessors: [] };

/** The last count, for the page that opens after its request. */
let kept: { readonly request: string; readonly counted: CountedBefore } | null = null;

/** Keeps what was counted before a request for the page of its receipt. */
export function keepCounted(request: string, counted: CountedBefore): void {
  kept = { request, counted };
}

/** What was counted before the request; null when it was not asked on this page, or not lately. */
export const countedBefore = (request: string): CountedBefore | null =>
  kept?.request === request ? kept.counted : null;
