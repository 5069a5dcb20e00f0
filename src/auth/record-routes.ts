import { NOT_FOUND, ok } from "../base/result.ts";
import { fieldSchema, NO_FIELDS } from "../wire/fields.ts";
import { PAGE } from "../wire/page.ts";
import { dataReply, EMPTY } from "../wire/reply.ts";
import type { View } from "../wire/view.ts";
import { type Answered, type CallContext, type Route, simpleRoute } from "./route.ts";
import { dataAnswer, KEYS, NO_CONTENT, type RouteDescription } from "./route-description.ts";

type Described = Pick<RouteDescription, "summary" | "operationId" | "parameters">;
/** Maximum number of names in one answer. */
const MAX_NAMES = 10_000;

const CUT = `There are more than ${MAX_NAMES} names; ask for the next ones with after=<the last name of this answer>`;

/** Declares a list of names in order. */
interface DeclaredList extends Described {
  /** Returns at most `limit` names after `after`, in order. */
  names(context: CallContext, after: string, limit: number): Promise<string[]>;
}

/**
 * Defines an endpoint that lists names in order. A page begins after the last name of the previous one: if the list
 * changes between two pages, no other name is skipped or repeated.
 */
export function listRoute(path: string, { names, ...description }: DeclaredList): Route {
  return simpleRoute("list", path, {
    ...description,
    answers: KEYS,
    input: fieldSchema(PAGE),
    async handle(context) {
      const { after, limit: asked } = context.fields;
      const limit = asked > 0 ? Math.min(asked, MAX_NAMES) : MAX_NAMES;
      const found = await names(context, after, limit + 1);
      const data = { keys: found.slice(0, limit) };
      const cut = found.length > limit && (asked <= 0 || asked > MAX_NAMES);
      return ok({ kind: "data", data, ...(cut && { warnings: [CUT] }) });
    },
  });
}

/** Declares a record that is read. */
interface DeclaredRecord<T> extends Described {
  readonly view: View<T>;
  /** Returns the record; null when there is none, which answers 404. */
  read(context: CallContext): Promise<T | null>;
}

/** Defines an endpoint that shows a record. */
export function showRoute<T>(path: string, { view, read, ...description }: DeclaredRecord<T>): Route {
  return readRoute(path, {
    ...description,
    answers: dataAnswer(view.shape),
    async handle(context) {
      const record = await read(context);
      return record === null ? NOT_FOUND : dataReply(view.show(record));
    },
  });
}

/** Defines an endpoint that is read, takes no fields, and makes its answer itself. */
export function readRoute(
  path: string,
  declared: RouteDescription & { handle(context: CallContext): Answered },
): Route {
  return simpleRoute("read", path, { ...declared, input: NO_FIELDS });
}

/** Declares a record that is deleted. */
interface DeclaredRemoval extends Described {
  /** Safe to repeat. */
  remove(context: CallContext): Promise<unknown>;
}

/** Defines an endpoint that deletes a record. */
export function removeRoute(path: string, { remove, ...description }: DeclaredRemoval): Route {
  return simpleRoute("delete", path, {
    ...description,
    answers: NO_CONTENT,
    input: NO_FIELDS,
    async handle(context) {
      await remove(context);
      return ok(EMPTY);
    },
  });
}
