import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Page, PageRequest } from "../../team/record.ts";
import { MAX_NAME_LENGTH } from "../../team/rules/name.ts";
import { exact } from "../../wire/exact-fields.ts";
import { type Field, type FieldSchema, fieldSchema, readValues } from "../../wire/fields.ts";
import { plainReply, type Reply } from "../../wire/reply.ts";
import type { GroveRequest } from "../../wire/request.ts";
import type { Shape } from "../../wire/shape.ts";
import { inner, view } from "../../wire/view.ts";

const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;
/** More than there can be; keeps the arithmetic exact. */
const MAX_NUMBER = 1_000_000_000;

const NUMBER = "page[number]";
const SIZE = "page[size]";

/** The parameters of every list. */
const PAGE_FIELDS = fieldSchema({
  [NUMBER]: pageNumber(1, MAX_NUMBER, "must be a whole number from 1").describe("The number of the page, from 1"),
  [SIZE]: pageNumber(DEFAULT_SIZE, MAX_SIZE, `must be a whole number from 1 to ${MAX_SIZE}`).describe(
    `Entries of a page, up to ${MAX_SIZE}; ${DEFAULT_SIZE} unless said`,
  ),
});

/** The parameter of lists that are searched: text that names must hold, "" for none. */
export const SEARCH_FIELD = {
  q: exact("string", (value = "") =>
    typeof value === "string" && value.length <= MAX_NAME_LENGTH ? ok(value) : err("is longer than any name"),
  ).describe("What names have to hold"),
};

/** The query of a list. */
export interface ListQuery<Q> {
  readonly page: PageRequest;
  /** All parameters that were sent, for the links to other pages. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The list's own parameters, read. */
  readonly own: Q;
}

/** A query parameter that can't be taken. */
export function refusedParameter(parameter: string, message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "invalid_parameter", message, parameter });
}

/** The parameters of a list besides its own. */
export function listFields(related: readonly string[]): FieldSchema<unknown> {
  return fieldSchema({ ...PAGE_FIELDS.shape, ...(related.length > 0 && includeField(related)) });
}

/** The parameter that includes related resources, for lists and documents where there are never any. */
export function includeField(related: readonly string[]): { readonly include: Field<unknown> } {
  const description = `${related.join(" or ")}, of which there are none`;
  return { include: exact("string", (value) => ok(value)).describe(description) };
}

/**
 * Reads the query of a list. A parameter that has no effect is refused: an ignored filter would pass for an answer.
 *
 * @param own the list's own parameters.
 * @param related what can be included.
 */
export function readListQuery<Q>(
  data: Readonly<Record<string, unknown>>,
  own: FieldSchema<Q>,
  related: readonly string[],
): Result<ListQuery<Q>> {
  const included = readInclude(data.include, related);
  if (!included.ok) return included;
  const parameters: Record<string, string> = {};
  for (const [name, value] of Object.entries(data)) {
    const isKnown = name === "include" || Object.hasOwn(PAGE_FIELDS.shape, name) || Object.hasOwn(own.shape, name);
    if (!isKnown) return refusedParameter(shownName(name), "this query parameter is not supported");
    if (typeof value !== "string") return refusedParameter(name, `${name} was given more than once`);
    parameters[name] = value;
  }
  const page = readValues(PAGE_FIELDS, parameters);
  if (!page.ok) return refusedParameter(page.error.name, `${page.error.name} ${page.error.message}`);
  const values = readValues(own, parameters);
  if (!values.ok) return refusedParameter(values.error.name, `${values.error.name} ${values.error.message}`);
  return ok({ page: { number: page.value[NUMBER], size: page.value[SIZE] }, parameters, own: values.value });
}

/**
 * Checks the `include` parameter: names with commas between them.
 *
 * @param related what can be included. There are never any such resources.
 * @returns the member of the document for what was asked to be included.
 */
export function readInclude(
  value: unknown,
  related: readonly string[],
): Result<{ readonly included?: readonly never[] }> {
  if (value === undefined) return ok({});
  const names = typeof value === "string" ? value.split(",") : [];
  if (names.length > 0 && names.every((name) => related.includes(name))) return ok({ included: [] });
  // Clients know this refusal by these words.
  const message =
    related.length === 0
      ? "the include parameter is not supported"
      : `the include parameter can be ${related.join(", ")}`;
  return refusedParameter("include", message);
}

/** The document of a page of a list. */
export function pageReply<T>(
  { request, prepared }: { readonly request: GroveRequest; readonly prepared: ListQuery<unknown> },
  page: Page<T>,
  resourceOf: (item: T) => Record<string, unknown>,
): Result<Reply, never> {
  const document = pageDocument(request.baseUrl(), request.path, prepared, page, resourceOf);
  return ok(plainReply({ ...document, ...(prepared.parameters.include !== undefined && { included: [] }) }));
}

/** Where a page is among the pages of its list. */
interface ShownPage {
  readonly number: number;
  readonly size: number;
  readonly total: number;
  /** The number of the last page; 0 for an empty list. */
  readonly last: number;
  readonly previous: number | null;
  readonly next: number | null;
  /** The link to a page. */
  link(to: number): string;
}

const PAGE_VIEW = view<ShownPage>({
  links: inner({
    self: ["string", ({ number, link }) => link(number)],
    first: ["string", ({ link }) => link(1)],
    prev: ["string | null", ({ previous, link }) => previous && link(previous)],
    next: ["string | null", ({ next, link }) => next && link(next)],
    last: ["string", ({ last, link }) => link(Math.max(last, 1))],
  }),
  meta: inner({
    pagination: inner({
      "current-page": ["integer", ({ number }) => number],
      "page-size": ["integer", ({ size }) => size],
      "prev-page": ["integer | null", ({ previous }) => previous],
      "next-page": ["integer | null", ({ next }) => next],
      "total-pages": ["integer", ({ last }) => last],
      "total-count": ["integer", ({ total }) => total],
    }),
  }),
});

/** The shape of a page. */
export function pageShape(resource: Shape): Shape {
  return { data: [resource], ...PAGE_VIEW.shape, "included?": ["object"] };
}

/** The document of a page of a list. `path` is that of the list, without the base path. */
export function pageDocument<T>(
  baseUrl: string,
  path: string,
  { page: { number, size }, parameters }: Pick<ListQuery<unknown>, "page" | "parameters">,
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
  return { data: items.map(resourceOf), ...PAGE_VIEW.show({ number, size, total, last, previous, next, link }) };
}

function pageNumber(otherwise: number, max: number, message: string): Field<number> {
  return exact("integer", (value) => {
    if (value === undefined) return ok(otherwise);
    const number = typeof value === "string" && /^[1-9]\d{0,9}$/.test(value) ? Number(value) : 0;
    return number >= 1 && number <= max ? ok(number) : err(message);
  });
}

/** The name of an unknown parameter, as far as it can be one. */
function shownName(name: string): string {
  return /^[\w[\]-]{1,64}$/.test(name) ? name : "";
}
