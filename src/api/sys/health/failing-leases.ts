import type { Ms } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import type { Env } from "../../../env.ts";
import { leaseIdOf } from "../../../lease/actions.ts";
import { listIrrevocable } from "../../../lease/queries.ts";
import type { OrderPosition } from "../../../listing/inventory/page-cursor.ts";
import { ALL_ENDED, pageOfEnded, treesWithLeases } from "../../../listing/inventory/queries.ts";
import { type AccessorCredential, decodeStoredId } from "../../../token/ids.ts";
import { type HeldFailure, unrevokedLeases } from "../tokens/unrevoked-leases.ts";

/** The attempts to revoke a lease take five to eight minutes. Earlier revocations have succeeded or were given up. */
const RECENT_MS: Ms = 15 * 60_000;

/** How much one check reads: pages of ended tokens, and tokens a page. */
const BOUNDS = { pages: 10, page: MAX_NAMED_TOKENS };

interface Retried {
  /** Leases whose targets have refused an attempt, and which are tried again. */
  readonly failures: readonly HeldFailure[];
  /** Lately ended tokens that were looked at. */
  readonly looked: number;
  /** True when more tokens ended, or a tree has more leases, than were looked at: more leases may fail. */
  readonly more: boolean;
}

/** As `Retried`, with the number of leases that are not irrevocable. */
export interface RetriedLeases extends Omit<Retried, "failures"> {
  readonly retried: number;
}

/**
 * Finds the leases of lately ended tokens whose targets have refused an attempt, and which are tried again. Bounded: it
 * reads the last tokens that ended, by `bounds`, asks the trees of at most one page of those that still have leases, and
 * finds as many as one answer shows.
 */
export async function retriedLeases(env: Env, now: Ms, bounds = BOUNDS): Promise<Retried> {
  const filter = { ...ALL_ENDED, from: now - RECENT_MS };
  const leased: AccessorCredential[] = [];
  let looked = 0;
  let after: OrderPosition | null = null;
  for (let pages = 0; pages < bounds.pages; pages++) {
    const { tokens, next } = await pageOfEnded(env, { filter, after, limit: bounds.page });
    const places = tokens.flatMap(({ token }) => decodeStoredId(token.accessor) ?? []);
    const trees = await treesWithLeases(env, [...new Set(places.map(({ treeId }) => treeId))]);
    const found = places.filter(({ treeId }) => trees.has(treeId));
    // Not on the first page, so that `after` is not null here.
    if (leased.length + found.length > bounds.page) break;
    leased.push(...found);
    looked += tokens.length;
    after = next;
    if (after === null) break;
  }
  const { failures, more } = await unrevokedLeases(env, leased);
  return {
    failures: failures.filter(({ nextAttemptAt }) => nextAttemptAt !== null),
    looked,
    more: more || after !== null,
  };
}

/** Irrevocable leases that are read, so that none of them is counted once more as one that is tried again. */
const MAX_COMPARED = 10_000;

/** Counts leases of ended tokens whose targets have refused an attempt, without irrevocable ones. */
export async function countRetriedLeases(env: Env, now: Ms, bounds = BOUNDS): Promise<RetriedLeases> {
  const { failures, ...rest } = await retriedLeases(env, now, bounds);
  if (failures.length === 0) return { retried: 0, ...rest };
  const irrevocable = new Set((await listIrrevocable(env, MAX_COMPARED)).map(leaseIdOf));
  return { retried: failures.filter((failure) => !irrevocable.has(leaseIdOf(failure))).length, ...rest };
}
