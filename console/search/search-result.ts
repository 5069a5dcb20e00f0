/** The kinds of results, in the order in which they are shown. */
export const KINDS = [
  "Requests",
  "Receipts",
  "Lists",
  "Leases",
  "Tokens",
  "Entities",
  "Groups",
  "Roles",
  "Policies",
  "Auth methods",
  "Teams",
  "Tokens of teams",
  "Ended tokens",
  "Pages",
] as const;
export type Kind = (typeof KINDS)[number];

/** A result: something with a page. */
export interface Found {
  readonly kind: Kind;
  readonly name: string;
  /** A text beside the name, also searched: aliases, the method of a role. */
  readonly detail: string;
  /** Whole ids and paths that lead to it, in lower case, although they are not shown. */
  readonly ids?: readonly string[];
  readonly href: string;
}

/** Most results of one kind. */
export const SHOWN_OF_KIND = 6;

/**
 * The results whose name or detail contains `text` (in any case), at most `SHOWN_OF_KIND` of each kind: first equal names and ids,
 * then names that begin with it, then names that contain it, then details.
 */
export function matching(all: readonly Found[], text: string): readonly Found[] {
  const wanted = text.toLowerCase();
  const ranked = all
    .map((found) => ({ found, rank: rankOf(found, wanted) }))
    .filter(({ rank }) => rank < NONE)
    .sort((a, b) => a.rank - b.rank || a.found.name.localeCompare(b.found.name));
  return KINDS.flatMap((kind) =>
    ranked
      .filter(({ found }) => found.kind === kind)
      .slice(0, SHOWN_OF_KIND)
      .map(({ found }) => found),
  );
}

/** The best results of one kind, also those that have the text elsewhere; equally good ones stay in their order. */
export function bestOf(all: readonly Found[], text: string): readonly Found[] {
  const wanted = text.toLowerCase();
  return [...all].sort((a, b) => rankOf(a, wanted) - rankOf(b, wanted)).slice(0, SHOWN_OF_KIND);
}

const NONE = 4;

function rankOf({ name, detail, ids = [] }: Found, wanted: string): number {
  const lower = name.toLowerCase();
  if (lower === wanted || ids.includes(wanted)) return 0;
  if (lower.startsWith(wanted)) return 1;
  if (lower.includes(wanted)) return 2;
  return detail.toLowerCase().includes(wanted) ? 3 : NONE;
}
