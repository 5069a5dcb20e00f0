import { currentTime } from "../base/clock.ts";
import type { Result } from "../base/result.ts";
import type { EntityView } from "../identity/model.ts";
import { aclOf, loadActiveEntity } from "../identity/standing.ts";
import type { AccessRequest, Acl, Verdict } from "../policy/acl.ts";
import { decisiveStep, type Step } from "../policy/trace.ts";
import { isEnded } from "../system/watermarks.ts";
import { decide } from "../token/decide.ts";
import { treeOf } from "../token/find-tree.ts";
import type { TokenEnd } from "../token/state.ts";
import { type Caller, callerOf, callerRecord, type ParsedToken, readToken } from "./caller.ts";
import type { CallContext } from "./route.ts";
import { accessorTarget, type NamedTarget, outcomeOf, tokenTarget } from "./target.ts";
import { decideTeam } from "./team-caller.ts";

type Context = CallContext<unknown, unknown>;

/** A token that is good, or why there is none. */
export type Subject = { readonly caller: Caller } | { readonly end: TokenEnd | "unknown" };

/** Who holds a token. Counts no use. "unknown" for a text that this installation did not make. */
export async function subjectOfToken(context: Context, text: string): Promise<Subject> {
  const { env, installation } = context;
  const presented = await readToken(env, installation, text.trim());
  if (!presented) return { end: "unknown" };
  if (presented.kind === "service") return storedSubject(context, tokenTarget(presented));
  const caller = await callerOf(env, installation, presented);
  return caller ? { caller } : { end: presented.kind === "batch" ? endOfBatch(context, presented) : "gone" };
}

/** Who holds the token of an accessor. Counts no use. */
export async function subjectOfAccessor(context: Context, accessor: string): Promise<Subject> {
  const found = await accessorTarget(context, accessor);
  return found ? storedSubject(context, found) : { end: "unknown" };
}

async function storedSubject(context: Context, { treeId, target }: NamedTarget): Promise<Subject> {
  const outcome = await outcomeOf(context, { treeId, action: { kind: "lookup", target } });
  if (outcome.ok && outcome.value.kind === "token") return { caller: { kind: "service", token: outcome.value.token } };
  return { end: (await treeOf(context.env, treeId)?.endOf(target)) ?? "gone" };
}

/** Nothing is stored of a batch token: what is not in its text is that of its parent. */
function endOfBatch({ installation }: Context, { token }: Extract<ParsedToken, { kind: "batch" }>): TokenEnd {
  if (token.expiresAt <= currentTime()) return "expired";
  return isEnded(installation.watermarks, "all", token.record) ? "ended_together" : "parent_ended";
}

/** A decision about a request of a token that is good, with what it came from. */
export interface ExplainedDecision {
  /** As of `decide`. */
  readonly decided: Result<Verdict | null>;
  /** What the entity adds; a failure when it is disabled or gone. */
  readonly entity: Result<EntityView | null>;
  /** What the rules came to; null where none was asked. */
  readonly step: Step | null;
  readonly acl: Acl;
}

/** Decides as about a request that the token makes, by the same rule, and keeps what it looked at. Changes nothing. */
export async function explainDecision(
  { env, installation }: Pick<Context, "env" | "installation">,
  caller: Caller,
  access: AccessRequest,
  clientAddress: string | null,
): Promise<ExplainedDecision> {
  const record = callerRecord(caller);
  const entity = await loadActiveEntity(env, record.entityId);
  const now = currentTime();
  const steps: Step[] = [];
  const trace = (step: Step) => steps.push(step);
  const decided =
    caller.kind === "team"
      ? decideTeam(installation, caller, access, trace)
      : decide(record, { access, clientAddress }, { installation, entity, now }, trace);
  const allowed = decided.ok && decided.value !== null;
  const acl = aclOf(installation, record.policies, entity.ok ? entity.value : null, now);
  return { decided, entity, step: decisiveStep(steps, allowed), acl };
}

/** The names of all policies that decide about a token: its own and those of its entity. */
export function policiesOfDecision(caller: Caller, { entity }: Pick<ExplainedDecision, "entity">): readonly string[] {
  const added = entity.ok ? (entity.value?.policies ?? []) : [];
  return [...new Set([...callerRecord(caller).policies, ...added])].sort();
}
