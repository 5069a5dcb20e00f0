import type { RevocationJob } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { selectionText } from "../tokens/filter.ts";
import type { AuditEvent } from "./event.ts";

/** What an event says of a revocation of many tokens. */
export interface NotedRevocation {
  /** True when it was only counted what would end. */
  readonly isDry: boolean;
  /** The names of the fields that say which tokens were meant: the log has their values as hashes. */
  readonly fields: readonly string[];
  /** Of all that end; null where a job had to count them. */
  readonly total: number | null;
  /** Id of the job; "" where the count needed none, or nothing was begun. */
  readonly job: string;
}

/** Returns null for any other event. */
export function revocationOf({ revocation }: AuditEvent): NotedRevocation | null {
  if (!revocation) return null;
  const { dry_run: isDry, fields, total = null, job = "" } = revocation;
  return { isDry, fields, total, job };
}

/** Id of the job that has a receipt; "" where nothing was to end. */
export const receiptOf = (noted: NotedRevocation | null): string => (noted && !noted.isDry ? noted.job : "");

/** `Counted what would end: 320 tokens`, `Ended 320 tokens`. */
export function revocationText({ isDry, total }: NotedRevocation): string {
  if (isDry) return total === null ? "Counted what would end" : `Counted what would end: ${counted(total, "token")}`;
  return total === null ? "Began to end tokens" : `Ended ${counted(total, "token")}`;
}

type ListedJob = Pick<RevocationJob, "id" | "filter" | "named">;

/** Which tokens were meant: as the job has it, or else by which fields they were chosen. */
export function meantText({ job, fields }: NotedRevocation, jobs: readonly ListedJob[]): string {
  const listed = jobs.find(({ id }) => id === job);
  if (listed) return selectionText(listed.filter, listed.named);
  if (fields.includes("accessors")) return "selected tokens";
  return fields.length === 0 ? "" : `chosen by ${fields.map((name) => name.replaceAll("_", " ")).join(", ")}`;
}
