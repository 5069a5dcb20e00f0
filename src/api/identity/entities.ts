import { type CallContext, type Route, simpleRoute } from "../../auth/route.ts";
import { DONE_OR_WARNED, dataAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { findEntity, listEntities, listEntityNames, readEntity } from "../../identity/entities.ts";
import { deleteEntities, writeEntity } from "../../identity/entity-writes.ts";
import type { EntityRecord } from "../../identity/model.ts";
import { identityPolicies, metadataProblem, nameProblem } from "../../identity/rules.ts";
import { forgetEntities } from "../../identity/standing.ts";
import { systemOf } from "../../system/system.ts";
import { entityScope } from "../../system/watermarks.ts";
import {
  commaList,
  fieldSchema,
  flag,
  NO_FIELDS,
  pairs,
  sent,
  strictSchema,
  text,
  type Values,
} from "../../wire/fields.ts";
import { dataReply, EMPTY, type Reply } from "../../wire/reply.ts";
import { endedReply } from "../changed-reply.ts";
import { notBefore, readNotBefore } from "../not-before.ts";
import { routesById } from "./by-id.ts";
import { routesByName } from "./by-name.ts";
import { canonicalName } from "./canonical-name.ts";
import { ENTITY_SHAPE, ENTITY_SUMMARY_SHAPE, showEntity, summarizeEntity, WRITTEN } from "./render.ts";

const ID = { id: "The id of the entity" };
const NAME = { name: "The name of the entity" };
const FIELDS = fieldSchema({
  id: text().describe("The id of the entity; a new one is made unless sent"),
  name: text().describe("The name of the entity; one is made unless sent"),
  metadata: pairs().describe("Texts by name"),
  policies: commaList().describe("Policies that the tokens of the entity get"),
  disabled: sent(flag(false)).describe("True: tokens of the entity can't be used"),
});
type Fields = Values<typeof FIELDS>;

/** Entities, by id and by name. */
export const ENTITY_ROUTES: readonly Route[] = [
  simpleRoute(
    "update",
    "identity/entity",
    { summary: "Makes or changes an entity.", operationId: "entity-create", answers: WRITTEN },
    FIELDS,
    (context) => write(context, context.fields.id, context.fields.name),
  ),
  simpleRoute(
    "update",
    "identity/entity/batch-delete",
    { summary: "Deletes entities.", operationId: "entity-batch-delete", answers: NO_CONTENT },
    fieldSchema({ entity_ids: commaList().describe("The ids of the entities") }),
    async ({ env, fields }) => {
      if (!fields.entity_ids?.length) return err(invalid("missing entity ids to delete"));
      await deleteEntities(
        env,
        fields.entity_ids.map((id) => ({ id })),
      );
      forgetEntities();
      return ok(EMPTY);
    },
  ),
  simpleRoute(
    "update",
    "identity/entity/id/:id",
    { summary: "Makes or changes an entity.", operationId: "entity-update-by-id", parameters: ID, answers: WRITTEN },
    FIELDS,
    (context) => write(context, context.params.id ?? "", context.fields.name),
  ),
  simpleRoute(
    "read",
    "identity/entity/id/:id/not-before",
    {
      summary: "Shows from when on tokens of an entity are accepted.",
      operationId: "entity-read-not-before",
      parameters: ID,
      answers: dataAnswer({ not_before: "string" }),
    },
    NO_FIELDS,
    async ({ env, installation, params }) => {
      const id = params.id ?? "";
      if (!(await findEntity(env, { id }))) return err({ code: "not_found" });
      return ok(dataReply({ not_before: notBefore(installation.watermarks, entityScope(id)) }));
    },
  ),
  simpleRoute(
    "update",
    "identity/entity/id/:id/not-before",
    {
      summary: "Ends the tokens that an entity got before; it can log in again.",
      operationId: "entity-write-not-before",
      parameters: ID,
      answers: DONE_OR_WARNED,
    },
    strictSchema({ not_before: text().describe("`now`, which it is unless sent, or a time that has passed") }),
    endTokens,
  ),
  simpleRoute(
    "update",
    "identity/entity/name/:name{.+}",
    {
      summary: "Makes or changes the entity of a name.",
      operationId: "entity-update-by-name",
      parameters: NAME,
      answers: WRITTEN,
    },
    FIELDS,
    async (context) => {
      const named = await canonicalName(context, "entity");
      return named.ok ? write(context, "", context.params.name ?? "") : named;
    },
  ),
  ...routesById<EntityRecord>({
    path: "identity/entity",
    id: ID.id,
    words: {
      list: { summary: "Lists the entities by id.", operationId: "entity-list-by-id" },
      read: { summary: "Shows an entity.", operationId: "entity-read-by-id" },
      delete: { summary: "Deletes an entity.", operationId: "entity-delete-by-id" },
    },
    shape: ENTITY_SHAPE,
    summaryShape: ENTITY_SUMMARY_SHAPE,
    list: listEntities,
    read: (env, id) => readEntity(env, { id }),
    delete: (env, id) => deleteEntities(env, [{ id }]),
    summarize: summarizeEntity,
    show: showEntity,
  }),
  ...routesByName<EntityRecord>({
    kind: "entity",
    plural: "entities",
    shape: ENTITY_SHAPE,
    list: listEntityNames,
    read: readEntity,
    delete: (env, key) => deleteEntities(env, [key]),
    show: showEntity,
  }),
];

type Call<F> = CallContext<F, null>;

async function write({ env, fields }: Call<Fields>, id: string, name: string): Promise<Result<Reply, Failure>> {
  const problem = nameProblem("entity", name) ?? metadataProblem("metadata", fields.metadata);
  if (problem) return err(invalid(problem));
  const policies = identityPolicies(fields.policies);
  if (!policies.ok) return policies;
  const written = await writeEntity(
    env,
    id || null,
    { name: name || null, metadata: fields.metadata, policies: policies.value, disabled: fields.disabled ?? null },
    currentTime(),
  );
  if (!written.ok) return written;
  forgetEntities();
  const { created, ...shown } = written.value;
  return ok(created ? dataReply({ ...shown, aliases: null }) : EMPTY);
}

/** Ends the tokens of an entity, which stays as it is. What is stored of them goes with the next tidy run. */
async function endTokens({ env, params, fields }: Call<{ not_before: string }>): Promise<Result<Reply, Failure>> {
  const id = params.id ?? "";
  const now = currentTime();
  const createdBefore = readNotBefore(fields.not_before || "now", now);
  if (!createdBefore.ok) return createdBefore;
  if (!(await findEntity(env, { id }))) return err({ code: "not_found" });
  const request = { id: crypto.randomUUID(), scope: entityScope(id), createdBefore: createdBefore.value };
  const added = await systemOf(env).addWatermark(request, now);
  return added.ok ? endedReply(env) : added;
}
