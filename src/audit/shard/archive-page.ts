import type { Keys } from "../../crypto/key-ring.ts";
import type { Sql } from "../../storage/tables.ts";
import { MAX_BATCH_ENTRIES } from "../entry.ts";
import { openRow } from "./rows.ts";
import type { BatchRow } from "./tables.ts";

/** Maximum number of rows of a page: 2 MB of lines. */
const MAX_ROWS = 32;

export interface ArchivePage {
  readonly lines: readonly string[];
  /** Number of the last record of the page. */
  readonly seq: number;
  readonly isEnd: boolean;
}

/** The line in the place of a record that can't be read. It changes the digest, so a check of the archive fails. */
const UNREADABLE = '{"type":"unreadable"}';

/**
 * Reads a page of lines after the record `seq`, which may be inside a row: the copy to the archive can stop at any
 * line.
 * @param object id of the object.
 */
export async function linesAfter(sql: Sql, keys: Keys, object: string, seq: number): Promise<ArchivePage> {
  const query = `SELECT * FROM batches
    WHERE first_seq >= (SELECT COALESCE(MAX(first_seq), 0) FROM batches WHERE first_seq <= ?) ORDER BY first_seq LIMIT ?`;
  const rows = sql.exec<BatchRow>(query, seq + 1, MAX_ROWS).toArray();
  const lines: string[] = [];
  for (const row of rows) {
    const { text } = await openRow(keys, object, row);
    const count = Math.min(row.count, MAX_BATCH_ENTRIES);
    const all = text?.lines() ?? Array.from({ length: count }, () => UNREADABLE);
    lines.push(...all.slice(Math.max(0, seq + 1 - row.first_seq)));
  }
  const last = rows.at(-1);
  const end = last ? last.first_seq + last.count - 1 : seq;
  return { lines, seq: Math.max(seq, end), isEnd: rows.length < MAX_ROWS };
}
