import { NOT_FOUND, ok } from "../base/result.ts";
import { fieldSchema } from "../wire/field-schema.ts";
import { PAGE } from "../wire/pagination.ts";
import { dataReply, EMPTY } from "../wire/reply.ts";
import type { View } from "../wire/view.ts";
import { type CallContext, type Route, simpleRoute } from "./route.ts";
import { dataAnswer, KEYS, NO_CONTENT, type RouteDescription } from "./route-description.ts";

type Described = Pick<RouteDescription, "summary" | "operationId" | "parameters">;
type Names = (context: CallContext, after: string, limit: number) => Promise<string[]>;

const MAX_NAMES = 10_000;

const CUT = `There are more than ${MAX_NAMES} names; ask for the next ones with after=<the last name of this answer>`;

/**
 * Defines an endpoint that lists names in order. A page begins after the last name of the previous one: if the list
 * changes between two pages, no other name is skipped or repeated. `names` returns at most `limit` names after `after`.
 */
export function listRoute(path: string, declared: Described & { names: Names }): Route {
  const { names, ...description } = declared;
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

interface ShowRoute<T> extends Described {
  readonly view: View<T>;
  /** null when there is none, which answers 404. */
  read(context: CallContext): Promise<T | null>;
  /** Warnings about a valid record that is probably a mistake. Reads show them: a write answers without a body. */
  warningsOf?(record: T, context: CallContext): readonly string[];
}

/** Defines an endpoint that shows a record. */
export function showRoute<T>(path: string, { view, read, warningsOf, ...description }: ShowRoute<T>): Route {
  return simpleRoute("read", path, {
    ...description,
    answers: dataAnswer(view.shape),
    async handle(context) {
      const record = await read(context);
      return record === null ? NOT_FOUND : dataReply(view.show(record), warningsOf?.(record, context));
    },
  });
}

/** Defines an endpoint that deletes a record. `remove` is safe to repeat. */
export function removeRoute(
  path: string,
  { remove, ...description }: Described & { remove(context: CallContext): Promise<unknown> },
): Route {
  return simpleRoute("delete", path, {
    ...description,
    answers: NO_CONTENT,
    async handle(context) {
      await remove(context);
      return ok(EMPTY);
    },
  });
}
