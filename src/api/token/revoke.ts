import { type Answered, type CallContext, type PresentedContext, type Route, tokenRoute } from "../../auth/route.ts";
import { DONE_OR_WARNED, type RouteDescription } from "../../auth/route-description.ts";
import {
  askedBy,
  inCallersTree,
  type NamedToken,
  onAccessor,
  onToken,
  outcomeOf,
  refuseWhileAlive,
} from "../../auth/target.ts";
import { invalid, ok, type Result, refuse } from "../../base/result.ts";
import type { RevokeAction, Target } from "../../token/actions.ts";
import { fieldSchema, NO_FIELDS, text, unread } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";

const TOKEN = fieldSchema({ token: unread("string").describe("The token") });

/** `revoke`, `revoke-self`, `revoke-accessor` and `revoke-orphan`. Messages are the reference's (auth/token/revoke). */
export const REVOKE_ROUTES: readonly Route[] = [
  tokenRoute("update", "revoke", {
    summary: "Revokes a token and all its descendants.",
    operationId: "revoke",
    answers: DONE_OR_WARNED,
    input: TOKEN,
    prepare: (context) => revocationOf(context, context.fields.token, "revoke"),
    action: async (context) => inCallersTree(context, context.prepared),
    // Revoking a token again is no error: the token is revoked, as the caller wants.
    handle: (context) => revoke(context, ok(EMPTY)),
  }),

  tokenRoute("update", "revoke-self", {
    summary: "Revokes the token of the request and all its descendants.",
    operationId: "revoke-self",
    answers: DONE_OR_WARNED,
    input: TOKEN,
    async prepare({ presented, request }): Promise<Result<NamedToken<RevokeAction>>> {
      if (presented.kind !== "service") return refuse(`${presented.kind} tokens cannot be revoked`);
      const action = { kind: "revoke", target: { by: "self" }, asked: askedBy(request) } as const;
      return ok({ treeId: presented.credential.treeId, action, text: presented.text });
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => revoke(context, ok(EMPTY)),
  }),

  tokenRoute("update", "revoke-accessor", {
    summary: "Revokes the token that has this accessor, and all its descendants.",
    operationId: "revoke-accessor",
    answers: DONE_OR_WARNED,
    input: fieldSchema({ accessor: text().describe("The accessor of the token") }),
    prepare: (context) =>
      onAccessor(context, context.fields.accessor, (target) => ({
        kind: "revoke",
        target,
        asked: askedBy(context.request),
      })),
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => revoke(context, ok({ kind: "empty", warnings: ["No token found with this accessor"] })),
  }),

  revokeOrphanRoute("revoke-orphan", {
    summary: "Revokes a token. Its children become orphans.",
    operationId: "revoke-orphan",
  }),
  revokeOrphanRoute("revoke-orphan/:token", {
    summary: "Revokes the token in the path. Its children become orphans.",
    operationId: "revoke-orphan-with-token-in-path",
    parameters: { token: "The token, as older clients send it" },
  }),
];

/** Defines the revocation of a token without its children. It needs sudo on its own path, also with the token in the URL. */
function revokeOrphanRoute(path: string, description: Omit<RouteDescription, "answers">): Route {
  return tokenRoute<{ readonly token?: unknown }, NamedToken>("update", path, {
    ...description,
    answers: DONE_OR_WARNED,
    input: description.parameters ? NO_FIELDS : TOKEN,
    secretPath: true,
    prepare: (context) => revocationOf(context, context.params.token ?? context.fields.token, "revoke_orphan"),
    // The verdict of the tree says whether the caller has sudo. So the action is not part of the call that authenticates.
    async handle(context) {
      if (!context.verdict.sudo) return refuse("root or sudo privileges required to revoke and orphan");
      return revoke(context, refuse("token to revoke not found"));
    },
  });
}

async function revocationOf(context: PresentedContext<unknown>, token: unknown, kind: RevokeAction["kind"]) {
  if (token === undefined || token === "") return refuse("missing token ID");
  // Not the path of the request, which can contain the token.
  const path = kind === "revoke" ? "auth/token/revoke" : "auth/token/revoke-orphan";
  const asked = askedBy({ id: context.request.id, path });
  return onToken(context, token, (target: Target) => ({ kind, target, asked }));
}

async function revoke(context: CallContext<unknown, NamedToken>, notFound: Result<Reply>): Answered {
  const { prepared } = context;
  if (!prepared) return notFound;
  if ("unstored" in prepared) {
    const refusal = invalid(`${prepared.unstored.kind} tokens cannot be revoked`);
    return refuseWhileAlive(context, prepared, refusal, notFound);
  }
  const outcome = await outcomeOf(context, prepared);
  if (outcome.ok) return ok(EMPTY);
  return outcome.error.code === "not_found" ? notFound : outcome;
}
