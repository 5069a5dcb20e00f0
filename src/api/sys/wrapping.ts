import { originOfCaller } from "../../auth/caller.ts";
import { actOnTarget, inCallersTree, originOf, type TargetedAction, tokenTarget } from "../../auth/named-token.ts";
import { readToken } from "../../auth/read-token.ts";
import {
  type Answered,
  type CallContext,
  openRoute,
  type PresentedContext,
  type Route,
  tokenRoute,
} from "../../auth/route.ts";
import { dataAnswer, ENVELOPE, NO_CONTENT } from "../../auth/route-description.ts";
import { openAnswer, wrapAnswer } from "../../auth/wrapped-answer.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { withoutWhiteSpace } from "../../base/white-space.ts";
import type { Env } from "../../env.ts";
import type { Installation } from "../../system/installation.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../../system/revocation-origin.ts";
import type { Outcome, TargetAction } from "../../token/actions.ts";
import { actInTree } from "../../token/tree-calls.ts";
import { ANY_FIELDS, fieldSchema, type Values } from "../../wire/field-schema.ts";
import { unread } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";
import type { GroveRequest } from "../../wire/request.ts";

/** The failure for every token that holds no wrapped answer. The message is the reference's (sys/wrapping). */
const NO_ANSWER = invalid("wrapping token is not valid or does not exist");

const FIELDS = fieldSchema({
  token: unread("string").describe("The wrapping token; by default that of the request"),
});
type Fields = Values<typeof FIELDS>;

type Unwrapping = TargetedAction<Extract<TargetAction, { kind: "unwrap" }>>;

/** Wrapping tokens: creation, look-up, and exchange for the wrapped answer or for another wrapping token. */
export const WRAPPING_ROUTES: readonly Route[] = [
  // The handler answers with what was sent. The wrapping header, which is required, has any answer wrapped.
  tokenRoute("update", "sys/wrapping/wrap", {
    summary: "Returns a token that can be exchanged once for what was sent.",
    operationId: "wrap",
    fields: { "*": { shape: "any", description: "Any field is wrapped" } },
    answers: { kind: "wrapped" },
    input: ANY_FIELDS,
    prepare: async ({ request }) =>
      request.wrapTtlSeconds > 0 ? ok(null) : refuse("endpoint requires response wrapping to be used"),
    handle: async ({ fields }) => dataReply(fields),
  }),

  // The holder of a wrapping token needs no other token to check it before use.
  openRoute(["read", "update"], "sys/wrapping/lookup", {
    summary: "Shows when and for which path a wrapping token was created.",
    operationId: { read: "read-wrapping-properties2", update: "read-wrapping-properties" },
    fields: { token: { shape: "string", description: "The wrapping token; by default that of the request" } },
    answers: dataAnswer({ creation_path: "string", creation_time: "string", creation_ttl: "integer" }),
    handle: async ({ env, request, loaded }) => {
      const problem = tokenProblem(request);
      if (problem) return err(problem);
      if (!loaded.ok) return loaded;
      const text = typeof request.data.token === "string" ? request.data.token : request.token;
      const lookup = await unwrappingOf(env, loaded.value, text, false, NO_ORIGIN);
      const outcome = lookup && (await actInTree(env, lookup.treeId, lookup.action));
      if (!outcome?.ok || outcome.value.kind !== "wrapped") return err(NO_ANSWER);
      const { creationTtl, createdAt, path } = outcome.value.token;
      const created = new Date(createdAt).toISOString();
      return dataReply({ creation_path: path, creation_time: created, creation_ttl: creationTtl });
    },
  }),

  tokenRoute<Fields, Unwrapping>("update", "sys/wrapping/unwrap", {
    summary: "Exchanges a wrapping token for its answer.",
    operationId: "unwrap",
    answers: [ENVELOPE, NO_CONTENT],
    input: FIELDS,
    refusal: (request) => tokenProblem(request) ?? (request.data.token === undefined ? NO_ANSWER : null),
    prepare: (context) => prepareByToken(context, true),
    action: async (context) => inCallersTree(context, context.prepared),
    async handle(context) {
      const outcome = await actOnTarget(context, context.prepared);
      const unwrapped = await readAnswer(context.installation, outcome);
      return unwrapped.ok ? ok({ kind: "stored", answer: unwrapped.value.answer }) : unwrapped;
    },
  }),

  tokenRoute<Fields, Unwrapping>("update", "sys/wrapping/rewrap", {
    summary: "Exchanges a wrapping token for another one.",
    operationId: "rewrap",
    answers: { kind: "wrapped" },
    input: FIELDS,
    refusal: tokenProblem,
    prepare: (context) => prepareByToken(context, false),
    handle: rewrap,
  }),
];

