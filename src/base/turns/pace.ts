/*
 * How a sweep shares its thread with requests. It works in pieces, one commit each, and pauses after each piece. During
 * a piece the runtime serves no request. Without a pause the runtime continues the sweep before it reads new requests.
 */

/** Target time of a piece (ms), without its commit. It bounds how long a request waits for a sweep. */
const PIECE_MS = 3;
/**
 * Bounds of the rows of a piece. Each piece is a commit: smaller pieces would spend their time waiting for the disk.
 */
const MIN_ROWS = 100;
const MAX_ROWS = 400;
/** Rows of the first piece. */
export const FIRST_PIECE = 200;

/** No pause follows while the thread was held for less than this (ms). */
const SHORT_MS = 2;
/** Pause while no other work needs the thread (ms). */
const IDLE_PAUSE_MS = 1;
/** Lag at the end of a pause (ms) from which the thread counts as busy. */
const BUSY_LAG_MS = 2;
/** Time after a request (ms) in which the thread counts as busy. */
export const REQUESTS_COME_MS = 100;
/** Length of a pause beside other work, as a multiple of the time held: a sweep takes a third of the thread. */
const BUSY_PAUSES = 2;
/** Longest pause (ms). On a slow machine a sweep takes more than a third: it must end some time. */
const MAX_PAUSE_MS = 10;

/** Rows of the next piece, after one of `rows` rows that held the thread for `ms`. */
export function rowsOfNextPiece(rows: number, ms: number): number {
  if (ms > 2 * PIECE_MS) return Math.max(MIN_ROWS, Math.floor(rows / 2));
  return ms < PIECE_MS ? Math.min(MAX_ROWS, Math.floor(rows * 1.5)) : rows;
}

/** Length of the pause (ms) after the thread was held for `heldMs`; 0 after a few rows, as most trees have. */
export function pauseAfter(heldMs: number, busy: boolean): number {
  if (heldMs < SHORT_MS) return 0;
  return busy ? Math.min(MAX_PAUSE_MS, heldMs * BUSY_PAUSES) : IDLE_PAUSE_MS;
}

/** True when other work held the thread during a pause: it was to take `askedMs`, and took `tookMs`. */
export function wasBusy(askedMs: number, tookMs: number): boolean {
  return tookMs - askedMs >= BUSY_LAG_MS;
}
