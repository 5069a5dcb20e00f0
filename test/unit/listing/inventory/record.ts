import { PLAIN_RECORD } from "../../../../src/token/record.ts";

/** A token as its tree has it, with nothing special about it. */
export const RECORD = {
  ...PLAIN_RECORD,
  policies: [],
  displayName: "token",
  path: "auth/token/create",
  createdAt: 0,
  creationTtl: 0,
};
