import type { AuditAuth } from "../wire/audit.ts";
import type { TokenRecord } from "./record.ts";

/**
 * Describes a token for the audit log.
 *
 * @param accessor its accessor; the id of a team token; "" for a batch token.
 */
export function auditAuth(record: TokenRecord, accessor: string, type: AuditAuth["token_type"]): AuditAuth {
  return {
    accessor,
    display_name: record.displayName,
    policies: record.policies,
    entity_id: record.entityId,
    token_type: type,
    metadata: record.meta ?? {},
  };
}
