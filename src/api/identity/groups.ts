import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { identityOf } from "../../identity/directory/stub.ts";
import { writeGroup } from "../../identity/entity-writes.ts";
import type { GroupRecord } from "../../identity/model.ts";
import { EXTERNAL_GROUP, INTERNAL_GROUP } from "../../identity/model.ts";
import { generatedGroupName, identityPolicies, metadataProblem, nameProblem } from "../../identity/rules.ts";
import { forgetEntities } from "../../identity/standing.ts";
import { commaList, fieldSchema, pairs, text, type Values } from "../../wire/fields.ts";
import { dataReply, EMPTY, type Reply } from "../../wire/reply.ts";
import { routesById } from "./by-id.ts";
import { routesByName } from "./by-name.ts";
import { canonicalName } from "./canonical-name.ts";
import { GROUP_SHAPE, GROUP_SUMMARY_SHAPE, showGroup, summarizeGroup, WRITTEN } from "./render.ts";

const ID = { id: "The id of the group" };
const NAME = { name: "The name of the group" };
const FIELDS = fieldSchema({
  id: text().describe("The id of the group; a new one is made unless sent"),
  name: text().describe("The name of the group; one is made unless sent"),
  type: text().describe("`internal`, or `external` for members by an alias"),
  metadata: pairs().describe("Texts by name"),
  policies: commaList().describe("Policies that tokens of members get"),
  member_entity_ids: commaList().describe("Entities that are members"),
  member_group_ids: commaList().describe("Groups whose members are members"),
});
type Fields = Values<typeof FIELDS>;

const TYPES = [INTERNAL_GROUP, EXTERNAL_GROUP] as const;

/** Groups of entities, by id and by name. */
export const GROUP_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "identity/group",
    { summary: "Makes or changes a group.", operationId: "group-create", answers: WRITTEN },
    FIELDS,
    (context) => write(context, context.fields.id, context.fields.name),
  ),
  simpleRoute(
    "update",
    "identity/group/id/:id",
    { summary: "Makes or changes a group.", operationId: "group-update-by-id", parameters: ID, answers: WRITTEN },
    FIELDS,
    (context) => write(context, context.params.id ?? "", context.fields.name),
  ),
  simpleRoute(
    "update",
    "identity/group/name/:name{.+}",
    {
      summary: "Makes or changes the group of a name.",
      operationId: "group-update-by-name",
      parameters: NAME,
      answers: WRITTEN,
    },
    FIELDS,
    async (context) => {
      const named = await canonicalName(context, "group");
      return named.ok ? write(context, "", context.params.name ?? "") : named;
    },
  ),
  ...routesById<GroupRecord>({
    path: "identity/group",
    id: ID.id,
    words: {
      list: { summary: "Lists the groups by id.", operationId: "group-list-by-id" },
      read: { summary: "Shows a group.", operationId: "group-read-by-id" },
      delete: { summary: "Deletes a group.", operationId: "group-delete-by-id" },
    },
    shape: GROUP_SHAPE,
    summaryShape: GROUP_SUMMARY_SHAPE,
    list: (env, after, limit) => identityOf(env).listGroups("id", after, limit),
    read: (env, id) => identityOf(env).readGroup({ id }),
    delete: (env, id) => identityOf(env).deleteGroup({ id }),
    summarize: summarizeGroup,
    show: showGroup,
  }),
  ...routesByName<GroupRecord>({
    kind: "group",
    plural: "groups",
    shape: GROUP_SHAPE,
    list: (env, after, limit) => identityOf(env).listGroups("name", after, limit),
    read: (env, key) => identityOf(env).readGroup(key),
    delete: (env, key) => identityOf(env).deleteGroup(key),
    show: showGroup,
  }),
];

type Call<F> = CallContext<F, null>;

async function write({ env, fields }: Call<Fields>, id: string, name: string): Promise<Result<Reply, Failure>> {
  const type = TYPES.find((known) => known === fields.type) ?? null;
  if (fields.type !== "" && type === null) return err(invalid('the type of a group is "internal" or "external"'));
  const problem = nameProblem("group", name) ?? metadataProblem("metadata", fields.metadata);
  if (problem) return err(invalid(problem));
  const policies = identityPolicies(fields.policies);
  if (!policies.ok) return policies;
  const written = await writeGroup(
    env,
    id || null,
    {
      name: name || null,
      type,
      metadata: fields.metadata,
      policies: policies.value,
      memberEntityIds: fields.member_entity_ids,
      memberGroupIds: fields.member_group_ids,
    },
    crypto.randomUUID(),
    generatedGroupName(),
    currentTime(),
  );
  if (!written.ok) return written;
  forgetEntities();
  const { created, ...shown } = written.value;
  return ok(created ? dataReply(shown) : EMPTY);
}
