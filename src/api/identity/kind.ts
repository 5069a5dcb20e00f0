import { type Answered, type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { type Answer, dataAnswer, KEYS, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { DENIED, err, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { findEntity } from "../../identity/entities.ts";
import type { IdOrName } from "../../identity/model.ts";
import { aclOfToken, forgetEntities } from "../../identity/standing.ts";
import { identityOf } from "../../identity/stubs.ts";
import { evaluateAcl } from "../../policy/evaluate.ts";
import { type FieldSchema, fieldSchema } from "../../wire/fields.ts";
import { PAGE, readPage } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply } from "../../wire/reply.ts";
import type { View } from "../../wire/view.ts";
import type { Shown } from "./render.ts";

/** Data of the answer to a write; null for an answer without a body. */
export type ShownWrite = Record<string, unknown> | null;

/** A kind of record that has an id: entities, groups, and the aliases of both. */
interface IdentityKind<Thing extends { readonly id: string }, Fields extends { readonly id: string }, Key> {
  /** The path of the kind, without `/id`. */
  readonly path: string;
  /** Descriptions of the id, of one record, and of all records. */
  readonly id: string;
  readonly one: string;
  readonly all: string;
  /** Names of operations on one record and on all, with `*` for the verb. */
  readonly operationIds: { readonly one: string; readonly all: string };
  /** Fields of a write. */
  readonly fields: FieldSchema<Fields>;
  readonly view: View<Shown<Thing>>;
  /** The properties that a list shows beside the id. */
  readonly summary: View<Shown<Thing>>;
  /** Creates a record, or changes the one that `fields` name. */
  write(context: CallContext, fields: Fields): Promise<Result<ShownWrite>>;
  list(env: Env, after: string, limit: number): Promise<readonly Thing[]>;
  read(env: Env, key: Key): Promise<Thing | null>;
  delete(env: Env, key: Key): Promise<void>;
}

type ById = { readonly id: string };
type ByName = { readonly name: string };

/** A kind of record that also has a unique name: entities and groups. */
export interface NamedKind<Thing extends ById, Fields extends ById & ByName>
  extends IdentityKind<Thing, Fields, IdOrName> {
  readonly kind: "entity" | "group";
  listNames(env: Env, after: string, limit: number): Promise<readonly ByName[]>;
}

/** The answers to a write: the id of a new record, or nothing after a change. */
const WRITTEN: readonly Answer[] = [dataAnswer({ id: "string", "*": "any" }), NO_CONTENT];

/** Defines the routes that create records of a kind, and list, read, change and delete them by their ids. */
export function routesById<Thing extends ById, Fields extends ById>(kind: IdentityKind<Thing, Fields, ById>): Route[] {
  const { path, operationIds } = kind;
  return [
    simpleRoute("update", path, {
      summary: `Creates or changes ${kind.one}.`,
      operationId: operationIds.one.replace("*", "create"),
      answers: WRITTEN,
      input: kind.fields,
      handle: async (context) => writeReply(await kind.write(context, context.fields)),
    }),
    simpleRoute("list", `${path}/id`, {
      summary: `Lists ${kind.all} by id.`,
      operationId: `${operationIds.all.replace("*", "list")}-by-id`,
      answers: dataAnswer({ keys: ["string"], key_info: { "*": kind.summary.shape } }),
      input: fieldSchema(PAGE),
      handle: async ({ env, installation: { mounts }, fields }) => {
        const read = (after: string, limit: number) => kind.list(env, after, limit);
        const things = await readPage(fields, read, ({ id }) => id);
        const info = things.map((thing) => [thing.id, kind.summary.show({ thing, mounts })]);
        return dataReply({ keys: things.map(({ id }) => id), key_info: Object.fromEntries(info) });
      },
    }),
    ...routesOfOne(kind, "id", `${path}/id/:id`, { id: kind.id }, async ({ params }) => ok({ id: params.id ?? "" })),
  ];
}

/** Defines the routes that list, read, change and delete records of a kind by their names. */
export function routesByName<Thing extends ById, Fields extends ById & ByName>(
  kind: NamedKind<Thing, Fields>,
): Route[] {
  const { path } = kind;
  return [
    simpleRoute("list", `${path}/name`, {
      summary: `Lists ${kind.all} by name.`,
      operationId: `${kind.kind}-list-by-name`,
      answers: KEYS,
      input: fieldSchema(PAGE),
      handle: async ({ env, fields }) => {
        const read = (after: string, limit: number) => kind.listNames(env, after, limit);
        return keysReply((await readPage(fields, read, ({ name }) => name)).map(({ name }) => name));
      },
    }),
    ...routesOfOne<Thing, Fields, ByName>(
      kind,
      "name",
      `${path}/name/:name{.+}`,
      { name: `The name of the ${kind.kind}` },
      (context) => allowedName(context, kind.kind),
    ),
  ];
}

/** Defines the routes that read, change and delete one record. @param keyOf reads its key from the path. */
function routesOfOne<Thing extends ById, Fields extends ById, Key extends Partial<ById & ByName>>(
  kind: IdentityKind<Thing, Fields, Key>,
  by: "id" | "name",
  path: string,
  parameters: Readonly<Record<string, string>>,
  keyOf: (context: CallContext) => Promise<Result<Key>>,
): Route[] {
  const described = (summary: string, verb: string) => ({
    summary: `${summary} ${kind.one} by its ${by}.`,
    operationId: `${kind.operationIds.one.replace("*", verb)}-by-${by}`,
    parameters,
  });
  const keyed =
    <C extends CallContext>(answer: (context: C, key: Key) => Answered) =>
    async (context: C): Answered => {
      const key = await keyOf(context);
      return key.ok ? answer(context, key.value) : key;
    };
  return [
    simpleRoute("read", path, {
      ...described("Shows", "read"),
      answers: dataAnswer(kind.view.shape),
      handle: keyed(async ({ env, installation: { mounts } }, key) => {
        const thing = await kind.read(env, key);
        return thing ? dataReply(kind.view.show({ thing, mounts })) : NOT_FOUND;
      }),
    }),
    simpleRoute("update", path, {
      ...described(by === "id" ? "Changes" : "Creates or changes", "update"),
      answers: WRITTEN,
      input: kind.fields,
      handle: keyed(async (context: CallContext<Fields>, key) =>
        writeReply(await kind.write(context, { ...context.fields, id: "", ...key })),
      ),
    }),
    simpleRoute("delete", path, {
      ...described("Deletes", "delete"),
      answers: NO_CONTENT,
      handle: keyed(async ({ env }, key) => {
        await kind.delete(env, key);
        forgetEntities();
        return ok(EMPTY);
      }),
    }),
  ];
}

/** Answers a write. This isolate drops its copies of entities, so that its next request sees the write. */
function writeReply(written: Result<ShownWrite>): Result<Reply> {
  if (!written.ok) return written;
  forgetEntities();
  return written.value ? dataReply(written.value) : ok(EMPTY);
}

/**
 * Returns the name in the path of a request, if the policies allow it. Names are found in any case, but a policy rule is
 * written for one spelling. So a path with another spelling is evaluated for the stored name as well: otherwise a rule
 * for `admin` would not hold for `Admin`.
 */
async function allowedName(context: CallContext, kind: "entity" | "group"): Promise<Result<ByName>> {
  const { env, installation, caller, params, request } = context;
  const key = { name: params.name ?? "" };
  const found = await (kind === "entity" ? findEntity(env, key) : identityOf(env).readGroup(key));
  if (!found || found.name === key.name) return ok(key);
  const acl = await aclOfToken(env, installation, caller.record);
  if (!acl.ok) return acl;
  const { operation, data, wrapTtlSeconds } = request;
  const access = {
    operation,
    path: `identity/${kind}/name/${found.name}`,
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
  return evaluateAcl(acl.value, access, currentTime()).allowed ? ok(key) : err(DENIED);
}
