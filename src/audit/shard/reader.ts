import type { Ms } from "../../base/clock.ts";
import type { Keys } from "../../crypto/key-ring.ts";
import { openText } from "../../crypto/sealed-data.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import { type AuditEntry, mentionOf } from "../entry.ts";
import { mentionKeys } from "../mention-keys.ts";
import { type AuditEvent, type AuditPage, type AuditQuery, type AuditUse, matchesFilter } from "../query.ts";
import { FullScan, IndexScan, rangeOf, type SeqRange } from "./record-scan.ts";
import { addressContext, type OpenedRow, openRowWith } from "./rows.ts";

/** Maximum numbers of steps in lists of mentions, of records and of rows that one answer looks at. */
const MAX_STEPS = 5000;
const MAX_RECORDS = 2000;
const MAX_OPENED_ROWS = 200;
/** Maximum number of rows of uses in an answer. */
const MAX_USES = 1000;

type UseRow = Omit<AuditUse, "address"> & { address: number; sealed: ArrayBuffer | null };

/** Reads the records of one object. */
export class AuditReader {
  readonly #sql: Sql;
  readonly #object: string;

  /** @param object id of the object, which the seals contain. */
  constructor(sql: Sql, object: string) {
    this.#sql = sql;
    this.#object = object;
  }

  /** Answers a question. `last`: number of the last record. A record that can't be opened is left out. */
  async page(
    keys: Keys,
    { mentions, filter, newestFirst, after, limit }: AuditQuery,
    last: number,
  ): Promise<AuditPage> {
    const keyOf = await mentionKeys(keys);
    const range = beginAfter(rangeOf(this.#sql, filter, last), newestFirst, after);
    const wanted = [...new Set(mentions)];
    const walk =
      wanted.length === 0
        ? new FullScan(range, newestFirst)
        : new IndexScan(this.#sql, wanted.map(keyOf), range, newestFirst, MAX_STEPS);
    const events: AuditEvent[] = [];
    let row: OpenedRow | null = null;
    for (let records = 0, rows = 0; ; records++) {
      const seq = walk.next();
      if (seq === "end") return { events, next: null };
      const isEnough = events.length >= limit || records >= MAX_RECORDS || rows >= MAX_OPENED_ROWS;
      if (seq === "pause" || isEnough)
        return { events, next: this.#from(seq === "pause" ? walk.at : seq, newestFirst) };
      if (!row || !has(row, seq)) {
        row = await openRowWith(this.#sql, keys, this.#object, seq);
        rows++;
      }
      const entry = row?.text?.entry(seq - row.firstSeq);
      if (!row || !entry || !mentionsAll(entry, wanted) || !matchesFilter(entry, filter)) continue;
      events.push({ seq, storedAt: row.storedAt, at: entry.at, line: entry.line });
    }
  }

  /**
   * Returns the uses of a token from `from` on and before the hour `before`, the newest hours first, in whole hours: at
   * most `MAX_USES` rows. If the newest hour has more addresses, the last row has the sum of the others, without an
   * address. `more`: older hours may be left.
   */
  async uses(keys: Keys, accessor: string, from: Ms, before: Ms) {
    const keyOf = await mentionKeys(keys);
    const query = `SELECT hour, address, count, first, last, sealed FROM uses LEFT JOIN addresses ON key = address
      WHERE token = ? AND hour >= ? AND hour < ? ORDER BY hour DESC, address DESC LIMIT ?`;
    const key = keyOf(mentionOf("accessor", accessor));
    const found = this.#sql.exec<UseRow>(query, key, from, before, MAX_USES + 1).toArray();
    const more = found.length > MAX_USES;
    const lastHour = found.at(-1)?.hour;
    const whole = found.filter(({ hour }) => hour !== lastHour);
    const isOneHour = more && whole.length === 0;
    const rows = more && !isOneHour ? whole : found.slice(0, MAX_USES);
    const sealed = new Map(rows.map((row) => [row.address, row.sealed]));
    const addresses = new Map<number, string | null>();
    for (const [key, value] of sealed) {
      const context = addressContext(this.#object, key);
      addresses.set(key, value && (await openText(keys, context, new Uint8Array(value))));
    }
    const uses = rows.map(
      ({ hour, address, count, first, last }): AuditUse => ({
        hour,
        address: addresses.get(address) ?? null,
        count,
        first,
        last,
      }),
    );
    const lastRow = rows.at(-1);
    return { uses: isOneHour && lastRow ? [...uses, this.#usesBeyond(key, lastRow)] : uses, more };
  }

  /** The uses of a token in an hour from the addresses after the last one that is shown, as one row. */
  #usesBeyond(token: number, { hour, address }: UseRow): AuditUse {
    const query = `SELECT sum(count) AS count, min(first) AS first, max(last) AS last FROM uses
      WHERE token = ? AND hour = ? AND address < ?`;
    const rest = this.#sql.exec<Omit<AuditUse, "hour" | "address">>(query, token, hour, address).one();
    return { hour, address: null, ...rest };
  }

  /** The `next` of an answer whose next page begins with the record `seq`. */
  #from(seq: number, newestFirst: boolean): NonNullable<AuditPage["next"]> {
    const query = "SELECT at FROM batches WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1";
    const [storedAt = 0] = columnOf<Ms>(this.#sql, query, seq);
    return { seq: newestFirst ? seq + 1 : seq - 1, storedAt };
  }
}

function beginAfter({ first, last }: SeqRange, newestFirst: boolean, after: number | null): SeqRange {
  if (after === null) return { first, last };
  return newestFirst ? { first, last: Math.min(last, after - 1) } : { first: Math.max(first, after + 1), last };
}

function has({ firstSeq, count }: OpenedRow, seq: number): boolean {
  return seq >= firstSeq && seq < firstSeq + count;
}

/** Compares the record itself: different mentions can have the same key, and the index has no seals. */
function mentionsAll({ mentions }: AuditEntry, wanted: readonly string[]): boolean {
  return wanted.every((mention) => mentions.includes(mention));
}
