import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { deleteAlias, writeAlias } from "../../identity/alias-writes.ts";
import { listAliases, readAlias } from "../../identity/entities.ts";
import type { AliasRecord } from "../../identity/model.ts";
import { metadataProblem, nameProblem } from "../../identity/rules.ts";
import { forgetEntities } from "../../identity/standing.ts";
import { fieldSchema, pairs, text, type Values } from "../../wire/fields.ts";
import { dataReply, EMPTY, type Reply } from "../../wire/reply.ts";
import { routesById } from "./by-id.ts";
import { ALIAS_SHAPE, ALIAS_SUMMARY_SHAPE, showAlias, summarizeAlias, WRITTEN } from "./render.ts";

const ID = { id: "The id of the alias" };
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
export const ALIAS_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "identity/entity-alias",
    { summary: "Makes or changes an alias of an entity.", operationId: "entity-create-alias", answers: WRITTEN },
    FIELDS,
    (context) => write(context, context.fields.id),
  ),
  simpleRoute(
    "update",
    "identity/entity-alias/id/:id",
    {
      summary: "Changes an alias of an entity.",
      operationId: "entity-update-alias-by-id",
      parameters: ID,
      answers: WRITTEN,
    },
    FIELDS,
    (context) => write(context, context.params.id ?? ""),
  ),
  ...routesById<AliasRecord>({
    path: "identity/entity-alias",
    id: ID.id,
    words: {
      list: { summary: "Lists the aliases of entities by id.", operationId: "entity-list-aliases-by-id" },
      read: { summary: "Shows an alias of an entity.", operationId: "entity-read-alias-by-id" },
      delete: { summary: "Deletes an alias of an entity.", operationId: "entity-delete-alias-by-id" },
    },
    shape: ALIAS_SHAPE,
    summaryShape: ALIAS_SUMMARY_SHAPE,
    list: listAliases,
    read: readAlias,
    delete: deleteAlias,
    summarize: summarizeAlias,
    show: showAlias,
  }),
];

async function write(
  { env, installation, fields }: CallContext<Fields, null>,
  id: string,
): Promise<Result<Reply, Failure>> {
  const { name, mount_accessor: accessor, custom_metadata: customMetadata } = fields;
  const problem = nameProblem("alias", name) ?? metadataProblem("custom_metadata", customMetadata);
  if (problem) return err(invalid(problem));
  if (accessor !== "" && !installation.mounts.some((mount) => mount.accessor === accessor)) {
    return err(invalid("invalid mount accessor"));
  }
  const written = await writeAlias(
    env,
    id || null,
    {
      name: name || null,
      mountAccessor: accessor || null,
      entityId: fields.canonical_id || fields.entity_id || null,
      customMetadata,
    },
    currentTime(),
  );
  if (!written.ok) return written;
  forgetEntities();
  const { changed, entityId, ...shown } = written.value;
  return ok(changed ? dataReply({ ...shown, canonical_id: entityId }) : EMPTY);
}
