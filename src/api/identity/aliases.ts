import type { Route } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { deleteAlias, writeAlias } from "../../identity/alias-writes.ts";
import { listAliases, readAlias } from "../../identity/entities.ts";
import type { AliasRecord } from "../../identity/model.ts";
import { metadataProblem, nameProblem } from "../../identity/rules.ts";
import { fieldSchema, pairs, text, type Values } from "../../wire/fields.ts";
import { type IdentityKind, routesById, type ShownWrite, type WriteContext } from "./kind.ts";
import { ALIAS_SUMMARY_VIEW, ALIAS_VIEW } from "./render.ts";

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

const KIND: IdentityKind<AliasRecord, Fields> = {
  path: "identity/entity-alias",
  id: "The id of the alias",
  one: "an alias of an entity",
  all: "the aliases of entities",
  operationIds: { one: "entity-*-alias", all: "entity-*-aliases" },
  fields: FIELDS,
  view: ALIAS_VIEW,
  summary: ALIAS_SUMMARY_VIEW,
  write,
  list: listAliases,
  read: (env, { id }) => readAlias(env, id),
  delete: (env, { id }) => deleteAlias(env, id),
};

/** The names that auth mounts know entities by. */
export const ALIAS_ROUTES: readonly Route[] = routesById(KIND);

async function write({ env, installation }: WriteContext, fields: Fields): Promise<Result<ShownWrite, Failure>> {
  const { id, name, mount_accessor: accessor, custom_metadata: customMetadata } = fields;
  const problem = nameProblem("alias", name) ?? metadataProblem("custom_metadata", customMetadata);
  if (problem) return err(invalid(problem));
  if (accessor !== "" && !installation.mounts.some((mount) => mount.accessor === accessor)) {
    return err(invalid("invalid mount accessor"));
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
