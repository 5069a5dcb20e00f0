import { attempted, type CallAttempt, changedOnce } from "../base/lost-call-retry.ts";
import { LOST } from "../base/platform-errors.ts";
import { err, type Result } from "../base/result.ts";
import type { CallerAction, Outcome, TargetAction, TreeAnswer, TreeCall } from "./actions.ts";
import type { TokenEnv } from "./env.ts";
import { treeAt } from "./tree-stub.ts";

/**
 * Runs a request in the tree of its caller. In a cluster a lost call is repeated, see `repeated`. An earlier attempt may
 * have been carried out: the tree then counts no second use and knows a token that this call has ended (see
 * `CarriedOutCalls`). A failure of a repeated change is answered 503, because the change itself may be its cause: a
 * token that it ended may be swept.
 */
export async function runInTree(env: TokenEnv, treeId: string, call: TreeCall): Promise<Result<TreeAnswer>> {
  const run = async (attempt?: CallAttempt): Promise<Result<TreeAnswer>> =>
    await treeAt(env, treeId).run(attempt ? { ...call, ...attempt } : call);
  const { answer, isRepetition } = await attempted(env, run);
  if (!isRepetition || call.action === null || isRead(call.action)) return answer;
  const outcome = answer.ok ? answer.value.outcome : null;
  return outcome?.ok ? answer : err(LOST);
}

/** Performs an action on a token in its tree, repeated as in `runInTree`. */
export async function actInTree(env: TokenEnv, treeId: string, action: TargetAction): Promise<Result<Outcome>> {
  const act = async (attempt?: CallAttempt): Promise<Result<Outcome>> => await treeAt(env, treeId).act(action, attempt);
  return isRead(action) ? (await attempted(env, act)).answer : changedOnce(env, act);
}

/** True for an action that changes nothing. */
function isRead(action: CallerAction): boolean {
  const { kind } = action;
  if (kind === "unwrap") return !action.take;
  return kind === "lookup" || kind === "cubbyhole_read" || kind === "cubbyhole_list";
}
