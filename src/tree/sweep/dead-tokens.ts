import type { Ms } from "../../base/clock.ts";
import { columnOf, type Sql, storedJson } from "../../storage/tables.ts";
import { NO_ORIGIN } from "../../system/revocation-origin.ts";
import { type EndRecord, earliestEnd, expiry, LIVE, REVOKED, REVOKED_ALONE } from "../../token/end-record.ts";
import { routedIdText } from "../../token/ids.ts";
import { CUSTOM_ID_KEY, type TokenRow } from "../token-rows.ts";
import { HAS_CHILDREN, SweepPlan } from "./sweep-order.ts";

/** Notified of live tokens that became orphans, and of the number of detached dead ones. */
interface SweepObserver {
  freed(rows: readonly number[]): void;
  cutOff(count: number): void;
}

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

type FoundRow = Pick<TokenRow, "row" | "parent" | "state" | "ended"> & {
  accessor: ArrayBuffer;
  expires_at: Ms | null;
  custom_id_key: string | null;
};
type DeadRow = FoundRow & { has_children: number };

/** Very few tokens have a custom id, and a search for the word costs less than parsing the JSON of every record. */
const COLUMNS = `t.row, t.parent, t.state, t.accessor, t.expires_at, t.ended,
  CASE WHEN instr(t.record, '"customIdKey"') > 0 THEN ${CUSTOM_ID_KEY} END AS custom_id_key`;

/**
 * Finds the dead tokens of a tree, in bounded pieces. When there are many, it makes a plan first. A dead token with
 * children is never deleted before them, so after any crash its descendants still have a dead ancestor.
 */
export class DeadTokens {
  readonly #sql: Sql;
  readonly #treeId: string;
  readonly #observer: SweepObserver | null;
  readonly #plan: SweepPlan;
  /** Number of planned tokens returned since the last `next`. */
  #returned = 0;

  constructor(sql: Sql, treeId: string, observer: SweepObserver | null = null) {
    this.#sql = sql;
    this.#treeId = treeId;
    this.#observer = observer;
    this.#plan = new SweepPlan(sql);
  }

  /** True while the plan is being made: `planOn` comes before `next`. */
  get isPlanning(): boolean {
    return this.#plan.isBeingMade;
  }

  /** Makes a piece of the plan, which reads about `limit` rows. */
  planOn(limit: number): void {
    this.#cutOff(this.#plan.look(limit), null);
  }

  /**
   * Returns the tokens to delete next, at most about `limit`, in this order: from the plan, or by a search. A search
   * also marks and detaches at most about as many rows; it returns no token when it did only that. null: no dead token
   * is left. The caller has deleted or put back the tokens of the previous call.
   */
  next(now: Ms, limit: number): SweepCandidate[] | null {
    this.#returned = 0;
    const planned = this.more(now, limit);
    if (planned.length > 0) return planned;
    this.#plan.forget();
    const victims = this.#search(now, limit);
    // A full piece has victims, and tokens that were detached instead. Much may be left after it: plan the rest.
    if (victims && 2 * victims.length >= limit) this.#plan.begin();
    return victims;
  }

  /** Returns more planned tokens, to delete together with those returned since `next`. Empty: none is planned. */
  more(now: Ms, limit: number): SweepCandidate[] {
    for (let rows = this.#plan.take(limit); rows.length > 0; rows = this.#plan.take(limit)) {
      this.#returned += rows.length;
      const victims = this.#read(rows, now);
      // A step of a tidy run may have deleted them already.
      if (victims.length > 0) return victims;
    }
    return [];
  }

  /** Returns the tokens of `next` and `more` to the plan, because they were not deleted. */
  putBack(): void {
    this.#plan.putBack(this.#returned);
    this.#returned = 0;
  }

  forget(): void {
    this.#returned = 0;
    this.#plan.forget();
  }

  #read(rows: readonly number[], now: Ms): SweepCandidate[] {
    const query = `SELECT ${COLUMNS} FROM json_each(?) j CROSS JOIN tokens t ON t.row = j.value`;
    const found = this.#sql.exec<FoundRow>(query, JSON.stringify(rows)).toArray();
    // A token without a mark of its own was planned as the child of a marked one.
    const parents = new Set(found.flatMap(({ state, parent }) => (state === LIVE && parent !== null ? [parent] : [])));
    const marks = new Map<number, EndRecord>();
    for (const parent of parents) {
      const [ended] = columnOf<string | null>(this.#sql, "SELECT ended FROM tokens WHERE row = ?", parent);
      if (ended) marks.set(parent, storedJson<EndRecord>(ended));
    }
    return found.map((dead) => {
      const isBelowDead = dead.state === LIVE;
      const above = isBelowDead && dead.parent !== null ? (marks.get(dead.parent) ?? null) : null;
      return this.#candidate(dead, isBelowDead, above, now);
    });
  }

