import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { loadActiveEntity } from "../identity/standing.ts";
import type { Verdict } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { Watermarks } from "../system/watermarks.ts";
import type { CallerAction, Outcome, TreeAnswer } from "../token/actions.ts";
import { type Call, findAndDecide } from "../token/decide.ts";
import type { TokenCredential } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import { isMadeElsewhere, planCreate } from "../token/rules/create.ts";
import { knownToken } from "../tree/known-tokens.ts";

/**
 * Answers in place of the caller's tree, if the tree has published the token to this isolate and the action changes
 * nothing in the tree. The order is that of the tree: entity, policies, action.
 *
 * @returns null when the tree must be called.
 */
export async function runKnown(
  env: Env,
  installation: Installation,
  credential: TokenCredential,
  call: Call,
  action: CallerAction | null,
): Promise<Result<TreeAnswer> | null> {
  if (action && !isReadOnly(action)) return null;
  const { watermarks } = installation;
  const source = {
    find: (now: number) => {
      const caller = knownToken(credential, watermarks, now);
      return caller && { caller };
    },
    loadEntity: (id: string) => loadActiveEntity(env, id),
  };
  return findAndDecide(installation, call, source, ({ found: { caller }, verdict, now }) => {
    if (!verdict || !action) return ok({ caller, verdict, outcome: null });
    const outcome = outcomeOf(watermarks, action, caller, verdict, now);
    return outcome && ok({ caller, verdict, outcome });
  });
}

/** True when the request alone does not rule out that the Worker can perform the action without the tree. */
function isReadOnly(action: CallerAction): boolean {
  if (action.kind === "lookup") return action.target.by === "self" || action.target.by === "token";
  if (action.kind !== "create") return false;
  const { request, role, ids } = action;
  const orphan = request.noParent || request.orphanEndpoint;
  return ids === null || role !== null || isMadeElsewhere({ orphan, type: batchOrService(request.type) }, request);
}

function outcomeOf(
  watermarks: Watermarks,
  action: CallerAction,
  caller: TokenView,
  { sudo }: Verdict,
  now: number,
): Result<Outcome> | null {
  if (action.kind === "create") {
    const plan = planCreate(action, caller, sudo, watermarks.newest, now);
    if (!plan.ok) return plan;
    const { spec, warnings } = plan.value;
    const goesOn = action.ids === null || isMadeElsewhere(spec, action.request);
    return goesOn ? ok({ kind: "planned", spec, warnings }) : null;
  }
  if (action.kind !== "lookup") return null;
  const { target } = action;
  if (target.by === "self") return ok({ kind: "token", token: caller });
  if (target.by !== "token") return null;
  const token = knownToken({ ...target, treeId: caller.treeId }, watermarks, now);
  return token && ok({ kind: "token", token });
}

function batchOrService(type: string): "batch" | "service" {
  return type === "batch" ? "batch" : "service";
}
