import { earliest, type Ms } from "../../base/clock.ts";
import type { TeamToken } from "../record.ts";

const DAY_MS = 86_400_000;

/** The events that notices are about, with the time before the end of a token. */
const STAGES = [
  { trigger: "team_token:expires_in_30_days", beforeMs: 30 * DAY_MS },
  { trigger: "team_token:expires_in_7_days", beforeMs: 7 * DAY_MS },
  { trigger: "team_token:expired", beforeMs: 0 },
] as const;

/** An event that notices are about. */
export type Trigger = (typeof STAGES)[number]["trigger"];

export const TRIGGERS: readonly Trigger[] = STAGES.map(({ trigger }) => trigger);

/** Maximum number of attempts of a delivery. The last one is some fourteen hours after the first. */
export const MAX_NOTICE_ATTEMPTS = 12;
/** Pause after the first attempt, see `retryDelayMs`. */
export const NOTICE_PAUSE_MS: Ms = 15_000;
/** How long a rotation can be repeated. */
export const REPLAY_MS: Ms = DAY_MS;

/**
 * The notices of a team's token that are due from `from` to `until` (inclusive), after the creation of the token. The
 * tokens of organizations have none.
 */
export function noticesBetween({ kind, expiresAt, createdAt }: TeamToken, from: Ms, until: Ms) {
  if (kind !== undefined || expiresAt === null) return [];
  const notices = STAGES.map(({ trigger, beforeMs }) => ({ trigger, at: expiresAt - beforeMs }));
  return notices.filter(({ at }) => at > createdAt && at >= from && at <= until);
}

/** When a token that was replaced by a rotation can be deleted; null for other tokens. */
export function removableAt({ rotatedAt, expiresAt }: TeamToken): Ms | null {
  return rotatedAt === undefined ? null : Math.max(expiresAt ?? 0, rotatedAt + REPLAY_MS);
}

/** When a notice or the deletion of a token is due next after `now`; null: never. */
export function nextDueAt(token: TeamToken, now: Ms): Ms | null {
  const notices = noticesBetween(token, now + 1, Number.POSITIVE_INFINITY).map(({ at }) => at);
  return earliest(...notices, removableAt(token));
}
