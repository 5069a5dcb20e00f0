import { useEffect, useState } from "preact/hooks";
import type { EndedCheck, Receipt } from "../../client/answers.d.ts";
import { RequestLink } from "../audit/links.tsx";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { selectionText } from "../tokens/filter.ts";
import { AskedBy } from "../tokens/links.tsx";
import { amountText } from "../tokens/model.ts";
import { groupsText, type Preview } from "../tokens/numbers.ts";
import { Card, download, Facts, Notice, ProblemNotice, Time } from "../ui/index.ts";
import { LeasesNotice } from "./leases-notice.tsx";
import { readReceipt, verifyEnded } from "./read.ts";
import { useWalk } from "./use-walk.ts";
import { wholeCheck, wholeReceipt } from "./whole.ts";

const GROUPS = [
  ["owner", "By owner"],
  ["type", "By type"],
  ["role", "By role"],
  ["mount", "By method"],
] as const;

interface ReceiptCardProps {
  readonly receipt: Receipt;
  /** The count before the revocation; null when unknown. */
  readonly preview: Preview | null;
}

/** The receipt of a revocation: who, when, filter and numbers, with export and a repeated check. */
export function ReceiptCard({ receipt, preview }: ReceiptCardProps) {
  const { api } = useSession();
  const { job, asked_by: by, numbers } = receipt;
  const file = useWalk(
    (progress) => wholeReceipt((after) => readReceipt(api, job, after), progress),
    (whole) => download(`receipt-${job}.json`, "application/json", `${JSON.stringify(whole, null, 2)}\n`),
  );
  const groups = GROUPS.flatMap(([name, label]) => {
    const text = preview && groupsText(preview.by[name], preview.total);
    return text ? [[label, text] as const] : [];
  });
  const rows = {
    "Asked by": <AskedBy by={by} />,
    Request: receipt.request_id !== "" && <RequestLink id={receipt.request_id} />,
    Began: <Time at={receipt.started} both />,
    "Came to its end": receipt.finished ? <Time at={receipt.finished} both /> : "not yet",
    Filter: selectionText(receipt.filter),
    Matched: counted(numbers.matched, "token"),
    "Ended in all": counted(numbers.total, "token"),
    "Leases asked to end": amountText(numbers.leases),
    ...Object.fromEntries(groups),
    Tokens: (
      <>
        <a href={href(["ended"], { job })}>{counted(numbers.total, "accessor")}</a>
        {!receipt.complete && ", not all of them named: they are swept still, or their ends are kept no longer"}
      </>
    ),
  };
  return (
    <Card
      title="What ended"
      beside={
        <button type="button" class="button slim" aria-disabled={file.read !== null} onClick={file.start}>
          {file.read === null ? "Export JSON" : `Reading… ${count(file.read)} of ${count(numbers.total)}`}
        </button>
      }
    >
      {file.problem && <ProblemNotice problem={file.problem} />}
      <Facts body rows={rows} />
      {numbers.total > 0 && <CheckAgain job={job} numbers={numbers} />}
    </Card>
  );
}

/** Asks the server again whether all of them are refused. Where leases had to end, it asks at once. */
function CheckAgain({
  job,
  numbers: { total, leases },
}: {
  readonly job: string;
  readonly numbers: Receipt["numbers"];
}) {
  const { api } = useSession();
  const [checked, setChecked] = useState<EndedCheck | null>(null);
  const walk = useWalk((progress) => wholeCheck((after) => verifyEnded(api, job, after), progress), setChecked);
  useEffect(() => {
    if (leases.count > 0) walk.start();
  }, [job]);
  return (
    <div class="body stack tight">
      <div class="row">
        <button type="button" class="button" aria-disabled={walk.read !== null} onClick={walk.start}>
          {walk.read === null ? "Check again" : `Checking… ${count(walk.read)} of ${count(total)}`}
        </button>
        <span class="muted">asks the tree of each token whether it is refused, and its leases revoked</span>
      </div>
      {checked && <CheckNotice checked={checked} total={total} />}
      {checked && <LeasesNotice asked={leases} unrevoked={checked.unrevoked_leases} onTried={walk.start} />}
      {walk.problem && <ProblemNotice problem={walk.problem} />}
    </div>
  );
}

/** Most accessors of usable tokens that are shown. */
const SHOWN_ALIVE = 20;

function CheckNotice({
  checked: { checked, ended, alive, next },
  total,
}: {
  readonly checked: EndedCheck;
  readonly total: number;
}) {
  if (alive.length > 0) {
    return (
      <Notice tone="bad" title={`${counted(alive.length, "token")} of ${count(checked)} can be used`}>
        {alive.slice(0, SHOWN_ALIVE).map((accessor) => (
          <p key={accessor}>
            <a class="mono" href={href(["tokens", accessor])}>
              {accessor}
            </a>
          </p>
        ))}
      </Notice>
    );
  }
  if (ended >= total)
    return <Notice tone="good" title={`All of these are refused: ${count(ended)} of ${count(total)}`} />;
  return (
    <Notice tone="warn" title={`${count(ended)} of ${count(total)} are refused; the others were not checked`}>
      {next === ""
        ? "They are not named any more, or not yet."
        : "This page checks so many at once; sys/tokens/verify-ended goes on."}
    </Notice>
  );
}
