import type { TeamToken } from "../record.ts";

const DAY_MS = 86_400_000;

/** What notices are about, and how long before the end of a token (ms) each is sent. */
const STAGES = [
  { trigger: "team_token:expires_in_30_days", beforeMs: 30 * DAY_MS },
  { trigger: "team_token:expires_in_7_days", beforeMs: 7 * DAY_MS },
  { trigger: "team_token:expired", beforeMs: 0 },
] as const;

/** One of the moments that notices are sent at. */
type Trigger = (typeof STAGES)[number]["trigger"];

/** All of them. */
export const TRIGGERS: readonly Trigger[] = STAGES.map(({ trigger }) => trigger);

/** Attempts of a delivery before it is given up: the last is made some fourteen hours after the first. */
export const MAX_ATTEMPTS = 12;
/** Pause after the first attempt (ms), see `retryDelayMs`. */
export const RETRY_BASE_MS = 15_000;
/** A rotation can be repeated for this long: by then the client has its answer or has given up. */
export const REPLAY_MS = DAY_MS;

/** A notice that has come due. */
interface DueNotice {
  readonly trigger: Trigger;
  /** ms. */
  readonly at: number;
}

/** The notices of a token from `from` to `until` (ms, both included). None is about a time before the token was made. */
export function noticesBetween(token: TeamToken, from: number, until: number): DueNotice[] {
  const { expiresAt, createdAt } = token;
  if (expiresAt === null) return [];
  return STAGES.map(({ trigger, beforeMs }) => ({ trigger, at: expiresAt - beforeMs })).filter(
    ({ at }) => at > createdAt && at >= from && at <= until,
  );
}

/** When a token that another has taken over from can be deleted (ms); null for others. */
export function removableAt({ rotatedAt, expiresAt }: TeamToken): number | null {
  return rotatedAt === undefined ? null : Math.max(expiresAt ?? 0, rotatedAt + REPLAY_MS);
}

/** When there is next something to do about a token after `now` (ms); null: never. */
export function nextDueAt(token: TeamToken, now: number): number | null {
  const notices = noticesBetween(token, now + 1, Number.POSITIVE_INFINITY).map(({ at }) => at);
  const next = Math.min(...notices, removableAt(token) ?? Number.POSITIVE_INFINITY);
  return next === Number.POSITIVE_INFINITY ? null : next;
}

/** A webhook: where an organization receives notices about the ends of tokens. Times in ms. */
export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly triggers: readonly Trigger[];
  readonly createdAt: number;
  /** 1 when it is made; every change makes it greater. */
  readonly revision: number;
  /** Notices about earlier moments are not sent to it: it did not exist then, or was disabled. */
  readonly since: number;
}

/** A webhook with the key of its signatures, sealed; null without one. */
export interface SealedWebhook extends Webhook {
  readonly secret: Uint8Array | null;
}

/** What is known of the delivery of a notice. Times in ms. */
export interface Delivery {
  readonly webhookId: string;
  readonly teamId: string;
  readonly tokenId: string;
  readonly trigger: Trigger;
  readonly state: "waiting" | "delivered" | "failed";
  readonly attempts: number;
  readonly sentAt: number;
  /** What the last attempt came to: the status of the answer, or null with an error. */
  readonly status: number | null;
  readonly error: string | null;
}
