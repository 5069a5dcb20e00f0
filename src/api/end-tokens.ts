import { originOfCaller } from "../auth/caller.ts";
import type { CallContext } from "../auth/route.ts";
import { formatRfc3339, type Ms, parseRfc3339 } from "../base/clock.ts";
import { changedOnce } from "../base/lost-call-retry.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { prefixJob, walkOfMount } from "../lease/prefix-revocation.ts";
import type { LeavingMount, WalkJob } from "../lease/prefix-revocation-job.ts";
import type { WatermarkScope, Watermarks } from "../system/watermarks.ts";

/** Ends all tokens and leases below the prefix of a job; only those older than `createdBefore` if set. */
export function endBelow(
  { env, caller, request }: CallContext,
  job: WalkJob,
  createdBefore: Ms | null,
): Promise<Result<null>> {
  const asked = originOfCaller(caller, request);
  return changedOnce(env, (attempt) =>
    prefixJob(env, job).endTokens({ ...job, createdBefore, mount: null, asked }, attempt),
  );
}

/** Disables or moves a mount, and ends all tokens that it issued. @param id names the object that does it. */
export function endMount(
  { env, caller, request }: CallContext,
  id: string,
  mount: LeavingMount,
): Promise<Result<null>> {
  const job = { mode: "revoke", prefix: `auth/${mount.path}` } as const;
  const asked = originOfCaller(caller, request);
  return changedOnce(env, (attempt) =>
    walkOfMount(env, id).endTokens({ ...job, createdBefore: null, mount, asked }, attempt),
  );
}

/** Reads the time before which something was issued: an RFC 3339 time that has passed; null for "now". */
export function readPastTime(text: string, field: string, now: Ms): Result<number | null> {
  if (text === "now") return ok(null);
  const time = parseRfc3339(text);
  return time !== null && time <= now
    ? ok(time)
    : refuse(`${field} must be "now" or a time that has passed, as in 2026-11-22T01:30:00Z`);
}

/** Returns the time before which tokens of the scope are refused, as RFC 3339; null when there is none. */
export function notBefore({ all }: Watermarks, scope: WatermarkScope): string | null {
  const times = all.get(scope)?.map(({ number, createdBefore }) => createdBefore ?? number) ?? [];
  return times.length === 0 ? null : formatRfc3339(Math.max(...times));
}
