import { z } from "zod";
import { currentTime } from "../../clock.ts";
import { DENIED, type Failure, invalid } from "../../errors.ts";
import { text } from "../../http/fields.ts";
import { dataReply, type Reply } from "../../http/reply.ts";
import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../http/route.ts";
import { err, ok, type Result } from "../../result.ts";
import { type Caller, callerOf, type Presented } from "../caller.ts";
import { lookupBatch, lookupTeam, lookupToken } from "../render.ts";
import { accessorTarget, inCallersTree, outcomeOf, readTargetToken, tokenTarget } from "../target.ts";

const BAD_TOKEN: Failure = { code: "bad_token" };

/** `lookup`, `lookup-self` and `lookup-accessor`. */
export const LOOKUP_ROUTES: readonly Route[] = [
  // The path names the caller: a token in the body is ignored, not unknown.
  simpleRoute(["read", "update"], "lookup-self", z.object({ token: z.unknown().optional() }), async (context) =>
    ok(lookupCaller(context)),
  ),

  tokenRoute(["read", "update"], "lookup", z.object({ token: z.unknown().optional() }), {
    async prepare(context): Promise<Result<Presented | "caller" | null, Failure>> {
      const { token } = context.fields;
      return token === undefined || token === "" ? ok("caller") : readTargetToken(context, token);
    },
    async action(context) {
      const { prepared } = context;
      if (!prepared || prepared === "caller" || prepared.kind !== "service") return null;
      const { treeId, target } = tokenTarget(prepared);
      return inCallersTree(context, { treeId, action: { kind: "lookup", target } });
    },
    async handle(context) {
      const { env, prepared } = context;
      const now = currentTime();
      if (prepared === "caller") return ok(lookupCaller(context));
      if (!prepared) return err(BAD_TOKEN);
      if (prepared.kind !== "service") {
        const holder = await callerOf(env, prepared);
        return holder ? ok(dataReply(lookupOf(holder, prepared.text, now))) : err(BAD_TOKEN);
      }
      const { treeId, target } = tokenTarget(prepared);
      const outcome = await outcomeOf(context, { treeId, action: { kind: "lookup", target } });
      if (!outcome.ok || outcome.value.kind !== "token") return err(BAD_TOKEN);
      return ok(dataReply(lookupToken(outcome.value.token, prepared.text, now)));
    },
  }),

  tokenRoute("update", "lookup-accessor", z.object({ accessor: text() }), {
    async prepare(context) {
      const { accessor } = context.fields;
      if (accessor === "") return err(invalid("missing accessor"));
      const found = await accessorTarget(context, accessor);
      return ok(found && { treeId: found.treeId, action: { kind: "lookup", target: found.target } as const });
    },
    action: async (context) => inCallersTree(context, context.prepared),
    async handle(context) {
      const outcome = context.prepared ? await outcomeOf(context, context.prepared) : err(DENIED);
      if (!outcome.ok || outcome.value.kind !== "token") return err(invalid("invalid accessor"));
      return ok(dataReply(lookupToken(outcome.value.token, "", currentTime())));
    },
  }),
];

function lookupCaller({ caller, presented }: CallContext<unknown, unknown>): Reply {
  return dataReply(lookupOf(caller, presented.text, currentTime()));
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
