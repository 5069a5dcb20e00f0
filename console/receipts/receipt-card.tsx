import type { Receipt } from "../../client/answers.d.ts";
import { RequestLink } from "../audit/links.tsx";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { entitiesOf, onlyAccessor, selectionText } from "../tokens/filter.ts";
import { LeftInside } from "../tokens/inside-notice.tsx";
import { AskedBy, ParentLink } from "../tokens/links.tsx";
import { entitiesIn, groupRows, type Preview } from "../tokens/revocation-preview.ts";
import { WaysBackNotice } from "../tokens/ways-back-notice.tsx";
import { Card, downloadJson, Facts, ProblemNotice, Time } from "../ui/index.ts";
import { useEntityNames } from "../use-names.ts";
import { CheckAgain, MOST_BY_ITSELF } from "./check-again.tsx";
import { EndOrphans } from "./end-orphans.tsx";
import { ExportButton } from "./export-button.tsx";
import type { LeaseCheck } from "./lease-headline.ts";
import { NotEndedNotice } from "./not-ended-notice.tsx";
import { MOST_MAKERS, orphansOfTokens } from "./orphans-made.ts";
import { OrphansNotice } from "./orphans-notice.tsx";
import { readReceipt, verifyEnded } from "./read-receipt.ts";
import { useAllPages } from "./use-all-pages.ts";
import { wholeReceipt } from "./whole-receipt.ts";

interface ReceiptCardProps {
  readonly receipt: Receipt;
  /** The count before the revocation; null when unknown. */
  readonly preview: Preview | null;
  /** Called with the answers of the trees, and when there is none. */
  readonly onCheck: (check: LeaseCheck) => void;
}

/** The receipt of a revocation: who, when, filter and numbers, with export and a repeated check. */
export function ReceiptCard({ receipt, preview, onCheck }: ReceiptCardProps) {
  const { api } = useSession();
  const { job, asked_by: by, numbers } = receipt;
  const file = useAllPages(
    (progress) => wholeReceipt((after) => readReceipt(api, job, after), progress),
    (whole) => downloadJson(`receipt-${job}.json`, whole),
  );
  const orphans = async () => {
    const named = await readReceipt(api, job, "", MOST_MAKERS);
    return named.ok ? orphansOfTokens(api, named.value.accessors) : named;
  };
  const owners = useEntityNames([...(preview ? entitiesIn(preview) : []), ...entitiesOf([receipt.filter])]);
  const only = onlyAccessor(receipt.filter);
  const rows = {
    "Asked by": <AskedBy by={by} />,
    Request: receipt.request_id !== "" && <RequestLink id={receipt.request_id} />,
    Began: <Time at={receipt.started} both />,
    "Came to its end": receipt.finished ? <Time at={receipt.finished} both /> : "not yet",
    Filter: only === "" ? selectionText(receipt.filter, 0, owners) : <ParentLink parent={only} />,
    Matched: counted(numbers.matched, "token"),
    "Ended in all": counted(numbers.total, "token"),
    "Leases that they had": amountText(numbers.leases),
    ...(preview && groupRows(preview, owners)),
    Tokens: (
      <>
        <a href={href(["ended"], { job })}>{counted(numbers.total, "accessor")}</a>
        {!receipt.complete && ", not all of them named: they are swept still, or their ends are kept no longer"}
      </>
    ),
  };
  return (
    <Card title="What ended" beside={<ExportButton walk={file} total={numbers.total} />}>
      {file.problem && <ProblemNotice problem={file.problem} />}
      {numbers.total + numbers.not_ended > 0 && (
        <CheckAgain
          // Rendered anew when the sweep has recorded more, which is checked too.
          key={`${job} ${receipt.complete === true}`}
          total={numbers.total}
          leases={numbers.leases}
          hasOthers={receipt.state !== "done"}
          ask={(after) => verifyEnded(api, { job }, after)}
          onChecked={onCheck}
          onNone={onCheck}
          first={numbers.total <= MOST_BY_ITSELF ? "once" : "never"}
        />
      )}
      {numbers.not_ended > 0 && (
        <div class="body">
          <NotEndedNotice receipt={receipt} />
        </div>
      )}
      <Facts body rows={rows} />
      <div class="body stack tight">
        {numbers.total > 0 && (
          <OrphansNotice
            of={`${job} ${receipt.complete === true}`}
            ask={numbers.total <= MOST_MAKERS ? orphans : null}
            action={(accessors) => <EndOrphans accessors={accessors} />}
          />
        )}
        {onlyAccessor(receipt.filter) !== "" && <LeftInside accessor={onlyAccessor(receipt.filter)} />}
        <WaysBackNotice filter={receipt.filter} preview={preview} />
      </div>
    </Card>
  );
}
