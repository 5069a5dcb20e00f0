import { repeated, repeatedUntilBegun } from "../base/lost-call-retry.ts";
import { LOST } from "../base/platform-errors.ts";
import { err, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { CallerAction, Outcome, TargetAction, TreeAnswer, TreeCall } from "../token/actions.ts";
import { treeAt } from "../token/tree-stub.ts";

/**
 * Runs a request in the tree of its caller. In a cluster a lost call is repeated, see `repeated`. It may have been carried
 * out: the tree then counts no second use, and a failure of a repeated change is answered 503, because the change itself
 * may be its cause (the second revocation of a token finds none).
 */
export async function runInTree(env: Env, treeId: string, call: TreeCall): Promise<Result<TreeAnswer>> {
  const { action } = call;
  let isRepetition = false;
  const run = async (again = false): Promise<Result<TreeAnswer>> => {
    isRepetition = again;
    return await treeAt(env, treeId).run(again ? { ...call, again } : call);
  };
  if (action && !isRepeatable(action)) return repeatedUntilBegun(env.deployment, () => run());
  const answer = await repeated(env.deployment, run);
  if (!isRepetition || action === null || isRead(action)) return answer;
  const outcome = answer.ok ? answer.value.outcome : null;
  return outcome?.ok ? answer : err(LOST);
}

/** Performs an action on a token in its tree, repeated as in `runInTree`. */
export async function actInTree(env: Env, treeId: string, action: TargetAction): Promise<Result<Outcome>> {
  let isRepetition = false;
  const act = async (again = false): Promise<Result<Outcome>> => {
    isRepetition = again;
    return await treeAt(env, treeId).act(action);
  };
  if (!isRepeatable(action)) return repeatedUntilBegun(env.deployment, () => act());
  const outcome = await repeated(env.deployment, act);
  return outcome.ok || !isRepetition || isRead(action) ? outcome : err(LOST);
}

/** True for an action that leaves the same state when it is carried out twice. */
function isRepeatable(action: CallerAction): boolean {
  return action.kind !== "unwrap" || !action.take;
}

/** True for an action that changes nothing. */
function isRead({ kind }: CallerAction): boolean {
  return kind === "lookup" || kind === "unwrap" || kind === "cubbyhole_read" || kind === "cubbyhole_list";
}
