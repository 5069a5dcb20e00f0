import type { RevocationJob, Token } from "../../client/answers.d.ts";
import { count, counted, shortAccessor } from "../format.ts";
import type { Selection } from "./selection.ts";

/** A filter in the query of the page, with the names of the inventory's API. */
export type Filter = Readonly<Record<string, string>>;

export interface FilterField {
  readonly name: string;
  readonly label: string;
  readonly kind: "search" | "text" | "time" | "flag" | "pairs";
  readonly placeholder?: string;
}

/** Fewest and most characters of a search. */
export const MIN_SEARCH = 3;
export const MAX_SEARCH = 128;

/** Why a text is not searched for, by its length; "" when it is. */
export function searchMistake(text: string): string {
  const { length } = [...text];
  if (length < MIN_SEARCH) return `${MIN_SEARCH} characters at least`;
  return length > MAX_SEARCH ? `${MAX_SEARCH} characters at most` : "";
}

export const FILTER_FIELDS: readonly FilterField[] = [
  { name: "search", label: "Search", kind: "search" },
  { name: "display_name", label: "Name", kind: "text", placeholder: "deploy*" },
  { name: "policy", label: "Policy", kind: "text" },
  { name: "mount", label: "Method", kind: "text", placeholder: "auth/token/" },
  { name: "role", label: "Role", kind: "text" },
  { name: "metadata", label: "Metadata", kind: "pairs", placeholder: "owner=billing" },
  { name: "path_prefix", label: "Path begins with", kind: "text" },
  { name: "entity_id", label: "Entity", kind: "text" },
  { name: "created_after", label: "Created after", kind: "time" },
  { name: "created_before", label: "Created before", kind: "time" },
  { name: "ends_after", label: "Ends after", kind: "time" },
  { name: "ends_before", label: "Ends before", kind: "time" },
  { name: "unused_since", label: "Unused since", kind: "time" },
  { name: "never_ends", label: "Never ends", kind: "flag" },
  { name: "orphan", label: "Without a parent", kind: "flag" },
  { name: "tree", label: "Tree", kind: "text" },
];

/** The mistake in the text of a filter, as far as it can be checked before it is sent; "" without one. */
export function filterMistake({ kind }: Pick<FilterField, "kind">, typed: string): string {
  const lines = kind === "pairs" && typed.trim() !== "" ? linesOfPairs(typed).split("\n") : [];
  return lines.every((line) => /^[^=]+=/.test(line)) ? "" : "name=value; several with commas between";
}

/** The filter that a refusal of the server names. */
export function refusedFilter(messages: readonly string[]): string {
  const text = messages.join(" ");
  if (text.includes("at the path of mount")) return "mount";
  return FILTER_FIELDS.find(({ name }) => new RegExp(`(?:^|\\W)${name}(?:\\W|$)`).test(text))?.name ?? "";
}

/** The fields that are always shown. */
export const MAIN_FIELDS: ReadonlySet<string> = new Set(["display_name", "policy", "mount", "role", "metadata"]);

/** The filter in a page's query. */
export function filterOf(query: URLSearchParams): Filter {
  const given = FILTER_FIELDS.map(({ name }) => [name, query.getAll(name).join("\n")] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** Names of entities by their ids, as far as they are known. */
export type EntityNamesById = ReadonlyMap<string, string>;

const NO_NAMES: EntityNamesById = new Map();

/** A filter in words, an entity by its name: `policy deploy, ends before 22 Nov 2026`. */
export function filterText(filter: Filter, names = NO_NAMES): string {
  const words = FILTER_FIELDS.flatMap(({ name, label, kind }) => {
    const value = filter[name];
    if (value === undefined) return [];
    if (name === "entity_id") return [`entity ${names.get(value) ?? value}`];
    return [kind === "search" ? searchText(value) : `${label.toLowerCase()} ${value.replaceAll("\n", ", ")}`];
  });
  return words.length === 0 ? "all tokens" : words.join(", ");
}

/** A search in words, with all the fields that it searches, since a revocation can be selected by it. */
const searchText = (text: string): string => `“${text}” in name, metadata, role, path, entity or accessor`;

/** The filter of a body of the API. */
export const filterOfBody = (body: Readonly<Record<string, unknown>>): Filter =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, Array.isArray(value) ? value.join("\n") : String(value)]),
  );

/** Spellings of true. */
const SET: ReadonlySet<string> = new Set(["true", "True", "TRUE", "t", "T", "1"]);

