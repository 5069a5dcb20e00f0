import type { Failure } from "../base/errors.ts";

/** Another team or organization has the name. */
export const NAME_TAKEN: Failure = {
  code: "invalid_document",
  message: "Name has already been taken",
  pointer: "/data/attributes/name",
};

/** The organization in the path does not exist. */
export const NO_ORGANIZATION: Failure = { code: "not_found" };

/** The search would have to look at too many names. */
export const TOO_BROAD: Failure = {
  code: "invalid_parameter",
  message: "q matches too many names; search for more of the name",
  parameter: "q",
};
