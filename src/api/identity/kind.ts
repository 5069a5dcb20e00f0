import { readRoute, removeRoute, showRoute } from "../../auth/record-routes.ts";
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
import { type FieldSchema, fieldSchema, NO_FIELDS } from "../../wire/fields.ts";
import { PAGE, readPage } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply } from "../../wire/reply.ts";
import type { View } from "../../wire/view.ts";
import type { Shown } from "./render.ts";

/** What the answer to a write shows; null for a write that is answered without a body. */
export type ShownWrite = Record<string, unknown> | null;

/** A kind of thing that has an id: entities, groups, and the aliases of both. `Fields` are those of a write. */
interface IdentityKind<Thing extends { readonly id: string }, Fields extends { readonly id: string }> {
  /** The path of the kind, without `/id`. */
  readonly path: string;
  /** What the id is, for descriptions. */
  readonly id: string;
  /** One of them and all of them, in descriptions. */
  readonly one: string;
  readonly all: string;
  /** Names of operations on one and on all of them, with `*` for the verb. */
  readonly operationIds: { readonly one: string; readonly all: string };
  readonly fields: FieldSchema<Fields>;
  readonly view: View<Shown<Thing>>;
  /** What a list shows beside the id. */
  readonly summary: View<Shown<Thing>>;
  /** Creates a thing or changes the one that `fields` name. */
  write(context: CallContext, fields: Fields): Promise<Result<ShownWrite>>;
  list(env: Env, after: string, limit: number): Promise<readonly Thing[]>;
  read(env: Env, key: { readonly id: string }): Promise<Thing | null>;
  delete(env: Env, key: { readonly id: string }): Promise<void>;
}

/** A kind of thing that has a unique name as well: entities and groups. */
export interface NamedKind<
  Thing extends { readonly id: string },
  Fields extends { readonly id: string; readonly name: string },
> extends IdentityKind<Thing, Fields> {
  readonly kind: "entity" | "group";
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
  const { path, one, all, operationIds } = kind;
  const byId = `${path}/id/:id`;
  const parameters = { id: kind.id };
  const described = (summary: string, verb: string) => ({
    summary,
    operationId: `${operationIds.one.replace("*", verb)}-by-id`,
    parameters,
  });
  return [
    simpleRoute("update", path, {
      summary: `Makes or changes ${one}.`,
      operationId: operationIds.one.replace("*", "create"),
      answers: WRITTEN,
      input: kind.fields,
      handle: async (context) => writeReply(await kind.write(context, context.fields)),
    }),
    simpleRoute("list", `${path}/id`, {
      summary: `Lists ${all} by id.`,
      operationId: `${operationIds.all.replace("*", "list")}-by-id`,
      answers: dataAnswer({ keys: ["string"], key_info: { "*": kind.summary.shape } }),
      input: fieldSchema(PAGE),
      handle: async ({ env, installation: { mounts }, fields }) => {
        const read = (after: string, limit: number) => kind.list(env, after, limit);
        const things = await readPage(fields, read, ({ id }) => id);
        const info = things.map((thing) => [thing.id, kind.summary.show({ thing, mounts })]);
        return ok(dataReply({ keys: things.map(({ id }) => id), key_info: Object.fromEntries(info) }));
      },
    }),
    showRoute(byId, {
      ...described(`Shows ${one}.`, "read"),
      view: kind.view,
      read: async ({ env, installation: { mounts }, params }) => {
        const thing = await kind.read(env, { id: params.id ?? "" });
        return thing && { thing, mounts };
      },
    }),
    simpleRoute("update", byId, {
      ...described(`Changes ${one}.`, "update"),
      answers: WRITTEN,
      input: kind.fields,
      handle: async (context) =>
        writeReply(await kind.write(context, { ...context.fields, id: context.params.id ?? "" })),
    }),
    removeRoute(byId, {
      ...described(`Deletes ${one}.`, "delete"),
      remove: async ({ env, params }) => {
        await kind.delete(env, { id: params.id ?? "" });
        forgetEntities();
      },
    }),
  ];
}

/** The routes that create, change, list, read and delete things of a kind by their names. */
export function routesByName<
  Thing extends { readonly id: string },
  Fields extends { readonly id: string; readonly name: string },
>(named: NamedKind<Thing, Fields>): Route[] {
  const { kind, path, all } = named;
  const pathOfName = `${path}/name/:name{.+}`;
  const described = (verb: string, operation: string) => ({
    summary: `${verb} the ${kind} of a name.`,
    operationId: `${kind}-${operation}-by-name`,
    parameters: { name: `The name of the ${kind}` },
  });
  const byName =
    <C extends CallContext>(answer: (context: C, key: { readonly name: string }) => Answered) =>
    async (context: C): Answered => {
      const key = await allowedName(context, kind);
      return key.ok ? answer(context, key.value) : key;
    };
  return [
    simpleRoute("list", `${path}/name`, {
      summary: `Lists ${all} by name.`,
      operationId: `${kind}-list-by-name`,
      answers: KEYS,
      input: fieldSchema(PAGE),
      handle: async ({ env, fields }) => {
        const read = (after: string, limit: number) => named.listNames(env, after, limit);
        return ok(keysReply((await readPage(fields, read, ({ name }) => name)).map(({ name }) => name)));
      },
    }),
    readRoute(pathOfName, {
      ...described("Shows", "read"),
      answers: dataAnswer(named.view.shape),
      handle: byName(async ({ env, installation: { mounts } }, key) => {
        const thing = await named.read(env, key);
        return thing ? ok(dataReply(named.view.show({ thing, mounts }))) : NOT_FOUND;
      }),
    }),
    simpleRoute("update", pathOfName, {
      ...described("Makes or changes", "update"),
      answers: WRITTEN,
      input: named.fields,
      handle: byName(async (context: CallContext<Fields>, { name }) =>
        writeReply(await named.write(context, { ...context.fields, id: "", name })),
      ),
    }),
    simpleRoute("delete", pathOfName, {
      ...described("Deletes", "delete"),
      answers: NO_CONTENT,
      input: NO_FIELDS,
      handle: byName(async ({ env }, key) => {
        await named.delete(env, key);
        forgetEntities();
        return ok(EMPTY);
      }),
    }),
  ];
}

/** The answer to a write. This isolate forgets its copies of entities, so that the write holds for its next request. */
function writeReply(written: Result<ShownWrite>): Result<Reply> {
  if (!written.ok) return written;
  forgetEntities();
  return ok(written.value ? dataReply(written.value) : EMPTY);
}

/**
 * The name of an entity or group in the path of a request, if the policies allow it. Names are found in any case, but a policy rule is written for
 * one spelling. So a path with another spelling is evaluated for the stored name as well: otherwise a rule for `admin`
 * would not hold for `Admin`.
 */
async function allowedName(context: CallContext, kind: "entity" | "group"): Promise<Result<{ name: string }>> {
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
