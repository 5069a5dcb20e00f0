/** Live. */
export const LIVE = 0;
/** Revoked together with everything below it. */
export const REVOKED = 1;
/** Revoked alone: what hangs directly below it are orphans. */
export const REVOKED_ALONE = 2;

/**
 * Why a token can't be used any more: its time is over, it was revoked, its last use was made, it was revoked with all tokens of
 * a mount, a role or another scope, a token above it ended, or nothing is stored of it (any more).
 */
export type TokenEnd = "expired" | "revoked" | "spent" | "ended_together" | "parent_ended" | "gone";
