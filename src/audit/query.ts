import type { Ms } from "../base/clock.ts";
import { isLoginPath } from "../base/login-paths.ts";
import { storedJson } from "../storage/tables.ts";
import type { AuditEntry } from "./entry.ts";

/** "other": a line about the store itself, such as one that counts refusals. */
export const AUDIT_KINDS = ["change", "login", "refusal", "fault", "other"] as const;
type AuditKind = (typeof AUDIT_KINDS)[number];

/** Conditions for records, besides their mentions. An absent field allows all records. */
export interface AuditFilter {
  /** Time of the record: `from` inclusive, `until` exclusive. */
  readonly from?: Ms;
  readonly until?: Ms;
  /** Path of a mount, with a slash at the end. */
  readonly mount?: string;
  readonly pathPrefix?: string;
  readonly operation?: string;
  readonly kinds?: readonly AuditKind[];
  readonly status?: number;
}

/** A query to one object of the store. */
export interface AuditQuery {
  /** The records mention all of these; none: every record. */
  readonly mentions: readonly string[];
  readonly filter: AuditFilter;
  readonly newestFirst: boolean;
  /** Number of the record after which the answer begins, in the order that is asked for; null: at the beginning. */
  readonly after: number | null;
  readonly limit: number;
}

/** A record as it is found. */
export interface AuditEvent {
  readonly seq: number;
  /** When it was stored. Events are in the order of this time. */
  readonly storedAt: Ms;
  /** Time of the record. */
  readonly at: Ms;
  readonly line: string;
}

/** What an object answers. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /**
   * Where the search stopped; null: at the end. The next page begins after the record `seq`. All matches before the
   * time `storedAt`, in the requested order, are in the answer.
   */
  readonly next: { readonly seq: number; readonly storedAt: Ms } | null;
}

/** How often a token was used from an address in an hour. */
export interface AuditUse {
  readonly hour: Ms;
  /** null: it can't be read any more, or the row is the sum of several addresses. */
  readonly address: string | null;
  readonly count: number;
  readonly first: Ms;
  readonly last: Ms;
}

/** The fields of a line that filters compare. */
interface FilteredLine {
  readonly type?: string;
  readonly operation?: string;
  readonly path?: string;
  readonly mount?: string;
  readonly status?: number;
}

export function kindOfLine({ type, mount = "", path = "", status = 0 }: FilteredLine): AuditKind {
  if (type !== "response") return "other";
  if (status >= 500) return "fault";
  if (status >= 400) return "refusal";
  return isLoginPath(path, mount) ? "login" : "change";
}

/** True when a record passes each condition of the filter. */
export function matchesFilter(entry: Pick<AuditEntry, "at" | "line">, filter: AuditFilter): boolean {
  const { from, until, mount, pathPrefix, operation, kinds, status } = filter;
  if (from !== undefined && entry.at < from) return false;
  if (until !== undefined && entry.at >= until) return false;
  if ([mount, pathPrefix, operation, kinds, status].every((part) => part === undefined)) return true;
  const line = storedJson<FilteredLine>(entry.line);
  return (
    (mount === undefined || line.mount === mount) &&
    (pathPrefix === undefined || (line.path ?? "").startsWith(pathPrefix)) &&
    (operation === undefined || line.operation === operation) &&
    (kinds === undefined || kinds.includes(kindOfLine(line))) &&
    (status === undefined || line.status === status)
  );
}
