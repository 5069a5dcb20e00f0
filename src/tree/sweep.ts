import { CUSTOM_ID_KEY, LIVE, REVOKED, REVOKED_ALONE } from "./tree-store.ts";

/** Hears what a step of the sweep does to tokens that it does not delete. */
export interface SweepObserver {
  /** Live tokens have no parent any more. */
  freed(rows: readonly number[]): void;
  /** So many dead tokens were cut off from their parents. */
  cutOff(count: number): void;
}

const NOBODY: SweepObserver = { freed: () => {}, cutOff: () => {} };

/** A dead token without anything below it: its traces elsewhere go first, then its row. */
export interface SweepCandidate {
  readonly row: number;
  readonly parent: number | null;
  readonly accessorTail: ArrayBuffer;
  readonly customIdKey: string | null;
}

interface DeadRow extends Record<string, SqlStorageValue> {
  row: number;
  parent: number | null;
  state: number;
  accessor: ArrayBuffer;
  custom_id_key: string | null;
  has_children: number;
}

const COLUMNS = `t.row, t.parent, t.state, t.accessor, ${CUSTOM_ID_KEY} AS custom_id_key`;
const HAS_CHILDREN = "EXISTS (SELECT 1 FROM tokens c WHERE c.parent = t.row) AS has_children";

/**
 * Takes the next step of the sweep: marks and detaches at most about `limit` rows, and names at most about as many
 * that can be deleted now.
 *
 * A dead token with children is never deleted before them, so at any crash everything below it still finds its dead
 * ancestor. Tokens with children of their own get the mark themselves and are cut off; leaves are named at once, so the
 * usual wide tree is swept without a second write per token.
 *
 * @returns what to delete, possibly nothing yet when rows were only cut loose; null when nothing dead is left.
 */
export function nextVictims(
  sql: SqlStorage,
  now: number,
  limit: number,
  observer: SweepObserver = NOBODY,
): SweepCandidate[] | null {
  const victims = new Map<number, SweepCandidate>();
  let progress = 0;
  for (const dead of deadRows(sql, now, limit)) {
    const left = limit - victims.size - progress;
    if (left <= 0) break;
    if (dead.has_children === 0) victims.set(dead.row, victimOf(dead));
    else if (dead.state === REVOKED_ALONE) progress += freeChildren(sql, dead.row, left, observer);
    else progress += takeSubtree(sql, dead.row, left, victims, observer);
  }
  return victims.size > 0 || progress > 0 ? [...victims.values()] : null;
}

/** Deletes `victims`. Returns those that were still there: a step of a tidy run may have been faster. */
export function deleteVictims(sql: SqlStorage, victims: readonly SweepCandidate[]): SweepCandidate[] {
  const rows = JSON.stringify(victims.map((victim) => victim.row));
  const deleted = sql.exec<{ row: number }>(
    "DELETE FROM tokens WHERE row IN (SELECT value FROM json_each(?)) RETURNING row",
    rows,
  );
  const gone = new Set(deleted.toArray().map(({ row }) => row));
  return victims.filter(({ row }) => gone.has(row));
}

function deadRows(sql: SqlStorage, now: number, limit: number): DeadRow[] {
  const marked = sql
    .exec<DeadRow>(`SELECT ${COLUMNS}, ${HAS_CHILDREN} FROM tokens t WHERE t.state <> 0 LIMIT ?`, limit)
    .toArray();
  if (marked.length >= limit) return marked;
  const expired = sql.exec<DeadRow>(
    `SELECT ${COLUMNS}, ${HAS_CHILDREN} FROM tokens t WHERE t.expires_at <= ? AND t.state = ${LIVE}
     ORDER BY t.expires_at LIMIT ?`,
    now,
    limit - marked.length,
  );
  return [...marked, ...expired.toArray()];
}

function freeChildren(sql: SqlStorage, parent: number, limit: number, observer: SweepObserver): number {
  const freed = sql
    .exec<{ row: number }>(
      "UPDATE tokens SET parent = NULL WHERE row IN (SELECT row FROM tokens WHERE parent = ? LIMIT ?) RETURNING row",
      parent,
      limit,
    )
    .toArray();
  observer.freed(freed.map(({ row }) => row));
  return freed.length;
}

/** Works on the topmost `limit` tokens below `dead`, without going below one that was revoked alone. */
function takeSubtree(
  sql: SqlStorage,
  dead: number,
  limit: number,
  victims: Map<number, SweepCandidate>,
  observer: SweepObserver,
): number {
  const inner: number[] = [];
  for (const token of topmostBelow(sql, dead, limit)) {
    if (token.has_children === 0) victims.set(token.row, victimOf(token));
    else inner.push(token.row);
  }
  if (inner.length === 0) return 0;
  observer.cutOff(inner.length);
  return sql.exec(
    `UPDATE tokens SET parent = NULL, state = CASE state WHEN ${LIVE} THEN ${REVOKED} ELSE state END
     WHERE row IN (SELECT value FROM json_each(?))`,
    JSON.stringify(inner),
  ).rowsWritten;
}

/**
 * Level by level, each parent with what is left of the limit: a recursive query reads all children of every token on its
 * way before it gives the first of them, which for ten thousand children is most of a second.
 */
function topmostBelow(sql: SqlStorage, dead: number, limit: number): DeadRow[] {
  const found: DeadRow[] = [];
  const parents = [dead];
  for (const parent of parents) {
    const children = sql
      .exec<DeadRow>(
        `SELECT ${COLUMNS}, ${HAS_CHILDREN} FROM tokens t WHERE t.parent = ? LIMIT ?`,
        parent,
        limit - found.length,
      )
      .toArray();
    found.push(...children);
    if (found.length >= limit) break;
    for (const child of children) {
      if (child.has_children !== 0 && child.state !== REVOKED_ALONE) parents.push(child.row);
    }
  }
  return found;
}

function victimOf(dead: DeadRow): SweepCandidate {
  return { row: dead.row, parent: dead.parent, accessorTail: dead.accessor, customIdKey: dead.custom_id_key };
}
