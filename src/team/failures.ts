import { MAX_TEAM_TOKENS } from "../base/limits.ts";
import { type Failure, invalidDocument } from "../base/result.ts";

export const NAME_TAKEN = invalidDocument("Name has already been taken", "/data/attributes/name");

export const OWNERS_STAY: Failure = { code: "forbidden", message: "the owners team can't be deleted or renamed" };

/** With the title and message of HCP Terraform, by which clients recognise it. */
export const DESCRIPTION_TAKEN = invalidDocument(
  "Validation failed: Description has already been taken",
  "/data/attributes/description",
  "invalid attributes",
);

/** Refuses `expired-at`. @param problem a phrase. */
export function badExpiry(problem: string): Failure {
  return invalidDocument(`expired-at ${problem}`, "/data/attributes/expired-at");
}

export const ALREADY_ROTATED = invalidDocument(
  "the token was rotated already, by a request with another idempotency-key or other attributes, or too long ago",
  "/data",
);

export const HAS_ENDED = invalidDocument("the token has ended: make a new one", "/data");

export const TOO_MANY_TOKENS = invalidDocument(
  `the team has ${MAX_TEAM_TOKENS} tokens: delete some, also of those that have ended`,
  "/data",
);

export const NO_ORGANIZATION: Failure = { code: "not_found" };
