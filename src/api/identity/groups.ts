import * as z from "zod";
import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer, KEYS, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { writeGroup } from "../../identity/entities.ts";
import { type IdOrName, identityOf } from "../../identity/identity.ts";
import { EXTERNAL_GROUP, INTERNAL_GROUP } from "../../identity/model.ts";
import { generatedName, identityPolicies, metadataProblem, nameProblem } from "../../identity/rules.ts";
import { forgetEntities } from "../../identity/standing.ts";
import { commaList, pairs, text } from "../../wire/fields.ts";
import { PAGE, type Page, readPage } from "../../wire/page.ts";
import { dataReply, EMPTY, keysReply, type Reply } from "../../wire/reply.ts";
import { canonicalName } from "./canonical-name.ts";
import { GROUP_SHAPE, GROUP_SUMMARY_SHAPE, showGroup, summarizeGroup, WRITTEN } from "./render.ts";

const ID = { id: "The id of the group" };
const NAME = { name: "The name of the group" };
const NO_FIELDS = z.object({});
const FIELDS = z.object({
  id: text().describe("The id of the group; a new one is made unless sent"),
  name: text().describe("The name of the group; one is made unless sent"),
  type: text().describe("`internal`, or `external` for members by an alias"),
  metadata: pairs().describe("Texts by name"),
  policies: commaList().describe("Policies that tokens of members get"),
  member_entity_ids: commaList().describe("Entities that are members"),
  member_group_ids: commaList().describe("Groups whose members are members"),
});
type Fields = z.infer<typeof FIELDS>;

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
    "list",
    "identity/group/id",
    {
      summary: "Lists the groups by id.",
      operationId: "group-list-by-id",
      answers: dataAnswer({ keys: ["string"], key_info: { "*": GROUP_SUMMARY_SHAPE } }),
    },
    z.object(PAGE),
    async ({ env, fields }) => {
      const groups = await list(env, "id", fields);
      const info = groups.map((group) => [group.id, summarizeGroup(group)]);
      return ok(dataReply({ keys: groups.map(({ id }) => id), key_info: Object.fromEntries(info) }));
    },
  ),
  simpleRoute(
    "update",
    "identity/group/id/:id",
    { summary: "Makes or changes a group.", operationId: "group-update-by-id", parameters: ID, answers: WRITTEN },
    FIELDS,
    (context) => write(context, context.params.id ?? "", context.fields.name),
  ),
  simpleRoute(
    "read",
    "identity/group/id/:id",
    { summary: "Shows a group.", operationId: "group-read-by-id", parameters: ID, answers: dataAnswer(GROUP_SHAPE) },
    NO_FIELDS,
    (context) => read(context, { id: context.params.id ?? "" }),
  ),
  simpleRoute(
    "delete",
    "identity/group/id/:id",
    { summary: "Deletes a group.", operationId: "group-delete-by-id", parameters: ID, answers: NO_CONTENT },
    NO_FIELDS,
    (context) => remove(context, { id: context.params.id ?? "" }),
  ),

  simpleRoute(
    "list",
    "identity/group/name",
    { summary: "Lists the groups by name.", operationId: "group-list-by-name", answers: KEYS },
    z.object(PAGE),
    async ({ env, fields }) => ok(keysReply((await list(env, "name", fields)).map(({ name }) => name))),
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
  simpleRoute(
    "read",
    "identity/group/name/:name{.+}",
    {
      summary: "Shows the group of a name.",
      operationId: "group-read-by-name",
      parameters: NAME,
      answers: dataAnswer(GROUP_SHAPE),
    },
    NO_FIELDS,
    async (context) => {
      const named = await canonicalName(context, "group");
      return named.ok ? read(context, named.value) : named;
    },
  ),
  simpleRoute(
    "delete",
    "identity/group/name/:name{.+}",
    {
      summary: "Deletes the group of a name.",
      operationId: "group-delete-by-name",
      parameters: NAME,
      answers: NO_CONTENT,
    },
    NO_FIELDS,
    async (context) => {
      const named = await canonicalName(context, "group");
      return named.ok ? remove(context, named.value) : named;
    },
  ),
];

type Call<F> = CallContext<F, null>;

function list(env: Call<Page>["env"], order: "id" | "name", page: Page) {
  return readPage(
    page,
    (after, limit) => identityOf(env).listGroups(order, after, limit),
    (group) => group[order],
  );
}

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
    generatedName("group"),
    currentTime(),
  );
  if (!written.ok) return written;
  forgetEntities();
  const { created, ...shown } = written.value;
  return ok(created ? dataReply(shown) : EMPTY);
}

async function read({ env, installation }: Call<unknown>, key: IdOrName): Promise<Result<Reply, Failure>> {
  const group = await identityOf(env).readGroup(key);
  return group ? ok(dataReply(showGroup(group, installation))) : err({ code: "not_found" });
}

async function remove({ env }: Call<unknown>, key: IdOrName): Promise<Result<Reply, Failure>> {
  await identityOf(env).deleteGroup(key);
  forgetEntities();
  return ok(EMPTY);
}
