/*
 * How a sweep shares its thread with requests. It works in pieces, one commit each, and pauses after each: within a piece the
 * runtime serves no request, and without a pause it goes on with the sweep before it looks at what has come meanwhile.
 */

/** What a piece should take (ms), without its commit: no request waits much longer on its account. */
const PIECE_MS = 3;
/** Rows of a piece. Each is a commit: smaller ones spend all their time on waiting for the disk. */
const MIN_ROWS = 100;
const MAX_ROWS = 400;
export const FIRST_PIECE = 200;

/** Held for less, it goes on. */
const SHORT_MS = 2;
/** While no other work wants the thread. */
const IDLE_PAUSE_MS = 1;
/** A pause that ends so much later than asked (ms) shows that others want it. */
const BUSY_LAG_MS = 2;
/** For so long after a request (ms) more are expected. */
export const REQUESTS_COME_MS = 100;
/** Beside others a sweep takes a third of the thread, and more of a machine that is slower than it should be: it has to end. */
const BUSY_PAUSES = 2;
const MAX_PAUSE_MS = 10;

/** Rows of the piece after one of `rows` that held the thread for `ms`. */
export function rowsOfNextPiece(rows: number, ms: number): number {
  if (ms > 2 * PIECE_MS) return Math.max(MIN_ROWS, Math.floor(rows / 2));
  return ms < PIECE_MS ? Math.min(MAX_ROWS, Math.floor(rows * 1.5)) : rows;
}

/** The pause (ms) when the thread was held for `heldMs` since the last one. None yet after a few rows, as most trees have. */
export function pauseAfter(heldMs: number, busy: boolean): number {
  if (heldMs < SHORT_MS) return 0;
  return busy ? Math.min(MAX_PAUSE_MS, heldMs * BUSY_PAUSES) : IDLE_PAUSE_MS;
}

/** True when others wanted the thread during a pause that was to take `askedMs` and took `tookMs`. */
export function wasBusy(askedMs: number, tookMs: number): boolean {
  return tookMs - askedMs >= BUSY_LAG_MS;
}
