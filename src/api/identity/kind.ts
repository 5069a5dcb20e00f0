import { removeRoute, showRoute } from "../../auth/record-routes.ts";
import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { type Answer, dataAnswer, KEYS, NO_CONTENT } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import type { IdOrName } from "../../identity/directory/identity.ts";
import { forgetEntities } from "../../identity/standing.ts";
import type { Installation } from "../../system/installation.ts";
import { type FieldSchema, fieldSchema, NO_FIELDS } from "../../wire/fields.ts";
import { PAGE, readPage } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";
import { canonicalName } from "./canonical-name.ts";

/** How an operation is described. */
interface Words {
  readonly summary: string;
  readonly operationId: string;
}

/** What a handler of a write needs of its request. */
export type WriteContext = Pick<CallContext<unknown, unknown>, "env" | "installation">;

/** What the answer to a write shows; null for a write that is answered without a body. */
export type ShownWrite = Record<string, unknown> | null;

/** A kind of thing that has an id: entities, groups, and the aliases of both. `Fields` are those of a write. */
export interface IdentityKind<Thing extends { readonly id: string }, Fields extends { readonly id: string }> {
  /** The path of the kind, without `/id`. */
  readonly path: string;
  /** What the id is, for descriptions. */
  readonly id: string;
  readonly words: Readonly<Record<"create" | "update" | "list" | "read" | "delete", Words>>;
  readonly fields: FieldSchema<Fields>;
  readonly shape: Shape;
  /** The shape of what a list shows beside the id. */
  readonly summaryShape: Shape;
  /** Creates a thing or changes the one that `fields` name. */
  write(context: WriteContext, fields: Fields): Promise<Result<ShownWrite, Failure>>;
  list(env: Env, after: string, limit: number): Promise<readonly Thing[]>;
  read(env: Env, key: { readonly id: string }): Promise<Thing | null>;
  delete(env: Env, key: { readonly id: string }): Promise<void>;
  summarize(thing: Thing, installation: Installation): Record<string, unknown>;
  show(thing: Thing, installation: Installation): Record<string, unknown>;
}

/** A kind of thing that has a unique name as well: entities and groups. */
export interface NamedKind<
  Thing extends { readonly id: string },
  Fields extends { readonly id: string; readonly name: string },
> extends IdentityKind<Thing, Fields> {
  readonly kind: "entity" | "group";
  readonly plural: string;
  listNames(env: Env, after: string, limit: number): Promise<readonly { readonly name: string }[]>;
  read(env: Env, key: IdOrName): Promise<Thing | null>;
  delete(env: Env, key: IdOrName): Promise<void>;
}

/** What a write answers: what it made, or nothing where it only changed something. */
const WRITTEN: readonly Answer[] = [dataAnswer({ id: "string", "*": "any" }), NO_CONTENT];

/** The routes that create things of a kind, and change, list, read and delete them by their ids. */
export function routesById<Thing extends { readonly id: string }, Fields extends { readonly id: string }>(
  kind: IdentityKind<Thing, Fields>,
): Route[] {
  const { words } = kind;
  const parameters = { id: kind.id };
  return [
    simpleRoute("update", kind.path, { ...words.create, answers: WRITTEN }, kind.fields, async (context) =>
      writeReply(await kind.write(context, context.fields)),
    ),
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
    showRoute(
      `${kind.path}/id/:id`,
      { ...words.read, parameters, shape: kind.shape },
      async ({ env, installation, params }) => {
        const thing = await kind.read(env, { id: params.id ?? "" });
        return thing && kind.show(thing, installation);
      },
    ),
    simpleRoute(
      "update",
      `${kind.path}/id/:id`,
      { ...words.update, parameters, answers: WRITTEN },
      kind.fields,
      async (context) => writeReply(await kind.write(context, { ...context.fields, id: context.params.id ?? "" })),
    ),
    removeRoute(`${kind.path}/id/:id`, { ...words.delete, parameters }, async ({ env, params }) => {
      await kind.delete(env, { id: params.id ?? "" });
      forgetEntities();
    }),
  ];
}

/** The routes that create, change, list, read and delete things of a kind by their names. */
export function routesByName<
  Thing extends { readonly id: string },
  Fields extends { readonly id: string; readonly name: string },
>(named: NamedKind<Thing, Fields>): Route[] {
  const { kind, path, plural } = named;
  const parameters = { name: `The name of the ${kind}` };
  return [
    simpleRoute(
      "list",
      `${path}/name`,
      { summary: `Lists the ${plural} by name.`, operationId: `${kind}-list-by-name`, answers: KEYS },
      fieldSchema(PAGE),
      async ({ env, fields }) => {
        const read = (after: string, limit: number) => named.listNames(env, after, limit);
        return ok(keysReply((await readPage(fields, read, ({ name }) => name)).map(({ name }) => name)));
      },
    ),
    simpleRoute(
      "read",
      `${path}/name/:name{.+}`,
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
      "update",
      `${path}/name/:name{.+}`,
      {
        summary: `Makes or changes the ${kind} of a name.`,
        operationId: `${kind}-update-by-name`,
        parameters,
        answers: WRITTEN,
      },
      named.fields,
      async (context) => {
        const key = await canonicalName(context, kind);
        if (!key.ok) return key;
        return writeReply(await named.write(context, { ...context.fields, id: "", name: key.value.name }));
      },
    ),
    simpleRoute(
      "delete",
      `${path}/name/:name{.+}`,
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

/** The answer to a write. This isolate forgets its copies of entities, so that the write holds for its next request. */
function writeReply(written: Result<ShownWrite, Failure>): Result<Reply, Failure> {
  if (!written.ok) return written;
  forgetEntities();
  return ok(written.value ? dataReply(written.value) : EMPTY);
}
