import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { identityOf } from "../../identity/directory/stub.ts";
import type { GroupAliasRecord } from "../../identity/model.ts";
import { generatedGroupName, nameProblem } from "../../identity/rules.ts";
import { forgetEntities } from "../../identity/standing.ts";
import { fieldSchema, text, type Values } from "../../wire/fields.ts";
import { dataReply, EMPTY, type Reply } from "../../wire/reply.ts";
import { routesById } from "./by-id.ts";
import { ALIAS_SUMMARY_SHAPE, GROUP_ALIAS_SHAPE, showGroupAlias, summarizeGroupAlias, WRITTEN } from "./render.ts";

const ID = { id: "The id of the alias" };
const FIELDS = fieldSchema({
  id: text().describe("The id of the alias; a new one is made unless sent"),
  name: text().describe("The name that the mount knows the group by"),
  mount_accessor: text().describe("The accessor of the mount"),
  canonical_id: text().describe("The id of the group; one is made unless sent"),
});
type Fields = Values<typeof FIELDS>;

/** The names that auth mounts know external groups by. */
export const GROUP_ALIAS_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "identity/group-alias",
    {
      summary: "Makes or changes the alias of an external group.",
      operationId: "group-create-alias",
      answers: WRITTEN,
    },
    FIELDS,
    (context) => write(context, context.fields.id),
  ),
  simpleRoute(
    "update",
    "identity/group-alias/id/:id",
    {
      summary: "Changes the alias of a group.",
      operationId: "group-update-alias-by-id",
      parameters: ID,
      answers: WRITTEN,
    },
    FIELDS,
    (context) => write(context, context.params.id ?? ""),
  ),
  ...routesById<GroupAliasRecord>({
    path: "identity/group-alias",
    id: ID.id,
    words: {
      list: { summary: "Lists the aliases of groups by id.", operationId: "group-list-aliases-by-id" },
      read: { summary: "Shows the alias of a group.", operationId: "group-read-alias-by-id" },
      delete: { summary: "Deletes the alias of a group.", operationId: "group-delete-alias-by-id" },
    },
    shape: GROUP_ALIAS_SHAPE,
    summaryShape: ALIAS_SUMMARY_SHAPE,
    list: (env, after, limit) => identityOf(env).listGroupAliases(after, limit),
    read: (env, id) => identityOf(env).readGroupAlias({ id }),
    delete: (env, id) => identityOf(env).deleteGroupAlias(id),
    summarize: summarizeGroupAlias,
    show: showGroupAlias,
  }),
];

async function write(
  { env, installation, fields }: CallContext<Fields, null>,
  id: string,
): Promise<Result<Reply, Failure>> {
  const { name, mount_accessor: mountAccessor, canonical_id: groupId } = fields;
  const problem = nameProblem("alias", name);
  if (problem) return err(invalid(problem));
  if (name !== "" && mountAccessor !== "" && !installation.mounts.some((mount) => mount.accessor === mountAccessor)) {
    return err(invalid("invalid mount accessor"));
  }
  const written = await identityOf(env).writeGroupAlias(
    id || null,
    { name, mountAccessor, groupId: groupId || null },
    { aliasId: crypto.randomUUID(), groupId: crypto.randomUUID(), groupName: generatedGroupName() },
    currentTime(),
  );
  if (!written.ok) return written;
  forgetEntities();
  return ok(written.value ? dataReply({ id: written.value.id, canonical_id: written.value.groupId }) : EMPTY);
}
