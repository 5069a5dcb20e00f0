import { kindName } from "../../auth/caller.ts";
import {
  actOnTarget,
  holderOf,
  inCallersTree,
  type NamedAction,
  type NamedToken,
  onAccessor,
  onToken,
  originOf,
  tokenTarget,
} from "../../auth/named-token.ts";
import { type Answered, type CallContext, type PresentedContext, type Route, tokenRoute } from "../../auth/route.ts";
import { AUTH, DONE_OR_WARNED, NO_CONTENT, type RouteDescription } from "../../auth/route-description.ts";
import { authOfToken } from "../../auth/token-answer.ts";
import { currentTime, type Seconds } from "../../base/clock.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { noteChange } from "../../listing/updates/publish.ts";
import { type MountTtl, mountIssuerOf, mountTtl } from "../../system/mount.ts";
import type { RevokeAction, TargetAction, TokenTarget } from "../../token/actions.ts";
import type { TokenView } from "../../token/record.ts";
import { loadRole } from "../../token/roles/token-roles.ts";
import { roleTerms } from "../../token/rules/renew.ts";
import { actInTree } from "../../token/tree-calls.ts";
import { fieldSchema, NO_FIELDS } from "../../wire/field-schema.ts";
import { duration, pasted, unread } from "../../wire/fields.ts";
import { EMPTY, type Reply, warnedReply } from "../../wire/reply.ts";

type RenewAction = Extract<TargetAction, { kind: "renew" }>;

const TOKEN_NOT_FOUND = invalid("token not found");

const INCREMENT = { increment: duration().describe("Its new lifetime, from now") };
const IN_PATH = fieldSchema(INCREMENT);
const IN_BODY = fieldSchema({ token: unread("string").describe("The token"), ...INCREMENT });

