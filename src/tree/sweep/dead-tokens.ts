import { storedJson } from "../../storage/tables.ts";
import { UNASKED } from "../../system/end-request.ts";
import { type EndRecord, earliestEnd, expiry } from "../../token/end-record.ts";
import { LIVE, REVOKED, REVOKED_ALONE } from "../../token/state.ts";
import { CUSTOM_ID_KEY } from "../token-rows.ts";
import { HAS_CHILDREN, SweepPlan } from "./plan.ts";

/** Dead tokens that the first query reads. In a wide tree, the other dead tokens are found below the first of these. */
const FIRST_LOOK = 32;

/** Notified of what a step of the sweep does to tokens that it does not delete. */
export interface SweepObserver {
  /** Live tokens became orphans. */
  freed(rows: readonly number[]): void;
  /** `count` dead tokens were detached from their parents. */
  cutOff(count: number): void;
}

const NO_OBSERVER: SweepObserver = { freed: () => {}, cutOff: () => {} };

/** A dead token to delete: in the order of candidates it has no child left. Its entries elsewhere go before its row. */
export interface SweepCandidate {
  readonly row: number;
  readonly parent: number | null;
  /** True when the parent is dead too: its number of children is not published. */
  readonly isBelowDead: boolean;
  readonly accessor: string;
  readonly customIdKey: string | null;
  readonly end: EndRecord;
}

/** Builds the accessor of a row from the tail that the row stores. */
type AccessorOf = (row: number, tail: Uint8Array) => string;

type FoundRow = {
  row: number;
  parent: number | null;
  state: number;
  accessor: ArrayBuffer;
  expires_at: number | null;
  ended: string | null;
  custom_id_key: string | null;
};
type DeadRow = FoundRow & { has_children: number };

/** Very few tokens have a custom id, and a search for the word costs less than parsing the JSON of every record. */
const COLUMNS = `t.row, t.parent, t.state, t.accessor, t.expires_at, t.ended,
  CASE WHEN instr(t.record, '"customIdKey"') > 0 THEN ${CUSTOM_ID_KEY} END AS custom_id_key`;

/** Finds the dead tokens of a tree, in bounded pieces. When there are many, it makes a plan first. */
export class DeadTokens {
  readonly #sql: SqlStorage;
  readonly #accessorOf: AccessorOf;
  readonly #observer: SweepObserver;
  readonly #plan: SweepPlan;
  /** Number of planned tokens returned since the last `next`. */
  #named = 0;

  constructor(sql: SqlStorage, accessorOf: AccessorOf, observer: SweepObserver = NO_OBSERVER) {
    this.#sql = sql;
    this.#accessorOf = accessorOf;
    this.#observer = observer;
    this.#plan = new SweepPlan(sql);
  }

  /** True while the plan is being made: `planOn` comes before `next`. */
  get isPlanning(): boolean {
    return this.#plan.isBeingMade;
  }

