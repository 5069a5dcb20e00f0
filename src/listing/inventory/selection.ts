import { ROOT_POLICY } from "../../policy/name.ts";
import type { EndRequest } from "../../system/end-request.ts";
import type { TokenAddress } from "../../token/ids.ts";
import type { ListedToken } from "./entry.ts";
import type { TokenFilter } from "./filter.ts";

/** The tokens that a revocation means. */
export interface Selection {
  /** As the client sent it, in JSON. */
  readonly sent: string;
  /** The tokens, by a filter or by name. */
  readonly filter: TokenFilter | null;
  readonly accessors: readonly string[] | null;
  readonly includeRoot: boolean;
  /** The token that stays, with all above it; null: none. */
  readonly spare: TokenAddress | null;
  /** Who asks; the job is named by its start. */
  readonly asked: EndRequest;
}

/** The selection without tokens that are made after `now` (ms). Safe to repeat. */
export function madeUntil(selection: Selection, now: number): Selection {
  const { filter } = selection;
  if (filter === null) return selection;
  return { ...selection, filter: { ...filter, createdBefore: Math.min(filter.createdBefore ?? now + 1, now + 1) } };
}

/** True for a root token: a revocation leaves it out unless it is to take root tokens. */
export function isRoot({ policies }: Pick<ListedToken, "policies">): boolean {
  return policies.includes(ROOT_POLICY);
}
