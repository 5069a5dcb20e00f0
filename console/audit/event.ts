import type { AuditEvents } from "../../client/answers.d.ts";

export type AuditEvent = AuditEvents["events"][number];
/** A token as its making is recorded. */
export type MadeToken = NonNullable<AuditEvents["makers"]>[number];
export type TokenUse = NonNullable<AuditEvents["uses"]>[number];
