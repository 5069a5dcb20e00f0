import type { Failure } from "../../base/errors.ts";

/** The answer to whoever was making a token when all that are like it were revoked: the next attempt comes after that. */
export const REVOKED_MEANWHILE: Failure = {
  code: "unavailable",
  message: "tokens of this kind were revoked while this one was made; try again",
  retryAfterSeconds: 1,
};
