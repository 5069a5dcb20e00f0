import type { CallContext, Route } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { ok, type Result, refuse } from "../../base/result.ts";
import { writeGroup } from "../../identity/entity-writes.ts";
import { EXTERNAL_GROUP, type GroupRecord, INTERNAL_GROUP } from "../../identity/model.ts";
import { identityPolicies, metadataProblem, nameProblem } from "../../identity/rules.ts";
import { identityOf } from "../../identity/stubs.ts";
import { fieldSchema, list, pairs, sent, text, type Values } from "../../wire/fields.ts";
import { type NamedKind, routesById, routesByName, type ShownWrite } from "./kind.ts";
import { GROUP_SUMMARY_VIEW, GROUP_VIEW } from "./render.ts";

const FIELDS = fieldSchema({
  id: text().describe("The id of the group; a new one is made unless sent"),
  name: text().describe("The name of the group; one is made unless sent"),
  type: text().describe("`internal`, or `external` for members by an alias"),
  metadata: pairs().describe("Texts by name"),
  policies: sent(list()).describe("Policies that tokens of members get"),
  member_entity_ids: sent(list()).describe("Entities that are members"),
  member_group_ids: sent(list()).describe("Groups whose members are members"),
});
type Fields = Values<typeof FIELDS>;

const TYPES = [INTERNAL_GROUP, EXTERNAL_GROUP] as const;

const KIND: NamedKind<GroupRecord, Fields> = {
  kind: "group",
  path: "identity/group",
  id: "The id of the group",
  one: "a group",
  all: "the groups",
  operationIds: { one: "group-*", all: "group-*" },
  fields: FIELDS,
  view: GROUP_VIEW,
  summary: GROUP_SUMMARY_VIEW,
  write,
  list: (env, after, limit) => identityOf(env).listGroups("id", after, limit),
  listNames: (env, after, limit) => identityOf(env).listGroups("name", after, limit),
  read: (env, key) => identityOf(env).readGroup(key),
  delete: (env, key) => identityOf(env).deleteGroup(key),
};

/** Groups of entities, by id and by name. */
export const GROUP_ROUTES: readonly Route[] = [...routesById(KIND), ...routesByName(KIND)];

async function write({ env }: CallContext, fields: Fields): Promise<Result<ShownWrite>> {
  const { id, name, metadata } = fields;
  const type = TYPES.find((known) => known === fields.type) ?? null;
  if (fields.type !== "" && type === null) return refuse('the type of a group is "internal" or "external"');
  const problem = nameProblem("group", name) ?? metadataProblem("metadata", metadata);
  if (problem) return refuse(problem);
  const policies = identityPolicies(fields.policies ?? null);
  if (!policies.ok) return policies;
  const changes = {
    name: name || null,
    type,
    metadata,
    policies: policies.value,
    memberEntityIds: fields.member_entity_ids ?? null,
    memberGroupIds: fields.member_group_ids ?? null,
  };
  const written = await writeGroup(env, id || null, changes, currentTime());
  if (!written.ok) return written;
  const { created, ...shown } = written.value;
  return ok(created ? shown : null);
}
