import { endRequestOf } from "../auth/caller.ts";
import type { Answered, CallContext } from "../auth/route.ts";
import { formatRfc3339, parseRfc3339 } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { walkOf, walkOfMount } from "../lease/walk.ts";
import type { LeavingMount, WalkJob } from "../lease/walk-job.ts";
import { stalenessWarnings } from "../system/copy-age.ts";
import { refreshInstallation } from "../system/installation.ts";
import type { WatermarkScope, Watermarks } from "../system/watermarks.ts";
import { EMPTY, type Reply } from "../wire/reply.ts";

/** Answers a change of the installation, after this isolate has read the installation again. */
export async function changedReply(env: Env, change: Result<unknown>, reply: Reply = EMPTY): Answered {
  if (!change.ok) return change;
  const refreshed = await refreshInstallation(env);
  return refreshed.ok ? ok(reply) : refreshed;
}

/** Answers a revocation by a watermark, with a warning that it takes effect later in other isolates. */
export function endedReply(env: Env, end: Result<unknown>): Answered {
  return changedReply(env, end, { kind: "empty", warnings: stalenessWarnings(env) });
}

/** Ends all tokens and leases below the prefix of a job before the answer; only those older than `createdBefore` (ms) if set. */
export async function endBelow(
  { env, caller, request }: CallContext,
  job: WalkJob,
  createdBefore: number | null,
): Answered {
  const asked = endRequestOf(caller, request);
  return endedReply(env, await walkOf(env, job).endTokens({ ...job, createdBefore, mount: null, asked }));
}

/** Disables or moves a mount, and ends all tokens that it issued. @param id names the object that does it. */
export function endMount(
  { env, caller, request }: CallContext,
  id: string,
  mount: LeavingMount,
): Promise<Result<null>> {
  const job = { mode: "revoke", prefix: `auth/${mount.path}` } as const;
  const asked = endRequestOf(caller, request);
  return walkOfMount(env, id).endTokens({ ...job, createdBefore: null, mount, asked });
}

/** Reads the time before which something was issued: an RFC 3339 time that has passed, as ms; null for "now". */
export function readPastTime(text: string, field: string, now: number): Result<number | null> {
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
