import { type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { err, ok } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { forgetEntities } from "../../identity/standing.ts";
import type { Installation } from "../../system/installation.ts";
import { fieldSchema, NO_FIELDS } from "../../wire/fields.ts";
import { PAGE, readPage } from "../../wire/page.ts";
import { dataReply, EMPTY } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";

/** How an operation is described. */
interface Words {
  readonly summary: string;
  readonly operationId: string;
}

/** Something that is listed, read and deleted by its id: an entity, a group, or an alias of one. */
export interface IdentityKind<T extends { readonly id: string }> {
  /** Of the kind, without `/id`. */
  readonly path: string;
  /** What the id is, for descriptions. */
  readonly id: string;
  readonly words: { readonly list: Words; readonly read: Words; readonly delete: Words };
  readonly shape: Shape;
  /** Of what a list tells beside the id. */
  readonly summaryShape: Shape;
  list(env: Env, after: string, limit: number): Promise<readonly T[]>;
  read(env: Env, id: string): Promise<T | null>;
  delete(env: Env, id: string): Promise<void>;
  summarize(thing: T, installation: Installation): Record<string, unknown>;
  show(thing: T, installation: Installation): Record<string, unknown>;
}

/** The routes that list, read and delete things of a kind by their ids. */
export function routesById<T extends { readonly id: string }>(kind: IdentityKind<T>): Route[] {
  const { words } = kind;
  const parameters = { id: kind.id };
  return [
    simpleRoute(
      "list",
      `${kind.path}/id`,
      { ...words.list, answers: dataAnswer({ keys: ["string"], key_info: { "*": kind.summaryShape } }) },
      fieldSchema(PAGE),
      async ({ env, installation, fields }) => {
        const read = (after: string, limit: number) => kind.list(env, after, limit);
        const things = await readPage(fields, read, ({ id }) => id);
        const info = things.map((thing) => [thing.id, kind.summarize(thing, installation)]);
        return ok(dataReply({ keys: things.map(({ id }) => id), key_info: Object.fromEntries(info) }));
      },
    ),
    simpleRoute(
      "read",
      `${kind.path}/id/:id`,
      { ...words.read, parameters, answers: dataAnswer(kind.shape) },
      NO_FIELDS,
      async ({ env, installation, params }) => {
        const thing = await kind.read(env, params.id ?? "");
        return thing ? ok(dataReply(kind.show(thing, installation))) : err({ code: "not_found" });
      },
    ),
    simpleRoute(
      "delete",
      `${kind.path}/id/:id`,
      { ...words.delete, parameters, answers: NO_CONTENT },
      NO_FIELDS,
      async ({ env, params }) => {
        await kind.delete(env, params.id ?? "");
        forgetEntities();
        return ok(EMPTY);
      },
    ),
  ];
}
