import type { TokenHolder } from "../../client/types.ts";
import { type Caller, callerAccessor, callerRecord } from "../auth/caller.ts";

/** A caller as other Workers see it. */
export function holderOf(caller: Caller, identityPolicies: readonly string[]): TokenHolder {
  const { displayName, policies, entityId, meta, path, createdAt } = callerRecord(caller);
  return {
    type: caller.kind,
    accessor: callerAccessor(caller),
    displayName,
    policies,
    identityPolicies,
    entityId,
    meta,
    path,
    createdAt,
    expiresAt: caller.token.expiresAt,
    usesLeft: caller.kind === "service" ? caller.token.usesLeft : 0,
  };
}
