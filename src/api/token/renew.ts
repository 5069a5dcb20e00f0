import { loginTerms } from "../../auth/login-renewal.ts";
import { authOfToken } from "../../auth/render.ts";
import { type Answered, type CallContext, type PresentedContext, type Route, tokenRoute } from "../../auth/route.ts";
import { AUTH, type RouteDescription } from "../../auth/route-description.ts";
import {
  accessorTarget,
  inCallersTree,
  type NamedToken,
  outcomeOf,
  readTargetToken,
  refuseWhileAlive,
  type TargetedAction,
  tokenTarget,
  type UnstoredToken,
} from "../../auth/target.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { type MountTtl, mountTtl } from "../../system/mount.ts";
import type { Outcome, Target, TargetAction } from "../../token/actions.ts";
import { treeOf } from "../../token/find-tree.ts";
import type { TokenView } from "../../token/record.ts";
import { loadRole } from "../../token/roles/token-roles.ts";
import { type RenewTerms, roleTerms } from "../../token/rules/renew.ts";
import { duration, type FieldSchema, fieldSchema, text, unread } from "../../wire/fields.ts";

/** A renewal in the tree of the token. */
interface RenewTarget extends TargetedAction {
  readonly action: Extract<TargetAction, { kind: "renew" }>;
}

/** A renewal to perform; the text is what the answer repeats as the token. */
interface Renewal {
  readonly targeted: RenewTarget;
  readonly text: string;
}

const TOKEN_NOT_FOUND = invalid("token not found");

const INCREMENT = { increment: duration().describe("How long it should live from now") };

/**
 * `renew` (also with the token in the URL), `renew-self` and `renew-accessor`.
 * Messages are the reference's (auth/token/renew).
 */
export const RENEW_ROUTES: readonly Route[] = [
  renewRoute(
    "renew",
    { summary: "Renews a token.", operationId: "renew" },
    fieldSchema({ token: unread("string").describe("The token"), ...INCREMENT }),
  ),
  renewRoute(
    "renew/:token",
    {
      summary: "Renews the token in the path.",
      operationId: "renew-with-token-in-path",
      parameters: { token: "The token, as older clients send it" },
    },
    fieldSchema(INCREMENT),
  ),

  tokenRoute("update", "renew-self", {
    summary: "Renews the token of the request.",
    operationId: "renew-self",
    answers: AUTH,
    input: fieldSchema({
      token: unread("string").describe("The token"),
      ...INCREMENT,
    }),
    async prepare(context) {
      const { presented } = context;
      if (presented.kind !== "service") return refuse(`${presented.kind} tokens cannot be renewed`);
      const { treeId, target } = tokenTarget(presented);
      return renewal(context, treeId, target, presented.text);
    },
    // The tree has just read the caller's row: it need not be looked up again.
    action: async ({ prepared }) => ({ ...prepared.targeted.action, target: { by: "self" } }),
    handle: (context) => renew(context, TOKEN_NOT_FOUND),
  }),

  tokenRoute("update", "renew-accessor", {
    summary: "Renews the token that an accessor belongs to.",
    operationId: "renew-accessor",
    answers: AUTH,
    input: fieldSchema({
      accessor: text().describe("The accessor of the token"),
      ...INCREMENT,
    }),
    async prepare(context) {
      const { accessor } = context.fields;
      if (accessor === "") return refuse("missing accessor");
      const found = await accessorTarget(context.installation.keys, accessor);
      return found ? renewal(context, found.treeId, found.target, "") : refuse("invalid accessor");
    },
    action: async (context) => inCallersTree(context, context.prepared.targeted),
    handle: (context) => renew(context, invalid("invalid accessor")),
  }),
];

/** Renews the token in the path or in the body. */
function renewRoute(
  path: string,
  description: Omit<RouteDescription, "answers">,
  input: FieldSchema<{ increment: number; token?: unknown }>,
): Route {
  return tokenRoute("update", path, {
    ...description,
    answers: AUTH,
    input,
    secretPath: true,
    prepare: (context) => prepareByToken(context, context.params.token ?? context.fields.token),
    action: async (context) => inCallersTree(context, targetedOf(context.prepared)),
    handle: (context) => renewNamed(context),
  });
}

async function prepareByToken(
  context: PresentedContext<{ increment: number }>,
  token: unknown,
): Promise<Result<Renewal | UnstoredToken>> {
  if (token === undefined || token === "") return refuse("missing token ID");
  const read = await readTargetToken(context, token);
  if (!read.ok) return read;
  if (!read.value) return err(TOKEN_NOT_FOUND);
  if (read.value.kind !== "service") return ok({ unstored: read.value });
  const { treeId, target } = tokenTarget(read.value);
  return renewal(context, treeId, target, read.value.text);
}

function renewal(
  context: PresentedContext<{ increment: number }>,
  treeId: string,
  target: Target,
  text: string,
): Result<Renewal> {
  const { increment } = context.fields;
  if (increment < 0) return refuse("increment cannot be negative");
  const mount = mountTtl(context.installation.mountAt("token/"));
  return ok({ targeted: { treeId, action: { kind: "renew", target, increment, mount, terms: null } }, text });
}

function targetedOf(prepared: Renewal | UnstoredToken): NamedToken<RenewTarget> {
  return "unstored" in prepared ? prepared : prepared.targeted;
}

async function renewNamed(context: CallContext<unknown, Renewal | UnstoredToken>): Answered {
  const { prepared } = context;
  if (!("unstored" in prepared)) return renew({ ...context, prepared }, TOKEN_NOT_FOUND);
  const refusal = invalid(`${prepared.unstored.kind} tokens cannot be renewed`);
  return refuseWhileAlive(context, prepared, refusal, err(TOKEN_NOT_FOUND));
}

async function renew(context: CallContext<unknown, Renewal>, notFound: Failure): Answered {
  const first = await outcomeOf(context, context.prepared.targeted);
  const asked = first.ok && first.value.kind === "needs_terms" ? first.value.token : null;
  const outcome = asked ? await renewOnTerms(context, asked) : first;
  if (!outcome.ok) return err(outcome.error.code === "not_found" ? notFound : outcome.error);
  if (outcome.value.kind !== "renewed") throw new Error(`a renewal does not end in "${outcome.value.kind}"`);
  const { token, warnings } = outcome.value;
  return ok({ kind: "auth", auth: authOfToken(token, context.prepared.text), warnings });
}

/** Renews a token once more, with the terms that it stands under today. */
async function renewOnTerms(context: CallContext<unknown, Renewal>, token: TokenView): Promise<Result<Outcome>> {
  const { env, prepared } = context;
  const { treeId, action } = prepared.targeted;
  const answer =
    token.role === null ? await loginTerms(context, token) : await termsOfRole(env, token, token.role, action.mount);
  if (!answer.ok) return answer;
  const tree = treeOf(env, treeId);
  if (!tree) throw new Error("only a renewal that reached its tree asks for terms");
  return tree.act({ ...action, ...answer.value });
}

/** Without its role a token can't be renewed any more. */
async function termsOfRole(
  env: Env,
  token: TokenView,
  name: string,
  mount: MountTtl,
): Promise<Result<{ terms: RenewTerms; mount: MountTtl }>> {
  const role = await loadRole(env, name);
  return role
    ? ok({ terms: roleTerms(token, role), mount })
    : refuse(`failed to renew entry: original token role "${name}" could not be found, not renewing`);
}
