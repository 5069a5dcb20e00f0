import { counted } from "../format.ts";
import { href } from "../href.ts";
import { Accessor } from "../ui/accessor.tsx";
import { Notice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Time } from "../ui/time.tsx";
import { AskedBy, ParentLink } from "./links.tsx";
import { nameOf } from "./model.ts";
import type { EndedToken } from "./token-end.ts";
import { TokenFacts } from "./token-facts.tsx";

/** The page of a token that has ended: when, how, by whom, and what ended with it. */
export function EndedTokenPage({ token, ended }: EndedToken) {
  const { accessor } = token;
  const others = ended.with ?? 0;
  const together = ended.job === "" ? { cause: ended.cause } : { job: ended.job };
  return (
    <>
      <PageHead title={nameOf(token)} text={<Accessor value={accessor} whole />} />
      <div class="stack">
        <Notice tone="warn" title={`This token has ended: ${ended.how}`}>
          <Time at={ended.at} both />
        </Notice>
        <div class="columns">
          <section class="card" aria-labelledby="token-end">
            <header>
              <h2 id="token-end">Its end</h2>
            </header>
            <dl class="facts body">
              <dt>When</dt>
              <dd>
                <Time at={ended.at} both />
              </dd>
              <dt>How</dt>
              <dd>{ended.how}</dd>
              <dt>By</dt>
              <dd>
                <AskedBy by={ended.by} />
              </dd>
              {ended.cause !== accessor && (
                <>
                  <dt>Ended with</dt>
                  <dd>
                    <ParentLink parent={ended.cause} />
                  </dd>
                </>
              )}
              <dt>With it</dt>
              <dd>
                {others === 0 ? (
                  "no other token"
                ) : (
                  <a href={href(["ended"], together)}>{counted(others, "other token")}</a>
                )}
              </dd>
              {ended.job !== "" && (
                <>
                  <dt>Receipt</dt>
                  <dd>
                    <a href={href(["receipts", ended.job])}>of the revocation</a>
                  </dd>
                </>
              )}
              {ended.request_id !== "" && (
                <>
                  <dt>Request</dt>
                  <dd>
                    <code>{ended.request_id}</code>
                  </dd>
                </>
              )}
            </dl>
          </section>
          <section class="card" aria-labelledby="token-facts">
            <header>
              <h2 id="token-facts">What it was</h2>
            </header>
            <TokenFacts token={token} ended />
          </section>
        </div>
      </div>
    </>
  );
}
