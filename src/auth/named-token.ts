import { currentTime } from "../base/clock.ts";
import { err, ok, type Result, refuse } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { NO_ORIGIN, type RevocationOrigin } from "../system/revocation-origin.ts";
import type { Outcome, TargetAction, TokenTarget } from "../token/actions.ts";
import { readAccessor } from "../token/ids.ts";
import { actInTree } from "../token/tree-calls.ts";
import { knownToken } from "../tree/known-tokens.ts";
import type { GroveRequest } from "../wire/request.ts";
import { actorOf, type Caller, callerOf, serviceCaller } from "./caller.ts";
import { type ParsedToken, readToken } from "./read-token.ts";
import type { CallContext, PresentedContext } from "./route.ts";

/** An action on a token, and the tree that stores the token. */
export interface TargetedAction<A extends TargetAction = TargetAction> {
  readonly treeId: string;
  readonly action: A;
}

export interface NamedAction<A extends TargetAction = TargetAction> extends TargetedAction<A> {
  /** The token as it was sent; "" when its accessor names it. */
  readonly text: string;
}

/** A token that no tree stores. The token endpoints can neither revoke nor renew it. It leaves no row when it ends. */
interface UnstoredToken {
  readonly unstored: Exclude<ParsedToken, { readonly kind: "service" }>;
}

/** The token that a request names, with the action for it; null when there is no such token. */
export type NamedToken<A extends TargetAction = TargetAction> = NamedAction<A> | UnstoredToken | null;

/** A token that a request names by its text or its accessor, and the tree that stores it. */
interface NamedTarget {
  readonly treeId: string;
  readonly target: Extract<TokenTarget, { readonly by: "token" | "accessor" }>;
}

export function tokenTarget(presented: Extract<ParsedToken, { kind: "service" }>): NamedTarget {
  const { treeId, row, verifier } = presented.credential;
  return { treeId, target: { by: "token", row, verifier } };
}

/** Returns the target of an accessor; null for a string that this installation did not issue. */
export async function accessorTarget(keys: Keys, accessor: string): Promise<NamedTarget | null> {
  const read = await readAccessor(keys, accessor);
  return read && { treeId: read.treeId, target: { by: "accessor", row: read.row, tail: read.tail } };
}

/** A look-up of the token that a request names. */
export type LookUp = ReturnType<typeof lookUpOf>;

/** Returns the action that looks up a token. */
export function lookUpOf(target: NamedTarget["target"]) {
  return { kind: "lookup", target } as const;
}

/** Reads the token that a request names, and returns the action on it; null for one that was not issued here. */
export async function onToken<A extends TargetAction>(
  { env, installation }: PresentedContext<unknown>,
  token: unknown,
  actionOn: (target: NamedTarget["target"]) => A,
): Promise<Result<NamedToken<A>>> {
  if (typeof token !== "string") return err({ code: "forbidden", message: "invalid token" });
  const read = await readToken(env, installation, token);
  if (read?.kind !== "service") return ok(read && { unstored: read });
  const { treeId, target } = tokenTarget(read);
  return ok({ treeId, action: actionOn(target), text: read.text });
}

/** Reads the accessor that a request names, and returns the action on its token; null as for `onToken`. */
export async function onAccessor<A extends TargetAction>(
  context: PresentedContext<unknown>,
  accessor: string,
  actionOn: (target: NamedTarget["target"]) => A,
): Promise<Result<NamedAction<A> | null>> {
  if (accessor === "") return refuse("missing accessor");
  const found = await accessorTarget(context.installation.keys, accessor);
  return ok(found && { treeId: found.treeId, action: actionOn(found.target), text: "" });
}

/** Returns the action if its token is in the caller's own tree, so that the caller's hop can perform it; else null. */
export function inCallersTree(
  { presented }: PresentedContext<unknown>,
  targeted: TargetedAction | UnstoredToken | null,
): TargetAction | null {
  if (!targeted || "unstored" in targeted || presented.kind !== "service") return null;
  return presented.credential.treeId === targeted.treeId ? targeted.action : null;
}

/** Returns the record of the request that ends a token. The caller is added where it is known. */
export function originOf({ id, path }: Pick<GroveRequest, "id" | "path">): RevocationOrigin {
  return { ...NO_ORIGIN, request: id, path };
}

/**
 * Returns the outcome of the action: from the caller's hop, from a published token, or else from a call to the tree.
 */
export async function actOnTarget(context: CallContext, targeted: TargetedAction): Promise<Result<Outcome>> {
  const { env, caller } = context;
  const { treeId, action } = targeted;
  const asked = "asked" in action ? { ...action, asked: { ...action.asked, by: actorOf(caller) } } : action;
  const outcome = context.outcome ?? knownOutcome(context, targeted) ?? (await actInTree(env, treeId, asked));
  if (!outcome.ok) return outcome;
  const { value } = outcome;
  const { notes } = context.request;
  if (value.kind === "revoked") notes.targetAccessor = value.accessor;
  else if ("token" in value) notes.targetAccessor = value.token.accessor;
  return outcome;
}

/** Returns the holder of the token that a request names, after its look-up; null when it is not valid. */
export async function holderOf(
  context: CallContext,
  named: TargetedAction | UnstoredToken | null,
): Promise<Caller | null> {
  if (!named) return null;
  if ("unstored" in named) return callerOf(context.env, context.installation, named.unstored);
  const outcome = await actOnTarget(context, named);
  return outcome.ok && outcome.value.kind === "token" ? serviceCaller(outcome.value.token) : null;
}

function knownOutcome(
  { env, installation }: CallContext,
  { treeId, action }: TargetedAction,
): Result<Outcome, never> | null {
  if (action.kind !== "lookup" || action.target.by !== "token") return null;
  const { watermarks } = installation;
  const token = knownToken(env.deployment.knownTokens, { ...action.target, treeId }, watermarks, currentTime());
  return token && ok({ kind: "token", token });
}
