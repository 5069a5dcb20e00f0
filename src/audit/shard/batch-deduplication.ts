import type { Ms } from "../../base/clock.ts";
import { type Sql, storedJson, upsert } from "../../storage/tables.ts";
import type { AuditBatch } from "../entry.ts";

/** How many batches of a writer are remembered. A writer repeats no older batch. */
const MAX_NUMBERS = 32;
/** Time after which a writer that sent nothing is forgotten. */
const FORGET_MS = 3_600_000;

/** Notes in the transaction of a batch that it was taken. @param taken the numbers that were taken before. */
export function noteTaken(
  sql: Sql,
  { writer, number }: Pick<AuditBatch, "writer" | "number">,
  taken: readonly number[],
  now: Ms,
): void {
  if (taken.length === 0) sql.exec("DELETE FROM writers WHERE at < ?", now - FORGET_MS);
  const numbers = JSON.stringify([...taken, number].slice(-MAX_NUMBERS));
  upsert(sql, "writers", ["writer"], { writer, at: now, numbers });
}

/**
 * The numbers of the batches of a writer that the object has taken. The greatest number is not enough: a later batch
 * may arrive first, and the earlier one would be taken for stored and lost. To store a batch twice is harmless.
 */
export function takenFrom(sql: Sql, writer: string): readonly number[] {
  const [row] = sql.exec<{ numbers: string }>("SELECT numbers FROM writers WHERE writer = ?", writer).toArray();
  return row ? storedJson<number[]>(row.numbers) : [];
}
