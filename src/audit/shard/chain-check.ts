import type { Keys } from "../../crypto/key-ring.ts";
import type { SealedTable } from "../../storage/sealed-table.ts";
import { columnOf, type Sql } from "../../storage/tables.ts";
import type { RowText } from "../batch-text.ts";
import { digestAfter, type Head } from "../chain.ts";
import { mentionKeys } from "../mention-keys.ts";
import { openRow } from "./rows.ts";
import type { AboutRow, BatchRow } from "./tables.ts";

/** Maximum number of rows that one step checks: 6 MB of records. */
const MAX_ROWS = 100;

/**
 * What is wrong with an object. "missing": it has no records any more. "another object": it has the records of another
 * object. "gap": records are missing. "changed": a row, or the row about the object, was not written by Grove. "cut":
 * the last records are missing. "replaced": the directory knows other records at this place. "hidden": the index of
 * mentions lacks a record, so searches don't find it.
 */
export type AuditProblem = "missing" | "another object" | "gap" | "changed" | "cut" | "replaced" | "hidden";

/** Result of a step of a check. */
export interface CheckStep {
  /** The chain after the last record that was checked. */
  readonly head: Head;
  /** The first problem, and the number of the record at which it is. */
  readonly problem: { readonly kind: AuditProblem; readonly seq: number } | null;
  /** True when no records are left. */
  readonly isEnd: boolean;
}

/** Checks the chain of one object, a step at a time. */
export class ChainCheck {
  readonly #sql: Sql;
  readonly #object: string;
  readonly #about: SealedTable<AboutRow>;
  readonly #batches: SealedTable<BatchRow>;

  constructor(sql: Sql, object: string, about: SealedTable<AboutRow>, batches: SealedTable<BatchRow>) {
    this.#sql = sql;
    this.#object = object;
    this.#about = about;
    this.#batches = batches;
  }

  /** Compares the object with its entry in the directory. */
  begin(name: string, begins: string): AuditProblem | null {
    const [stored] = columnOf<string>(this.#sql, "SELECT name FROM about");
    if (stored === undefined) return "missing";
    if (stored !== name) return "another object";
    return this.#about.find(1)?.begins === begins ? null : "changed";
  }

  /** Checks the rows after `from`. `known`: the head that the directory knows. */
  async step(keys: Keys, from: Head, known: Head): Promise<CheckStep> {
    const { seq: after } = from;
    const query = "SELECT * FROM batches WHERE first_seq > ? ORDER BY first_seq LIMIT ?";
    const rows = this.#sql.exec<BatchRow & { seal: ArrayBuffer | null }>(query, after, MAX_ROWS).toArray();
    let head = from;
    for (const row of rows) {
      const fail = (kind: AuditProblem, seq = row.first_seq): CheckStep => ({
        head,
        problem: { kind, seq },
        isEnd: true,
      });
      if (row.first_seq !== head.seq + 1) return fail("gap", head.seq + 1);
      if (!this.#batches.admits(row)) return fail("changed");
      const { text } = await openRow(keys, this.#object, row);
      if (!text) return fail("changed");
      const digest = digestAfter(head.digest, text.lines());
      if (digest !== row.digest) return fail("changed");
      if (await this.#hides(keys, row, text)) return fail("hidden");
      head = { seq: head.seq + row.count, digest };
      if (head.seq === known.seq && digest !== known.digest) return fail("replaced", head.seq);
    }
    const isEnd = rows.length < MAX_ROWS;
    const isCut = isEnd && head.seq < known.seq;
    return { head, problem: isCut ? { kind: "cut", seq: head.seq + 1 } : null, isEnd };
  }

  /** True when the index lacks a mention of the row's records. */
  async #hides(keys: Keys, { first_seq, count }: BatchRow, text: RowText): Promise<boolean> {
    const keyOf = await mentionKeys(keys);
    const places = Array.from({ length: count }, (_, place) => place);
    const pairs = places.flatMap((place) => {
      const mentioned = new Set(text.entry(place).mentions.map(keyOf));
      return [...mentioned].map((key) => [key, first_seq + place]);
    });
    const query = `SELECT COUNT(*) FROM json_each(?) AS pair
      JOIN mentions ON mentions.key = pair.value ->> 0 AND mentions.seq = pair.value ->> 1`;
    const [found] = columnOf<number>(this.#sql, query, JSON.stringify(pairs));
    return found !== pairs.length;
  }
}