/** `renew`, `renew-self` and `renew-accessor`. Messages are the reference's (auth/token/renew). */
export const RENEW_ROUTES: readonly Route[] = [
  renewRoute("renew", { summary: "Renews a token.", operationId: "renew" }),
  renewRoute("renew/:token", {
    summary: "Renews the token in the path.",
    operationId: "renew-with-token-in-path",
    parameters: { token: "The token" },
  }),

  tokenRoute("update", "renew-self", {
    summary: "Renews the token of the request.",
    operationId: "renew-self",
    answers: AUTH,
    input: IN_BODY,
    async prepare(context) {
      const { presented } = context;
      if (presented.kind !== "service") return refuse(`${kindName(presented)} tokens cannot be renewed`);
      const { treeId, target } = tokenTarget(presented);
      return checkIncrement({ treeId, action: renewalOf(context)(target), text: presented.text });
    },
    // The tree has just read the caller's row: the token need not be searched again.
    action: async ({ prepared }) => ({ ...prepared.action, target: { by: "self" } }),
    handle: (context) => renew(context, TOKEN_NOT_FOUND),
  }),

  tokenRoute("update", "renew-accessor", {
    summary: "Renews the token that has this accessor.",
    operationId: "renew-accessor",
    answers: AUTH,
    input: fieldSchema({ accessor: pasted().describe("The accessor of the token"), ...INCREMENT }),
    async prepare(context) {
      const named = await onAccessor(context, context.fields.accessor, renewalOf(context));
      if (!named.ok) return named;
      return named.value ? checkIncrement(named.value) : refuse("invalid accessor");
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => renew(context, invalid("invalid accessor")),
  }),
];

function renewRoute(path: string, description: Omit<RouteDescription, "answers">): Route {
  return tokenRoute<{ increment: Seconds; token?: unknown }, NonNullable<NamedToken<RenewAction>>>("update", path, {
    ...description,
    answers: AUTH,
    input: description.parameters ? IN_PATH : IN_BODY,
    secretPath: true,
    async prepare(context) {
      const token = context.params.token ?? context.fields.token;
      if (token === undefined || token === "") return refuse("missing token ID");
      const named = await onToken(context, token, renewalOf(context));
      if (!named.ok) return named;
      if (!named.value) return err(TOKEN_NOT_FOUND);
      return "unstored" in named.value ? ok(named.value) : checkIncrement(named.value);
    },
    action: async (context) => inCallersTree(context, context.prepared),
    async handle(context) {
      const { prepared } = context;
      if (!("unstored" in prepared)) return renew({ ...context, prepared }, TOKEN_NOT_FOUND);
      const holder = await holderOf(context, prepared);
      return holder ? refuse(`${kindName(holder)} tokens cannot be renewed`) : err(TOKEN_NOT_FOUND);
    },
  });
}

function renewalOf({
  installation,
  fields,
}: PresentedContext<{ increment: Seconds }>): (target: TokenTarget) => RenewAction {
  const mount = mountTtl(installation.mountAt("token/"));
  return (target) => ({ kind: "renew", target, increment: fields.increment, mount, terms: null });
}

function checkIncrement(renewal: NamedAction<RenewAction>): Result<NamedAction<RenewAction>> {
  return renewal.action.increment < 0 ? refuse("increment cannot be negative") : ok(renewal);
}

async function renew(context: CallContext<unknown, NamedAction<RenewAction>>, notFound: Failure): Answered {
  const { prepared } = context;
  const first = await actOnTarget(context, prepared);
  const asked = first.ok && first.value.kind === "needs_terms" ? first.value.token : null;
  const outcome = asked ? await renewOnTerms(context, asked) : first;
  if (!outcome.ok) return err(outcome.error.code === "not_found" ? notFound : outcome.error);
  if (outcome.value.kind !== "renewed") throw new Error(`a renewal does not end in "${outcome.value.kind}"`);
  const { token, warnings } = outcome.value;
  noteChange(prepared.treeId, currentTime());
  return ok({ kind: "auth", auth: authOfToken(token, prepared.text), warnings });
}

/** Repeats the renewal with the present terms of the token's role or auth method. */
async function renewOnTerms(context: CallContext<unknown, NamedAction<RenewAction>>, token: TokenView) {
  const { env, prepared } = context;
  const { treeId, action } = prepared;
  const answer =
    token.role === null ? await termsOfLogin(context, token) : await termsOfRole(env, token, token.role, action.mount);
  if (!answer.ok) return answer;
  return actInTree(env, treeId, { ...action, ...answer.value });
}

/** Returns the terms of the method that issued the token. A refusal when its mount was disabled or moved. */
async function termsOfLogin({ env, installation }: CallContext, token: TokenView) {
  const mount = installation.mountServing(token.path);
  if (!token.login || !mount || mountIssuerOf(mount) !== token.login.mount) {
    return refuse("the auth method that issued this token is disabled");
  }
  const method = env.kinds.methods.get(mount.type);
  if (!method) return refuse("lease is not renewable");
  const terms = await method.renew({ env, installation, mount, token, internal: token.login.internal });
  return terms.ok ? ok({ terms: terms.value, mount: mountTtl(mount) }) : terms;
}

/** Returns the terms of the token's role. A token whose role was deleted can't be renewed. */
async function termsOfRole(env: Env, token: TokenView, name: string, mount: MountTtl) {
  const role = await loadRole(env, name);
  return role
    ? ok({ terms: roleTerms(token, role), mount })
    : refuse(`failed to renew entry: original token role "${name}" could not be found, not renewing`);
}

const TOKEN = fieldSchema({ token: unread("string").describe("The token") });

/** `revoke`, `revoke-self`, `revoke-accessor` and `revoke-orphan`. Messages are the reference's (auth/token/revoke). */
export const REVOKE_ROUTES: readonly Route[] = [
  tokenRoute("update", "revoke", {
    summary: "Revokes a token and all its descendants.",
    operationId: "revoke",
    answers: NO_CONTENT,
    input: TOKEN,
    prepare: (context) => revocationOf(context, context.fields.token, "revoke"),
    action: async (context) => inCallersTree(context, context.prepared),
    // Revoking a token again is no error: the token is revoked, as the caller wants.
    handle: (context) => revoke(context, ok(EMPTY)),
  }),

  tokenRoute("update", "revoke-self", {
    summary: "Revokes the token of the request and all its descendants.",
    operationId: "revoke-self",
    answers: NO_CONTENT,
    input: TOKEN,
    async prepare({ presented, request }): Promise<Result<NamedToken<RevokeAction>>> {
      if (presented.kind !== "service") return refuse(`${kindName(presented)} tokens cannot be revoked`);
      const action = { kind: "revoke", target: { by: "self" }, asked: originOf(request) } as const;
      return ok({ treeId: presented.credential.treeId, action, text: presented.text });
    },
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => revoke(context, ok(EMPTY)),
  }),

  tokenRoute("update", "revoke-accessor", {
    summary: "Revokes the token that has this accessor, and all its descendants.",
    operationId: "revoke-accessor",
    answers: DONE_OR_WARNED,
    input: fieldSchema({ accessor: pasted().describe("The accessor of the token") }),
    prepare: (context) =>
      onAccessor(context, context.fields.accessor, (target) => ({
        kind: "revoke",
        target,
        asked: originOf(context.request),
      })),
    action: async (context) => inCallersTree(context, context.prepared),
    handle: (context) => revoke(context, ok(warnedReply(["No token found with this accessor"]))),
  }),

  revokeOrphanRoute("revoke-orphan", {
    summary: "Revokes a token. Its children become orphans.",
    operationId: "revoke-orphan",
  }),
  revokeOrphanRoute("revoke-orphan/:token", {
    summary: "Revokes the token in the path. Its children become orphans.",
    operationId: "revoke-orphan-with-token-in-path",
    parameters: { token: "The token" },
  }),
];

/** Defines the revocation of a token without its children. It needs sudo on its own path, also with the token in the URL. */
function revokeOrphanRoute(path: string, description: Omit<RouteDescription, "answers">): Route {
  return tokenRoute<{ readonly token?: unknown }, NamedToken>("update", path, {
    ...description,
    answers: NO_CONTENT,
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
  const asked = originOf({ id: context.request.id, path });
  return onToken(context, token, (target: TokenTarget) => ({ kind, target, asked }));
}

async function revoke(context: CallContext<unknown, NamedToken>, notFound: Result<Reply>): Answered {
  const { prepared } = context;
  if (!prepared) return notFound;
  if ("unstored" in prepared) {
    const holder = await holderOf(context, prepared);
    return holder ? refuse(`${kindName(holder)} tokens cannot be revoked`) : notFound;
  }
  const outcome = await actOnTarget(context, prepared);
  if (outcome.ok) return ok(EMPTY);
  return outcome.error.code === "not_found" ? notFound : outcome;
}
