import { MAX_TEAM_TOKENS } from "../base/limits.ts";
import { type Failure, invalidDocument } from "../base/result.ts";

/** Another team or organization has the name. */
export const NAME_TAKEN = invalidDocument("Name has already been taken", "/data/attributes/name");

/** The team of the owners stays, under its name. */
export const OWNERS_STAY: Failure = { code: "forbidden", message: "the owners team can't be deleted or renamed" };

/**
 * Another token of the team has the description. Clients recognise the refusal by this title and message.
 * They are those of HCP Terraform.
 */
export const DESCRIPTION_TAKEN = invalidDocument(
  "Validation failed: Description has already been taken",
  "/data/attributes/description",
  "invalid attributes",
);

/** The end that was asked for is not one that the organization allows. */
export function badExpiry(problem: string): Failure {
  return invalidDocument(`expired-at ${problem}`, "/data/attributes/expired-at");
}

/** The token was rotated by another request. */
export const ALREADY_ROTATED = invalidDocument(
  "the token was rotated already, by a request with another idempotency-key or other attributes, or too long ago",
  "/data",
);

/** The token is past its end. */
export const HAS_ENDED = invalidDocument("the token has ended: make a new one", "/data");

/** The team has as many tokens as it can have. */
export const TOO_MANY_TOKENS = invalidDocument(
  `the team has ${MAX_TEAM_TOKENS} tokens: delete some, also of those that have ended`,
  "/data",
);

/** The organization in the path does not exist. */
export const NO_ORGANIZATION: Failure = { code: "not_found" };
