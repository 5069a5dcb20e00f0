import { counted } from "../format.ts";
import { type Amount, amountText, type Token } from "./model.ts";

/** A group of tokens and how many there are. */
export interface Group {
  readonly key: string;
  readonly count: number;
}

/** What a bulk revocation would end. */
export interface Preview {
  /** Tokens that match. */
  readonly count: number;
  /** They and everything below them, each once. */
  readonly total: number;
  /** Never: a count is exact. */
  readonly more: boolean;
  readonly leases: Amount;
  /** Of the total, the greatest groups first. */
  readonly by: Readonly<Record<"mount" | "type" | "role" | "owner", readonly Group[]>>;
  readonly skipped: { readonly root: number; readonly self: number };
  /** Some of those that match; absent when a job had to count them. */
  readonly sample?: readonly Token[];
}

export interface Job {
  readonly id: string;
  readonly state: "counting" | "counted" | "refused" | "running" | "done" | "stopped" | "failed";
  /** Tokens counted so far. */
  readonly counted: number;
  /** Absent while it counts. */
  readonly preview?: Preview;
  /** Tokens that matched when it began; null while it counts. */
  readonly matched: number | null;
  /** Ended by it: tokens that matched, and everything below them. */
  readonly total: number;
  /** Of those that matched. */
  readonly revoked: number;
  /** Counted tokens that had ended before the job reached them. */
  readonly ended_before: number;
  /** Tokens that the list shows for the filter and whose trees disagree. */
  readonly mismatched: number;
  readonly remaining: number | null;
  /** When it came to its end; null while its numbers may grow. */
  readonly finished: string | null;
  readonly failures: readonly unknown[];
}

/** Most groups in one line. */
const NAMED = 5;

/** `38 tokens match; 1,168 end in all.` */
export const endsText = ({ count, total }: Pick<Preview, "count" | "total">): string =>
  `${counted(count, "token")} ${count === 1 ? "matches" : "match"}; ${counted(total, "token")} ${total === 1 ? "ends" : "end"} in all, with everything below.`;

/** `1,100 payments, 68 none and 12 others`: the greatest groups of the total. Null when there is only one group, without a name. */
export function groupsText(groups: readonly Group[], total: number): string | null {
  if (groups.every(({ key }) => key === "")) return null;
  const named = groups.slice(0, NAMED);
  const rest = total - named.reduce((sum, { count }) => sum + count, 0);
  const parts = named.map(({ key, count }) => `${amountText({ count, more: false })} ${key === "" ? "without" : key}`);
  return [...parts, ...(rest > 0 ? [counted(rest, "other")] : [])].join(", ");
}

/** The progress or result of a revocation: `1,168 of 1,168 tokens ended: 38 that matched, with everything below`. */
export function jobText({ state, total, preview, counted: soFar, matched }: Job): string {
  if (state === "counting") return `Counting: ${counted(soFar, "token")} so far`;
  const of = preview ? ` of ${counted(preview.total, "token")}` : "";
  return `${amountText({ count: total, more: false })}${of} ended: ${matched ?? 0} that matched, with everything below`;
}

/** True for a stopped job that still finishes its step. */
export const isStopping = ({ state, finished }: Pick<Job, "state" | "finished">): boolean =>
  state === "stopped" && finished === null;

/** True while the numbers of a job may grow. */
export const isUnderWay = ({ finished }: Pick<Job, "finished">): boolean => finished === null;

/** The progress of a revocation (percent). */
export const percentOf = ({ total, preview }: Job): number =>
  preview && preview.total > 0 ? Math.min(100, (100 * total) / preview.total) : 0;
