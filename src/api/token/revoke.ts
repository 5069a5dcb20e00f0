import { type Answered, type CallContext, type PresentedContext, type Route, tokenRoute } from "../../auth/route.ts";
import { DONE_OR_WARNED, type RouteDescription } from "../../auth/route-description.ts";
import {
  accessorTarget,
  askedBy,
  inCallersTree,
  type NamedToken,
  outcomeOf,
  readTargetToken,
  refuseWhileAlive,
  type TargetedAction,
  tokenTarget,
} from "../../auth/target.ts";
import { invalid, ok, type Result, refuse } from "../../base/result.ts";
import type { TargetAction } from "../../token/actions.ts";
import { type FieldSchema, fieldSchema, NO_FIELDS, text, unread } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";

/**
 * `revoke`, `revoke-self`, `revoke-accessor` and `revoke-orphan` (also with the token in the URL).
 * Messages are the reference's (auth/token/revoke).
 */
export const REVOKE_ROUTES: readonly Route[] = [
  tokenRoute("update", "revoke", {
    summary: "Revokes a token and all below it.",
    operationId: "revoke",
    answers: DONE_OR_WARNED,
    input: fieldSchema({ token: unread("string").describe("The token") }),
    prepare: (context) => prepareByToken(context, context.fields.token, "revoke"),
    action: async (context) => inCallersTree(context, context.prepared),
    // Revoking twice is no error: what the caller wanted is so.
    handle: (context) => revoke(context, ok(EMPTY)),
  }),

  tokenRoute("update", "revoke-self", {
    summary: "Revokes the token of the request and all below it.",
    operationId: "revoke-self",
    answers: DONE_OR_WARNED,
    input: fieldSchema({ token: unread("string").describe("The token") }),
    async prepare({ presented, request }) {
      if (presented.kind !== "service") return refuse(`${presented.kind} tokens cannot be revoked`);
      const { treeId } = presented.credential;
      const action: TargetAction = { kind: "revoke", target: { by: "self" }, asked: askedBy(request) };
      return ok({ treeId, action } satisfies TargetedAction);
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => revoke(context, ok(EMPTY)),
  }),

  tokenRoute("update", "revoke-accessor", {
    summary: "Revokes the token that an accessor belongs to and all below it.",
    operationId: "revoke-accessor",
    answers: DONE_OR_WARNED,
    input: fieldSchema({ accessor: text().describe("The accessor of the token") }),
    async prepare(context): Promise<Result<NamedToken>> {
      const { accessor } = context.fields;
      if (accessor === "") return refuse("missing accessor");
      const found = await accessorTarget(context.installation.keys, accessor);
      const asked = askedBy(context.request);
      return ok(found && { treeId: found.treeId, action: { kind: "revoke", target: found.target, asked } });
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => revoke(context, ok({ kind: "empty", warnings: ["No token found with this accessor"] })),
  }),

  revokeOrphanRoute(
    "revoke-orphan",
    { summary: "Revokes a token; what is below it becomes orphans.", operationId: "revoke-orphan" },
    fieldSchema({ token: unread("string").describe("The token") }),
  ),
  revokeOrphanRoute(
    "revoke-orphan/:token",
    {
      summary: "Revokes the token in the path; what is below it becomes orphans.",
      operationId: "revoke-orphan-with-token-in-path",
      parameters: { token: "The token, as older clients send it" },
    },
    NO_FIELDS,
  ),
];

/** The token without its children. Asks for sudo on its own path, also where the token is in the URL. */
function revokeOrphanRoute(
  path: string,
  description: Omit<RouteDescription, "answers">,
  input: FieldSchema<{ token?: unknown }>,
): Route {
  return tokenRoute("update", path, {
    ...description,
    answers: DONE_OR_WARNED,
    input,
    secretPath: true,
    prepare: (context) => prepareByToken(context, context.params.token ?? context.fields.token, "revoke_orphan"),
    // Sudo is checked in the handler, from the verdict of the tree; so the action is not part of that call.
    async handle(context) {
      if (!context.verdict.sudo) return refuse("root or sudo privileges required to revoke and orphan");
      return revoke(context, refuse("token to revoke not found"));
    },
  });
}

async function prepareByToken(
  context: PresentedContext<unknown>,
  token: unknown,
  kind: "revoke" | "revoke_orphan",
): Promise<Result<NamedToken>> {
  if (token === undefined || token === "") return refuse("missing token ID");
  const read = await readTargetToken(context, token);
  if (!read.ok) return read;
  if (!read.value) return ok(null);
  if (read.value.kind !== "service") return ok({ unstored: read.value });
  const { treeId, target } = tokenTarget(read.value);
  // Not the path of the request: it can hold the token.
  const path = kind === "revoke" ? "auth/token/revoke" : "auth/token/revoke-orphan";
  return ok({ treeId, action: { kind, target, asked: askedBy({ id: context.request.id, path }) } });
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
