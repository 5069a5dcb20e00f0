import type { EndedToken } from "../../client/answers.d.ts";
import { RequestLink } from "../audit/links.tsx";
import { TokenOrigin, TokenTimeline } from "../audit/token-timeline.tsx";
import { useEvents } from "../audit/use-events.ts";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { Accessor, Card, Facts, Notice, PageHead, Time } from "../ui/index.ts";
import { AskedBy, ParentLink } from "./links.tsx";
import { TokenFacts } from "./token-facts.tsx";
import { titleOf } from "./token-name.ts";

/** The page of a token that has ended: when, how, by whom, and what ended with it. */
export function EndedTokenPage({ token, ended }: EndedToken) {
  const { accessor } = token;
  const pages = useEvents({ accessor });
  const others = ended.with ?? 0;
  const together = ended.job === "" ? { cause: ended.cause } : { job: ended.job };
  return (
    <>
      <PageHead title={titleOf(token)} text={<Accessor value={accessor} whole />} />
      <div class="stack">
        <Notice tone="warn" title={`This token has ended: ${ended.how}`}>
          <Time at={ended.at} both />
        </Notice>
        <div class="columns">
          <div class="stack">
            <Card title="Its end">
              <Facts
                body
                rows={{
                  When: <Time at={ended.at} both />,
                  How: ended.how,
                  By: <AskedBy by={ended.by} />,
                  "Ended with": ended.cause !== accessor && <ParentLink parent={ended.cause} />,
                  // The sweep records them one by one, so 0 may mean that none is recorded yet.
                  "With it": others > 0 && <a href={href(["ended"], together)}>{counted(others, "other token")}</a>,
                  Receipt: ended.job !== "" && <a href={href(["receipts", ended.job])}>of the revocation</a>,
                  Request: ended.request_id !== "" && <RequestLink id={ended.request_id} />,
                }}
              />
            </Card>
            <TokenTimeline accessor={accessor} pages={pages} end={ended} />
          </div>
          <div class="stack">
            <Card title="What it was">
              <TokenFacts token={token} ended />
            </Card>
            <TokenOrigin accessor={accessor} pages={pages} />
          </div>
        </div>
      </div>
    </>
  );
}
