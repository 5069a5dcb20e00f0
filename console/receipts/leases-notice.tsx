import { counted } from "../format.ts";
import { LeaseFailures } from "../leases/failures.tsx";
import type { Amount } from "../tokens/amount.ts";
import { Notice } from "../ui/index.ts";
import { allEndedText, leaseSums, leaseText } from "./lease-sums.ts";
import type { Unrevoked } from "./whole-receipt.ts";

interface LeasesNoticeProps {
  /** Leases of the tokens, as counted before they ended. */
  readonly before: Amount;
  readonly unrevoked: Unrevoked;
  /** The tokens that the check has found ended, and whether these are all: of others no lease is known. */
  readonly ended: number;
  readonly isWhole: boolean;
  /** Called after another attempt. */
  readonly onTried: () => void;
}

/** How many leases are revoked, and why the others are not. Renders nothing without leases. */
export function LeasesNotice({ before, unrevoked, ended, isWhole, onTried }: LeasesNoticeProps) {
  const { waiting, failing, removed, more, failures } = unrevoked;
  const left = waiting + failing;
  if (left + removed === 0 && !more) {
    if (before.count === 0) return null;
    if (isWhole) return <Notice tone="good" title={allEndedText(before)} />;
    const known = ended === 0 ? "" : `all of ${counted(ended, "token")} have ended; `;
    return <Notice tone="warn" title={`Leases: ${known}those of the tokens that were not checked are not known`} />;
  }
  return (
    <Notice tone={failing > 0 ? "bad" : "warn"} title={leaseText(leaseSums(before, unrevoked, isWhole))}>
      {(left > 0 || more) && (
        <p>
          The secrets of {counted(left, "lease")} can still be used: their targets have not accepted the revocation.
        </p>
      )}
      {removed > 0 && (
        <p>
          No revocation is sent for a lease that was removed by force: its secret stays valid until its target revokes
          it.
        </p>
      )}
      <LeaseFailures failures={failures} onTried={onTried} />
    </Notice>
  );
}
