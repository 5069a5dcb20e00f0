import {
  type Answered,
  type CallContext,
  type PresentedContext,
  simpleRoute,
  type TokenRoute,
  tokenRoute,
} from "../../auth/route.ts";
import {
  type AnswerDescription,
  describeFields,
  plainAnswer,
  type RouteDescription,
} from "../../auth/route-description.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Operation } from "../../policy/operation.ts";
import type { PageRequest, RowPage } from "../../storage/pages.ts";
import { MAX_NAME_LENGTH } from "../../team/rules/names.ts";
import { organizationNamed } from "../../team/stubs.ts";
import { ANY_FIELDS, type FieldSchema, fieldSchema, readValues } from "../../wire/field-schema.ts";
import { type Field, isObject } from "../../wire/fields.ts";
import { exact } from "../../wire/json-type-fields.ts";
import { plainReply, type Reply } from "../../wire/reply.ts";
import type { GroveRequest } from "../../wire/request.ts";
import { inner, type View, view } from "../../wire/view.ts";

const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;
/** More pages than there can be. */
const MAX_NUMBER = 1_000_000_000;

const NUMBER = "page[number]";
const SIZE = "page[size]";

export const PAGE_FIELDS = fieldSchema({
  [NUMBER]: pageNumber(1, MAX_NUMBER, "must be a whole number from 1").describe("From 1"),
  [SIZE]: pageNumber(DEFAULT_SIZE, MAX_SIZE, `must be a whole number from 1 to ${MAX_SIZE}`).describe(
    `Entries of a page, at most ${MAX_SIZE}; ${DEFAULT_SIZE} by default`,
  ),
});

/** The parameter for a search in names. */
export const SEARCH_FIELD = {
  q: exact("string", (value = "") =>
    typeof value === "string" && value.length <= MAX_NAME_LENGTH ? ok(value) : err("is longer than any name"),
  ).describe("Text that the name contains"),
};

