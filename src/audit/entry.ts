import { nameKey } from "../base/case-folding.ts";
import type { Ms } from "../base/clock.ts";

/** Maximum length of the line of a record, in characters. The writer cuts metadata until a line fits. */
export const MAX_RECORD_LENGTH = 16_384;
/** Maximum number of records in a batch, of counts of use in it, and of characters of its lines. */
export const MAX_BATCH_ENTRIES = 500;
export const MAX_BATCH_USES = 1000;
export const MAX_BATCH_CHARACTERS = 2 ** 20;
/** Maximum number of mentions of a record. */
export const MAX_MENTIONS = 64;

/** What a record is found by. A mention is written as "kind:value". */
export type MentionKind = "accessor" | "entity" | "request" | "address" | "role" | "organization";

/** One record as the isolate hands it over. */
export interface AuditEntry {
  /** Time of the line. */
  readonly at: Ms;
  /** The audit line as JSON text, at most `MAX_RECORD_LENGTH` characters. */
  readonly line: string;
  /**
   * The keys by which the record is found: each `kind:value`, see `mentionOf`. "accessor" names the caller's token, or
   * a token that was made, changed or ended; by its keyed hash if it has no accessor. For a role see `mentionOfRole`.
   */
  readonly mentions: readonly string[];
}

/** How often a token was used from an address in an hour. The store adds up the counts of several batches. */
export interface UseCount {
  readonly accessor: string;
  /** "" when it is not known. */
  readonly address: string;
  /** Beginning of the hour. */
  readonly hour: Ms;
  readonly count: number;
  readonly first: Ms;
  readonly last: Ms;
}

/** Records that are stored in one transaction. */
export interface AuditBatch {
  /** A random name of the isolate. */
  readonly writer: string;
  /** Counts the batches of the writer. A repeated batch keeps its number, so that it is stored once. */
  readonly number: number;
  readonly entries: readonly AuditEntry[];
  readonly uses: readonly UseCount[];
}

/** "full": the object takes nothing more, and the writer goes on with the next one of the shard. */
export type AppendAnswer = "stored" | "full";

export function mentionOf(kind: MentionKind, value: string): string {
  return `${kind}:${value}`;
}

/** Its roles are the only ones whose names are compared exactly. */
const TOKEN_MOUNT = "auth/token/";

/** The mention of a role. Names that differ only in case have one mention, so another spelling hides no change. */
export function mentionOfRole(mount: string, role: string): string {
  return mentionOf("role", `${mount} ${mount === TOKEN_MOUNT ? role : nameKey(role)}`);
}
