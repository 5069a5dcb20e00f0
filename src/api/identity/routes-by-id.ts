import {
  type Answered,
  type CallContext,
  type ReadyContext,
  type Route,
  simpleRoute,
  tokenRoute,
} from "../../auth/route.ts";
import { type AnswerDescription, dataAnswer, KEYS, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { DENIED, err, NOT_FOUND, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { aclOfToken, forgetEntities } from "../../identity/entity-copies.ts";
import type { IdOrName } from "../../identity/model.ts";
import { type EntityKey, findEntity } from "../../identity/read-entity.ts";
import { identityOf } from "../../identity/stubs.ts";
import { evaluateAcl } from "../../policy/evaluate.ts";
import { untilInEffect } from "../../system/in-effect.ts";
import type { AuditNotes } from "../../wire/audit.ts";
import { type FieldSchema, fieldSchema, type Values } from "../../wire/field-schema.ts";
import { text } from "../../wire/fields.ts";
import { PAGE, readPageInChunks } from "../../wire/pagination.ts";
import { dataReply, EMPTY } from "../../wire/reply.ts";
import type { View } from "../../wire/view.ts";
import type { Shown } from "./view.ts";

/** A kind of record that has an id: entities, groups, and the aliases of both. */
interface IdentityKind<Thing extends { readonly id: string }, Fields extends { readonly id: string }, Key, Change> {
  /** The last segment of its path. */
  readonly kind: string;
  /** Descriptions of the id, of one record, and of all records. */
  readonly id: string;
  readonly one: string;
  readonly all: string;
  /** Names of operations on one record and on all, with `*` for the verb. */
  readonly operationIds: { readonly one: string; readonly all: string };
  readonly fields: FieldSchema<Fields>;
  readonly view: View<Shown<Thing>>;
  /** The properties that a list shows beside the id. */
  readonly summary: View<Shown<Thing>>;
  /** Reads the fields of a write. Checks what needs no stored data but the mounts. */
  change(fields: Fields, mounts: ReadyContext["installation"]["mounts"]): Result<Change>;
  /**
   * Creates a record, or changes the one with this id. Returns the data of the answer; null: it has no body.
   * @param notes get the entities that it changed.
   */
  write(
    env: Env,
    id: string | null,
    change: Change,
    notes: AuditNotes,
  ): Promise<Result<Record<string, unknown> | null>>;
  /** True when the change ends the use of tokens. It is then answered when it is in effect everywhere. */
  endsTokens?(change: Change | "deletion"): boolean;
  list(env: Env, after: string, limit: number): Promise<readonly Thing[]>;
  read(env: Env, key: Key): Promise<Thing | null>;
  /** @param notes get the entities that it deleted or changed. */
  delete(env: Env, key: Key, notes: AuditNotes): Promise<Result<null>>;
}

type ById = { readonly id: string };
type ByName = { readonly name: string };

/** A kind of record that also has a unique name: entities and groups. */
export interface NamedKind<Thing extends ById, Fields extends ById & ByName, Change>
  extends IdentityKind<Thing, Fields, IdOrName, Change> {
  readonly kind: "entity" | "group";
  read(env: Env, key: EntityKey): Promise<Thing | null>;
  listNames(env: Env, after: string, limit: number): Promise<readonly string[]>;
}

/** The answers to a write: the id of a new record, or nothing after a change. */
const WRITTEN: readonly AnswerDescription[] = [dataAnswer({ id: "string", "*": "any" }), NO_CONTENT];

/** Defines the routes that create records of a kind, and list, read, change and delete them by their ids. */
export function routesById<Thing extends ById, Fields extends ById, Change>(
  kind: IdentityKind<Thing, Fields, ById, Change>,
): Route[] {
  const { operationIds } = kind;
  const path = `identity/${kind.kind}`;
  return [
    tokenRoute("update", path, {
      summary: `Creates or changes ${kind.one}.`,
      operationId: operationIds.one.replace("*", "create"),
      answers: WRITTEN,
      input: kind.fields,
      prepare: async ({ fields, installation }) => kind.change(fields, installation.mounts),
      handle: ({ env, fields, prepared, request }) => write(kind, env, fields.id || null, prepared, request.notes),
    }),
    simpleRoute("list", `${path}/id`, {
      summary: `Lists ${kind.all} by id.`,
      operationId: `${operationIds.all.replace("*", "list")}-by-id`,
      answers: dataAnswer({ keys: ["string"], key_info: { "*": kind.summary.shape } }),
      input: fieldSchema(PAGE),
      handle: async ({ env, installation: { mounts }, fields }) => {
        const read = (after: string, limit: number) => kind.list(env, after, limit);
        const things = await readPageInChunks(fields, read, ({ id }) => id);
        const info = things.map((thing) => [thing.id, kind.summary.show({ thing, mounts })]);
        return dataReply({ keys: things.map(({ id }) => id), key_info: Object.fromEntries(info) });
      },
    }),
    ...routesOfOne(kind, "id", kind.id, async ({ params }) => ok({ id: params.id ?? "" })),
  ];
}

/** Defines the routes that list, read, change and delete records of a kind by their names, and the look-up route. */
export function routesByName<Thing extends ById, Fields extends ById & ByName, Change>(
  kind: NamedKind<Thing, Fields, Change>,
): Route[] {
  return [
    simpleRoute("list", `identity/${kind.kind}/name`, {
      summary: `Lists ${kind.all} by name.`,
      operationId: `${kind.kind}-list-by-name`,
      answers: KEYS,
      input: fieldSchema(PAGE),
      handle: async ({ env, fields }) => {
        const read = (after: string, limit: number) => kind.listNames(env, after, limit);
        return dataReply({ keys: await readPageInChunks(fields, read, (name) => name) });
      },
    }),
    ...routesOfOne<Thing, Fields, ByName, Change>(kind, "name", `The name of the ${kind.kind}`, (context) =>
      allowedName(context, kind.kind),
    ),
    tokenRoute("update", `identity/lookup/${kind.kind}`, {
      summary: `Finds ${kind.one} by its id, its name or an alias; 204 when there is none.`,
      operationId: `${kind.kind}-look-up`,
      answers: [dataAnswer(kind.view.shape), NO_CONTENT],
      input: LOOKUP_FIELDS,
      prepare: async ({ fields }) => readKey(fields),
      handle: async ({ env, installation: { mounts }, prepared }) => {
        const thing = await kind.read(env, prepared);
        return thing ? dataReply(kind.view.show({ thing, mounts })) : ok(EMPTY);
      },
    }),
  ];
}

const LOOKUP_FIELDS = fieldSchema({
  id: text().describe("The id"),
  name: text().describe("The name"),
  alias_id: text().describe("The id of an alias"),
  alias_name: text().describe("The name of an alias"),
  alias_mount_accessor: text().describe("The accessor of the mount of the alias"),
});

/** Reads the key, of which exactly one form must be sent. Messages are the reference's (identity/lookup). */
function readKey(fields: Values<typeof LOOKUP_FIELDS>): Result<EntityKey> {
  const { id, name, alias_id: aliasId, alias_name: aliasName, alias_mount_accessor: mountAccessor } = fields;
  const keys: EntityKey[] = [
    ...(id !== "" ? [{ id }] : []),
    ...(name !== "" ? [{ name }] : []),
    ...(aliasId !== "" ? [{ aliasId }] : []),
    ...(aliasName !== "" || mountAccessor !== "" ? [{ name: aliasName, mountAccessor }] : []),
  ];
  const [key, ...others] = keys;
  if (!key) return refuse("query parameter not supplied");
  if (others.length > 0) {
    return refuse("query parameter conflict; please supply distinct set of query parameters");
  }
  if ((aliasName === "") !== (mountAccessor === "")) {
    return refuse("both 'alias_name' and 'alias_mount_accessor' needs to be set");
  }
  return ok(key);
}

/** Defines the routes that read, change and delete one record. @param keyOf reads its key from the path. */
function routesOfOne<Thing extends ById, Fields extends ById, Key extends Partial<ById & ByName>, Change>(
  kind: IdentityKind<Thing, Fields, Key, Change>,
  by: "id" | "name",
  parameter: string,
  keyOf: (context: CallContext) => Promise<Result<Key>>,
): Route[] {
  const path = `identity/${kind.kind}/${by}/:${by}${by === "name" ? "{.+}" : ""}`;
  const described = (summary: string, verb: string) => ({
    summary: `${summary} ${kind.one} by its ${by}.`,
    operationId: `${kind.operationIds.one.replace("*", verb)}-by-${by}`,
    parameters: { [by]: parameter },
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
    tokenRoute("update", path, {
      ...described(by === "id" ? "Changes" : "Creates or changes", "update"),
      answers: WRITTEN,
      input: kind.fields,
      prepare: async ({ fields, params, installation }) =>
        kind.change({ ...fields, id: "", [by]: params[by] ?? "" }, installation.mounts),
      handle: keyed(({ env, prepared, request }: CallContext<Fields, Change>, key) =>
        write(kind, env, key.id ?? null, prepared, request.notes),
      ),
    }),
    simpleRoute("delete", path, {
      ...described("Deletes", "delete"),
      answers: NO_CONTENT,
      handle: keyed(async ({ env, request }, key) => {
        const deleted = await kind.delete(env, key, request.notes);
        if (!deleted.ok) return deleted;
        forgetEntities();
        if (kind.endsTokens?.("deletion")) await untilInEffect(env);
        return ok(EMPTY);
      }),
    }),
  ];
}

/** Writes a record. This isolate drops its copies of entities, so that its next request sees the write. */
async function write<Thing extends ById, Fields extends ById, Key, Change>(
  kind: IdentityKind<Thing, Fields, Key, Change>,
  env: Env,
  id: string | null,
  change: Change,
  notes: AuditNotes,
): Answered {
  const written = await kind.write(env, id, change, notes);
  if (!written.ok) return written;
  forgetEntities();
  if (written.value) return dataReply(written.value);
  if (kind.endsTokens?.(change)) await untilInEffect(env);
  return ok(EMPTY);
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
  const path = `identity/${kind}/name/${found.name}`;
  const access = { operation, path, data, ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }) };
  return evaluateAcl(acl.value, access, currentTime()).allowed ? ok(key) : err(DENIED);
}
