import { LeaseWalk } from "../../src/lease/prefix-revocation.ts";
import { TokenTree } from "../../src/tree/token-tree.ts";
import { callsTo, holdAlarmsOf, ringAlarm } from "./calls.ts";
import { locate } from "./trees.ts";

/** No walk goes on by itself from now on: a test takes its steps with `stepWalk`. */
export const holdWalks = () => holdAlarmsOf(LeaseWalk);

/** Runs the alarm of a walk once, as the platform would. */
export const stepWalk = (stub: DurableObjectStub<LeaseWalk>) => ringAlarm(stub);

/** Counts from now on how often walks call the trees of `tokens`. The walks of other tests may still go on, in other trees. */
export async function countWalkCalls(tokens: readonly string[]): Promise<() => number> {
  const trees = new Set(await Promise.all(tokens.map(async (token) => (await locate(token)).treeId)));
  const { calls } = callsTo(TokenTree, "walk");
  return () => calls.filter(({ id }) => trees.has(id)).length;
}
