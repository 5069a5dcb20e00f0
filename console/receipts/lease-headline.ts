import type { EndedCheck } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import { leasesLeftText } from "../leases/lease-text.ts";
import { type Amount, amountText } from "../tokens/amount.ts";

/** The last answers of the trees about the ended tokens, or why there is none. */
export type LeaseCheck = EndedCheck | "checking" | "failed" | "not asked";

/** What is known of the leases of a revocation that came to its end. */
export interface LeaseHeadline {
  /** "good" only when nothing is left to do: without leases, or when all of them are known to have ended. */
  readonly tone: "good" | "open" | "bad";
  readonly text: string;
}

export const BEING_CHECKED: LeaseHeadline = { tone: "open", text: "Their leases: being checked…" };
export const NOT_KNOWN: LeaseHeadline = { tone: "bad", text: "Their leases are not known: check again." };

/** The sentence about leases that follows the number of tokens that ended. @param total tokens that ended. */
export function leaseHeadline(leases: Amount, total: number, check: LeaseCheck): LeaseHeadline {
  const left = typeof check === "object" ? leasesLeftText(check.unrevoked_leases) : "";
  if (left !== "") return { tone: "bad", text: `But ${left}.` };
  if (leases.count === 0 && !leases.more) return { tone: "good", text: "Done." };
  if (check === "failed") return NOT_KNOWN;
  const theirs = `Their ${amountText(leases)} ${leases.count === 1 && !leases.more ? "lease" : "leases"}`;
  if (check === "checking") return { tone: "open", text: `${theirs}: being checked…` };
  if (check === "not asked") return { tone: "open", text: `${theirs}: not checked yet.` };
  if (check.ended >= total && check.next === "") return { tone: "good", text: "Done." };
  return {
    tone: "bad",
    text: `${theirs}: only those of ${count(check.ended)} of ${count(total)} tokens were checked.`,
  };
}
