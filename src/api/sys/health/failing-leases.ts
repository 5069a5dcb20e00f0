import type { Ms } from "../../../base/clock.ts";
import { MAX_NAMED_TOKENS } from "../../../base/limits.ts";
import type { Env } from "../../../env.ts";
import { ALL_ENDED, pageOfEnded } from "../../../listing/inventory/queries.ts";
import { decodeStoredId } from "../../../token/ids.ts";
import { unrevokedLeases } from "../tokens/unrevoked-leases.ts";

/** The attempts to revoke a lease take five to eight minutes. Earlier revocations have succeeded or were given up. */
const RECENT_MS: Ms = 15 * 60_000;

/**
 * Counts the leases of lately ended tokens whose targets have refused an attempt, and which are tried again. Bounded: it
 * looks at the last `MAX_NAMED_TOKENS` tokens, asks only trees that still have leases, and counts as many as one answer
 * shows.
 */
export async function countRetriedLeases(env: Env, now: Ms): Promise<number> {
  const filter = { ...ALL_ENDED, from: now - RECENT_MS };
  const { tokens } = await pageOfEnded(env, { filter, after: null, limit: MAX_NAMED_TOKENS });
  const places = tokens.flatMap(({ token }) => decodeStoredId(token.accessor) ?? []);
  if (places.length === 0) return 0;
  const { failures } = await unrevokedLeases(env, places);
  return failures.filter(({ nextAttemptAt }) => nextAttemptAt !== null).length;
}
