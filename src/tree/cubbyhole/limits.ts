import { type Failure, invalid } from "../../base/result.ts";

/** Largest sealed value: what fits into a row of an object's database, with room for the rest of the row. */
export const MAX_VALUE_BYTES = 1_900_000;

/** Values that one token keeps at most. Before each write they are counted, so they are few enough for that. */
export const MAX_ENTRIES = 1_000;
/** Bytes of all of them, sealed, with their paths. An object holds a whole tree of tokens and 10 GB. */
export const MAX_BYTES = 16 * 1024 * 1024;

/** What a token keeps besides the value that is being written. */
export interface OtherEntries {
  readonly entries: number;
  readonly bytes: number;
}

/** Why a value can't be kept, or null. `bytes` is what it and its path take. */
export function cubbyholeProblem(others: OtherEntries, bytes: number): Failure | null {
  if (bytes > MAX_VALUE_BYTES) return invalid("the value is too large to be kept");
  if (others.entries >= MAX_ENTRIES) return invalid(`a token can keep at most ${MAX_ENTRIES} values in its cubbyhole`);
  if (others.bytes + bytes > MAX_BYTES) {
    return invalid(`a token can keep at most ${MAX_BYTES / 1024 / 1024} MiB in its cubbyhole`);
  }
  return null;
}
