import type { AuditEvents } from "../../client/answers.d.ts";

export type AuditEvent = AuditEvents["events"][number];
/** The record of how a token was made. */
export type MadeToken = NonNullable<AuditEvents["makers"]>[number];
export type TokenUse = NonNullable<AuditEvents["uses"]>[number];
