import { type CallContext, simpleRoute, type TokenRoute, tokenRoute } from "../../auth/route.ts";
import { describeFields, type RouteDescription } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { ok, type Result } from "../../base/result.ts";
import type { Operation } from "../../policy/acl.ts";
import { ANY_FIELDS, type FieldSchema } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { readResource } from "./document.ts";
import { type ListQuery, listFields, readListQuery } from "./page.ts";

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
