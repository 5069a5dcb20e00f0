import { endRequestOf } from "../../auth/caller.ts";
import { readRoute } from "../../auth/record-routes.ts";
import { type Answered, type CallContext, type Route, simpleRoute, withParameters } from "../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { NOT_FOUND, ok, type Result, refuse } from "../../base/result.ts";
import { findEntity, listEntities, listEntityNames, readEntity } from "../../identity/entities.ts";
import { deleteEntities, writeEntity } from "../../identity/entity-writes.ts";
import type { EntityRecord } from "../../identity/model.ts";
import { identityPolicies, metadataProblem, nameProblem } from "../../identity/rules.ts";
import { forgetEntities } from "../../identity/standing.ts";
import { systemOf } from "../../system/system.ts";
import { entityScope } from "../../system/watermarks.ts";
import { fieldSchema, flag, list, pairs, sent, strictSchema, text, type Values } from "../../wire/fields.ts";
import { dataReply, EMPTY } from "../../wire/reply.ts";
import { endedReply } from "../changed-reply.ts";
import { notBefore, readNotBefore } from "../not-before.ts";
import { type NamedKind, routesById, routesByName, type ShownWrite } from "./kind.ts";
import { ENTITY_SUMMARY_VIEW, ENTITY_VIEW } from "./render.ts";

const FIELDS = fieldSchema({
  id: text().describe("The id of the entity; a new one is made unless sent"),
  name: text().describe("The name of the entity; one is made unless sent"),
  metadata: pairs().describe("Texts by name"),
  policies: sent(list()).describe("Policies that the tokens of the entity get"),
  disabled: sent(flag(false)).describe("True: tokens of the entity can't be used"),
});
type Fields = Values<typeof FIELDS>;

const KIND: NamedKind<EntityRecord, Fields> = {
  kind: "entity",
  path: "identity/entity",
  id: "The id of the entity",
  one: "an entity",
  all: "the entities",
  operationIds: { one: "entity-*", all: "entity-*" },
  fields: FIELDS,
  view: ENTITY_VIEW,
  summary: ENTITY_SUMMARY_VIEW,
  write,
  list: listEntities,
  listNames: listEntityNames,
  read: readEntity,
  delete: (env, key) => deleteEntities(env, [key]),
};

/** Entities, by id and by name. */
export const ENTITY_ROUTES: readonly Route[] = withParameters({ id: "The id of the entity" }, [
  ...routesById(KIND),
  ...routesByName(KIND),
  simpleRoute("update", "identity/entity/batch-delete", {
    summary: "Deletes entities.",
    operationId: "entity-batch-delete",
    answers: NO_CONTENT,
    input: fieldSchema({ entity_ids: sent(list()).describe("The ids of the entities") }),
    handle: async ({ env, fields }) => {
      if (!fields.entity_ids?.length) return refuse("missing entity ids to delete");
      await deleteEntities(
        env,
        fields.entity_ids.map((id) => ({ id })),
      );
      forgetEntities();
      return ok(EMPTY);
    },
  }),
  readRoute("identity/entity/id/:id/not-before", {
    summary: "Shows from when on tokens of an entity are accepted.",
    operationId: "entity-read-not-before",
    answers: dataAnswer({ not_before: "string" }),
    handle: async ({ env, installation, params }) => {
      const id = params.id ?? "";
      if (!(await findEntity(env, { id }))) return NOT_FOUND;
      return ok(dataReply({ not_before: notBefore(installation.watermarks, entityScope(id)) }));
    },
  }),
  simpleRoute("update", "identity/entity/id/:id/not-before", {
    summary: "Ends the tokens that an entity got before; it can log in again.",
    operationId: "entity-write-not-before",
    answers: DONE_OR_WARNED,
    input: strictSchema({ not_before: text().describe("`now`, which it is unless sent, or a time that has passed") }),
    handle: endTokens,
  }),
]);

async function write({ env }: CallContext, fields: Fields): Promise<Result<ShownWrite>> {
  const { id, name, metadata, disabled } = fields;
  const problem = nameProblem("entity", name) ?? metadataProblem("metadata", metadata);
  if (problem) return refuse(problem);
  const policies = identityPolicies(fields.policies ?? null);
  if (!policies.ok) return policies;
  const changes = { name: name || null, metadata, policies: policies.value, disabled: disabled ?? null };
  const written = await writeEntity(env, id || null, changes, currentTime());
  if (!written.ok) return written;
  const { created, ...shown } = written.value;
  return ok(created ? { ...shown, aliases: null } : null);
}

/** Ends the tokens of an entity, which stays as it is. What is stored of them goes with the next tidy run. */
async function endTokens(context: CallContext<{ not_before: string }>): Answered {
  const { env, params, fields, caller, request: asking } = context;
  const id = params.id ?? "";
  const now = currentTime();
  const createdBefore = readNotBefore(fields.not_before || "now", now);
  if (!createdBefore.ok) return createdBefore;
  if (!(await findEntity(env, { id }))) return NOT_FOUND;
  const asked = endRequestOf(caller, asking);
  const request = { id: crypto.randomUUID(), scope: entityScope(id), createdBefore: createdBefore.value, asked };
  return endedReply(env, await systemOf(env).addWatermark(request, now));
}
