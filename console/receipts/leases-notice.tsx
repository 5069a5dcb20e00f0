import { count, counted } from "../format.ts";
import { LeaseFailures } from "../leases/failures.tsx";
import { type Amount, amountText } from "../tokens/model.ts";
import { Notice } from "../ui/index.ts";
import type { Unrevoked } from "./whole.ts";

interface LeasesNoticeProps {
  /** Leases that were to end, as counted before. */
  readonly asked: Amount;
  readonly unrevoked: Unrevoked;
  /** Called after another attempt. */
  readonly onTried: () => void;
}

/** Which leases the targets have accepted the end of, and why not the others. Renders nothing without leases. */
export function LeasesNotice({ asked, unrevoked: { waiting, failing, more, failures }, onTried }: LeasesNoticeProps) {
  const left = waiting + failing;
  if (left === 0 && !more) {
    return asked.count === 0 ? null : (
      <Notice tone="good" title={`Leases: ${amountText(asked)} asked, all of them ended`} />
    );
  }
  const known = !asked.more && !more;
  const ended = known ? `${count(Math.max(0, asked.count - left))} ended, ` : "";
  const rest = more ? "others not counted, " : "";
  return (
    <Notice
      tone={failing > 0 ? "bad" : "warn"}
      title={`Leases: ${amountText(asked)} asked, ${ended}${rest}${count(waiting)} waiting, ${count(failing)} failing`}
    >
      <p>The secrets of {counted(left, "lease")} can still be used: their targets have not accepted the revocation.</p>
      <LeaseFailures failures={failures} onTried={onTried} />
    </Notice>
  );
}
