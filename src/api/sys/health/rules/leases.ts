import type { RetriedLeases } from "../failing-leases.ts";
import { attention, type Finding, failing, good, unknown } from "../finding.ts";

/**
 * @param irrevocable leases that were given up.
 * @param leases those that ended lately, whose targets have refused an attempt; `looked`: ended tokens looked at.
 */
export function judgeLeases(irrevocable: number, leases: RetriedLeases): Finding {
  const { retried, looked, more } = leases;
  const link = "docs/runbook.md#leases-are-not-revoked";
  const number = more ? `at least ${retried}` : `${retried}`;
  const waiting = `${number} that ended are not accepted by their targets, and tried again`;
  if (irrevocable > 0) {
    return failing(
      `${irrevocable} can't be revoked: their secrets can still be used${retried > 0 ? `; ${waiting}` : ""}`,
      "See the error of each (grove leases); once their service answers, send them again (grove leases --retry).",
      link,
    );
  }
  if (retried > 0) {
    return attention(
      `${waiting}: their secrets can still be used`,
      "See the error of each (grove leases), and whether its service answers: it is tried again for some minutes.",
      link,
    );
  }
  if (more) {
    return unknown(
      `none is irrevocable; ${looked} of the tokens that ended lately were looked at; more ended, or have more leases`,
      "The receipt of a revocation checks the leases of all its tokens.",
      link,
    );
  }
  return good("none is irrevocable, and none that ended lately fails");
}
