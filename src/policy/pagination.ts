import { err, ok, type Result } from "../base/result.ts";

const WHOLE_NUMBER = /^[+-]?\d{1,15}$/;

/**
 * The `limit` that a listing has to use, or a refusal.
 *
 * A rule with a largest page caps callers that send no limit, unless the rule requires one: then such a caller, which
 * would take the first page for the whole list, is refused. 0 and `max` ask for as much as is allowed and get that;
 * more than the cap, a negative number or something else is refused. Without a cap `max` means no limit.
 *
 * @returns the limit, 0 for none, or null when the request's own stands.
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
