import type { Login } from "../../src/token/rules/login.ts";

/** A login whose method asks for nothing special: tests say what differs. */
export const PLAIN_LOGIN: Login = {
  policies: [],
  noDefaultPolicy: false,
  tokenType: "default",
  ttl: 0,
  maxTtl: 0,
  period: 0,
  explicitMaxTtl: 0,
  numUses: 0,
  boundCidrs: [],
  displayName: "",
  metadata: {},
  entityId: "",
  internal: {},
};