  #search(now: Ms, limit: number): SweepCandidate[] | null {
    const victims = new Map<number, SweepCandidate>();
    let progress = 0;
    for (const dead of this.#deadRows(now, limit)) {
      const left = limit - victims.size - progress;
      if (left <= 0) break;
      if (keepsChildren(dead)) progress += this.#freeChildren(dead.row, left);
      else progress += this.#takeSubtree(dead, left, now, victims);
    }
    return victims.size > 0 || progress > 0 ? [...victims.values()] : null;
  }

  #deadRows(now: Ms, limit: number): DeadRow[] {
    const query = `SELECT ${COLUMNS}, ${HAS_CHILDREN} FROM tokens t`;
    const marked = this.#sql.exec<DeadRow>(`${query} WHERE t.state <> 0 LIMIT ?`, limit).toArray();
    if (marked.length >= limit) return marked;
    const where = `t.expires_at <= ? AND t.state = ${LIVE} ORDER BY t.expires_at LIMIT ?`;
    const expired = this.#sql.exec<DeadRow>(`${query} WHERE ${where}`, now, limit - marked.length);
    return [...marked, ...expired.toArray()];
  }

  #freeChildren(parent: number, limit: number): number {
    const children = "SELECT row FROM tokens WHERE parent = ? LIMIT ?";
    const statement = `UPDATE tokens SET parent = NULL WHERE row IN (${children}) RETURNING row`;
    const freed = columnOf<number>(this.#sql, statement, parent, limit);
    this.#observer?.freed(freed);
    return freed.length;
  }

  /**
   * Adds `dead` and the topmost `limit` tokens below it to `victims`. A subtree that fits the limit is taken whole,
   * from the bottom up. In a larger one, tokens with children of their own are marked themselves and detached, and
   * their number is returned. Leaves are taken at once, so the usual wide tree is swept without a second write per
   * token.
   */
  #takeSubtree(dead: DeadRow, limit: number, now: Ms, victims: Map<number, SweepCandidate>): number {
    const top = this.#candidate(dead, false, null, now);
    const below = dead.has_children === 0 ? [] : this.#topmostBelow(dead.row, limit);
    const found = new Map([[dead.row, top]]);
    for (const one of below) {
      // `below` is ordered by level, so the end of the parent is known by now.
      const above = (one.parent === null ? null : found.get(one.parent)?.end) ?? top.end;
      found.set(one.row, this.#candidate(one, true, above, now));
    }
    if (below.length < limit && !below.some(keepsChildren)) {
      // From the bottom up: what is left of the subtree after a crash still has the dead token above it.
      for (const candidate of [...found.values()].reverse()) victims.set(candidate.row, candidate);
      return 0;
    }
    const inner: number[] = [];
    for (const { row, has_children } of below) {
      const candidate = has_children === 0 ? found.get(row) : undefined;
      if (candidate) victims.set(row, candidate);
      else inner.push(row);
    }
    const mark = JSON.stringify(top.end);
    // A planned token must stay dead if the clock is set back, so an expired token above it gets a mark.
    if (dead.state === LIVE && below.length >= limit) {
      this.#sql.exec("UPDATE tokens SET state = ?, ended = ? WHERE row = ?", REVOKED, mark, dead.row);
    }
    return this.#cutOff(inner, mark);
  }

  /**
   * Reads the topmost descendants level by level, but none below a token that was revoked alone. A recursive query
   * would read all children of every token on its way before it returns one: most of a second for ten thousand
   * children.
   */
  #topmostBelow(dead: number, limit: number): DeadRow[] {
    const query = `SELECT ${COLUMNS}, ${HAS_CHILDREN} FROM tokens t WHERE t.parent = ? LIMIT ?`;
    const found: DeadRow[] = [];
    const parents = [dead];
    for (const parent of parents) {
      const children = this.#sql.exec<DeadRow>(query, parent, limit - found.length).toArray();
      found.push(...children);
      if (found.length >= limit) break;
      for (const child of children) {
        if (child.has_children !== 0 && !keepsChildren(child)) parents.push(child.row);
      }
    }
    return found;
  }

  /**
   * Marks dead tokens with children as revoked and detaches them. Returns their number. `mark`: JSON of the end of
   * their dead ancestor; null: each takes the mark of its parent.
   */
  #cutOff(inner: readonly number[], mark: string | null): number {
    if (inner.length === 0) return 0;
    this.#observer?.cutOff(inner.length);
    const statement = `UPDATE tokens SET parent = NULL, state = CASE state WHEN ${LIVE} THEN ${REVOKED} ELSE state END,
        ended = COALESCE(ended, ?, (SELECT above.ended FROM tokens above WHERE above.row = tokens.parent))
      WHERE row IN (SELECT value FROM json_each(?))`;
    return this.#sql.exec(statement, mark, JSON.stringify(inner)).rowsWritten;
  }

  /** @param above the end of its dead parent; null: no ancestor is dead. */
  #candidate(found: FoundRow, isBelowDead: boolean, above: EndRecord | null, now: Ms): SweepCandidate {
    const { row, parent, ended, expires_at: expiresAt, custom_id_key: customIdKey } = found;
    const accessor = routedIdText(this.#treeId, row, new Uint8Array(found.accessor));
    const own = ended === null ? null : storedJson<EndRecord>(ended);
    const end = earliestEnd([own, above, expiry(expiresAt, accessor, now)]);
    const unknown = { ...NO_ORIGIN, at: now, how: "revoked" as const, cause: accessor };
    return { row, parent, isBelowDead, accessor, customIdKey, end: end ?? unknown };
  }
}

/** True for a token with children that was revoked alone: they live on, and become orphans before it is deleted. */
function keepsChildren({ state, has_children }: DeadRow): boolean {
  return state === REVOKED_ALONE && has_children !== 0;
}

/** Deletes `victims`. Returns the tokens that still existed: a step of a tidy run may have deleted others. */
export function deleteVictims<T extends Pick<SweepCandidate, "row">>(sql: Sql, victims: readonly T[]): T[] {
  const rows = JSON.stringify(victims.map((victim) => victim.row));
  const statement = "DELETE FROM tokens WHERE row IN (SELECT value FROM json_each(?)) RETURNING row";
  const gone = new Set(columnOf<number>(sql, statement, rows));
  return victims.filter(({ row }) => gone.has(row));
}
