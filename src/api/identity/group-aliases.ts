import type { Route } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { identityOf } from "../../identity/directory/stub.ts";
import type { GroupAliasRecord } from "../../identity/model.ts";
import { nameProblem } from "../../identity/rules.ts";
import { fieldSchema, text, type Values } from "../../wire/fields.ts";
import { type IdentityKind, routesById, type ShownWrite, type WriteContext } from "./kind.ts";
import { GROUP_ALIAS_SUMMARY_VIEW, GROUP_ALIAS_VIEW } from "./render.ts";

const FIELDS = fieldSchema({
  id: text().describe("The id of the alias; a new one is made unless sent"),
  name: text().describe("The name that the mount knows the group by"),
  mount_accessor: text().describe("The accessor of the mount"),
  canonical_id: text().describe("The id of the group; one is made unless sent"),
});
type Fields = Values<typeof FIELDS>;

const KIND: IdentityKind<GroupAliasRecord, Fields> = {
  path: "identity/group-alias",
  id: "The id of the alias",
  one: "the alias of an external group",
  all: "the aliases of groups",
  operationIds: { one: "group-*-alias", all: "group-*-aliases" },
  fields: FIELDS,
  view: GROUP_ALIAS_VIEW,
  summary: GROUP_ALIAS_SUMMARY_VIEW,
  write,
  list: (env, after, limit) => identityOf(env).listGroupAliases(after, limit),
  read: (env, key) => identityOf(env).readGroupAlias(key),
  delete: (env, { id }) => identityOf(env).deleteGroupAlias(id),
};

/** The names that auth mounts know external groups by. */
export const GROUP_ALIAS_ROUTES: readonly Route[] = routesById(KIND);

async function write({ env, installation }: WriteContext, fields: Fields): Promise<Result<ShownWrite, Failure>> {
  const { id, name, mount_accessor: mountAccessor, canonical_id: groupId } = fields;
  const problem = nameProblem("alias", name);
  if (problem) return err(invalid(problem));
  if (name !== "" && mountAccessor !== "" && !installation.mounts.some((mount) => mount.accessor === mountAccessor)) {
    return err(invalid("invalid mount accessor"));
  }
  const changes = { name, mountAccessor, groupId: groupId || null };
  const written = await identityOf(env).writeGroupAlias(id || null, changes, currentTime());
  if (!written.ok) return written;
  return ok(written.value && { id: written.value.id, canonical_id: written.value.groupId });
}
