import type { Failure } from "../../base/result.ts";

/** The answer to a creation during which all tokens like the new one were revoked. A repeat comes after the revocation. */
export const REVOKED_MEANWHILE: Failure = {
  code: "unavailable",
  message: "tokens of this kind were revoked while this one was made; try again",
  retryAfterSeconds: 1,
};
