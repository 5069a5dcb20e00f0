import { currentTime } from "../base/clock.ts";
import type { Failure } from "../base/errors.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { authorize } from "../identity/access.ts";
import type { EntityView } from "../identity/model.ts";
import { loadActiveEntity } from "../identity/standing.ts";
import type { AccessRequest, Verdict } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { Watermarks } from "../system/watermarks.ts";
import type { CallerAction, Outcome, TreeAnswer } from "../token/actions.ts";
import type { TokenCredential } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import { isMadeElsewhere, planChild } from "../token/rules/create.ts";
import { knownToken } from "../tree/live-tokens.ts";

/**
 * Answers in place of the caller's tree, for a token that it has made known to this isolate and an action that changes
 * nothing in the tree. As the tree does it: the entity, the policies, then the action.
 *
 * @returns null when the tree has to be asked.
 */
export async function runKnown(
  env: Env,
  installation: Installation,
  credential: TokenCredential,
  access: AccessRequest,
  action: CallerAction | null,
): Promise<Result<TreeAnswer, Failure> | null> {
  if (action && !isReadOnly(action)) return null;
  const { watermarks } = installation;
  let caller = knownToken(env, credential, watermarks, currentTime());
  if (!caller) return null;
  let entity: EntityView | null = null;
  if (caller.entityId !== "") {
    const standing = await loadActiveEntity(env, caller.entityId);
    if (!standing.ok) return standing;
    entity = standing.value;
    // Others were served while this waited, and may have ended the token.
    caller = knownToken(env, credential, watermarks, currentTime());
    if (!caller) return null;
  }
  const now = currentTime();
  const verdict = authorize(installation, caller, entity, access, now);
  if (!verdict.ok) return ok({ caller, verdict: null, outcome: null });
  if (!action) return ok({ caller, verdict: verdict.value, outcome: null });
  const outcome = outcomeOf(env, watermarks, action, caller, verdict.value, now);
  return outcome && ok({ caller, verdict: verdict.value, outcome });
}

/** True for what the Worker can do without the tree, as far as the request tells. */
function isReadOnly(action: CallerAction): boolean {
  if (action.kind === "lookup") return action.target.by === "self" || action.target.by === "token";
  if (action.kind !== "create") return false;
  const { request, role, ids } = action;
  const orphan = request.noParent || request.orphanEndpoint;
  return ids === null || role !== null || isMadeElsewhere({ orphan, type: batchOrService(request.type) }, request);
}

function outcomeOf(
  env: Env,
  watermarks: Watermarks,
  action: CallerAction,
  caller: TokenView,
  { sudo }: Verdict,
  now: number,
): Result<Outcome, Failure> | null {
  if (action.kind === "create") {
    const plan = planChild(action, caller, sudo, watermarks.newest, now);
    if (!plan.ok) return plan;
    const { spec, warnings } = plan.value;
    const goesOn = action.ids === null || isMadeElsewhere(spec, action.request);
    return goesOn ? ok({ kind: "planned", spec, warnings }) : null;
  }
  if (action.kind !== "lookup") return null;
  const { target } = action;
  if (target.by === "self") return ok({ kind: "token", token: caller });
  if (target.by !== "token") return null;
  const token = knownToken(env, { ...target, treeId: caller.treeId }, watermarks, now);
  return token && ok({ kind: "token", token });
}

function batchOrService(type: string): "batch" | "service" {
  return type === "batch" ? "batch" : "service";
}
