import type { MadeToken } from "../../../audit/provenance.ts";
import { type AuditEvent, type AuditUse, kindOfLine } from "../../../audit/query.ts";
import { formatRfc3339 } from "../../../base/clock.ts";
import { storedJson } from "../../../storage/tables.ts";
import type { AuditLine } from "../../../wire/audit.ts";
import { type Shape, view } from "../../../wire/view.ts";

const AUTH: Shape = {
  accessor: "string",
  display_name: "string",
  policies: ["string"],
  entity_id: "string",
  token_type: "string",
  metadata: { "*": "string" },
  "token_hash?": "string",
};

/** A stored line. A line about the store itself has other fields. */
interface StoredLine extends Partial<Omit<AuditLine, "type">> {
  readonly type: string;
  readonly count?: number;
  /** True: `count` is an upper bound. */
  readonly at_most?: boolean;
  readonly from?: string;
  readonly to?: string;
}

interface ShownEvent {
  readonly event: AuditEvent;
  readonly line: StoredLine;
}

const EVENT = view<ShownEvent>({
  kind: ["string", ({ line }) => kindOfLine(line)],
  type: ["string", ({ line }) => line.type],
  time: ["string", ({ line }) => line.time ?? ""],
  "via?": ["string", ({ line }) => line.via],
  "request_id?": ["string", ({ line }) => line.request_id],
  "operation?": ["string", ({ line }) => line.operation],
  "path?": ["string", ({ line }) => line.path],
  "mount?": ["string", ({ line }) => line.mount],
  "client_address?": ["string | null", ({ line }) => line.client_address],
  "token_hash?": ["string", ({ line }) => line.token_hash],
  "status?": ["integer", ({ line }) => line.status],
  "duration_ms?": ["integer", ({ line }) => line.duration_ms],
  "error?": ["string", ({ line }) => line.error],
  "auth?": [AUTH, ({ line }) => line.auth],
  "response?": [
    { "auth?": AUTH, "wrap_info?": { accessor: "string", "wrapped_accessor?": "string" } },
    ({ line }) => line.response,
  ],
  "target_accessor?": ["string", ({ line }) => line.target_accessor],
  "made_id?": ["string", ({ line }) => line.made_id],
  "holder_accessor?": ["string", ({ line }) => line.holder_accessor],
  "target_accessors?": [["string"], ({ line }) => line.target_accessors],
  "target_entities?": [["string"], ({ line }) => line.target_entities],
  "revocation?": [
    { dry_run: "boolean", fields: ["string"], "count?": "integer", "total?": "integer", "job?": "string" },
    ({ line }) => line.revocation,
  ],
  "role?": ["string", ({ line }) => line.role],
  "principal?": ["string", ({ line }) => line.principal],
  "check?": [{ name: "string", description: "string" }, ({ line }) => line.check],
  "data?": ["object", ({ line }) => line.data],
  "count?": ["integer", ({ line }) => line.count],
  "at_most?": ["boolean", ({ line }) => line.at_most],
  "from?": ["string", ({ line }) => line.from],
  "to?": ["string", ({ line }) => line.to],
});

export const EVENT_SHAPE = EVENT.shape;

/** Returns an event as answers show it: the fields of its line in the log, and its kind. */
export function showEvent(event: AuditEvent): Record<string, unknown> {
  return EVENT.show({ event, line: storedJson<StoredLine>(event.line) });
}

export const USE_VIEW = view<AuditUse>({
  hour: ["string", ({ hour }) => formatRfc3339(hour)],
  address: ["string | null", ({ address }) => address || null],
  count: ["integer", ({ count }) => count],
  first: ["string", ({ first }) => formatRfc3339(first)],
  last: ["string", ({ last }) => formatRfc3339(last)],
});

const MADE_FIELDS = {
  accessor: "string",
  display_name: "string",
  entity_id: "string",
  token_type: "string",
  made_by: "string | null",
  time: "string",
  request_id: "string",
  path: "string",
  client_address: "string | null",
  "mount?": "string",
  "role?": "string",
  "principal?": "string",
} as const;

export const MADE_SHAPE: Shape = MADE_FIELDS;
export const BELOW_SHAPE: Shape = { ...MADE_FIELDS, depth: "integer" };

/** Shows a token by the record of its creation. */
export function showMade({ line, accessor, token, maker, depth }: MadeToken & { readonly depth?: number }) {
  return {
    accessor,
    display_name: token.display_name,
    entity_id: token.entity_id,
    token_type: token.token_type,
    made_by: maker,
    time: line.time,
    request_id: line.request_id,
    path: line.path,
    client_address: line.client_address,
    // For a login: its mount, its role and the identity that it proved.
    ...(line.mount !== undefined && { mount: line.mount }),
    ...(line.role !== undefined && { role: line.role }),
    ...(line.principal !== undefined && { principal: line.principal }),
    ...(depth !== undefined && { depth }),
  };
}
