import { currentTime, type Ms } from "../base/clock.ts";
import { DENIED, err, type Failure, ok, type Result, UNAUTHENTICATED } from "../base/result.ts";
import type { Env } from "../env.ts";
import { loadActiveEntity } from "../identity/entity-copies.ts";
import { noteChange } from "../listing/updates/publish.ts";
import type { Verdict } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { Watermarks } from "../system/watermarks.ts";
import { type CallerAction, type Outcome, refusedAnswer, type TreeAnswer } from "../token/actions.ts";
import { type Call, type Decided, decideAndAct, verdictForToken } from "../token/decide.ts";
import { MAX_ROW_ATTEMPTS, newTokenIds, type TokenCredential } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import { needsWorkerWrite, planCreate } from "../token/rules/create.ts";
import { runInTree } from "../token/tree-calls.ts";
import { type KnownTokens, knownToken } from "../tree/known-tokens.ts";
import { type AuditLine, writeAuditLine } from "../wire/audit.ts";
import { auditCaller, type Caller, callerOf, serviceCaller, verdictForCaller } from "./caller.ts";
import type { ParsedToken } from "./read-token.ts";

/** An authorized request: the token is valid and its policies allow the request. */
export interface AuthorizedCall {
  readonly caller: Caller;
  readonly verdict: Verdict;
  /** The action that was performed in the hop that authenticated the caller; null for none. */
  readonly action: CallerAction | null;
  readonly outcome: Result<Outcome> | null;
}

/** A refused call. `caller` is set when the token is alive: the audit log then says who was refused. */
interface RefusedCall {
  readonly failure: Failure;
  readonly caller: Caller | null;
}

interface CallToAuthorize extends Call {
  readonly presented: ParsedToken;
  readonly malformed: boolean;
  readonly line: AuditLine | null;
  /**
   * True for a request to another Worker, which has paths of its own: the rights that a credential has at Grove without
   * a policy, such as those of a team in its organization, are not meant for them.
   */
  readonly isElsewhere?: boolean;
}

/**
 * Authenticates the caller, evaluates its policies and counts one use. For a service token its tree does this and
 * performs the action in the same hop, unless `runWithoutTree` can do it in the Worker. `line`, the audit line of a request
 * that may change something, is written where the token is accepted, before anything changes.
 *
 * @param nextAction makes the action. Called once, and only for a service token.
 */
export async function authorizeCall(
  env: Env,
  installation: Installation,
  { presented, access, clientAddress, malformed, line, isElsewhere = false }: CallToAuthorize,
  nextAction: () => Promise<CallerAction | null>,
): Promise<Result<AuthorizedCall, RefusedCall>> {
  if (presented.kind !== "service") {
    const caller = await callerOf(env, installation, presented, "use");
    if (!caller) return refused(UNAUTHENTICATED, null);
    const entity = await loadActiveEntity(env, caller.record.entityId);
    const facts = { installation, entity, now: currentTime() };
    const decided = isElsewhere
      ? verdictForToken(caller.record, { access, clientAddress }, facts)
      : verdictForCaller(caller, { access, clientAddress }, facts);
    // Also for a refused request: no other line has its fields.
    writeFirstLine(line, caller);
    if (!decided.ok) return refused(decided.error, caller);
    const verdict = decided.value;
    return verdict ? ok({ caller, verdict, action: null, outcome: null }) : refused(DENIED, caller);
  }
  const { treeId, row, verifier } = presented.credential;
  const watermark = installation.watermarks.newest;
  let action = await nextAction();
  let unwritten = line;
  for (let attempt = 1; ; attempt++) {
    const known = await runWithoutTree(env, installation, presented.credential, { access, clientAddress }, action);
    const treeCall = { row, verifier, access, clientAddress, watermark, action, malformed, line: unwritten };
    const answer = known ?? (await runInTree(env, treeId, treeCall));
    if (!answer.ok) return refused(answer.error, null);
    const { verdict, refusal, outcome } = answer.value;
    const caller = serviceCaller(answer.value.caller);
    // The tree writes the line of a request that it does not refuse.
    if (known || refusal) writeFirstLine(unwritten, caller);
    if (refusal) return refused(refusal, caller);
    unwritten = null;
    if (!verdict) return refused(DENIED, caller);
    if (action?.kind === "create" && outcome?.ok && outcome.value.kind === "row_taken" && attempt < MAX_ROW_ATTEMPTS) {
      const { above } = outcome.value;
      action = { ...action, ids: await newTokenIds(installation.keys, treeId, currentTime(), undefined, above) };
      continue;
    }
    // The change by a renewal is noted by its route, since the token can be in another tree.
    if (outcome?.ok && outcome.value.kind === "created") noteChange(treeId, currentTime());
    return ok({ caller, verdict, action, outcome });
  }
}

function writeFirstLine(line: AuditLine | null, caller: Caller): void {
  if (line) writeAuditLine({ ...line, auth: auditCaller(caller) });
}

function refused(failure: Failure, caller: Caller | null): Result<never, RefusedCall> {
  return err({ failure, caller });
}

/**
 * Answers from a published token, in the same order as its tree: entity, policies, action. null: the tree must answer.
 */
async function runWithoutTree(
  env: Env,
  installation: Installation,
  credential: TokenCredential,
  call: Call,
  action: CallerAction | null,
): Promise<Result<TreeAnswer> | null> {
  if (action && !needsNoTree(action)) return null;
  const { watermarks } = installation;
  const { knownTokens } = env.deployment;
  const source = {
    find: (now: Ms) => {
      const caller = knownToken(knownTokens, credential, watermarks, now);
      return caller && { caller };
    },
    loadEntity: (id: string) => loadActiveEntity(env, id),
  };
  type Answered = Result<TreeAnswer> | null;
  const act = ({ found: { caller }, verdict, now }: Decided<{ readonly caller: TokenView }>): Answered => {
    if (!verdict || !action) return ok({ caller, verdict, outcome: null });
    const outcome = outcomeWithoutTree(knownTokens, watermarks, action, caller, verdict, now);
    return outcome && ok({ caller, verdict, outcome });
  };
  return decideAndAct(installation, call, source, act, refusedAnswer);
}

/** True when the Worker may be able to perform the action from a published token alone. The plan decides later. */
function needsNoTree(action: CallerAction): boolean {
  if (action.kind === "lookup") return action.target.by === "token";
  if (action.kind !== "create") return false;
  const { request, role, ids } = action;
  const orphan = request.noParent || request.orphanEndpoint;
  return (
    ids === null ||
    role !== null ||
    needsWorkerWrite({ orphan, type: request.type === "batch" ? "batch" : "service" }, request)
  );
}

function outcomeWithoutTree(
  knownTokens: KnownTokens,
  watermarks: Watermarks,
  action: CallerAction,
  caller: TokenView,
  { sudo }: Verdict,
  now: Ms,
): Result<Outcome> | null {
  if (action.kind === "create") {
    const plan = planCreate(action, caller, sudo, watermarks.newest, now);
    if (!plan.ok) return plan;
    const { spec, warnings } = plan.value;
    const goesOn = action.ids === null || needsWorkerWrite(spec, action.request);
    return goesOn ? ok({ kind: "planned", spec, warnings }) : null;
  }
  if (action.kind !== "lookup" || action.target.by !== "token") return null;
  const token = knownToken(knownTokens, { ...action.target, treeId: caller.treeId }, watermarks, now);
  return token && ok({ kind: "token", token });
}
