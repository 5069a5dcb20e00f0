import { type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer, KEYS, NO_CONTENT } from "../../auth/route-description.ts";
import { err, ok } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { IdOrName } from "../../identity/directory/identity.ts";
import { forgetEntities } from "../../identity/standing.ts";
import type { Installation } from "../../system/installation.ts";
import { fieldSchema, NO_FIELDS } from "../../wire/fields.ts";
import { PAGE, readPage } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";
import { canonicalName } from "./canonical-name.ts";

/** Something with a unique name: an entity or a group. */
export interface NamedKind<T extends { readonly name: string }> {
  readonly kind: "entity" | "group";
  /** The kind in the plural. */
  readonly plural: string;
  readonly shape: Shape;
  list(env: Env, after: string, limit: number): Promise<readonly { readonly name: string }[]>;
  read(env: Env, key: IdOrName): Promise<T | null>;
  delete(env: Env, key: IdOrName): Promise<void>;
  show(thing: T, installation: Installation): Record<string, unknown>;
}

/** The routes that list, read and delete things of a kind by their names. */
export function routesByName<T extends { readonly name: string }>(named: NamedKind<T>): Route[] {
  const { kind, plural } = named;
  const parameters = { name: `The name of the ${kind}` };
  return [
    simpleRoute(
      "list",
      `identity/${kind}/name`,
      { summary: `Lists the ${plural} by name.`, operationId: `${kind}-list-by-name`, answers: KEYS },
      fieldSchema(PAGE),
      async ({ env, fields }) => {
        const read = (after: string, limit: number) => named.list(env, after, limit);
        return ok(keysReply((await readPage(fields, read, ({ name }) => name)).map(({ name }) => name)));
      },
    ),
    simpleRoute(
      "read",
      `identity/${kind}/name/:name{.+}`,
      {
        summary: `Shows the ${kind} of a name.`,
        operationId: `${kind}-read-by-name`,
        parameters,
        answers: dataAnswer(named.shape),
      },
      NO_FIELDS,
      async (context) => {
        const key = await canonicalName(context, kind);
        if (!key.ok) return key;
        const thing = await named.read(context.env, key.value);
        return thing ? ok(dataReply(named.show(thing, context.installation))) : err({ code: "not_found" });
      },
    ),
    simpleRoute(
      "delete",
      `identity/${kind}/name/:name{.+}`,
      {
        summary: `Deletes the ${kind} of a name.`,
        operationId: `${kind}-delete-by-name`,
        parameters,
        answers: NO_CONTENT,
      },
      NO_FIELDS,
      async (context) => {
        const key = await canonicalName(context, kind);
        if (!key.ok) return key;
        await named.delete(context.env, key.value);
        forgetEntities();
        return ok(EMPTY);
      },
    ),
  ];
}
