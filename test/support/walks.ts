import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { LeaseWalk } from "../../src/app/lease-walk.ts";
import { TokenTree } from "../../src/tree/token-tree.ts";
import { stateOf } from "./objects.ts";
import { locate } from "./trees.ts";

const alarm = LeaseWalk.prototype.alarm;

/** No walk goes on by itself from now on: a test takes its steps with `stepWalk`. */
export const holdWalks = () => vi.spyOn(LeaseWalk.prototype, "alarm").mockResolvedValue(undefined);

/** Runs the alarm of a walk once, as the platform would. */
export const stepWalk = (stub: DurableObjectStub<LeaseWalk>) =>
  runInDurableObject(stub, (object) => alarm.call(object));

/** Counts from now on how often walks call the trees of `tokens`. The walks of other tests may still go on, in other trees. */
export async function countWalkCalls(tokens: readonly string[]): Promise<() => number> {
  const trees = new Set(await Promise.all(tokens.map(async (token) => (await locate(token)).treeId)));
  const original = TokenTree.prototype.walk;
  let calls = 0;
  vi.spyOn(TokenTree.prototype, "walk").mockImplementation(function (this: TokenTree, ...asked) {
    if (trees.has(stateOf(this).id.toString())) calls++;
    return original.apply(this, asked);
  });
  return () => calls;
}
