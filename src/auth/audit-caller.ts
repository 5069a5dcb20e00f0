import type { AuditLine } from "../wire/audit.ts";
import { type Caller, callerAccessor, callerRecord } from "./caller.ts";

/** What the audit line says about a caller. */
export function auditCaller(caller: Caller): Pick<AuditLine, "accessor" | "display_name" | "entity_id" | "policies"> {
  const { displayName, entityId, policies } = callerRecord(caller);
  return { accessor: callerAccessor(caller), display_name: displayName, entity_id: entityId, policies };
}
