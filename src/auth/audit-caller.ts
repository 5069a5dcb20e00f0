import type { AuditLine } from "../wire/audit.ts";
import { type Caller, callerAccessor, callerRecord } from "./caller.ts";

/** What the audit line says about a caller. */
export function auditCaller(caller: Caller): Pick<AuditLine, "accessor" | "display_name" | "entity_id"> {
  const { displayName, entityId } = callerRecord(caller);
  return { display_name: displayName, entity_id: entityId, accessor: callerAccessor(caller) };
}
