import type { Ms } from "../../base/clock.ts";
import { createdAtOf, type InventoryEntry, type ListedMetadata, type ListedToken } from "./entry.ts";

export interface Search {
  /** `MIN_SEARCH` to `MAX_SEARCH` characters. */
  readonly text: string;
  /** Ids of the entities whose name, or the name of an alias of theirs, contains the text. */
  readonly entities: readonly string[];
}

/** Minimum length of a search in characters: the index has sequences of three. */
export const MIN_SEARCH = 3;
export const MAX_SEARCH = 128;
/** Length (characters) to which pairs of metadata are cut off for the search. */
const MAX_SEARCHED = 256;
/** A text that may be the beginning of an accessor; case matters. Shorter texts would match accessors by chance. */
export const ACCESSOR_BEGINNING = /^[\w-]{8,}$/;
/** A text that is searched for anywhere in accessors. That reads all accessors, so words in one case do not match. */
export const ACCESSOR_PART = /^(?=.*[a-z])(?=.*[A-Z])[\w-]{8,83}$/;

/** True when the search finds a token: by entity, name, role, path or metadata (ignoring case), or by accessor. */
export function isFound({ text, entities }: Search, token: InventoryEntry): boolean {
  return (
    entities.includes(token.entityId) ||
    searchedTexts(token).some(([, searched]) => hasPart(searched, text)) ||
    (ACCESSOR_BEGINNING.test(text) && token.accessor.startsWith(text)) ||
    (ACCESSOR_PART.test(text) && token.accessor.includes(text))
  );
}

/** True when `searched` contains `text`, ignoring case. */
export function hasPart(searched: string, text: string): boolean {
  return lowered(searched).includes(lowered(text));
}

/** Returns the form in which texts are compared: lower case, and well-formed Unicode. */
export function lowered(text: string): string {
  return text.toLowerCase().toWellFormed();
}

const SEARCHED_KINDS = ["role", "name", "path", "meta"] as const;

type SearchedText = readonly [kind: (typeof SEARCHED_KINDS)[number], text: string];

/** Returns the texts of a token that a search covers, with their kinds. */
export function searchedTexts(token: InventoryEntry): SearchedText[] {
  const pairs = Object.entries(token.metadata ?? {});
  return [
    ["role", token.role],
    ["name", token.displayName],
    ["path", token.path],
    ...pairs.map(([name, value]): SearchedText => ["meta", pairText(name, value)]),
  ];
}

/** Formats a pair of metadata for the search, cut off to `MAX_SEARCHED` characters. */
export function pairText(name: string, value: string): string {
  return `${name}=${value}`.slice(0, MAX_SEARCHED).toWellFormed();
}

/** Returns the text of a term if a search covers it; else null. */
export function textOfTerm(term: string): string | null {
  const kind = SEARCHED_KINDS.find((one) => term.startsWith(`${one}:`));
  return kind === undefined ? null : term.slice(kind.length + 1);
}

/** Resolution of the last use. */
const USE_HOUR_MS = 3_600_000;

/** Conditions on tokens. A token matches when it meets all that are set. */
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
  readonly metadata?: ListedMetadata | undefined;
  readonly search?: Search | undefined;
  readonly tree?: string | undefined;
  readonly createdAfter?: Ms | undefined;
  readonly createdBefore?: Ms | undefined;
  readonly endsAfter?: Ms | undefined;
  readonly endsBefore?: Ms | undefined;
  readonly neverEnds?: boolean | undefined;
  /** Tokens that were created before this time and not used since. */
  readonly unusedSince?: Ms | undefined;
  readonly orphan?: boolean | undefined;
}

/** True when `token` of the tree `tree` has not expired at `now` and matches `filter`. */
export function matches(filter: TokenFilter, token: ListedToken, tree: string, now: Ms): boolean {
  const { expiresAt } = token;
  return (expiresAt === null || expiresAt > now) && matchesFixed(filter, token, tree) && hasChanging(filter, token);
}

/** True when `token` of the tree `tree` meets those conditions of `filter` that are about fields that never change. */
export function matchesFixed(filter: TokenFilter, token: ListedToken, tree: string): boolean {
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

function has(metadata: ListedMetadata, name: string, value: string): boolean {
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
