import { storedJson } from "../../storage/tables.ts";
import { UNASKED } from "../../system/end-request.ts";
import { type EndRecord, earliestEnd, expiry } from "../../token/end-record.ts";
import { LIVE, REVOKED, REVOKED_ALONE } from "../../token/state.ts";
import { CUSTOM_ID_KEY } from "../token-rows.ts";
import { HAS_CHILDREN, SweepPlan } from "./plan.ts";

/** Dead tokens that are read at first: those of a wide tree are found below the first of them. */
const FIRST_LOOK = 32;

/** Notified of what a step of the sweep does to tokens that it does not delete. */
export interface SweepObserver {
  /** Live tokens have no parent any more. */
  freed(rows: readonly number[]): void;
  /** So many dead tokens were cut off from their parents. */
  cutOff(count: number): void;
}

const NO_OBSERVER: SweepObserver = { freed: () => {}, cutOff: () => {} };

/** A dead token with nothing below it when it is its turn: its traces elsewhere go first, then its row. */
export interface SweepCandidate {
  readonly row: number;
  readonly parent: number | null;
  /** True when the parent is dead too: its number of children is not published. */
  readonly isBelowDead: boolean;
  readonly accessor: string;
  readonly customIdKey: string | null;
  readonly end: EndRecord;
}

/** The accessor of a row, by what the row has of it. */
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

/** Nearly no token has a chosen id: to read a record costs more than to look for the word in it. */
const COLUMNS = `t.row, t.parent, t.state, t.accessor, t.expires_at, t.ended,
  CASE WHEN instr(t.record, '"customIdKey"') > 0 THEN ${CUSTOM_ID_KEY} END AS custom_id_key`;

/** Finds what is dead in a tree, in bounded pieces. Much of it follows a plan. */
export class DeadTokens {
  readonly #sql: SqlStorage;
  readonly #accessorOf: AccessorOf;
  readonly #observer: SweepObserver;
  readonly #plan: SweepPlan;
  /** Planned tokens that were named since `next`. */
  #named = 0;

  constructor(sql: SqlStorage, accessorOf: AccessorOf, observer: SweepObserver = NO_OBSERVER) {
    this.#sql = sql;
    this.#accessorOf = accessorOf;
    this.#observer = observer;
    this.#plan = new SweepPlan(sql);
  }

  /** True while there is planning to be done before `next`. */
  get isPlanning(): boolean {
    return this.#plan.isBeingMade;
  }

  /** Does a piece of the planning, which reads about `limit` rows. */
  planOn(limit: number): void {
    cutOff(this.#sql, this.#plan.look(limit), null, this.#observer);
  }

  /** What is to be deleted next, at most about `limit` tokens. What it named before is deleted, or put back. See `nextVictims`. */
  next(now: number, limit: number): SweepCandidate[] | null {
    this.#named = 0;
    const planned = this.more(now, limit);
    if (planned.length > 0) return planned;
    this.#plan.forget();
    const victims = nextVictims(this.#sql, now, limit, this.#accessorOf, this.#observer);
    // The others of a full piece were cut off. What is left may be much.
    if (victims && 2 * victims.length >= limit) this.#plan.begin();
    return victims;
  }

  /** More that can be deleted together with what was named, as far as it is planned. */
  more(now: number, limit: number): SweepCandidate[] {
    for (let rows = this.#plan.take(limit); rows.length > 0; rows = this.#plan.take(limit)) {
      this.#named += rows.length;
      const victims = this.#read(rows, now);
      // A step of a tidy run may have been faster.
      if (victims.length > 0) return victims;
    }
    return [];
  }

  /** Those named since `next` are still there. */
  putBack(): void {
    this.#plan.putBack(this.#named);
    this.#named = 0;
  }

  /** Nothing is left here. */
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
    // One without a mark of its own was planned as a child of one that has it.
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
 * Takes the next step of the sweep: marks and detaches at most about `limit` rows, and names at most about as many
 * that can be deleted now.
 *
 * A dead token with children is never deleted before them, so at any crash everything below it still finds its dead
 * ancestor. All of a subtree that fits the limit is named from the bottom up. Of a larger one, tokens with children of their own get
 * the mark themselves and are cut off; leaves are named at once, so the usual wide tree is swept without a second write per token.
 *
 * @returns what to delete, in this order, possibly nothing yet when rows were only cut loose; null when nothing dead is left.
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
        // Level by level: what is above has its end by now.
        const above = (one.parent === null ? null : named.get(one.parent)?.end) ?? top.end;
        named.set(one.row, victimOf(one, text, endOf(one, text, above, now), true));
      }
      progress += takeSubtree(sql, { dead, below, named }, left, victims, observer);
    }
  }
  return victims.size > 0 || progress > 0 ? [...victims.values()] : null;
}

/** Deletes `victims`. Returns those that were still there: a step of a tidy run may have been faster. */
export function deleteVictims<T extends Pick<SweepCandidate, "row">>(sql: SqlStorage, victims: readonly T[]): T[] {
  const rows = JSON.stringify(victims.map((victim) => victim.row));
  const deleted = sql.exec("DELETE FROM tokens WHERE row IN (SELECT value FROM json_each(?)) RETURNING row", rows);
  const gone = new Set([...deleted.raw()].map(([row]) => row));
  return victims.filter(({ row }) => gone.has(row));
}

/** A few rows where some have children, below which there may be more than enough. */
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

/** A dead token and the topmost ones below it, with what each of them is as a candidate. */
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
    // From the bottom up: whatever is left of it after a crash still hangs below the dead token.
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
  // What is planned must be dead whatever the clock shows.
  if (dead.state === LIVE && below.length >= limit) {
    sql.exec("UPDATE tokens SET state = ?, ended = ? WHERE row = ?", REVOKED, mark, dead.row);
  }
  return cutOff(sql, inner, mark, observer);
}

/**
 * Gives the mark to dead tokens with children, and cuts them off from their parents. Returns how many they are.
 *
 * @param mark JSON of the end of what is above them; null: each takes that of its parent.
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
      if (child.has_children !== 0 && !keepsChildren(child)) parents.push(child.row);
    }
  }
  return found;
}

/** True for a token that is revoked alone: what hangs below it lives on, and is freed first. */
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

/** How a dead token ended. @param above how the one above it did; null: it is the topmost that is dead. */
function endOf({ ended, expires_at }: FoundRow, accessor: string, above: EndRecord | null, now: number): EndRecord {
  const own = ended === null ? null : storedJson<EndRecord>(ended);
  const end = earliestEnd([own, above, expiry(expires_at, accessor, now)]);
  return end ?? { ...UNASKED, at: now, how: "revoked", cause: accessor };
}

function markIn(sql: SqlStorage, row: number): EndRecord | null {
  const found = sql.exec<{ ended: string | null }>("SELECT ended FROM tokens WHERE row = ?", row).toArray()[0];
  return found?.ended ? storedJson<EndRecord>(found.ended) : null;
}
