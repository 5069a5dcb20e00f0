import type { RevocationJob } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { type EntityNamesById, jobSelectionText } from "../tokens/filter.ts";
import type { AuditEvent } from "./event.ts";

/** A bulk revocation in an event. */
export interface NotedRevocation {
  /** True for a dry run. */
  readonly isDry: boolean;
  /** The names of the fields that selected the tokens. The log has their values as hashes. */
  readonly fields: readonly string[];
  /** Number of tokens that end; null when a job had to count them. */
  readonly total: number | null;
  /** Id of the job; "" for a dry run without a job, or when nothing was started. */
  readonly job: string;
}

/** Returns null for any other event. */
export function revocationOf({ revocation }: AuditEvent): NotedRevocation | null {
  if (!revocation) return null;
  const { dry_run: isDry, fields, total = null, job = "" } = revocation;
  return { isDry, fields, total, job };
}

/** Id of the job that has a receipt; "" for a dry run, or when no token matched. */
export const receiptOf = (noted: NotedRevocation | null): string => (noted && !noted.isDry ? noted.job : "");

/** `Counted what would end: 320 tokens`, `Ended 320 tokens`. */
export function revocationText({ isDry, total }: NotedRevocation): string {
  if (isDry) return total === null ? "Counted what would end" : `Counted what would end: ${counted(total, "token")}`;
  return total === null ? "Began to end tokens" : `Ended ${counted(total, "token")}`;
}

type ListedJob = Pick<RevocationJob, "id" | "filter" | "named" | "total">;

/** The selected tokens in words: by the filter of the job, else by the names of the fields. */
export function meantText(
  { job, fields }: NotedRevocation,
  jobs: readonly ListedJob[],
  names: EntityNamesById = new Map(),
  tokenName = "",
): string {
  const listed = jobs.find(({ id }) => id === job);
  if (listed) return jobSelectionText(listed, names, tokenName);
  if (fields.includes("accessors")) return "selected tokens";
  return fields.length === 0 ? "" : `chosen by ${fields.map((name) => name.replaceAll("_", " ")).join(", ")}`;
}

/** Requests that end all tokens below a path, except the tuning of a method. */
const ENDS_BELOW = /^sys\/(?:(?:leases\/)?revoke-(?:prefix|force)\/|remount(?:$|\/))/;
const METHOD = /^sys\/(?:mounts\/)?auth\/.+/;

/** True when a request has ended all tokens of a path. Its receipt is found by its id. */
export function endsAllOfPath({ kind, path = "", operation, data }: AuditEvent): boolean {
  if (kind !== "change") return false;
  if (ENDS_BELOW.test(path)) return true;
  if (!METHOD.test(path)) return false;
  return path.endsWith("/tune") ? (data?.not_before ?? "") !== "" : operation === "delete";
}