  /** Makes a piece of the plan, which reads about `limit` rows. */
  planOn(limit: number): void {
    cutOff(this.#sql, this.#plan.look(limit), null, this.#observer);
  }

  /**
   * Returns the tokens to delete next, at most about `limit`; null when no dead token is left. The caller has deleted
   * or put back those of the previous call. See `nextVictims`.
   */
  next(now: number, limit: number): SweepCandidate[] | null {
    this.#named = 0;
    const planned = this.more(now, limit);
    if (planned.length > 0) return planned;
    this.#plan.forget();
    const victims = nextVictims(this.#sql, now, limit, this.#accessorOf, this.#observer);
    // A full piece has victims, and tokens that were detached instead. After a full one much may be left: plan the
    // rest.
    if (victims && 2 * victims.length >= limit) this.#plan.begin();
    return victims;
  }

  /** Returns more planned tokens, to delete together with those returned since `next`. Empty: none is planned. */
  more(now: number, limit: number): SweepCandidate[] {
    for (let rows = this.#plan.take(limit); rows.length > 0; rows = this.#plan.take(limit)) {
      this.#named += rows.length;
      const victims = this.#read(rows, now);
      // A step of a tidy run may have deleted them already.
      if (victims.length > 0) return victims;
    }
    return [];
  }

  /** Returns the tokens of `next` and `more` to the plan, because they were not deleted. */
  putBack(): void {
    this.#plan.putBack(this.#named);
    this.#named = 0;
  }

  /** Drops the plan, when no dead token is left. */
  forget(): void {
    this.#named = 0;
    this.#plan.forget();
  }

  #read(rows: readonly number[], now: number): SweepCandidate[] {
    const found = this.#sql
      .exec<FoundRow>(
        `SELECT ${COLUMNS} FROM json_each(?) j CROSS JOIN tokens t ON t.row = j.value`,
        JSON.stringify(rows),
      )
      .toArray();
    // A token without a mark of its own was planned as the child of a marked one.
    const parents = new Set(found.flatMap(({ state, parent }) => (state === LIVE && parent !== null ? [parent] : [])));
    const marks = new Map([...parents].map((parent) => [parent, markIn(this.#sql, parent)]));
    return found.map((dead) => {
      const isBelowDead = dead.state === LIVE;
      const above = isBelowDead && dead.parent !== null ? (marks.get(dead.parent) ?? null) : null;
      const accessor = accessorIn(dead, this.#accessorOf);
      return victimOf(dead, accessor, endOf(dead, accessor, above, now), isBelowDead);
    });
  }
}

/**
 * Takes the next step of the sweep: marks and detaches at most about `limit` rows, and returns at most about as many
 * tokens that can be deleted now.
 *
 * A dead token with children is never deleted before them, so after any crash its descendants still have a dead
 * ancestor. A subtree that fits the limit is returned whole, from the bottom up. In a larger one, tokens with children
 * of their own are marked themselves and detached. Leaves are returned at once, so the usual wide tree is swept without
 * a second write per token.
 *
 * @param now ms.
 * @returns the tokens to delete, in this order; none when rows were only detached; null when no dead token is left.
 */
export function nextVictims(
  sql: SqlStorage,
  now: number,
  limit: number,
  accessorOf: AccessorOf,
  observer: SweepObserver = NO_OBSERVER,
): SweepCandidate[] | null {
  const victims = new Map<number, SweepCandidate>();
  let progress = 0;
  for (const dead of deadRows(sql, now, limit)) {
    const left = limit - victims.size - progress;
    if (left <= 0) break;
    const accessor = accessorIn(dead, accessorOf);
    const top = victimOf(dead, accessor, endOf(dead, accessor, null, now), false);
    if (dead.has_children === 0) victims.set(dead.row, top);
    else if (dead.state === REVOKED_ALONE) progress += freeChildren(sql, dead.row, left, observer);
    else {
      const below = topmostBelow(sql, dead.row, left);
      const named = new Map([[dead.row, top]]);
      for (const one of below) {
        const text = accessorIn(one, accessorOf);
        // `below` is ordered by level, so the end of the parent is known by now.
        const above = (one.parent === null ? null : named.get(one.parent)?.end) ?? top.end;
        named.set(one.row, victimOf(one, text, endOf(one, text, above, now), true));
      }
      progress += takeSubtree(sql, { dead, below, named }, left, victims, observer);
    }
  }
  return victims.size > 0 || progress > 0 ? [...victims.values()] : null;
}

/** Deletes `victims`. Returns those that still existed: a step of a tidy run may have deleted others. */
export function deleteVictims<T extends Pick<SweepCandidate, "row">>(sql: SqlStorage, victims: readonly T[]): T[] {
  const rows = JSON.stringify(victims.map((victim) => victim.row));
  const deleted = sql.exec("DELETE FROM tokens WHERE row IN (SELECT value FROM json_each(?)) RETURNING row", rows);
  const gone = new Set([...deleted.raw()].map(([row]) => row));
  return victims.filter(({ row }) => gone.has(row));
}

/** Reads dead rows. Reads only a few if one of them has children: there may be enough dead tokens below it. */
function deadRows(sql: SqlStorage, now: number, limit: number): DeadRow[] {
  const first = readDead(sql, now, Math.min(limit, FIRST_LOOK));
  const isEnough = first.length < FIRST_LOOK || first.some(({ has_children }) => has_children !== 0);
  return isEnough || limit <= FIRST_LOOK ? first : readDead(sql, now, limit);
}

function readDead(sql: SqlStorage, now: number, limit: number): DeadRow[] {
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

/** A dead token and its topmost descendants, with the candidate of each. */
interface Subtree {
  readonly dead: DeadRow;
  readonly below: readonly DeadRow[];
  readonly named: ReadonlyMap<number, SweepCandidate>;
}

/** Works on the topmost `limit` tokens below `dead`, without going below one that was revoked alone. */
function takeSubtree(
  sql: SqlStorage,
  { dead, below, named }: Subtree,
  limit: number,
  victims: Map<number, SweepCandidate>,
  observer: SweepObserver,
): number {
  const take = ({ row }: DeadRow) => {
    const victim = named.get(row);
    if (victim) victims.set(row, victim);
  };
  const isWhole = below.length < limit && !below.some(keepsChildren);
  if (isWhole) {
    // From the bottom up: what is left of the subtree after a crash still has the dead token above it.
    for (const token of below.toReversed()) take(token);
    take(dead);
    return 0;
  }
  const inner: number[] = [];
  for (const token of below) {
    if (token.has_children === 0) take(token);
    else inner.push(token.row);
  }
  const mark = JSON.stringify(named.get(dead.row)?.end ?? null);
  // A planned token must stay dead if the clock is set back, so an expired token above it gets a mark.
  if (dead.state === LIVE && below.length >= limit) {
    sql.exec("UPDATE tokens SET state = ?, ended = ? WHERE row = ?", REVOKED, mark, dead.row);
  }
  return cutOff(sql, inner, mark, observer);
}

/**
 * Marks dead tokens with children as revoked, and detaches them from their parents. Returns their number.
 *
 * @param mark JSON of the end of their dead ancestor; null: each takes the mark of its parent.
 */
function cutOff(sql: SqlStorage, inner: readonly number[], mark: string | null, observer: SweepObserver): number {
  if (inner.length === 0) return 0;
  observer.cutOff(inner.length);
  return sql.exec(
    `UPDATE tokens SET parent = NULL, state = CASE state WHEN ${LIVE} THEN ${REVOKED} ELSE state END,
       ended = COALESCE(ended, ?, (SELECT above.ended FROM tokens above WHERE above.row = tokens.parent))
     WHERE row IN (SELECT value FROM json_each(?))`,
    mark,
    JSON.stringify(inner),
  ).rowsWritten;
}

/**
 * Reads the topmost descendants level by level, with what is left of the limit for each parent. A recursive query would
 * read all children of every token on its way before it returns one: most of a second for ten thousand children.
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
      if (child.has_children !== 0 && !keepsChildren(child)) parents.push(child.row);
    }
  }
  return found;
}

/** True for a token with children that was revoked alone: they live on, and become orphans before it is deleted. */
function keepsChildren({ state, has_children }: DeadRow): boolean {
  return state === REVOKED_ALONE && has_children !== 0;
}

function victimOf(found: FoundRow, accessor: string, end: EndRecord, isBelowDead: boolean): SweepCandidate {
  const { row, parent, custom_id_key: customIdKey } = found;
  return { row, parent, isBelowDead, accessor, customIdKey, end };
}

function accessorIn({ row, accessor }: FoundRow, accessorOf: AccessorOf): string {
  return accessorOf(row, new Uint8Array(accessor));
}

/** How a dead token ended. @param above the end of its dead parent; null: no ancestor is dead. */
function endOf({ ended, expires_at }: FoundRow, accessor: string, above: EndRecord | null, now: number): EndRecord {
  const own = ended === null ? null : storedJson<EndRecord>(ended);
  const end = earliestEnd([own, above, expiry(expires_at, accessor, now)]);
  return end ?? { ...UNASKED, at: now, how: "revoked", cause: accessor };
}

function markIn(sql: SqlStorage, row: number): EndRecord | null {
  const found = sql.exec<{ ended: string | null }>("SELECT ended FROM tokens WHERE row = ?", row).toArray()[0];
  return found?.ended ? storedJson<EndRecord>(found.ended) : null;
}
