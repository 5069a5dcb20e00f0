import { type CallContext, simpleRoute, type TokenRoute, tokenRoute } from "../../auth/route.ts";
import { describeFields, type RouteDescription } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
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
export function readDocument({ data }: Readonly<Record<string, unknown>>): Result<Resource, Failure> {
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
function readResource<A>(
  { type, attributes }: Resource,
  types: readonly string[],
  schema: FieldSchema<A>,
): Result<A, Failure> {
  if (type === null || (type !== "" && !types.includes(type))) return refused("/data/type", `type must be ${types[0]}`);
  const read = readValues(schema, attributes);
  // The message does not name anything below an attribute that the client sent: it would repeat input.
  if (!read.ok) return refused(`/data/attributes/${read.error.name}`, `${read.error.name} ${read.error.message}`);
  const isKnown = (name: string) => schema.others !== "refused" || Object.hasOwn(schema.shape, name);
  if (Object.keys(attributes).every(isKnown)) return read;
  const names = schema.entries.map(([name]) => name);
  return refused("/data/attributes", `the attributes can only be ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
}

type Handler<P> = (context: CallContext<Record<string, unknown>, P>) => Promise<Result<Reply, Failure>>;
type Description = Omit<RouteDescription, "fields">;

/** Defines an endpoint that reads nothing but its path. */
export function bareRoute(
  operation: Operation,
  path: string,
  description: Description,
  handle: Handler<null>,
): TokenRoute {
  return simpleRoute(operation, path, { ...description, fields: {} }, ANY_FIELDS, handle);
}

/**
 * Defines a write with a document.
 *
 * @param types the names that the type of its resource may have.
 * @param attributes of the resource; the handler finds them as `prepared`.
 */
export function documentRoute<A>(
  operation: Operation,
  path: string,
  description: Description,
  types: readonly string[],
  attributes: FieldSchema<A>,
  handle: Handler<A>,
): TokenRoute {
  return tokenRoute(operation, path, { ...description, fields: describeFields(attributes) }, ANY_FIELDS, {
    prepare: async ({ request, fields }) =>
      readResource({ type: request.resourceType, attributes: fields }, types, attributes),
    handle,
  });
}

/**
 * Defines a list by page.
 *
 * @param own the parameters of the list besides those of every list.
 * @param related what can be included.
 */
export function listRoute<Q>(
  path: string,
  description: Description,
  own: FieldSchema<Q>,
  handle: Handler<ListQuery<Q>>,
  related: readonly string[] = [],
): TokenRoute {
  const fields = { ...describeFields(listFields(related)), ...describeFields(own) };
  return tokenRoute("read", path, { ...description, fields }, ANY_FIELDS, {
    prepare: async (context) => readListQuery(context.fields, own, related),
    handle,
  });
}

/** A document with its resource, or with its resources. */
export function documentReply(data: unknown, status = 200): Result<Reply, never> {
  return ok({ kind: "plain", status, body: { data } });
}
