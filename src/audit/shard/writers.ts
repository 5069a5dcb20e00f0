import type { Ms } from "../../base/clock.ts";
import { type Sql, storedJson, upsert } from "../../storage/tables.ts";
import type { AuditBatch } from "../entry.ts";

/** How many batches of a writer are remembered. It repeats none that is older. */
const MAX_NUMBERS = 32;
/** Time after which a writer that sent nothing is forgotten. */
const FORGET_MS = 3_600_000;

/**
 * True when the object has taken this batch. A batch is known by its exact number, since a later one may have come
 * before it: storing a batch twice is harmless, and taking it for stored would lose it.
 */
export function hasTaken(sql: Sql, { writer, number }: Pick<AuditBatch, "writer" | "number">): boolean {
  return numbersOf(sql, writer).includes(number);
}

/** Notes in the transaction of a batch that it was taken. */
export function noteTaken(sql: Sql, { writer, number }: Pick<AuditBatch, "writer" | "number">, now: Ms): void {
  const before = numbersOf(sql, writer);
  if (before.length === 0) sql.exec("DELETE FROM writers WHERE at < ?", now - FORGET_MS);
  const numbers = JSON.stringify([...before, number].slice(-MAX_NUMBERS));
  upsert(sql, "writers", ["writer"], { writer, at: now, numbers });
}

function numbersOf(sql: Sql, writer: string): readonly number[] {
  const [row] = sql.exec<{ numbers: string }>("SELECT numbers FROM writers WHERE writer = ?", writer).toArray();
  return row ? storedJson<number[]>(row.numbers) : [];
}
