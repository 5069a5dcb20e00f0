import { earliest, inTime } from "../../base/clock.ts";
import { inPool, MAX_PARALLEL_CALLS } from "../../base/parallel.ts";
import type { Sql } from "../../storage/tables.ts";
import { UNASKED } from "../../system/end-request.ts";
import type { EndRecord } from "../../token/end-record.ts";
import { decodeStoredId, type TokenAddress } from "../../token/ids.ts";
import type { InventoryEntry } from "../inventory/entry.ts";
import { NEVER } from "../inventory/order.ts";
import type { Ending } from "../inventory/shard/ended.ts";
import { type TokenRowOfShard, tokenOf } from "../inventory/shard/tables.ts";

/** Tokens that one turn reads. */
const PAGE = 100;
/**
 * Delay between the expiry of a token and the call to its tree (ms). Trees with an alarm have often ended it by then,
 * and tokens that expire within this time share a turn.
 */
const ASK_AFTER_MS = 1_000;
/**
 * Pause between two turns (ms), so that tokens that expire within a second share one; shorter while more are due than
 * one turn reads.
 */
const PAUSE_MS = 1_000;
const SHORT_PAUSE_MS = 100;
/** Tokens that the walk has passed and that are still listed are read again after this time (ms). */
const ROUND_MS = 60_000;
/** A tree that does not answer within this time (ms) is called again later. */
const ANSWER_MS = 10_000;
/**
 * First and longest pause before a tree that has not ended its token is called again (ms). The pause doubles each time.
 */
const FIRST_PAUSE_MS = ROUND_MS;
const LAST_PAUSE_MS = 3_600_000;
/** Maximum number of tokens whose pauses the walk remembers. */
const MAX_WAITING = 10_000;

/** Answer of a tree to a shard that asks it to end its only token. */
export type SingleTokenEnd =
  /**
   * The token is gone. `isFree`: the tree can be allocated again. `end`: how it ended; null: it was gone before the
   * call.
   */
  | { readonly kind: "gone"; readonly isFree: boolean; readonly end: EndRecord | null }
  /** The token has another expiry than the shard knows, or has not expired by the clock of the tree. */
  | { readonly kind: "alive"; readonly entry: InventoryEntry }
  /** The tree ends the token itself and then removes it from the list. */
  | { readonly kind: "ending" };

/** Asks the tree of a token to end it. */
export type AskEnd = (place: TokenAddress) => Promise<SingleTokenEnd>;

/** Result of a turn. */
export interface EndedTokens {
  /** Tokens that no longer exist, with how they ended. */
  readonly gone: readonly Ending[];
  /** Ids of those of their trees that can be allocated again. */
  readonly free: readonly string[];
}

interface Place {
  readonly ends: number;
  readonly id: number;
}

type Row = TokenRowOfShard & { ends: number };

/**
 * The walk of a shard over its tokens in the order of expiry. It asks single-token trees to end their expired token, so
 * that such a tree needs no alarm. The position is only kept in memory: after a restart the walk starts again and
 * repeats its calls.
 */
export class SingleTokenWalk {
  readonly #sql: Sql;
  readonly #askEnd: AskEnd;
  /** The last token that this round has processed; null: none. */
  #passed: Place | null = null;
  /**
   * True when the last turn reached the last due token. A new round starts only then, so that every round gets there.
   */
  #isThrough = true;
  /** True when tokens that this round has processed are still listed. */
  #hasLeft = false;
  /** When the next round starts (ms); null: no processed token is still listed. */
  #roundAt: number | null = null;
  /** Tokens whose trees are not called before `at` (ms), with the last pause (ms), by accessor. */
  readonly #waiting = new Map<string, { readonly at: number; readonly pause: number }>();

  constructor(sql: Sql, askEnd: AskEnd) {
    this.#sql = sql;
    this.#askEnd = askEnd;
  }

