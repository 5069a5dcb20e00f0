import { type Found, KINDS, type Kind } from "./search-result.ts";

/** Most names that are read from one list. */
export const MOST_NAMES = 2_000;
/** Most mounts whose roles are read, and most organizations whose teams are read. */
export const MOST_MOUNTS = 30;
export const MOST_ORGANIZATIONS = 10;
/** Maximum number of organizations, or of teams or tokens of one, that are read: one page. */
const TEAMS_OF_PAGE = 50;
/** The kinds whose names are read from several lists, each with one detail. */
const OF_LISTS: ReadonlySet<Kind> = new Set(["Roles", "Teams", "Tokens of teams"]);

/** The kinds of which the search has not read all names, so that one which it does not find may exist. */
export function cutKinds(names: readonly Found[]): readonly Kind[] {
  const lists = Map.groupBy(names, ({ kind, detail }) => (OF_LISTS.has(kind) ? `${kind} of ${detail}` : kind));
  const cut = new Set<Kind>();
  for (const [first, ...others] of lists.values()) {
    if (!first) continue;
    const size = 1 + others.length;
    const { kind, detail } = first;
    if (size >= (kind === "Teams" || kind === "Tokens of teams" ? TEAMS_OF_PAGE : MOST_NAMES)) cut.add(kind);
    if (kind === "Auth methods" && size > MOST_MOUNTS) cut.add("Roles");
    if (kind === "Teams" && detail === "organization" && size > MOST_ORGANIZATIONS)
      cut.add(kind).add("Tokens of teams");
  }
  return KINDS.filter((kind) => cut.has(kind));
}
