import { useState } from "preact/hooks";
import type { EndedCheck } from "../../client/answers.d.ts";
import { RequestLink } from "../audit/links.tsx";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { amountText } from "../tokens/amount.ts";
import { AskedBy } from "../tokens/links.tsx";
import { Facts, Time } from "../ui/index.ts";
import { CheckAgain } from "./check-again.tsx";
import type { CountedBefore } from "./counted-before.ts";
import { cleaningText, endedText, isCutOff } from "./ended-text.ts";
import { checkAccessors, verifyRequest } from "./read-receipt.ts";
import { isCleaningUp, type KnownRevocation } from "./read-revocation.ts";

interface RevocationReceiptProps {
  readonly own: KnownRevocation;
  /** What was counted before; null when the tokens were not ended on this page. */
  readonly before: CountedBefore | null;
  /** The label of the tokens that were counted, without those below them. */
  readonly label: string;
}

/** Who ended all tokens of an entity or a path, how many, the progress of the clean-up, and what the trees answer. */
export function RevocationReceipt({ own, before, label }: RevocationReceiptProps) {
  const { api } = useSession();
  const [check, setCheck] = useState<EndedCheck | null>(null);
  const { asked_by: by, request_id: request, time, created_before: cutOff, answered } = own;
  const preview = before?.preview ?? null;
  const goesOn = isCleaningUp(own);
  const accessors = before?.accessors ?? [];
  // Tidy records ended tokens as it removes them from the map. Until then this page uses its own count.
  const isCounted = goesOn && accessors.length > 0;
  return (
    <>
      <Facts
        body
        live
        rows={{
          "Asked by": <AskedBy by={by} />,
          Request: request !== "" && <RequestLink id={request} />,
          When: <Time at={answered ?? time} both />,
          "Refuses tokens issued before": cutOff !== null && isCutOff(cutOff, time) && <Time at={cutOff} both />,
          [label]: preview && counted(preview.count, "token"),
          "Ended in all": endedText(isCounted ? null : check, preview, goesOn),
          "Leases that they had": preview && amountText(preview.leases),
          "Clean-up": cleaningText(own, goesOn),
          Tokens: request !== "" && (
            <a href={href(["ended"], { request_id: request })}>{goesOn ? "those recorded so far" : "all that ended"}</a>
          ),
        }}
      />
      {request !== "" && preview?.total !== 0 && (
        <CheckAgain
          // Rendered anew when tidy has recorded more, which is checked too.
          key={`${isCounted} ${goesOn} ${own.clean_up}`}
          total={isCounted ? accessors.length : goesOn ? 0 : (preview?.total ?? 0)}
          isLeast={!isCounted && (goesOn || preview === null)}
          goesOn={goesOn}
          leases={preview?.leases ?? { count: 0, more: false }}
          ask={(after) => (isCounted ? checkAccessors(api, accessors) : verifyRequest(api, request, after))}
          onChecked={setCheck}
          first="once"
        />
      )}
    </>
  );
}
