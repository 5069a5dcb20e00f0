import { type Answered, type CallContext, simpleRoute, type TokenRoute, tokenRoute } from "../../auth/route.ts";
import { describeFields, type RouteDescription } from "../../auth/route-description.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Operation } from "../../policy/acl.ts";
import type { Page, PageRequest } from "../../team/record.ts";
import { MAX_NAME_LENGTH } from "../../team/rules/name.ts";
import { exact } from "../../wire/exact-fields.ts";
import { ANY_FIELDS, type Field, type FieldSchema, fieldSchema, isObject, readValues } from "../../wire/fields.ts";
import { plainReply, type Reply } from "../../wire/reply.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { inner, type Shape, view } from "../../wire/view.ts";

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
function listFields(related: readonly string[]): FieldSchema<unknown> {
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

/** An invalid part of a document. `pointer` is its JSON pointer. */
export function refused(pointer: string, message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "invalid_document", message, pointer });
}

/** The resource of a document. */
export interface Resource {
  /** "" where there is no resource, and in requests of go-tfe, which sends it so; null for a resource that lacks it. */
  readonly type: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Reads the resource of a document. It may come without attributes. `readResource` judges its type. */
export function readDocument({ data }: Readonly<Record<string, unknown>>): Result<Resource> {
  if (!isObject(data)) return refused("/data", "data must be a resource object");
  const { type = null, attributes = {} } = data;
  if (type !== null && typeof type !== "string") return refused("/data/type", "type must be a string");
  if (!isObject(attributes)) return refused("/data/attributes", "attributes must be an object");
  return ok({ type, attributes });
}

/**
 * Checks a resource that a client sent.
 *
 * @param types the names that its type may have. An empty one is taken too: go-tfe asks for tokens of teams by it.
 * @param schema of the attributes.
 */
function readResource<A>({ type, attributes }: Resource, types: readonly string[], schema: FieldSchema<A>): Result<A> {
  if (type === null || (type !== "" && !types.includes(type))) return refused("/data/type", `type must be ${types[0]}`);
  const read = readValues(schema, attributes);
  // The message does not name anything below an attribute that the client sent: it would repeat input.
  if (!read.ok) return refused(`/data/attributes/${read.error.name}`, `${read.error.name} ${read.error.message}`);
  const isKnown = (name: string) => schema.others !== "refused" || Object.hasOwn(schema.shape, name);
  if (Object.keys(attributes).every(isKnown)) return read;
  const names = schema.entries.map(([name]) => name);
  return refused("/data/attributes", `the attributes can only be ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
}

/** An endpoint of this interface: what is said of it, and what it does. */
interface Declared<P> extends Omit<RouteDescription, "fields"> {
  handle(context: CallContext<Record<string, unknown>, P>): Answered;
}

/** Defines an endpoint that reads nothing but its path. */
export function bareRoute(operation: Operation, path: string, declared: Declared<null>): TokenRoute {
  return simpleRoute(operation, path, { ...declared, fields: {}, input: ANY_FIELDS });
}

/** A write with a document. */
interface DeclaredDocument<A> extends Declared<A> {
  /** The names that the type of its resource may have. */
  readonly types: readonly string[];
  /** Of the resource; the handler finds them as `prepared`. */
  readonly attributes: FieldSchema<A>;
}

/** Defines a write with a document. */
export function documentRoute<A>(
  operation: Operation,
  path: string,
  { types, attributes, ...declared }: DeclaredDocument<A>,
): TokenRoute {
  return tokenRoute<Record<string, unknown>, A>(operation, path, {
    ...declared,
    fields: describeFields(attributes),
    input: ANY_FIELDS,
    prepare: async ({ request, fields }) =>
      readResource({ type: request.resourceType, attributes: fields }, types, attributes),
  });
}

/** A list by page. */
interface DeclaredList<Q> extends Declared<ListQuery<Q>> {
  /** The parameters of the list besides those of every list. */
  readonly own: FieldSchema<Q>;
  /** What can be included. */
  readonly related?: readonly string[];
}

/** Defines a list by page. */
export function listRoute<Q>(path: string, { own, related = [], ...declared }: DeclaredList<Q>): TokenRoute {
  return tokenRoute<Record<string, unknown>, ListQuery<Q>>("read", path, {
    ...declared,
    fields: { ...describeFields(listFields(related)), ...describeFields(own) },
    input: ANY_FIELDS,
    prepare: async (context) => readListQuery(context.fields, own, related),
  });
}

/** A document with its resource, or with its resources. */
export function documentReply(data: unknown, status = 200): Result<Reply, never> {
  return ok({ kind: "plain", status, body: { data } });
}