/** Checks the form of the wrapping token, in the body or in the header. Messages are the reference's (sys/wrapping). */
function tokenProblem({ data, token }: GroveRequest): Failure | null {
  const problem =
    data.token === undefined
      ? token === "" && "token is empty"
      : typeof data.token !== "string"
        ? "could not decode token in request body"
        : withoutWhiteSpace(data.token) === "" && "empty token in request body";
  return problem ? { code: "forbidden", message: `error validating wrapping token: ${problem}` } : null;
}

/**
 * Returns the action on the wrapping token of a request: the token in the body, or else the caller's own. With `own`, to
 * unwrap, the caller's own token is allowed, and the token is revoked.
 */
async function prepareByToken(context: PresentedContext<Fields>, own: boolean): Promise<Result<Unwrapping>> {
  const { env, request, installation, fields, presented } = context;
  const problem = tokenProblem(request);
  if (problem) return err(problem);
  const text = typeof fields.token === "string" ? withoutWhiteSpace(fields.token) : presented.text;
  const asked = originOf(request);
  if (text === presented.text) {
    if (!own || presented.kind !== "service") return err(NO_ANSWER);
    const action = { kind: "unwrap", target: { by: "self" }, take: true, asked } as const;
    return ok({ treeId: presented.credential.treeId, action });
  }
  const unwrapping = await unwrappingOf(env, installation, text, own, asked);
  return unwrapping ? ok(unwrapping) : err(NO_ANSWER);
}

/** Returns the action that reads the answer of a token, and also revokes the token if `take` is true. */
async function unwrappingOf(
  env: Env,
  installation: Installation,
  text: string,
  take: boolean,
  asked: RevocationOrigin,
) {
  const read = await readToken(env, installation, text);
  if (read?.kind !== "service") return null;
  const { treeId, target } = tokenTarget(read);
  return { treeId, action: { kind: "unwrap", target, take, asked } } satisfies Unwrapping;
}

/**
 * Creates the new token before it revokes the old one, so a crash in between loses nothing. Of two requests at once only
 * one revokes the old token; the new token of the other is revoked before anyone gets it.
 */
async function rewrap(context: CallContext<unknown, Unwrapping>): Answered {
  const { env, installation, prepared, caller, request } = context;
  const found = await readAnswer(installation, await actOnTarget(context, prepared));
  if (!found.ok) return found;
  const { token, answer } = found.value;
  const wrapped = await wrapAnswer(env, installation, answer, token.creationTtl, token.path);
  if (!wrapped.ok) return wrapped;
  const asked = originOfCaller(caller, request);
  const taken = await actInTree(env, prepared.treeId, { ...prepared.action, take: true, asked });
  if (taken.ok) return ok({ kind: "wrapped", wrapInfo: wrapped.value });
  const unused = await unwrappingOf(env, installation, wrapped.value.token, true, asked);
  if (unused) await actInTree(env, unused.treeId, unused.action);
  return err(taken.error.code === "not_found" ? NO_ANSWER : taken.error);
}

async function readAnswer({ keys }: Installation, outcome: Result<Outcome>) {
  if (!outcome.ok) return err(outcome.error.code === "not_found" ? NO_ANSWER : outcome.error);
  if (outcome.value.kind !== "wrapped") throw new Error(`an unwrapping does not end in "${outcome.value.kind}"`);
  const { token, sealed } = outcome.value;
  return ok({ token, answer: await openAnswer(keys, token, sealed) });
}