  /**
   * Notes tokens that were added to the list or have another expiry. Returns when the walk is due for them (ms), or
   * null.
   */
  listed(entries: readonly InventoryEntry[]): number | null {
    const first = earliest(...entries.filter(isSingle).map(({ expiresAt }) => expiresAt));
    if (first === null) return null;
    const at = first + ASK_AFTER_MS;
    if (this.#passed && first <= this.#passed.ends) this.#roundAt = Math.min(this.#roundAt ?? at, at);
    return at;
  }

  /** Returns when the next turn is due (ms); null when no token of the shard expires. Reads one row. */
  nextAt(now: number): number | null {
    if (this.#isThrough && this.#hasLeft) this.#roundAt ??= now + ROUND_MS;
    const soonest = now + (this.#isThrough ? PAUSE_MS : SHORT_PAUSE_MS);
    const next = this.#after(this.#passed, NEVER - 1, 1)[0];
    const dueAt = next ? Math.max(soonest, next.ends + ASK_AFTER_MS) : null;
    const roundAt = this.#roundAt === null || !this.#isThrough ? null : Math.max(soonest, this.#roundAt);
    return earliest(dueAt, roundAt);
  }

  /**
   * Performs one turn: calls the single-token trees whose token has expired. Calls have a time limit, so that no tree
   * delays the others for long.
   *
   * @param corrected called with the entry of a token that has not ended, from its tree.
   */
  async turn(now: number, corrected: (entry: InventoryEntry) => void): Promise<EndedTokens> {
    this.#beginRound(now);
    const until = now - ASK_AFTER_MS;
    const rows = this.#after(this.#passed, until, PAGE);
    this.#passed = rows.at(-1) ?? this.#passed;
    this.#isThrough = rows.length < PAGE;
    const due = rows
      .map(tokenOf)
      .filter((token) => isSingle(token) && (this.#waiting.get(token.accessor)?.at ?? now) <= now);
    const gone: Ending[] = [];
    const free: string[] = [];
    await inPool(due, MAX_PARALLEL_CALLS, async ({ accessor, expiresAt }) => {
      const place = decodeStoredId(accessor);
      if (!place) return;
      const end = await this.#ask(place);
      if (end.kind === "gone") {
        this.#waiting.delete(accessor);
        // Without a record it counts as expired: its tree was called because its expiry had passed.
        const lost: EndRecord = { ...UNASKED, at: expiresAt ?? now, how: "expired", cause: accessor };
        gone.push({ accessor, end: end.end ?? lost });
        if (end.isFree) free.push(place.treeId);
        return;
      }
      // Applied at once, so that it does not overwrite what the tree publishes after this answer.
      if (end.kind === "alive") corrected(end.entry);
      if (end.kind === "ending" || (end.entry.expiresAt ?? NEVER) <= until) this.#leaveAlone(accessor, now);
      else this.#waiting.delete(accessor);
    });
    if (gone.length < rows.length) this.#hasLeft = true;
    return { gone, free };
  }

  #beginRound(now: number): void {
    // The clock was ahead during the last turn: tokens that were processed by it have not expired yet.
    const wasAhead = this.#passed !== null && this.#passed.ends > now - ASK_AFTER_MS;
    if (wasAhead) this.#waiting.clear();
    const isTime = this.#isThrough && this.#roundAt !== null && this.#roundAt <= now;
    if (!wasAhead && !isTime) return;
    this.#passed = null;
    this.#hasLeft = false;
    this.#roundAt = null;
  }

  async #ask(place: TokenAddress): Promise<SingleTokenEnd> {
    try {
      return await inTime(this.#askEnd(place), ANSWER_MS);
    } catch (error) {
      console.error(JSON.stringify({ type: "end of a token", tree: place.treeId, error: String(error) }));
      return { kind: "ending" };
    }
  }

  #leaveAlone(accessor: string, now: number): void {
    const before = this.#waiting.get(accessor)?.pause;
    const pause = before === undefined ? FIRST_PAUSE_MS : Math.min(LAST_PAUSE_MS, 2 * before);
    if (this.#waiting.size >= MAX_WAITING) this.#waiting.clear();
    this.#waiting.set(accessor, { at: now + pause, pause });
  }

  #after(place: Place | null, until: number, limit: number): Row[] {
    const { ends, id } = place ?? { ends: 0, id: 0 };
    const where = "(ends, id) > (?, ?) AND ends <= ?";
    const query = `SELECT id, accessor, entry, ends FROM inventory WHERE ${where} ORDER BY ends, id LIMIT ?`;
    return this.#sql.exec<Row>(query, ends, id, until, limit).toArray();
  }
}

/** True for the only token of a tree, as far as the list knows. */
function isSingle({ first, parent, children }: InventoryEntry): boolean {
  return first && parent === null && children === 0;
}
