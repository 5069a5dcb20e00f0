import { type Caller, callerAccessor, callerRecord } from "../token/caller.ts";
import type { AuditLine } from "./audit.ts";

/** What the audit line says about a caller. */
export function auditCaller(caller: Caller): Pick<AuditLine, "accessor" | "display_name" | "entity_id"> {
  const { displayName, entityId } = callerRecord(caller);
  return { display_name: displayName, entity_id: entityId, accessor: callerAccessor(caller) };
}
