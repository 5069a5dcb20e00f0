/** Live. */
export const LIVE = 0;
/** Revoked together with all its descendants. */
export const REVOKED = 1;
/** Revoked alone: its children are orphans. */
export const REVOKED_ALONE = 2;

/**
 * Why a token can't be used any more. "spent": its last use was made. "ended_together": a watermark ended all tokens of
 * a mount, a role or another scope. "parent_ended": an ancestor ended. "gone": nothing is stored of it, or not any
 * more.
 */
export type TokenEnd = "expired" | "revoked" | "spent" | "ended_together" | "parent_ended" | "gone";