/** The accessor of the only selected token; "" for another selection. */
export function onlyAccessor({ accessors }: Readonly<Record<string, unknown>>): string {
  const [only, ...others]: readonly unknown[] = Array.isArray(accessors) ? accessors : [];
  return typeof only === "string" && others.length === 0 ? only : "";
}

/** What a job revokes, in words: `token-payments-api (…suffix) and 16 below`, or its selection. */
export function jobSelectionText(
  { filter, named, total }: Pick<RevocationJob, "filter" | "named" | "total">,
  names: EntityNamesById,
  tokenName: string,
): string {
  const accessor = onlyAccessor(filter);
  if (accessor === "") return selectionText(filter, named, names);
  const below = total > 1 ? ` and ${count(total - 1)} below` : "";
  return `${tokenName || "token"} (${shortAccessor(accessor)})${below}`;
}

/**
 * The selection of a revocation in words: `policy deploy, root tokens too`, or the number of selected tokens. Options
 * are left out for selected tokens, as they only widen a filter.
 *
 * @param named the number of selected tokens, for a listed job, whose body has no accessors
 */
export function selectionText(body: Readonly<Record<string, unknown>>, named = 0, names = NO_NAMES): string {
  const { accessors, include_root: root, include_self: self, ...filter } = body;
  const selected = Array.isArray(accessors) ? accessors.length : named;
  if (selected > 0) return counted(selected, "selected token");
  return [
    filterText(filterOfBody(filter), names),
    ...(SET.has(String(root)) ? ["root tokens too"] : []),
    ...(SET.has(String(self)) ? ["the token that asked too"] : []),
  ].join(", ");
}

/** The ids of the entities in filters. */
export const entitiesOf = (filters: readonly Readonly<Record<string, unknown>>[]): readonly string[] =>
  filters.flatMap(({ entity_id: id }) => (typeof id === "string" && id !== "" ? [id] : []));

/** The filter as a body for the API. */
export function filterBody(filter: Filter): Selection {
  const entries = Object.entries(filter).map(([name, value]) => {
    const kind = FILTER_FIELDS.find((one) => one.name === name)?.kind;
    return [name, kind === "flag" ? value === "true" : kind === "pairs" ? value.split("\n") : value] as const;
  });
  return Object.fromEntries(entries);
}

/** Converts typed pairs, `owner=billing, run=12`, to one pair per line. `pairsOfLines` does the reverse. */
export const linesOfPairs = (typed: string): string =>
  typed
    .trim()
    .split(/\s*,\s*(?=[^,=]+=)/)
    .join("\n");
/** The values of pairs, which are one per line. */
export const valuesOfPairs = (lines: string): readonly string[] =>
  lines.split("\n").map((line) => line.slice(line.indexOf("=") + 1).trim());
export const pairsOfLines = (lines: string): string => lines.replaceAll("\n", ", ");

/** True when a selection includes a token, by the fields in the inventory. */
export function isMeant(selection: Selection, token: Token): boolean {
  const { accessors, ...filter } = selection;
  if (Array.isArray(accessors)) return accessors.includes(token.accessor);
  return Object.entries(filter).every(([name, value]) =>
    Array.isArray(value) ? value.every((one) => hasField(token, name, one)) : hasField(token, name, String(value)),
  );
}

function hasField(token: Token, name: string, value: string): boolean {
  const created = Date.parse(token.created);
  const end = token.expires === null ? Number.POSITIVE_INFINITY : Date.parse(token.expires);
  switch (name) {
    case "policy":
      return token.policies.includes(value);
    case "mount":
      return token.mount.replace(/^auth\/|\/$/g, "") === value.replace(/^auth\/|\/$/g, "");
    case "role":
      return token.role === value;
    case "tree":
      return token.tree === value;
    case "entity_id":
      return token.entity_id === value;
    case "path_prefix":
      return token.path.startsWith(value);
    case "display_name":
      return value.endsWith("*") ? token.display_name.startsWith(value.slice(0, -1)) : token.display_name === value;
    case "metadata":
      return Object.entries(token.metadata).some(([key, one]) => `${key}=${one}` === value);
    case "orphan":
      return String(token.orphan) === value;
    case "never_ends":
      return String(token.expires === null) === value;
    case "created_after":
      return created > Date.parse(value);
    case "created_before":
      return created < Date.parse(value);
    case "ends_after":
      return end > Date.parse(value);
    case "ends_before":
      return end < Date.parse(value);
    default:
      // A filter that can't be evaluated here matches no token.
      return false;
  }
}
