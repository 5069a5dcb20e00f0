import type { AuditEvents } from "../../client/answers.d.ts";

export type AuditEvent = AuditEvents["events"][number];

/** The events of several pages: two can have the same record, if it was stored twice. */
export const distinctEvents = (events: readonly AuditEvent[]): readonly AuditEvent[] => [
  ...new Map(events.map((event) => [JSON.stringify(event), event])).values(),
];

/** The record of how a token was made. */
export type MadeToken = NonNullable<AuditEvents["makers"]>[number];
export type TokenUse = NonNullable<AuditEvents["uses"]>[number];
