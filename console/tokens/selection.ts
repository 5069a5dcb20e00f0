import { count } from "../format.ts";

/** Most accessors in one request. */
export const MOST_NAMED = 900;

/** Selected tokens: by a filter of the inventory, or by accessors. */
export type Selection = Readonly<Record<string, string | boolean | readonly string[]>>;

/** Why a selection is too large for one revocation; "" when it is not. */
export function refusalOf({ accessors }: Selection): string {
  if (!Array.isArray(accessors) || accessors.length <= MOST_NAMED) return "";
  return `${count(MOST_NAMED)} tokens can be revoked at once by selecting them: select fewer, or filter for what they have in common`;
}
