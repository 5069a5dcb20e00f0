import type { Ms } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import type { Env } from "../../../env.ts";
import { MAX_SHOWN_FAILURES } from "../../../lease/actions.ts";
import type { EndedFilter } from "../../../listing/inventory/ended.ts";
import { endedByRequest, endedInJob, pageOfEnded } from "../../../listing/inventory/queries.ts";
import { revocationsOf } from "../../../listing/inventory/revocations.ts";
import { systemOf } from "../../../system/system.ts";
import { decodeStoredId } from "../../../token/ids.ts";
import { unrevokedLeases } from "../tokens/unrevoked-leases.ts";

/** The attempts to end a lease take some five minutes to eight: what began before is irrevocable, or has ended. */
const RECENT_MS: Ms = 15 * 60_000;
/** Revocations that are looked at, the newest first. */
const MAX_REVOCATIONS = 3;

/**
 * Counts the leases of the last revocations of many whose targets have refused an attempt, and which are tried again.
 * Bounded: only trees of these tokens that still have leases are asked, at most `MAX_NAMED_TOKENS` tokens for each.
 */
export async function countRetriedLeases(env: Env, now: Ms): Promise<number> {
  const [jobs, watermarks] = await Promise.all([revocationsOf(env).list(), systemOf(env).watermarks()]);
  const recent = [
    ...jobs
      .filter(({ numbers }) => (numbers?.leases.count ?? 0) > 0)
      .map((job) => ({ at: job.finishedAt ?? now, filter: endedInJob(job.id, job) })),
    ...watermarks
      .filter(({ asked }) => asked.request !== "")
      .map(({ madeAt, asked }) => ({ at: madeAt, filter: endedByRequest(asked.request, madeAt) })),
  ]
    .filter(({ at }) => now - at < RECENT_MS)
    .sort((a, b) => b.at - a.at)
    .slice(0, MAX_REVOCATIONS);
  const counts = await Promise.all(recent.map(({ filter }) => retriedOf(env, filter)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** At most `MAX_SHOWN_FAILURES`. */
async function retriedOf(env: Env, filter: EndedFilter): Promise<number> {
  const { tokens } = await pageOfEnded(env, { filter, after: null, limit: MAX_NAMED_TOKENS });
  const { failures } = await unrevokedLeases(
    env,
    tokens.flatMap(({ token }) => decodeStoredId(token.accessor) ?? []),
  );
  return failures.slice(0, MAX_SHOWN_FAILURES).filter(({ nextAttemptAt }) => nextAttemptAt !== null).length;
}
