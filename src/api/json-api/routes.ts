import { type Answered, type CallContext, simpleRoute, type TokenRoute, tokenRoute } from "../../auth/route.ts";
import { describeFields, type RouteDescription } from "../../auth/route-description.ts";
import { err, type Failure, ok, type Result } from "../../base/result.ts";
import type { Operation } from "../../policy/acl.ts";
import { ANY_FIELDS, type FieldSchema, isObject, readValues } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { type ListQuery, listFields, readListQuery } from "./page.ts";

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
