import type { Keys } from "../../crypto/key-ring.ts";
import type { Sql } from "../../storage/tables.ts";
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

/** The line in the place of a record that can't be read. The digest of an archive with one is another. */
const UNREADABLE = '{"type":"unreadable"}';

/** Reads the lines of whole rows after the record `seq`. @param object id of the object. */
export async function linesAfter(sql: Sql, keys: Keys, object: string, seq: number): Promise<ArchivePage> {
  const query = "SELECT * FROM batches WHERE first_seq > ? ORDER BY first_seq LIMIT ?";
  const rows = sql.exec<BatchRow>(query, seq, MAX_ROWS).toArray();
  const lines: string[] = [];
  for (const row of rows) {
    const { text } = await openRow(keys, object, row);
    lines.push(...(text?.lines() ?? Array.from({ length: row.count }, () => UNREADABLE)));
  }
  const last = rows.at(-1);
  return { lines, seq: last ? last.first_seq + last.count - 1 : seq, isEnd: rows.length < MAX_ROWS };
}
