import { type Caller, callerOf, serviceCaller } from "../../auth/caller.ts";
import { LOOKUP_SHAPE, lookupOf } from "../../auth/render.ts";
import { type Answered, type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { inCallersTree, lookUpOf, type NamedToken, onAccessor, onToken, outcomeOf } from "../../auth/target.ts";
import { err, type Failure, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { policiesOfEntity } from "../../identity/standing.ts";
import { fieldSchema, text, unread } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";

const BAD_TOKEN: Failure = { code: "bad_token" };

/** `lookup`, `lookup-self` and `lookup-accessor`. Messages are the reference's (auth/token/lookup). */
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
      const { env, installation, prepared } = context;
      if (prepared === "caller") return lookUpCaller(context);
      if (!prepared) return err(BAD_TOKEN);
      if ("unstored" in prepared) {
        const holder = await callerOf(env, installation, prepared.unstored);
        return holder ? show(env, holder, prepared.unstored.text) : err(BAD_TOKEN);
      }
      const outcome = await outcomeOf(context, prepared);
      if (!outcome.ok || outcome.value.kind !== "token") return err(BAD_TOKEN);
      return show(env, serviceCaller(outcome.value.token), prepared.text);
    },
  }),

  tokenRoute("update", "lookup-accessor", {
    summary: "Shows the token that has this accessor, without the token itself.",
    operationId: "look-up-by-accessor",
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ accessor: text().describe("The accessor of the token") }),
    prepare: (context) => onAccessor(context, context.fields.accessor, lookUpOf),
    action: async (context) => inCallersTree(context, context.prepared),
    async handle(context) {
      const outcome = context.prepared && (await outcomeOf(context, context.prepared));
      if (!outcome?.ok || outcome.value.kind !== "token") return refuse("invalid accessor");
      return show(context.env, serviceCaller(outcome.value.token), "");
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
