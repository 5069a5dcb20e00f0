import { currentTime } from "../base/clock.ts";
import { err, type Failure, NOT_FOUND, ok, type Result } from "../base/result.ts";
import { noteChange } from "../listing/updates/recent.ts";
import { type EndRequest, UNASKED } from "../system/end-request.ts";
import type { Outcome, Target, TargetAction } from "../token/actions.ts";
import { treeOf } from "../token/find-tree.ts";
import { readAccessor } from "../token/ids.ts";
import { knownToken } from "../tree/known-tokens.ts";
import type { AuditNotes } from "../wire/audit.ts";
import type { GroveRequest } from "../wire/request.ts";
import { askerOf, callerOf, type ParsedToken, readToken } from "./caller.ts";
import type { CallContext, PresentedContext } from "./route.ts";

/** A token that a request is about, and what to do with it, in the tree where it lives. */
export interface TargetedAction {
  readonly treeId: string;
  readonly action: TargetAction;
}

/** A token that no tree stores: it can be neither revoked nor renewed, and nothing is left of it when it has ended. */
export interface UnstoredToken {
  readonly unstored: Exclude<ParsedToken, { readonly kind: "service" }>;
}

/** What there is to do about the token that a request names; null: nothing, there is no such token. */
export type NamedToken<T extends TargetedAction = TargetedAction> = T | UnstoredToken | null;

/** What a request about an unstored token ends in: `refusal` while the token is good, and `notFound` afterwards. */
export async function refuseWhileAlive<T>(
  { env, installation }: Pick<PresentedContext<unknown>, "env" | "installation">,
  { unstored }: UnstoredToken,
  refusal: Failure,
  notFound: Result<T>,
): Promise<Result<T>> {
  return (await callerOf(env, installation, unstored)) ? err(refusal) : notFound;
}

/**
 * Reads the token that a body names.
 *
 * @returns null for a string that this installation did not make; "forbidden" for something that is not a string.
 */
export async function readTargetToken(
  context: PresentedContext<unknown>,
  value: unknown,
): Promise<Result<ParsedToken | null>> {
  if (typeof value !== "string") return err({ code: "forbidden", message: "invalid token" });
  return ok(await readToken(context.env, context.installation, value.trim()));
}

/** A token that a request names by its text or its accessor, and the tree where it lives. */
export interface NamedTarget {
  readonly treeId: string;
  readonly target: Exclude<Target, { readonly by: "self" }>;
}

/** The target of a service token. */
export function tokenTarget(presented: Extract<ParsedToken, { kind: "service" }>): NamedTarget {
  const { treeId, row, verifier } = presented.credential;
  return { treeId, target: { by: "token", row, verifier } };
}

/** The target of an accessor, or null for a string that this installation did not make. */
export async function accessorTarget(
  context: PresentedContext<unknown>,
  accessor: string,
): Promise<NamedTarget | null> {
  const read = await readAccessor(context.installation.keys, accessor);
  return read && { treeId: read.treeId, target: { by: "accessor", row: read.row, tail: read.tail } };
}

/** The look-up of a token in its tree. */
export function lookUpOf({ treeId, target }: NamedTarget): TargetedAction {
  return { treeId, action: { kind: "lookup", target } };
}

/** The action, when it is about a token in the caller's own tree and can ride on the caller's hop; else null. */
export function inCallersTree(context: PresentedContext<unknown>, targeted: NamedToken): TargetAction | null {
  const { presented } = context;
  if (!targeted || "unstored" in targeted || presented.kind !== "service") return null;
  return presented.credential.treeId === targeted.treeId ? targeted.action : null;
}

/** The request that asks for the end of a token; by whom is added where the caller is known. */
export function askedBy({ id, path }: Pick<GroveRequest, "id" | "path">): EndRequest {
  return { ...UNASKED, request: id, path };
}

/** What came of the action: in the caller's hop, from what this isolate knows, or now in the tree of the target. */
export async function outcomeOf(
  context: CallContext<unknown, unknown>,
  targeted: TargetedAction,
): Promise<Result<Outcome>> {
  const { env, outcome: inHop } = context;
  const outcome =
    inHop ?? knownOutcome(context, targeted) ?? (await treeOf(env, targeted.treeId)?.act(ofCaller(context, targeted)));
  if (!outcome) return NOT_FOUND;
  if (outcome.ok) noteTarget(context.request.notes, outcome.value);
  if (outcome.ok && outcome.value.kind === "renewed") noteChange(targeted.treeId, currentTime());
  return outcome;
}

/** The outcome of a look-up of a token that its tree has made known to this isolate; null: the tree has to be asked. */
function knownOutcome(
  { installation }: Pick<PresentedContext<unknown>, "installation">,
  { treeId, action }: TargetedAction,
): Result<Outcome, never> | null {
  if (action.kind !== "lookup" || action.target.by !== "token") return null;
  const token = knownToken({ ...action.target, treeId }, installation.watermarks, currentTime());
  return token && ok({ kind: "token", token });
}

/** The action for a tree that does not know the caller. */
function ofCaller({ caller }: CallContext<unknown, unknown>, { action }: TargetedAction): TargetAction {
  return "asked" in action ? { ...action, asked: { ...action.asked, by: askerOf(caller) } } : action;
}

/** Puts the token that a request was about on record. */
function noteTarget(notes: AuditNotes, outcome: Outcome): void {
  if (outcome.kind === "revoked") notes.targetAccessor = outcome.accessor;
  else if ("token" in outcome) notes.targetAccessor = outcome.token.accessor;
}
