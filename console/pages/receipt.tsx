import { useEffect, useState } from "preact/hooks";
import type { EndedCheck, RevocationJob } from "../../client/answers.d.ts";
import { leasesLeftText } from "../leases/lease-text.ts";
import { readReceipt } from "../receipts/read-receipt.ts";
import { ReceiptCard } from "../receipts/receipt-card.tsx";
import { useSession } from "../session.ts";
import { entitiesOf, selectionText } from "../tokens/filter.ts";
import { JobProgress } from "../tokens/job-progress.tsx";
import { isUnderWay } from "../tokens/revocation-preview.ts";
import { PageHead, ProblemNotice, useLoad } from "../ui/index.ts";
import { useEntityNames } from "../use-names.ts";

/** Interval of checks of the sweep, and time after which they stop (ms). */
const SWEEP_MS = 1_000;
const WAIT_MS = 60_000;

/** A bulk revocation: its progress, and then its receipt. */
export function ReceiptPage({ id }: { readonly id: string }) {
  const [job, setJob] = useState<RevocationJob | null>(null);
  const [left, setLeft] = useState("");
  const names = useEntityNames(entitiesOf(job ? [job.filter] : []));
  const ended = job && !isUnderWay(job) ? job : null;
  return (
    <>
      <PageHead
        title={job ? `Revocation: ${selectionText(job.filter, job.named, names)}` : "Revocation"}
        text={<code class="break">{id}</code>}
      />
      <div class="stack">
        <section class="card" aria-label="Progress">
          <div class="body">
            <JobProgress id={id} onRead={setJob} left={left} />
          </div>
        </section>
        {ended && <Ended job={ended} onChecked={(check) => setLeft(leasesLeftText(check.unrevoked_leases))} />}
      </div>
    </>
  );
}

interface EndedProps {
  readonly job: RevocationJob;
  readonly onChecked: (check: EndedCheck) => void;
}

function Ended({ job: { id, preview }, onChecked }: EndedProps) {
  const { api } = useSession();
  // Numbers only: the accessors are read when the user asks for them.
  const receipt = useLoad(id, () => readReceipt(api, id, "", 1));
  const { reload } = receipt;
  const isShort = receipt.value?.complete === false;
  // The sweep of a tree adds its ended tokens to the receipt.
  useEffect(() => {
    if (!isShort) return;
    const timer = window.setInterval(reload, SWEEP_MS);
    const limit = window.setTimeout(() => window.clearInterval(timer), WAIT_MS);
    return () => {
      window.clearInterval(timer);
      window.clearTimeout(limit);
    };
  }, [isShort, reload]);
  if (receipt.problem) return <ProblemNotice problem={receipt.problem} onRetry={receipt.reload} />;
  return receipt.value && <ReceiptCard receipt={receipt.value} preview={preview ?? null} onChecked={onChecked} />;
}
