import { useEffect, useState } from "preact/hooks";
import type { RevocationJob } from "../../client/answers.d.ts";
import {
  BEING_CHECKED,
  type LeaseCheck,
  type LeaseHeadline,
  leaseHeadline,
  NOT_KNOWN,
} from "../receipts/lease-headline.ts";
import { readReceipt } from "../receipts/read-receipt.ts";
import { ReceiptCard } from "../receipts/receipt-card.tsx";
import { useSession } from "../session.ts";
import { jobSelectionText, onlyAccessor } from "../tokens/filter.ts";
import { JobProgress } from "../tokens/job-progress.tsx";
import { isUnderWay } from "../tokens/revocation-preview.ts";
import { useJobNames } from "../tokens/use-job-names.ts";
import { PageHead, ProblemNotice, useLoad } from "../ui/index.ts";

/** Interval of checks of the sweep, and time after which they stop (ms). */
const SWEEP_MS = 1_000;
const WAIT_MS = 60_000;

/** A bulk revocation: its progress, and then its receipt. */
export function ReceiptPage({ id }: { readonly id: string }) {
  const [job, setJob] = useState<RevocationJob | null>(null);
  const [leases, setLeases] = useState(BEING_CHECKED);
  const { names, tokenName } = useJobNames(job);
  const heading = onlyAccessor(job?.filter ?? {}) === "" ? "Revocation:" : "Revocation of";
  const ended = job && !isUnderWay(job) ? job : null;
  return (
    <>
      <PageHead
        title={job ? `${heading} ${jobSelectionText(job, names, tokenName)}` : "Revocation"}
        text={<code class="break">{id}</code>}
      />
      <div class="stack">
        <section class="card" aria-label="Progress">
          <div class="body">
            <JobProgress id={id} onRead={setJob} leases={leases} />
          </div>
        </section>
        {ended && <Ended job={ended} onLeases={setLeases} />}
      </div>
    </>
  );
}

interface EndedProps {
  readonly job: RevocationJob;
  /** Called with what is known of the leases. */
  readonly onLeases: (known: LeaseHeadline) => void;
}

function Ended({ job: { id, preview }, onLeases }: EndedProps) {
  const { api } = useSession();
  // Numbers only: the accessors are read when the user asks for them.
  const receipt = useLoad(id, () => readReceipt(api, id, "", 1));
  const { reload, value, problem } = receipt;
  const [check, setCheck] = useState<LeaseCheck>("checking");
  useEffect(() => {
    if (value) onLeases(leaseHeadline(value.numbers.leases, value.numbers.total, check));
    else onLeases(problem ? NOT_KNOWN : BEING_CHECKED);
  }, [value, problem, check]);
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
  return (
    receipt.value && (
      <ReceiptCard
        receipt={receipt.value}
        preview={preview ?? null}
        onCheck={(now) => setCheck((before) => (typeof now === "string" && typeof before === "object" ? before : now))}
      />
    )
  );
}
