import { currentTime } from "../base/clock.ts";
import { aclOf, loadActiveEntity } from "../identity/standing.ts";
import { type AccessRequest, decisiveStep, type Step } from "../policy/acl.ts";
import { isEnded } from "../system/watermarks.ts";
import { treeOf } from "../token/find-tree.ts";
import type { TokenEnd } from "../token/state.ts";
import { type Caller, callerOf, decideCaller, type ParsedToken, readToken } from "./caller.ts";
import type { CallContext } from "./route.ts";
import { accessorTarget, holderOf, lookUpOf, type NamedTarget, tokenTarget } from "./target.ts";

/** The caller of a valid token, or why the token is not valid. "unknown": this installation did not issue it. */
export type Subject = { readonly caller: Caller } | { readonly end: TokenEnd | "unknown" };

/** Returns the caller of a token, or why the token is not valid. Counts no use. */
export async function subjectOfToken(context: CallContext, text: string): Promise<Subject> {
  const { env, installation } = context;
  const presented = await readToken(env, installation, text.trim());
  if (!presented) return { end: "unknown" };
  if (presented.kind === "service") return storedSubject(context, tokenTarget(presented));
  const caller = await callerOf(env, installation, presented);
  return caller ? { caller } : { end: presented.kind === "batch" ? endOfBatch(context, presented) : "gone" };
}

/** Returns the caller of the token with this accessor, or why the token is not valid. Counts no use. */
export async function subjectOfAccessor(context: CallContext, accessor: string): Promise<Subject> {
  const found = await accessorTarget(context.installation.keys, accessor);
  return found ? storedSubject(context, found) : { end: "unknown" };
}

async function storedSubject(context: CallContext, { treeId, target }: NamedTarget): Promise<Subject> {
  const caller = await holderOf(context, { treeId, action: lookUpOf(target) });
  return caller ? { caller } : { end: (await treeOf(context.env, treeId)?.endOf(target)) ?? "gone" };
}

/** A batch token is not stored. If neither its expiry nor a watermark has ended it, its parent has. */
function endOfBatch({ installation }: CallContext, { token }: Extract<ParsedToken, { kind: "batch" }>): TokenEnd {
  if (token.expiresAt <= currentTime()) return "expired";
  return isEnded(installation.watermarks, "all", token.record) ? "ended_together" : "parent_ended";
}

/** Decides as about a real request, and returns the reasons. Changes nothing. `step` is null when no rule was evaluated. */
export async function explainDecision(
  { env, installation }: CallContext,
  caller: Caller,
  access: AccessRequest,
  clientAddress: string | null,
) {
  const { record } = caller;
  const entity = await loadActiveEntity(env, record.entityId);
  const now = currentTime();
  const steps: Step[] = [];
  const trace = (step: Step) => steps.push(step);
  const decided = decideCaller(caller, { access, clientAddress }, { installation, entity, now }, trace);
  const allowed = decided.ok && decided.value !== null;
  const view = entity.ok ? entity.value : null;
  const acl = aclOf(installation, record.policies, view, now);
  const policies = [...new Set([...record.policies, ...(view?.policies ?? [])])].sort();
  return { decided, hasGoodEntity: entity.ok, step: decisiveStep(steps, allowed), acl, policies };
}
