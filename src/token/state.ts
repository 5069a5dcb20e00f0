/** Live. */
export const LIVE = 0;
/** Revoked together with everything below it. */
export const REVOKED = 1;
/** Revoked alone: what hangs directly below it are orphans. */
export const REVOKED_ALONE = 2;
