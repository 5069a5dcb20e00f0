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

/** Tokens that one turn looks at. */
const PAGE = 100;
/** So long after its end (ms) a token is asked for: trees with an alarm have often ended it by then, and ends of that time go together. */
const ASK_AFTER_MS = 1_000;
/** Pause between two turns (ms), so that ends of a second go together; and while there is more to ask for than one turn takes. */
const PAUSE_MS = 1_000;
const SHORT_PAUSE_MS = 100;
/** What a walk has passed and is still listed is looked at again after this time (ms). */
const ROUND_MS = 60_000;
/** A tree that does not answer in this time (ms) is asked again later. */
const ANSWER_MS = 10_000;
/** Pause before a tree that has not ended its token is asked again (ms): it doubles from the first to the last. */
const FIRST_PAUSE_MS = ROUND_MS;
const LAST_PAUSE_MS = 3_600_000;
/** Tokens of which the walk remembers not to ask for them for a while. */
const MAX_WAITING = 10_000;

/** What a tree answers to a shard that asks for the end of its only token. */
export type SingleTokenEnd =
  /** It is not there any more. `isFree`: the tree can be handed out again. `end`: how it ended; null: it had gone before. */
  | { readonly kind: "gone"; readonly isFree: boolean; readonly end: EndRecord | null }
  /** Its end is another one than the shard knows, or has not come by the clock of the tree. */
  | { readonly kind: "alive"; readonly entry: InventoryEntry }
  /** The tree is at work on it, and takes it off the list itself. */
  | { readonly kind: "ending" };

/** Asks the tree of a token for its end. */
export type AskEnd = (place: TokenAddress) => Promise<SingleTokenEnd>;

/** What came of a turn. */
export interface EndedTokens {
  /** Tokens that are no more. */
  readonly gone: readonly Ending[];
  /** Ids of those of their trees that can be handed out again. */
  readonly free: readonly string[];
}

interface Place {
  readonly ends: number;
  readonly id: number;
}

type Row = TokenRowOfShard & { ends: number };

/**
 * The walk of a shard over its tokens in the order of their ends: it asks trees of one token for theirs, so that such a tree needs no
 * alarm. Where the walk is stays in memory: after a restart it begins again, and asks again what was asked.
 */
export class SingleTokenWalk {
  readonly #sql: Sql;
  readonly #askEnd: AskEnd;
  /** Up to here everything was asked in this round; null: nothing. */
  #passed: Place | null = null;
  /** True when the last turn came to the end of what is due: only then a new round begins, so that each gets there. */
  #isThrough = true;
  /** True when tokens that this round has passed were still listed. */
  #hasLeft = false;
  /** When the next round begins (ms); null: nothing that was passed is listed. */
  #roundAt: number | null = null;
  /** Tokens whose trees are not asked before `at` (ms), by accessor. */
  readonly #waiting = new Map<string, { readonly at: number; readonly pause: number }>();

  constructor(sql: Sql, askEnd: AskEnd) {
    this.#sql = sql;
    this.#askEnd = askEnd;
  }

  /** Notes tokens that are listed now, or end at another time. Returns when the walk has work with them (ms), or null. */
  listed(entries: readonly InventoryEntry[]): number | null {
    const first = earliest(...entries.filter(isSingle).map(({ expiresAt }) => expiresAt));
    if (first === null) return null;
    const at = first + ASK_AFTER_MS;
    if (this.#passed && first <= this.#passed.ends) this.#roundAt = Math.min(this.#roundAt ?? at, at);
    return at;
  }

  /** When the walk goes on (ms); null: no token here has an end. Reads one row. */
  nextAt(now: number): number | null {
    if (this.#isThrough && this.#hasLeft) this.#roundAt ??= now + ROUND_MS;
    const soonest = now + (this.#isThrough ? PAUSE_MS : SHORT_PAUSE_MS);
    const next = this.#after(this.#passed, NEVER - 1, 1)[0];
    const dueAt = next ? Math.max(soonest, next.ends + ASK_AFTER_MS) : null;
    const roundAt = this.#roundAt === null || !this.#isThrough ? null : Math.max(soonest, this.#roundAt);
    return earliest(dueAt, roundAt);
  }

  /**
   * Does one turn: asks trees of one token whose end has come. None of them keeps the others waiting for long.
   *
   * @param corrected called with what a tree says of a token that has not ended.
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
        // One that had gone before was asked for because its end had come.
        const lost: EndRecord = { ...UNASKED, at: expiresAt ?? now, how: "expired", cause: accessor };
        gone.push({ accessor, end: end.end ?? lost });
        if (end.isFree) free.push(place.treeId);
        return;
      }
      // At once: what the tree publishes after this answer must not be overwritten.
      if (end.kind === "alive") corrected(end.entry);
      if (end.kind === "ending" || (end.entry.expiresAt ?? NEVER) <= until) this.#leaveAlone(accessor, now);
      else this.#waiting.delete(accessor);
    });
    if (gone.length < rows.length) this.#hasLeft = true;
    return { gone, free };
  }

  #beginRound(now: number): void {
    // What was passed by a clock that was ahead has not ended.
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
