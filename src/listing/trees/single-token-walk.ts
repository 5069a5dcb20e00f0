import { earliest, inTime, type Ms } from "../../base/clock.ts";
import { inPool, MAX_PARALLEL_CALLS } from "../../base/parallel.ts";
import type { Sql } from "../../storage/tables.ts";
import { NO_ORIGIN } from "../../system/revocation-origin.ts";
import type { EndRecord } from "../../token/end-record.ts";
import { decodeStoredId, type TokenAddress } from "../../token/ids.ts";
import type { Ending } from "../inventory/ended-tokens.ts";
import type { InventoryEntry, ListedToken } from "../inventory/entry.ts";
import { NEVER } from "../inventory/page-cursor.ts";
import { findPlace, type ListedRow as Row, tokenOf } from "../inventory/shard/tables.ts";

/** Maximum number of tokens that one turn reads, and of waiting ones whose trees it calls again. */
const PAGE = 100;
/** Delay between an expiry and the call to the tree: trees with an alarm have often ended the token by then. */
const ASK_AFTER_MS = 1_000;
/** Pause between two turns; shorter while more tokens are due than one turn reads. */
const PAUSE_MS = 1_000;
const SHORT_PAUSE_MS = 100;
/** A tree that does not answer within this time is called again later. */
const ANSWER_MS = 10_000;
/** Pause before a tree that has not ended its token is called again. It doubles each time, up to the longest. */
const FIRST_PAUSE_MS = 60_000;
const LAST_PAUSE_MS = 3_600_000;
/** Maximum number of waiting tokens. Then the walk stops, and goes back later for tokens that are added behind it. */
const MAX_WAITING = 10_000;

/** Answer of a tree to a shard that asks it to end its only token. */
export type SingleTokenEnd =
  /** `isReusable`: the tree can be allocated again. `end`: how the token ended; null: it was gone before the call. */
  | { readonly kind: "gone"; readonly isReusable: boolean; readonly end: EndRecord | null }
  /** The token has another expiry than the shard knows, or has not expired by the clock of the tree. */
  | { readonly kind: "alive"; readonly entry: InventoryEntry }
  /** The tree ends the token itself and then removes it from the list. */
  | { readonly kind: "ending" };

/**
 * The walk of a shard over its tokens in the order of expiry. It asks single-token trees to end their expired token, so
 * that such a tree needs no alarm. Its state is only kept in memory: after a restart the walk starts again and repeats
 * its calls.
 */
export class SingleTokenWalk {
  readonly #sql: Sql;
  readonly #askEnd: (place: TokenAddress) => Promise<SingleTokenEnd>;
  /** The last token that the walk has read; null: none. */
  #passed: Pick<Row, "id" | "ends"> | null = null;
  /** True when the last turn reached the last due token. */
  #isThrough = true;
  /** Passed tokens whose trees are called at `at`, by accessor, with the pause before that. */
  readonly #waiting = new Map<string, { readonly at: Ms; readonly pause: Ms }>();

  constructor(sql: Sql, askEnd: (place: TokenAddress) => Promise<SingleTokenEnd>) {
    this.#sql = sql;
    this.#askEnd = askEnd;
  }

