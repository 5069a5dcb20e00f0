import { formatTime } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import { unlessStorageFails } from "../../../base/platform-errors.ts";
import type { Env } from "../../../env.ts";
import {
  type FailedRevocation,
  type LeaseStanding,
  leaseIdOf,
  MAX_SHOWN_FAILURES,
  type Unrevoked,
} from "../../../lease/actions.ts";
import { standingOfLease } from "../../../lease/lease-operations.ts";
import { removedLeases, treesWithLeases } from "../../../listing/inventory/queries.ts";
import type { RemovedLeases } from "../../../listing/lease-index.ts";
import type { Installation } from "../../../system/installation.ts";
import { type AccessorCredential, routedIdText } from "../../../token/ids.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import { view } from "../../../wire/view.ts";

/** With the accessor of the token that held the lease. */
export type HeldFailure = FailedRevocation & { readonly accessor: string };

const FAILURE_VIEW = view<HeldFailure>({
  lease_id: ["string", leaseIdOf],
  accessor: ["string", ({ accessor }) => accessor],
  error: ["string", ({ error }) => error],
  next_attempt: ["string | null", ({ nextAttemptAt }) => formatTime(nextAttemptAt)],
});

export interface HeldUnrevoked extends Omit<Unrevoked, "failures"> {
  readonly failures: readonly HeldFailure[];
  /** Leases that were removed by force although their targets did not accept the revocation: they have not ended. */
  readonly removed: number;
}

/** Leases of ended tokens whose targets have not accepted the revocation. Irrevocable leases have no `next_attempt`. */
export const UNREVOKED_VIEW = view<HeldUnrevoked>({
  waiting: ["integer", ({ waiting }) => waiting],
  failing: ["integer", ({ failing }) => failing],
  removed: ["integer", ({ removed }) => removed],
  more: ["boolean", ({ more }) => more],
  failures: [[FAILURE_VIEW.shape], ({ failures }) => failures.map(FAILURE_VIEW.show)],
});

export const NONE_UNREVOKED: HeldUnrevoked = { waiting: 0, failing: 0, removed: 0, more: false, failures: [] };

/** Of a tree whose storage fails: the numbers are unknown. */
const UNKNOWN_UNREVOKED: HeldUnrevoked = { ...NONE_UNREVOKED, more: true };

/** Asks the trees of these tokens for the leases that are not revoked yet. Leases of live tokens do not count. */
export async function unrevokedLeases(env: Env, tokens: readonly AccessorCredential[]): Promise<HeldUnrevoked> {
  const byTree = Map.groupBy(tokens, ({ treeId }) => treeId);
  // The index has a lease until its target has accepted the revocation. Most trees have none.
  const [leased, removed] = await Promise.all([
    treesWithLeases(env, [...byTree.keys()]),
    removedLeases(env, { trees: [...byTree.keys()] }),
  ]);
  const trees = [...byTree].filter(([treeId]) => leased.has(treeId));
  const found = await inGroups(trees, async ([treeId, inTree]): Promise<HeldUnrevoked> => {
    const rows = inTree.map(({ row, tail }) => ({ row, tail }));
    const unrevoked = await unlessStorageFails(treeAt(env, treeId).unrevokedOf(rows));
    if (unrevoked === null) return UNKNOWN_UNREVOKED;
    const accessors = new Map(inTree.map(({ row, tail }) => [row, routedIdText(treeId, row, tail)]));
    // A tree that still runs the previous release does not report the token.
    const failures = unrevoked.failures.map((one) => ({ ...one, accessor: accessors.get(one.token) ?? "" }));
    return { ...unrevoked, removed: 0, failures };
  });
  const held = new Set(tokens.map(({ treeId, row, tail }) => routedIdText(treeId, row, tail)));
  return found.reduce(
    (all, one) => ({
      removed: all.removed,
      waiting: all.waiting + one.waiting,
      failing: all.failing + one.failing,
      more: all.more || one.more,
      failures: [...all.failures, ...one.failures].slice(0, MAX_SHOWN_FAILURES),
    }),
    { ...NONE_UNREVOKED, removed: sumOf(removed.filter(({ holder }) => held.has(holder))) },
  );
}

function sumOf(removed: readonly RemovedLeases[]): number {
  return removed.reduce((sum, { count }) => sum + count, 0);
}

/** Says of leases by their ids what `sys/tokens/verify-ended` says of tokens. */
export async function verifyLeases(env: Env, installation: Installation, leaseIds: readonly string[]) {
  const asked = await inGroups(leaseIds, async (id) => ({
    id,
    answer: await unlessStorageFails(standingOfLease(env, installation, id).then((standing) => ({ standing }))),
  }));
  const found = asked.flatMap(({ id, answer }) => (answer === null ? [] : [{ id, standing: answer.standing }]));
  const idsOf = (wanted: LeaseStanding | null) => found.filter((one) => one.standing === wanted).map(({ id }) => id);
  const failures = found.flatMap(({ standing }) => (standing && typeof standing === "object" ? standing : []));
  const gone = idsOf("ended");
  const removed = sumOf(await removedLeases(env, { tails: gone.map((id) => id.slice(id.lastIndexOf("/") + 1)) }));
  const unrevoked = {
    waiting: idsOf("waiting").length,
    failing: failures.length,
    removed,
    more: false,
    failures: failures.map((one) => ({ ...one, accessor: "" })),
  };
  return {
    checked: asked.length,
    ended: gone.length - removed,
    unknown: idsOf(null).length,
    alive: idsOf("held"),
    unanswered: asked.filter(({ answer }) => answer === null).map(({ id }) => id),
    unrevoked_leases: UNREVOKED_VIEW.show(unrevoked),
    next: "",
  };
}
