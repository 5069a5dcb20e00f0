import { type Caller, callerOf, type ParsedToken } from "../../auth/caller.ts";
import { LOOKUP_SHAPE, lookupBatch, lookupTeam, lookupToken } from "../../auth/render.ts";
import { type Answered, type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { accessorTarget, inCallersTree, lookUpOf, outcomeOf, readTargetToken, tokenTarget } from "../../auth/target.ts";
import { currentTime } from "../../base/clock.ts";
import { DENIED, err, type Failure, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { policiesOfEntity } from "../../identity/standing.ts";
import type { TokenRecord } from "../../token/record.ts";
import { fieldSchema, text, unread } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";

const BAD_TOKEN: Failure = { code: "bad_token" };

/** `lookup`, `lookup-self` and `lookup-accessor`. Messages are the reference's (auth/token/lookup). */
export const LOOKUP_ROUTES: readonly Route[] = [
  // The path selects the caller: a token in the body is ignored without a warning.
  simpleRoute(["read", "update"], "lookup-self", {
    summary: "Shows the token of the request.",
    operationId: { read: "look-up-self-get", update: "look-up-self-update" },
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ token: unread("string").describe("The token") }),
    handle: (context) => lookUpCaller(context),
  }),

  tokenRoute(["read", "update"], "lookup", {
    summary: "Shows a token; without one in the body that of the request.",
    operationId: { read: "look-up-get", update: "look-up-update" },
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ token: unread("string").describe("The token") }),
    async prepare(context): Promise<Result<ParsedToken | "caller" | null>> {
      const { token } = context.fields;
      return token === undefined || token === "" ? ok("caller") : readTargetToken(context, token);
    },
    async action(context) {
      const { prepared } = context;
      if (!prepared || prepared === "caller" || prepared.kind !== "service") return null;
      return inCallersTree(context, lookUpOf(tokenTarget(prepared)));
    },
    async handle(context) {
      const { env, prepared } = context;
      const now = currentTime();
      if (prepared === "caller") return lookUpCaller(context);
      if (!prepared) return err(BAD_TOKEN);
      if (prepared.kind !== "service") {
        const holder = await callerOf(env, context.installation, prepared);
        return holder ? shown(env, holder.record, lookupOf(holder, prepared.text, now)) : err(BAD_TOKEN);
      }
      const outcome = await outcomeOf(context, lookUpOf(tokenTarget(prepared)));
      if (!outcome.ok || outcome.value.kind !== "token") return err(BAD_TOKEN);
      const { token } = outcome.value;
      return shown(env, token, lookupToken(token, prepared.text, now));
    },
  }),

  tokenRoute("update", "lookup-accessor", {
    summary: "Shows the token that an accessor belongs to, without its id.",
    operationId: "look-up-by-accessor",
    answers: dataAnswer(LOOKUP_SHAPE),
    input: fieldSchema({ accessor: text().describe("The accessor of the token") }),
    async prepare(context) {
      const { accessor } = context.fields;
      if (accessor === "") return refuse("missing accessor");
      const found = await accessorTarget(context.installation.keys, accessor);
      return ok(found && lookUpOf(found));
    },
    action: async (context) => inCallersTree(context, context.prepared),
    async handle(context) {
      const outcome = context.prepared ? await outcomeOf(context, context.prepared) : err(DENIED);
      if (!outcome.ok || outcome.value.kind !== "token") return refuse("invalid accessor");
      const { token } = outcome.value;
      return shown(context.env, token, lookupToken(token, "", currentTime()));
    },
  }),
];

function lookUpCaller({ env, caller, presented }: CallContext): Answered {
  return shown(env, caller.record, lookupOf(caller, presented.text, currentTime()));
}

/** What a look-up answers, with the policies of the token's entity if it has any. */
async function shown(env: Env, { entityId }: TokenRecord, data: Readonly<Record<string, unknown>>): Answered {
  const policies = await policiesOfEntity(env, entityId);
  return ok(dataReply(policies.length === 0 ? data : { ...data, identity_policies: policies }));
}

function lookupOf(caller: Caller, text: string, now: number): Record<string, unknown> {
  switch (caller.kind) {
    case "service":
      return lookupToken(caller.token, text, now);
    case "batch":
      return lookupBatch(caller.token, text, now);
    case "team":
      return lookupTeam(caller, text, now);
  }
}