  /** Notes added and changed tokens. Returns when the walk is due for them, or null. */
  listed(entries: readonly InventoryEntry[]): Ms | null {
    const dues = entries.filter(isSingle).map(({ accessor, expiresAt }) => {
      if (expiresAt === null) return null;
      const at = expiresAt + ASK_AFTER_MS;
      const isPassed = this.#passed !== null && expiresAt <= this.#passed.ends;
      if (isPassed && !this.#waiting.has(accessor)) {
        if (this.#waiting.size < MAX_WAITING) this.#waiting.set(accessor, { at, pause: 0 });
        else this.#passed = { ends: expiresAt, id: 0 };
      }
      return at;
    });
    return earliest(...dues);
  }

  /** Returns when the next turn is due; null when no token of the shard expires. Reads one row. */
  nextAt(now: Ms): Ms | null {
    const [next] = this.#after(NEVER - 1, 1);
    const due = earliest(next ? next.ends + ASK_AFTER_MS : null, ...[...this.#waiting.values()].map(({ at }) => at));
    return due === null ? null : Math.max(due, now + (this.#isThrough ? PAUSE_MS : SHORT_PAUSE_MS));
  }

  /**
   * Calls the single-token trees whose token has expired, with a time limit, so that no tree delays the others for
   * long. `corrected` is called with the entry of a token that has not ended. Returns the tokens that no longer exist,
   * and the ids of their trees that can be allocated again.
   */
  async turn(now: Ms, corrected: (entry: InventoryEntry) => void) {
    const until = now - ASK_AFTER_MS;
    // The clock was ahead during an earlier turn: tokens that the walk has passed have not expired yet.
    if (this.#passed && this.#passed.ends > until) {
      this.#passed = null;
      this.#waiting.clear();
    }
    const again = [...this.#waiting].filter(([, { at }]) => at <= now).map(([accessor]) => accessor);
    const rows = this.#after(until, PAGE);
    this.#passed = rows.at(-1) ?? this.#passed;
    this.#isThrough = rows.length < PAGE && again.length <= PAGE;
    const due = new Map(rows.map((row) => [row.accessor, tokenOf(row)]));
    for (const accessor of again.slice(0, PAGE)) {
      const token = this.#stillDue(accessor, until);
      if (token) due.set(accessor, token);
    }
    const gone: Ending[] = [];
    const free: string[] = [];
    await inPool([...due.values()].filter(isSingle), MAX_PARALLEL_CALLS, async ({ accessor, expiresAt }) => {
      const place = decodeStoredId(accessor);
      if (!place) return;
      const end = await this.#ask(place);
      if (end.kind === "gone") {
        this.#waiting.delete(accessor);
        // Without a record it counts as expired: its tree was called because its expiry had passed.
        const lost: EndRecord = { ...NO_ORIGIN, at: expiresAt ?? now, how: "expired", cause: accessor };
        gone.push({ accessor, end: end.end ?? lost });
        if (end.isReusable) free.push(place.treeId);
        return;
      }
      // Applied at once, so that it does not overwrite what the tree publishes after this answer.
      if (end.kind === "alive") corrected(end.entry);
      if (end.kind === "ending" || (end.entry.expiresAt ?? NEVER) <= until) this.#wait(accessor, now);
      else this.#waiting.delete(accessor);
    });
    return { gone, free };
  }

  async #ask(place: TokenAddress): Promise<SingleTokenEnd> {
    try {
      return await inTime(this.#askEnd(place), ANSWER_MS);
    } catch (error) {
      console.error(JSON.stringify({ type: "end of a token", tree: place.treeId, error: String(error) }));
      return { kind: "ending" };
    }
  }

  #wait(accessor: string, now: Ms): void {
    const pause = Math.min(LAST_PAUSE_MS, 2 * (this.#waiting.get(accessor)?.pause ?? 0) || FIRST_PAUSE_MS);
    this.#waiting.set(accessor, { at: now + pause, pause });
  }

  /** Returns a waiting token, unless it has left the list, has other tokens below it, or expires later than `until`. */
  #stillDue(accessor: string, until: Ms): ListedToken | null {
    const { known } = findPlace<Row>(this.#sql, "inventory", "id, accessor, entry, ends", accessor);
    const token = known && tokenOf(known);
    if (token && isSingle(token) && (token.expiresAt ?? NEVER) <= until) return token;
    this.#waiting.delete(accessor);
    return null;
  }

  #after(until: Ms, limit: number): Row[] {
    if (this.#waiting.size >= MAX_WAITING) return [];
    const { ends, id } = this.#passed ?? { ends: 0, id: 0 };
    const where = "(ends, id) > (?, ?) AND ends <= ?";
    const query = `SELECT id, accessor, entry, ends FROM inventory WHERE ${where} ORDER BY ends, id LIMIT ?`;
    return this.#sql.exec<Row>(query, ends, id, until, limit).toArray();
  }
}

/** True for the only token of a tree, as far as the list knows. */
function isSingle({ first, parent, children }: InventoryEntry): boolean {
  return first && parent === null && children === 0;
}
