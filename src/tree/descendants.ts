import type { Ms } from "../base/clock.ts";
import { columnOf, type Sql } from "../storage/tables.ts";

/** Children that a walk reads at once. */
const READ_AT_ONCE = 100;

const ALIVE = "state = 0 AND (expires_at IS NULL OR expires_at > ?)";
// The parent column is not sealed: UNION ends in a forged cycle, and UNION ALL would not.
const BELOW = `WITH RECURSIVE below (row) AS (
    SELECT row FROM tokens WHERE parent = ? AND ${ALIVE}
    UNION SELECT t.row FROM below JOIN tokens t ON t.parent = below.row AND ${ALIVE}
  )`;

/** At most `limit` live children after the row `after`, in the order of their rows. */
export function childrenOf(sql: Sql, row: number, now: Ms, after: number, limit: number): number[] {
  const query = `SELECT row FROM tokens WHERE parent = ? AND row > ? AND ${ALIVE} ORDER BY row LIMIT ?`;
  return columnOf(sql, query, row, after, now, limit);
}

/** At most `limit` live descendants, in no particular order. */
export function descendantsOf(sql: Sql, row: number, now: Ms, limit: number): number[] {
  return columnOf(sql, `${BELOW} SELECT row FROM below LIMIT ?`, row, now, now, limit);
}

/** Number of live descendants, counted up to `limit`. Reads one row for each. */
export function countDescendants(sql: Sql, row: number, now: Ms, limit: number): number {
  const query = `${BELOW} SELECT COUNT(*) FROM (SELECT 1 FROM below LIMIT ?)`;
  return columnOf<number>(sql, query, row, now, now, limit)[0] ?? 0;
}

/** The position of a walk among the children of one token. */
interface Level {
  readonly parent: number;
  /** The last child that was returned; 0: none. */
  last: number;
  /** Children that were read and not returned yet, the next one at the end. */
  waiting: number[];
}

/**
 * Walks over the live descendants of `top`, each after its parent, from the first one or from the one after the row
 * `after`. Reads lazily. null when that row is no longer below `top`.
 */
export function walkBelow(sql: Sql, top: number, now: Ms, after: number | null): Iterable<number> | null {
  const levels = after === null ? [] : levelsTo(sql, top, after);
  return levels && walk(sql, top, [...levels, { parent: after ?? top, last: 0, waiting: [] }], now);
}

function* walk(sql: Sql, top: number, levels: Level[], now: Ms): Iterable<number> {
  for (let deepest = levels.at(-1); deepest; deepest = levels.at(-1)) {
    if (deepest.waiting.length === 0) {
      deepest.waiting = childrenOf(sql, deepest.parent, now, deepest.last, READ_AT_ONCE).reverse();
    }
    const next = deepest.waiting.pop();
    if (next === undefined) levels.pop();
    else {
      deepest.last = next;
      // Each row has one parent, so a forged cycle that the walk can reach leads through `top`.
      if (next === top) continue;
      yield next;
      levels.push({ parent: next, last: 0, waiting: [] });
    }
  }
}

/** The levels from `top` down to that of `row`; null when it is not below, or in a forged cycle of parents. */
function levelsTo(sql: Sql, top: number, row: number): Level[] | null {
  const levels: Level[] = [];
  const seen = new Set<number>();
  for (let at = row; at !== top; ) {
    if (seen.has(at)) return null;
    seen.add(at);
    const [parent = null] = columnOf<number | null>(sql, "SELECT parent FROM tokens WHERE row = ?", at);
    if (parent === null) return null;
    levels.push({ parent, last: at, waiting: [] });
    at = parent;
  }
  return levels.reverse();
}
