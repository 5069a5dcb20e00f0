import { formatTime } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import type { Env } from "../../../env.ts";
import { type FailedRevocation, leaseIdOf, MAX_SHOWN_FAILURES, type Unrevoked } from "../../../lease/actions.ts";
import { treesWithLeases } from "../../../listing/inventory/queries.ts";
import { treeAt } from "../../../token/find-tree.ts";
import type { AccessorCredential } from "../../../token/ids.ts";
import { view } from "../../../wire/view.ts";

const FAILURE_VIEW = view<FailedRevocation>({
  lease_id: ["string", leaseIdOf],
  error: ["string", ({ error }) => error],
  next_attempt: ["string | null", ({ nextAttemptAt }) => formatTime(nextAttemptAt)],
});

/** Leases of ended tokens whose targets have not accepted the revocation. An irrevocable one has no `next_attempt`. */
export const UNREVOKED_VIEW = view<Unrevoked>({
  waiting: ["integer", ({ waiting }) => waiting],
  failing: ["integer", ({ failing }) => failing],
  more: ["boolean", ({ more }) => more],
  failures: [[FAILURE_VIEW.shape], ({ failures }) => failures.map(FAILURE_VIEW.show)],
});

const NONE: Unrevoked = { waiting: 0, failing: 0, more: false, failures: [] };

/** Asks the trees of these tokens for the leases that are not revoked yet. Those of live tokens do not count. */
export async function unrevokedLeases(env: Env, tokens: readonly AccessorCredential[]): Promise<Unrevoked> {
  const byTree = Map.groupBy(tokens, ({ treeId }) => treeId);
  // The index has a lease until its target has accepted the revocation. Most trees have none.
  const leased = await treesWithLeases(env, [...byTree.keys()]);
  const trees = [...byTree].filter(([treeId]) => leased.has(treeId));
  const found = await inGroups(trees, ([treeId, inTree]) =>
    treeAt(env, treeId).unrevokedOf(inTree.map(({ row, tail }) => ({ row, tail }))),
  );
  return found.reduce(
    (all, one) => ({
      waiting: all.waiting + one.waiting,
      failing: all.failing + one.failing,
      more: all.more || one.more,
      failures: [...all.failures, ...one.failures].slice(0, MAX_SHOWN_FAILURES),
    }),
    NONE,
  );
}
