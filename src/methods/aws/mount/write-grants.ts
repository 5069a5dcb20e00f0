import { type Failure, invalid } from "../../../base/errors.ts";
import { err, type Result } from "../../../base/result.ts";
import type { Verdict } from "../../../policy/acl.ts";

/** What the caller's policies grant on the path of what is written. */
export type WriteGrants = Pick<Verdict, "create" | "update">;

/** A write needs the right to create what is not there (null), and the right to change what is. */
export function mayWrite(before: unknown, grants: WriteGrants): boolean {
  return before === null ? grants.create : grants.update;
}

/** The refusal of a write to a table that is full, or of a value that is too large. */
export function full(message: string): Result<never, Failure> {
  return err(invalid(message));
}
