import { createdAtOf, type ListedToken, type Metadata } from "./entry.ts";
import { isFound, type Search } from "./search.ts";

/** Resolution of the last use (ms). */
const USE_HOUR_MS = 3_600_000;

/** Conditions on tokens. A token matches when it meets all that are set. Times in ms. */
export interface TokenFilter {
  /** Issuer id of a mount, as in `InventoryEntry`. */
  readonly mount?: string | undefined;
  readonly role?: string | undefined;
  readonly pathPrefix?: string | undefined;
  readonly policy?: string | undefined;
  readonly entityId?: string | undefined;
  readonly displayName?: string | undefined;
  readonly displayNamePrefix?: string | undefined;
  /** The token has all of these pairs. */
  readonly metadata?: Metadata | undefined;
  readonly search?: Search | undefined;
  readonly tree?: string | undefined;
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
  readonly endsAfter?: number | undefined;
  readonly endsBefore?: number | undefined;
  readonly neverEnds?: boolean | undefined;
  /** Tokens that were created before this time and not used since. */
  readonly unusedSince?: number | undefined;
  readonly orphan?: boolean | undefined;
}

/** True when `token` of the tree `tree` has not expired at `now` (ms) and matches `filter`. */
export function matches(filter: TokenFilter, token: ListedToken, tree: string, now: number): boolean {
  const { expiresAt } = token;
  return (expiresAt === null || expiresAt > now) && isEverMeant(filter, token, tree) && hasChanging(filter, token);
}

/** True when `token` of the tree `tree` meets those conditions of `filter` that are about fields that never change. */
export function isEverMeant(filter: TokenFilter, token: ListedToken, tree: string): boolean {
  const created = createdAtOf(token);
  return (
    is(filter.mount, token.mount) &&
    is(filter.role, token.role) &&
    is(filter.entityId, token.entityId) &&
    is(filter.displayName, token.displayName) &&
    is(filter.tree, tree) &&
    token.path.startsWith(filter.pathPrefix ?? "") &&
    token.displayName.startsWith(filter.displayNamePrefix ?? "") &&
    (filter.policy === undefined || token.policies.includes(filter.policy)) &&
    (filter.search === undefined || isFound(filter.search, token)) &&
    Object.entries(filter.metadata ?? {}).every(([name, value]) => has(token.metadata ?? {}, name, value)) &&
    (filter.createdAfter === undefined || created > filter.createdAfter) &&
    (filter.createdBefore === undefined || created < filter.createdBefore)
  );
}

function has(metadata: Metadata, name: string, value: string): boolean {
  return Object.hasOwn(metadata, name) && metadata[name] === value;
}

function hasChanging(filter: TokenFilter, token: ListedToken): boolean {
  const { expiresAt, lastUsed } = token;
  const { orphan, endsAfter, endsBefore, neverEnds, unusedSince } = filter;
  if (!is(orphan, token.parent === null) || !is(neverEnds, expiresAt === null)) return false;
  // A token that never expires counts as expiring after every time.
  if (endsAfter !== undefined && expiresAt !== null && expiresAt <= endsAfter) return false;
  if (endsBefore !== undefined && (expiresAt === null || expiresAt >= endsBefore)) return false;
  // Only the hour of the last use is known, so the use may have been at the end of that hour.
  const lastMoment = lastUsed === null ? createdAtOf(token) : lastUsed + USE_HOUR_MS - 1;
  return unusedSince === undefined || lastMoment < unusedSince;
}

function is<T>(wanted: T | undefined, actual: T): boolean {
  return wanted === undefined || wanted === actual;
}
