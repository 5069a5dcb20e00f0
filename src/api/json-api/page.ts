import type { RouteDescription } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Page, PageRequest } from "../../team/record.ts";
import { MAX_NAME_LENGTH } from "../../team/rules/name.ts";
import type { Shape } from "../../wire/shape.ts";

const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;
/** More than there can be; keeps the arithmetic exact. */
const MAX_NUMBER = 1_000_000_000;

const NUMBER = "page[number]";
const SIZE = "page[size]";

/** The parameters that every list takes, besides its own. */
export interface ListQuery {
  readonly page: PageRequest;
  /** All parameters that were sent, for the links to other pages. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A query parameter that can't be taken. */
export function refusedParameter(parameter: string, message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "invalid_parameter", message, parameter });
}

/**
 * Reads the query of a list. A parameter that has no effect is refused: an ignored filter would pass for an answer.
 *
 * @param own the names of the list's own parameters.
 */
export function readListQuery(
  data: Readonly<Record<string, unknown>>,
  own: readonly string[],
): Result<ListQuery, Failure> {
  const known = [NUMBER, SIZE, ...own];
  const include = readInclude(known.includes("include") ? undefined : data.include, []);
  if (!include.ok) return include;
  const parameters: Record<string, string> = {};
  for (const [name, value] of Object.entries(data)) {
    if (!known.includes(name)) return refusedParameter(shownName(name), "this query parameter is not supported");
    if (typeof value !== "string") return refusedParameter(name, `${name} was given more than once`);
    parameters[name] = value;
  }
  const number = readNumber(parameters[NUMBER], 1, MAX_NUMBER);
  if (number === null) return refusedParameter(NUMBER, `${NUMBER} must be a whole number from 1`);
  const size = readNumber(parameters[SIZE], DEFAULT_SIZE, MAX_SIZE);
  if (size === null) return refusedParameter(SIZE, `${SIZE} must be a whole number from 1 to ${MAX_SIZE}`);
  return ok({ page: { number, size }, parameters });
}

/**
 * Checks the `include` parameter: names with commas between them.
 *
 * @param related what can be included.
 */
export function readInclude(value: unknown, related: readonly string[]): Result<null, Failure> {
  const names = typeof value === "string" ? value.split(",") : [];
  if (value === undefined || (names.length > 0 && names.every((name) => related.includes(name)))) return ok(null);
  // Clients know this refusal by these words.
  const message =
    related.length === 0
      ? "the include parameter is not supported"
      : `the include parameter can be ${related.join(", ")}`;
  return refusedParameter("include", message);
}

/** The text that names are searched for, "" for none. */
export function readSearch({ parameters }: ListQuery): Result<string, Failure> {
  const { q = "" } = parameters;
  return q.length > MAX_NAME_LENGTH ? refusedParameter("q", "q is longer than any name") : ok(q);
}

/** The document of a page of a list. `path` is that of the list, without the base path. */
export function pageDocument<T>(
  baseUrl: string,
  path: string,
  { page: { number, size }, parameters }: ListQuery,
  { items, total }: Page<T>,
  resourceOf: (item: T) => Record<string, unknown>,
): Record<string, unknown> {
  const last = Math.ceil(total / size);
  const previous = number > 1 && last > 0 ? Math.min(number - 1, last) : null;
  const next = number < last ? number + 1 : null;
  const link = (to: number): string => {
    const query = Object.entries({ ...parameters, [NUMBER]: String(to), [SIZE]: String(size) });
    const encoded = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    return `${baseUrl}${path}?${encoded.join("&")}`;
  };
  return {
    data: items.map(resourceOf),
    links: {
      self: link(number),
      first: link(1),
      prev: previous === null ? null : link(previous),
      next: next === null ? null : link(next),
      last: link(Math.max(last, 1)),
    },
    meta: {
      pagination: {
        "current-page": number,
        "page-size": size,
        "prev-page": previous,
        "next-page": next,
        "total-pages": last,
        "total-count": total,
      },
    },
  };
}

function readNumber(text: string | undefined, otherwise: number, max: number): number | null {
  if (text === undefined) return otherwise;
  const number = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= max ? number : null;
}

/** The name of an unknown parameter, as far as it can be one. */
function shownName(name: string): string {
  return /^[\w[\]-]{1,64}$/.test(name) ? name : "";
}

/** The shape of a page. */
export function pageShape(resource: Shape): Shape {
  return {
    data: [resource],
    links: { self: "string", first: "string", prev: "string | null", next: "string | null", last: "string" },
    meta: {
      pagination: {
        "current-page": "integer",
        "page-size": "integer",
        "prev-page": "integer | null",
        "next-page": "integer | null",
        "total-pages": "integer",
        "total-count": "integer",
      },
    },
    "included?": ["object"],
  };
}

/** The parameters of every list. */
export const PAGE_FIELDS = {
  [NUMBER]: { shape: "integer", description: "The number of the page, from 1" },
  [SIZE]: { shape: "integer", description: `Entries of a page, up to ${MAX_SIZE}; ${DEFAULT_SIZE} unless said` },
} as const satisfies RouteDescription["fields"];

/** The parameter of lists that are searched. */
export const SEARCH_FIELD = {
  q: { shape: "string", description: "What names have to hold" },
} as const satisfies RouteDescription["fields"];