export interface ListQuery<Q> {
  readonly page: PageRequest;
  /** All parameters as they were sent, for the links to other pages. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly own: Q;
}

function refusedParameter(parameter: string, message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "invalid_parameter", message, parameter });
}

/** Refuses a part of a document. `pointer` is its JSON pointer. */
export function refused(pointer: string, message: string): { readonly ok: false; readonly error: Failure } {
  return err({ code: "invalid_document", message, pointer });
}

/** An `include` that is accepted and has no effect: there are no resources of these relations. */
export function includeField(related: readonly string[]): { readonly include: Field<unknown> } {
  const description = `${related.join(" or ")}; there are none`;
  return { include: exact("string", (value) => ok(value)).describe(description) };
}

/** Checks the `include` parameter: names of `related` resources, which never exist, with commas between them. */
export function readInclude(value: unknown, related: readonly string[]): Result<{ included?: readonly never[] }> {
  if (value === undefined) return ok({});
  const names = typeof value === "string" ? value.split(",") : [];
  if (names.length > 0 && names.every((name) => related.includes(name))) return ok({ included: [] });
  // Clients recognise this refusal by these words.
  const message =
    related.length === 0
      ? "the include parameter is not supported"
      : `the include parameter can be ${related.join(", ")}`;
  return refusedParameter("include", message);
}

/** Reads the query of a list. A parameter without effect is refused, because a client would take the list for filtered. */
export function readListQuery<Q>(
  data: Readonly<Record<string, unknown>>,
  own: FieldSchema<Q>,
  related: readonly string[],
): Result<ListQuery<Q>> {
  const included = readInclude(data.include, related);
  if (!included.ok) return included;
  const isKnown = (name: string) => name === "include" || isIn(PAGE_FIELDS, name) || isIn(own, name);
  const parameters = knownParameters(data, isKnown);
  if (!parameters.ok) return parameters;
  const page = parameterValues(PAGE_FIELDS, parameters.value);
  if (!page.ok) return page;
  const values = parameterValues(own, parameters.value);
  if (!values.ok) return values;
  const { [NUMBER]: number, [SIZE]: size } = page.value;
  return ok({ page: { number, size }, parameters: parameters.value, own: values.value });
}

function isIn({ shape }: FieldSchema<unknown>, name: string): boolean {
  return Object.hasOwn(shape, name);
}

function knownParameters(data: Readonly<Record<string, unknown>>, isKnown: (name: string) => boolean) {
  const parameters: Record<string, string> = {};
  for (const [name, value] of Object.entries(data)) {
    // A text that is no name is not repeated.
    const shown = /^[\w[\]-]{1,64}$/.test(name) ? name : "";
    if (!isKnown(name)) return refusedParameter(shown, "this query parameter is not supported");
    if (typeof value !== "string") return refusedParameter(name, `${name} was given more than once`);
    parameters[name] = value;
  }
  return ok(parameters);
}

function parameterValues<Q>(schema: FieldSchema<Q>, parameters: Readonly<Record<string, string>>): Result<Q> {
  const values = readValues(schema, parameters);
  return values.ok ? values : refusedParameter(values.error.name, `${values.error.name} ${values.error.message}`);
}

function pageNumber(otherwise: number, max: number, message: string): Field<number> {
  return exact("integer", (value) => {
    if (value === undefined) return ok(otherwise);
    const number = typeof value === "string" && /^[1-9]\d{0,9}$/.test(value) ? Number(value) : 0;
    return number >= 1 && number <= max ? ok(number) : err(message);
  });
}

const PAGE_VIEW = view<ReturnType<typeof pagePlace>>({
  links: inner({
    self: ["string", ({ number, linkTo }) => linkTo(number)],
    first: ["string", ({ linkTo }) => linkTo(1)],
    prev: ["string | null", ({ previous, linkTo }) => previous && linkTo(previous)],
    next: ["string | null", ({ next, linkTo }) => next && linkTo(next)],
    last: ["string", ({ last, linkTo }) => linkTo(Math.max(last, 1))],
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

type PageContext = { request: Pick<GroveRequest, "baseUrl" | "path">; prepared: ListQuery<unknown> };

/** The position of a page in its list. `last` is 0 for an empty list. */
function pagePlace({ request, prepared: { page, parameters } }: PageContext, total: number) {
  const { number, size } = page;
  const last = Math.ceil(total / size);
  const url = `${request.baseUrl()}${request.path}`;
  const linkTo = (to: number): string => {
    const query = Object.entries({ ...parameters, [NUMBER]: String(to), [SIZE]: String(size) });
    const encoded = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
    return `${url}?${encoded.join("&")}`;
  };
  const previous = number > 1 && last > 0 ? Math.min(number - 1, last) : null;
  return { number, size, total, last, previous, next: number < last ? number + 1 : null, linkTo };
}

/** Shows an item of a list as a resource. */
type Show<T> = (item: T) => Record<string, unknown>;

/** Answers with a page of a list. */
export function pageReply<T>(context: PageContext, { items, total }: RowPage<T>, show: Show<T>): Result<Reply, never> {
  const included = context.prepared.parameters.include === undefined ? {} : { included: [] };
  return plainReply({ data: items.map(show), ...PAGE_VIEW.show(pagePlace(context, total)), ...included });
}

/** Answers with a document of one resource, or of several. */
export function documentReply(data: unknown, status = 200): Result<Reply, never> {
  return ok({ kind: "plain", status, body: { data } });
}

/** Describes a document of one resource. */
export function documentAnswer({ shape }: View<never>, status = 200): AnswerDescription {
  return plainAnswer({ data: shape }, status);
}

export interface Resource {
  /** "" without a document and in requests of go-tfe; null if the resource has no type. */
  readonly type: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Reads the resource of a document. Its attributes are optional. `readResource` checks its type. */
export function readDocument({ data }: Readonly<Record<string, unknown>>): Result<Resource> {
  if (!isObject(data)) return refused("/data", "data must be a resource object");
  const { type = null } = data;
  const attributes = data.attributes ?? {};
  if (type !== null && typeof type !== "string") return refused("/data/type", "type must be a string");
  if (!isObject(attributes)) return refused("/data/attributes", "attributes must be an object");
  return ok({ type, attributes });
}

/** Checks a resource. An empty type is accepted too, because go-tfe sends it for tokens of teams. */
function readResource<A>({ type, attributes }: Resource, types: readonly string[], schema: FieldSchema<A>): Result<A> {
  if (type === null || (type !== "" && !types.includes(type))) return refused("/data/type", `type must be ${types[0]}`);
  const read = readValues(schema, attributes);
  // The message names no member of an attribute, because that would repeat input.
  if (!read.ok) return refused(`/data/attributes/${read.error.name}`, `${read.error.name} ${read.error.message}`);
  const isKnown = (name: string) => schema.others !== "refused" || Object.hasOwn(schema.shape, name);
  if (Object.keys(attributes).every(isKnown)) return read;
  const names = schema.entries.map(([name]) => name);
  return refused("/data/attributes", `the attributes can only be ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
}

/** Returns the organization in the path: its name and its object. */
export function organizationIn({ env, params: { organization: name = "" } }: CallContext) {
  return { name, organization: organizationNamed(env, name) };
}

type Declared<P> = Omit<RouteDescription, "fields"> & {
  handle(context: CallContext<Record<string, unknown>, P>): Answered;
};

/** Defines an endpoint that reads only its path. */
export function bareRoute(operation: Operation, path: string, declared: Declared<null>): TokenRoute {
  return simpleRoute(operation, path, { ...declared, fields: {}, input: ANY_FIELDS });
}

/** Defines a write with a document of one of `types`. The handler gets its attributes as `prepared`. */
export function documentRoute<A>(
  operation: Operation,
  path: string,
  declared: Declared<A> & {
    readonly types: readonly string[];
    readonly attributes: FieldSchema<A>;
    /** Returns the failure of attributes that are wrong together, or in this path. Reads nothing that is stored. */
    check?(attributes: A, context: Pick<PresentedContext<unknown>, "env" | "params">): Failure | null;
  },
): TokenRoute {
  const { types, attributes, check, ...route } = declared;
  return tokenRoute<Record<string, unknown>, A>(operation, path, {
    ...route,
    fields: describeFields(attributes),
    input: ANY_FIELDS,
    nullsBy: attributes,
    prepare: async (context) => {
      const { request, fields } = context;
      const read = readResource({ type: request.resourceType, attributes: fields }, types, attributes);
      const failure = (read.ok && check?.(read.value, context)) || null;
      return failure ? err(failure) : read;
    },
  });
}

/** Defines a read or a deletion of one resource with a query. Unknown parameters are refused. */
export function queryRoute<Q>(
  operation: "read" | "delete",
  path: string,
  declared: Declared<Q> & { readonly query: FieldSchema<Q> },
): TokenRoute {
  const { query, ...route } = declared;
  return tokenRoute<Record<string, unknown>, Q>(operation, path, {
    ...route,
    fields: describeFields(query),
    input: ANY_FIELDS,
    prepare: async ({ fields }) => {
      const parameters = knownParameters(fields, (name) => isIn(query, name));
      return parameters.ok ? parameterValues(query, parameters.value) : parameters;
    },
  });
}

interface DeclaredList<Q, T> extends Pick<RouteDescription, "summary" | "operationId"> {
  /** Its parameters besides those of every list. */
  readonly own: FieldSchema<Q>;
  readonly related?: readonly string[];
  readonly view: View<never>;
  /** Returns the failure of parameters that can't be given together, or null. */
  check?(own: Q): Failure | null;
  find(context: CallContext<Record<string, unknown>, ListQuery<Q>>): Promise<Result<RowPage<T>>>;
  /** Returns the function that shows an item to the caller. */
  showTo(context: CallContext): Show<T> | Promise<Show<T>>;
}

/** Defines a list by page. */
export function resourceListRoute<Q, T>(path: string, declared: DeclaredList<Q, T>): TokenRoute {
  const { own, related = [], view, check, find, showTo, ...description } = declared;
  const include = related.length > 0 ? describeFields(fieldSchema(includeField(related))) : {};
  return tokenRoute<Record<string, unknown>, ListQuery<Q>>("read", path, {
    ...description,
    fields: { ...describeFields(PAGE_FIELDS), ...include, ...describeFields(own) },
    answers: plainAnswer({ data: [view.shape], ...PAGE_VIEW.shape, "included?": ["object"] }),
    input: ANY_FIELDS,
    prepare: async (context) => {
      const query = readListQuery(context.fields, own, related);
      const failure = (query.ok && check?.(query.value.own)) || null;
      return failure ? err(failure) : query;
    },
    async handle(context) {
      const page = await find(context);
      return page.ok ? pageReply(context, page.value, await showTo(context)) : page;
    },
  });
}
