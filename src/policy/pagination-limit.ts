import { err, ok, type Result } from "../base/result.ts";

const WHOLE_NUMBER = /^[+-]?\d{1,15}$/;

/**
 * Returns the `limit` that a listing has to use, 0 for none, or null for that of the request; or a refusal.
 *
 * A rule with a largest page limits callers that send no limit to that page. If the rule requires `limit`, such a
 * caller is refused, as it would take the first page for the whole list. 0 and `max` ask for the largest page that is
 * allowed. A limit above the largest page, a negative number and any other value are refused. Without a largest page
 * `max` means no limit.
 */
export function pageLimit(
  largestPage: number | null,
  required: readonly string[],
  data: Readonly<Record<string, unknown>>,
): Result<number | null, "refused"> {
  const asked = Object.hasOwn(data, "limit") ? data.limit : undefined;
  if (largestPage === null) return ok(asked === "max" ? 0 : null);
  if (asked === undefined) return required.includes("limit") ? err("refused") : ok(largestPage);
  if (asked === "max") return ok(largestPage);
  const limit = wholeNumber(asked);
  if (limit === null || limit < 0 || limit > largestPage) return err("refused");
  return ok(limit === 0 ? largestPage : limit);
}

function wholeNumber(value: unknown): number | null {
  if (value === "") return 0;
  if (typeof value === "string") return WHOLE_NUMBER.test(value) ? Number(value) : null;
  return Number.isSafeInteger(value) ? Number(value) : null;
}
