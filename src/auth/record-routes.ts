import { NOT_FOUND, ok } from "../base/result.ts";
import { fieldSchema, NO_FIELDS } from "../wire/fields.ts";
import { PAGE } from "../wire/page.ts";
import { dataReply, EMPTY } from "../wire/reply.ts";
import type { View } from "../wire/view.ts";
import { type Answered, type CallContext, type Route, simpleRoute } from "./route.ts";
import { dataAnswer, KEYS, NO_CONTENT, type RouteDescription } from "./route-description.ts";

type Described = Pick<RouteDescription, "summary" | "operationId" | "parameters">;
/** Most names in one answer. */
const MAX_NAMES = 10_000;

const CUT = `There are more than ${MAX_NAMES} names; ask for the next ones with after=<the last name of this answer>`;

/** A list of names in order. */
interface DeclaredList extends Described {
  /** At most `limit` names after `after`. */
  names(context: CallContext, after: string, limit: number): Promise<string[]>;
}

/**
 * An endpoint that lists names in order. The next page begins after the last name of the previous one, so a list that
 * changes meanwhile is neither skipped nor repeated.
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

/** A record that is shown. */
interface DeclaredRecord<T> extends Described {
  readonly view: View<T>;
  /** null when there is no record: a 404. */
  read(context: CallContext): Promise<T | null>;
}

/** An endpoint that shows a record. */
export function showRoute<T>(path: string, { view, read, ...description }: DeclaredRecord<T>): Route {
  return readRoute(path, {
    ...description,
    answers: dataAnswer(view.shape),
    async handle(context) {
      const record = await read(context);
      return record === null ? NOT_FOUND : ok(dataReply(view.show(record)));
    },
  });
}

/** An endpoint that is read, takes no fields, and makes its answer itself. */
export function readRoute(
  path: string,
  declared: RouteDescription & { handle(context: CallContext): Answered },
): Route {
  return simpleRoute("read", path, { ...declared, input: NO_FIELDS });
}

/** A record that is deleted. */
interface DeclaredRemoval extends Described {
  /** Safe to repeat. */
  remove(context: CallContext): Promise<unknown>;
}

/** An endpoint that deletes a record. */
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
