import { type Failure, invalid } from "../../base/result.ts";

/** Bytes of the largest sealed value with its path: fits into a row of an object's database. */
export const MAX_VALUE_BYTES = 1_900_000;

/** Maximum number of values of one token. Bounded because each write counts them. */
export const MAX_ENTRIES = 1_000;
/** Maximum bytes of all sealed values of one token, with their paths. A whole tree of tokens shares 10 GB. */
export const MAX_BYTES = 16 * 1024 * 1024;

/** Number and bytes of the values of a token, without the value that is being written. */
export interface OtherEntries {
  readonly entries: number;
  readonly bytes: number;
}

/** Why a value can't be stored (a 400), or null. `bytes`: size of the sealed value and its path. */
export function cubbyholeProblem(others: OtherEntries, bytes: number): Failure | null {
  if (bytes > MAX_VALUE_BYTES) return invalid("the value is too large to be kept");
  if (others.entries >= MAX_ENTRIES) return invalid(`a token can keep at most ${MAX_ENTRIES} values in its cubbyhole`);
  if (others.bytes + bytes > MAX_BYTES) {
    return invalid(`a token can keep at most ${MAX_BYTES / 1024 / 1024} MiB in its cubbyhole`);
  }
  return null;
}
