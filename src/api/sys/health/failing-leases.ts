import type { Ms } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import { inGroups } from "../../../base/parallel.ts";
import { unlessStorageFails } from "../../../base/platform-errors.ts";
import type { Env } from "../../../env.ts";
import { leaseIdOf, MAX_SHOWN_FAILURES } from "../../../lease/actions.ts";
import { leaseInTree } from "../../../lease/lease-operations.ts";
import { listFailed, listIrrevocable } from "../../../lease/queries.ts";
import type { OrderPosition } from "../../../listing/inventory/page-cursor.ts";
import { ALL_ENDED, pageOfEnded, treesWithLeases } from "../../../listing/inventory/queries.ts";
import type { IrrevocableLease } from "../../../listing/lease-index.ts";
import { type AccessorCredential, decodeStoredId } from "../../../token/ids.ts";
import { type HeldFailure, unrevokedLeases } from "../tokens/unrevoked-leases.ts";

/** The attempts to revoke a lease take five to eight minutes. Earlier revocations have succeeded or were given up. */
const RECENT_MS: Ms = 15 * 60_000;

/** How much one check reads: pages of ended tokens, and tokens a page. */
const BOUNDS = { pages: 10, page: MAX_NAMED_TOKENS };

/** With the accessor of the token that held it; "" where that is not known. */
type RetriedLease = Pick<HeldFailure, "path" | "tail" | "error" | "nextAttemptAt" | "accessor">;

interface Retried {
  /** Leases whose targets have refused an attempt, and which are tried again. */
  readonly failures: readonly RetriedLease[];
  /** Lately ended tokens that were looked at. */
  readonly looked: number;
  /** True when more tokens ended, or a tree has more leases, than were looked at: more leases may fail. */
  readonly more: boolean;
}

/** As `Retried`, with the number of leases that are not irrevocable. */
export interface RetriedLeases extends Omit<Retried, "failures"> {
  readonly retried: number;
}

/** Finds leases whose targets have refused an attempt, and which are tried again: as many as one answer shows. */
export async function retriedLeases(env: Env, now: Ms, bounds = BOUNDS): Promise<Retried> {
  const [listed, held] = await Promise.all([listedFailures(env, now), failuresOfEnded(env, now, bounds)]);
  const known = new Set(held.failures.map(leaseIdOf));
  const others = listed.failures.filter((failure) => !known.has(leaseIdOf(failure)));
  const failures = [...held.failures, ...others];
  return {
    failures: failures.slice(0, MAX_SHOWN_FAILURES),
    looked: held.looked,
    more: held.more || listed.more || failures.length > MAX_SHOWN_FAILURES,
  };
}

/** The leases that the index has as failing, also those that ended before their token, as their trees say it. */
async function listedFailures(env: Env, now: Ms): Promise<Omit<Retried, "looked">> {
  const listed = await listFailed(env, now - RECENT_MS, MAX_SHOWN_FAILURES + 1);
  const asked = await inGroups(listed.slice(0, MAX_SHOWN_FAILURES), (place) => retriedAt(env, place));
  return { failures: asked.flatMap((failure) => failure ?? []), more: listed.length > MAX_SHOWN_FAILURES };
}

/** A lease that is tried again; null for another one, and where its tree does not answer. */
async function retriedAt(env: Env, { path, tail: text }: IrrevocableLease): Promise<RetriedLease | null> {
  const place = decodeStoredId(text);
  if (!place) return null;
  const { treeId, row, tail } = place;
  const lookup = leaseInTree(env, treeId, { kind: "lookup", lease: { row, tail, path } });
  const found = await unlessStorageFails(lookup);
  if (!found?.ok || found.value.kind !== "lease") return null;
  const { error, nextAttemptAt = null, holder = "" } = found.value.lease;
  return error === null || nextAttemptAt === null ? null : { path, tail: text, error, nextAttemptAt, accessor: holder };
}

/**
 * Finds those of lately ended tokens, also of a release that did not list them. Bounded: it reads the last tokens that
 * ended, by `bounds`, and asks the trees of at most one page of those that still have leases.
 */
async function failuresOfEnded(env: Env, now: Ms, bounds: typeof BOUNDS): Promise<Retried> {
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

/** Counts leases that ended and whose targets have refused an attempt, without irrevocable ones. */
export async function countRetriedLeases(env: Env, now: Ms, bounds = BOUNDS): Promise<RetriedLeases> {
  const { failures, ...rest } = await retriedLeases(env, now, bounds);
  if (failures.length === 0) return { retried: 0, ...rest };
  const irrevocable = new Set((await listIrrevocable(env, MAX_COMPARED)).map(leaseIdOf));
  return { retried: failures.filter((failure) => !irrevocable.has(leaseIdOf(failure))).length, ...rest };
}
