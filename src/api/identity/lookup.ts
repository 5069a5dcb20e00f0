import { type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { type EntityKey, readEntity } from "../../identity/entities.ts";
import type { IdOrName } from "../../identity/model.ts";
import { identityOf } from "../../identity/stubs.ts";
import { fieldSchema, text, type Values } from "../../wire/fields.ts";
import { dataReply, EMPTY } from "../../wire/reply.ts";
import type { View } from "../../wire/view.ts";
import { ENTITY_VIEW, GROUP_VIEW, type Shown } from "./render.ts";

const FIELDS = fieldSchema({
  id: text().describe("The id"),
  name: text().describe("The name"),
  alias_id: text().describe("The id of an alias"),
  alias_name: text().describe("The name of an alias"),
  alias_mount_accessor: text().describe("The accessor of the mount of the alias"),
});

/** Search for an entity or a group by its id, its name or an alias. */
export const LOOKUP_ROUTES: readonly Route[] = [
  lookUpRoute("entity", ENTITY_VIEW, readEntity),
  lookUpRoute("group", GROUP_VIEW, async (env, key) => {
    const known = await groupKey(env, key);
    return known && identityOf(env).readGroup(known);
  }),
];

function lookUpRoute<T>(
  kind: "entity" | "group",
  { shape, show }: View<Shown<T>>,
  find: (env: Env, key: EntityKey) => Promise<T | null>,
): Route {
  return simpleRoute("update", `identity/lookup/${kind}`, {
    summary: `Finds ${kind === "entity" ? "an entity" : "a group"} by its id, its name or an alias; 204 when there is none.`,
    operationId: `${kind}-look-up`,
    answers: [dataAnswer(shape), NO_CONTENT],
    input: FIELDS,
    handle: async (context) => {
      const key = readKey(context.fields);
      if (!key.ok) return key;
      const thing = await find(context.env, key.value);
      return thing ? dataReply(show({ thing, mounts: context.installation.mounts })) : ok(EMPTY);
    },
  });
}

/** Returns the key of the group that a request names; null when no group has the alias. */
async function groupKey(env: Env, key: EntityKey): Promise<IdOrName | null> {
  if ("id" in key || "name" in key) return key;
  const named = "aliasId" in key ? { id: key.aliasId } : { name: key.aliasName, mountAccessor: key.mountAccessor };
  const alias = await identityOf(env).readGroupAlias(named);
  return alias && { id: alias.groupId };
}

/** Reads the key, of which exactly one form must be sent. Messages are the reference's (identity/lookup). */
function readKey(fields: Values<typeof FIELDS>): Result<EntityKey> {
  const { id, name, alias_id: aliasId, alias_name: aliasName, alias_mount_accessor: mountAccessor } = fields;
  const keys: EntityKey[] = [
    ...(id !== "" ? [{ id }] : []),
    ...(name !== "" ? [{ name }] : []),
    ...(aliasId !== "" ? [{ aliasId }] : []),
    ...(aliasName !== "" || mountAccessor !== "" ? [{ aliasName, mountAccessor }] : []),
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
