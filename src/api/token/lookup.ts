import type { Caller } from "../../auth/caller.ts";
import { holderOf, inCallersTree, lookUpOf, type NamedToken, onAccessor, onToken } from "../../auth/named-token.ts";
import { type Answered, type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { dataAnswer, KEYS } from "../../auth/route-description.ts";
import { LOOKUP_SHAPE, lookupOf } from "../../auth/token-answer.ts";
import { currentTime } from "../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { policiesOfEntity } from "../../identity/entity-copies.ts";
import { listAccessors } from "../../listing/inventory/queries.ts";
import { publishRecent } from "../../listing/updates/publish.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { pasted, unread } from "../../wire/fields.ts";
import { PAGE } from "../../wire/pagination.ts";
import { dataReply } from "../../wire/reply.ts";

/** `lookup`, `lookup-self`, `lookup-accessor`, and the list of accessors. Messages are the reference's (auth/token/lookup). */
export const LOOKUP_ROUTES: readonly Route[] = [
  // The token is always that of the request. Clients also send it in the body, which is ignored without a warning.
  simpleRoute(["read", "update"], "lookup-self", {
    summary: "Shows the token of the request.",
    operationId: { read: "look-up-self-get", update: "look-up-self-update" },
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ token: unread("string").describe("The token") }),
    handle: lookUpCaller,
  }),

  tokenRoute(["read", "update"], "lookup", {
    summary: "Shows a token; without one in the body the token of the request.",
    operationId: { read: "look-up-get", update: "look-up-update" },
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ token: unread("string").describe("The token") }),
    async prepare(context): Promise<Result<NamedToken | "caller">> {
      const { token } = context.fields;
      return token === undefined || token === "" ? ok("caller") : onToken(context, token, lookUpOf);
    },
    action: async (context) => (context.prepared === "caller" ? null : inCallersTree(context, context.prepared)),
    async handle(context) {
      const { env, prepared } = context;
      if (prepared === "caller") return lookUpCaller(context);
      const holder = await holderOf(context, prepared);
      if (!prepared || !holder) return err({ code: "bad_token" });
      return show(env, holder, "unstored" in prepared ? prepared.unstored.text : prepared.text);
    },
  }),

  tokenRoute("update", "lookup-accessor", {
    summary: "Shows the token that has this accessor.",
    operationId: "look-up-by-accessor",
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ accessor: pasted().describe("The accessor of the token") }),
    prepare: (context) => onAccessor(context, context.fields.accessor, lookUpOf),
    action: async (context) => inCallersTree(context, context.prepared),
    async handle(context) {
      const holder = await holderOf(context, context.prepared);
      return holder ? show(context.env, holder, "") : refuse("invalid accessor");
    },
  }),

  simpleRoute("list", "accessors", {
    summary: "Lists the accessors of all tokens.",
    operationId: "list-accessors",
    answers: KEYS,
    input: fieldSchema(PAGE),
    handle: async ({ env, fields }) => {
      await publishRecent(env, currentTime());
      return dataReply({ keys: await listAccessors(env, fields.after, Math.max(0, fields.limit)) });
    },
  }),
];

async function lookUpCaller({ env, caller, presented }: CallContext): Answered {
  return show(env, caller, presented.text);
}

/** Answers a look-up, with the policies of the token's entity if it has any. */
async function show(env: Env, caller: Caller, text: string): Answered {
  const data = lookupOf(caller, text);
  const policies = await policiesOfEntity(env, caller.record.entityId);
  return dataReply(policies.length === 0 ? data : { ...data, identity_policies: policies });
}
