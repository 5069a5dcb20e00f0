import { count } from "../format.ts";
import { type Amount, amountText } from "../tokens/amount.ts";
import type { Unrevoked } from "./whole-receipt.ts";

/** Numbers of the leases of ended tokens, by state. */
interface LeaseSums {
  /** All leases of the tokens, as counted before the end. */
  readonly all: number;
  /** Leases whose targets have accepted the revocation; null when not all leases were counted, or not all tokens checked. */
  readonly ended: number | null;
  readonly waiting: number;
  readonly failing: number;
  /** Leases that were removed by force, although their targets did not accept the revocation. */
  readonly removed: number;
}

/**
 * The numbers of leases by state. `ended` and the others sum to `all`.
 *
 * @param isWhole true when all of the tokens were found ended.
 */
export function leaseSums(before: Amount, { waiting, failing, removed, more }: Unrevoked, isWhole: boolean): LeaseSums {
  const left = waiting + failing + removed;
  // A token can have got a lease between the count and its end.
  const all = Math.max(before.count, left);
  return { all, ended: !isWhole || before.more || more ? null : all - left, waiting, failing, removed };
}

/** The leases of tokens, when none is left. */
export const allEndedText = (leases: Amount): string =>
  leases.count === 1 && !leases.more ? "The only lease has ended" : `Leases: all ${amountText(leases)} have ended`;

/** `1 removed without its target's answer`. */
const removedText = (removed: number): string =>
  `${count(removed)} removed without ${removed === 1 ? "its target's answer" : "their targets' answers"}`;

/** `Leases: 2 in all: 0 ended, 0 waiting, 2 failing`. */
export function leaseText({ all, ended, waiting, failing, removed }: LeaseSums): string {
  const forced = removed === 0 ? "" : `, ${removedText(removed)}`;
  const rest = `${count(waiting)} waiting, ${count(failing)} failing${forced}`;
  return ended === null
    ? `Leases: ${count(all)} or more: ${rest}, of the others it is not known`
    : `Leases: ${count(all)} in all: ${count(ended)} ended, ${rest}`;
}
