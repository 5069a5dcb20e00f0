import type { Result } from "../../src/base/result.ts";

/** The value; a failure ends the bench with its message, which is all that an operator can do with it. */
export function must<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}
