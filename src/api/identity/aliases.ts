import type { CallContext, Route } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { deleteAlias, writeAlias } from "../../identity/alias-writes.ts";
import { listAliases, readAlias } from "../../identity/entities.ts";
import type { AliasRecord, GroupAliasRecord } from "../../identity/model.ts";
import { metadataProblem, nameProblem } from "../../identity/rules.ts";
import { identityOf } from "../../identity/stubs.ts";
import { fieldSchema, pairs, text, type Values } from "../../wire/fields.ts";
import { routesById, type ShownWrite } from "./kind.ts";
import { ALIAS_SUMMARY_VIEW, ALIAS_VIEW, GROUP_ALIAS_SUMMARY_VIEW, GROUP_ALIAS_VIEW } from "./render.ts";

const FIELDS = fieldSchema({
  id: text().describe("The id of the alias; a new one is made unless sent"),
  name: text().describe("The name that the mount knows the entity by"),
  mount_accessor: text().describe("The accessor of the mount"),
  canonical_id: text().describe("The id of the entity; one is made unless sent"),
  // The older name of canonical_id.
  entity_id: text().describe("Older name of `canonical_id`"),
  custom_metadata: pairs().describe("Texts by name"),
});
type Fields = Values<typeof FIELDS>;

/** The names that auth mounts know entities by. */
export const ALIAS_ROUTES: readonly Route[] = routesById<AliasRecord, Fields>({
  path: "identity/entity-alias",
  id: "The id of the alias",
  one: "an alias of an entity",
  all: "the aliases of entities",
  operationIds: { one: "entity-*-alias", all: "entity-*-aliases" },
  fields: FIELDS,
  view: ALIAS_VIEW,
  summary: ALIAS_SUMMARY_VIEW,
  write: writeEntityAlias,
  list: listAliases,
  read: (env, { id }) => readAlias(env, id),
  delete: (env, { id }) => deleteAlias(env, id),
});

async function writeEntityAlias({ env, installation }: CallContext, fields: Fields): Promise<Result<ShownWrite>> {
  const { id, name, mount_accessor: accessor, custom_metadata: customMetadata } = fields;
  const problem = nameProblem("alias", name) ?? metadataProblem("custom_metadata", customMetadata);
  if (problem) return refuse(problem);
  if (accessor !== "" && !installation.mounts.some((mount) => mount.accessor === accessor)) {
    return refuse("invalid mount accessor");
  }
  const changes = {
    name: name || null,
    mountAccessor: accessor || null,
    entityId: fields.canonical_id || fields.entity_id || null,
    customMetadata,
  };
  const written = await writeAlias(env, id || null, changes, currentTime());
  if (!written.ok) return written;
  return ok(written.value && { id: written.value.id, canonical_id: written.value.entityId });
}

const GROUP_FIELDS = fieldSchema({
  id: text().describe("The id of the alias; a new one is made unless sent"),
  name: text().describe("The name that the mount knows the group by"),
  mount_accessor: text().describe("The accessor of the mount"),
  canonical_id: text().describe("The id of the group; one is made unless sent"),
});
type GroupFields = Values<typeof GROUP_FIELDS>;

/** The names that auth mounts know external groups by. */
export const GROUP_ALIAS_ROUTES: readonly Route[] = routesById<GroupAliasRecord, GroupFields>({
  path: "identity/group-alias",
  id: "The id of the alias",
  one: "the alias of an external group",
  all: "the aliases of groups",
  operationIds: { one: "group-*-alias", all: "group-*-aliases" },
  fields: GROUP_FIELDS,
  view: GROUP_ALIAS_VIEW,
  summary: GROUP_ALIAS_SUMMARY_VIEW,
  write: writeGroupAlias,
  list: (env, after, limit) => identityOf(env).listGroupAliases(after, limit),
  read: (env, key) => identityOf(env).readGroupAlias(key),
  delete: (env, { id }) => identityOf(env).deleteGroupAlias(id),
});

async function writeGroupAlias({ env, installation }: CallContext, fields: GroupFields): Promise<Result<ShownWrite>> {
  const { id, name, mount_accessor: mountAccessor, canonical_id: groupId } = fields;
  const problem = nameProblem("alias", name);
  if (problem) return refuse(problem);
  if (name !== "" && mountAccessor !== "" && !installation.mounts.some((mount) => mount.accessor === mountAccessor)) {
    return refuse("invalid mount accessor");
  }
  const changes = { name, mountAccessor, groupId: groupId || null };
  const written = await identityOf(env).writeGroupAlias(id || null, changes, currentTime());
  if (!written.ok) return written;
  return ok(written.value && { id: written.value.id, canonical_id: written.value.groupId });
}
