import { useState } from "preact/hooks";
import { compact, count, counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { Bars } from "../ui/bars.tsx";
import { Empty, Segments } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { useNow } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Span = "day" | "week" | "month";

/** How far the histogram looks, and how much time one bar is. */
const SPANS: Readonly<Record<Span, { readonly bars: number; readonly step: number }>> = {
  day: { bars: 24, step: HOUR },
  week: { bars: 28, step: 6 * HOUR },
  month: { bars: 30, step: DAY },
};

const SPAN_NAMES: readonly (readonly [Span, string])[] = [
  ["day", "24 hours"],
  ["week", "7 days"],
  ["month", "30 days"],
];

export interface Summary {
  readonly groups: readonly { readonly key: string; readonly count: number }[];
  readonly total: number;
  readonly other?: number;
}

const BAR_TIME = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "numeric",
});
const BAR_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const BAR_HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** How many tokens end when. A bar leads to the tokens in it. */
export function EndsPage() {
  const { api } = useSession();
  const [span, setSpan] = useState<Span>("day");
  const summary = useLoad("ends", () => api.read<Summary>("sys/tokens/summary", { group_by: "end_hour" }));
  const now = useNow(60_000);
  const { bars, step } = SPANS[span];
  const from = Math.floor(now / HOUR) * HOUR;
  const until = from + bars * step;
  const groups = summary.value?.groups ?? [];
  const never = groups.find(({ key }) => key === "never")?.count ?? 0;
  const inSpan = new Array<number>(bars).fill(0);
  for (const { key, count: tokens } of groups) {
    const at = Math.floor((Date.parse(key) - from) / step);
    if (at >= 0 && at < bars) inSpan[at] = (inSpan[at] ?? 0) + tokens;
  }
  const ending = inSpan.reduce((sum, one) => sum + one, 0);
  const total = summary.value?.total ?? 0;

  const data = inSpan.map((tokens, at) => {
    const start = new Date(from + at * step);
    const end = new Date(from + (at + 1) * step);
    return {
      key: start.toISOString(),
      value: tokens,
      // A line of text under every few bars.
      label: at % Math.ceil(bars / 8) === 0 ? (span === "day" ? BAR_HOUR : BAR_DAY).format(start) : "",
      text: `${counted(tokens, "token")} ${tokens === 1 ? "ends" : "end"} between ${BAR_TIME.format(start)} and ${BAR_TIME.format(end)}`,
      // The API means times after and before, not the moments themselves.
      href: href(["tokens"], {
        ends_after: new Date(start.getTime() - 1).toISOString(),
        ends_before: end.toISOString(),
        sort: "end",
      }),
    };
  });

  return (
    <>
      <PageHead title="What ends when">
        <Segments legend="Time" options={SPAN_NAMES} value={span} onChange={setSpan} />
      </PageHead>
      <div class="stack">
        {summary.problem && <ProblemNotice problem={summary.problem} onRetry={summary.reload} />}
        {summary.value && (
          <>
            <dl class="figures">
              <div>
                <dt>End in this time</dt>
                <dd>{count(ending)}</dd>
              </div>
              <div>
                <dt>End later</dt>
                <dd>
                  <a
                    href={href(["tokens"], {
                      ends_after: new Date(until).toISOString(),
                      never_ends: "false",
                      sort: "end",
                    })}
                  >
                    {compact(Math.max(0, total - never - ending))}
                  </a>
                </dd>
              </div>
              <div>
                <dt>Never end</dt>
                <dd>
                  <a href={href(["tokens"], { never_ends: "true" })}>{compact(never)}</a>
                </dd>
              </div>
              <div>
                <dt>All</dt>
                <dd>{compact(total)}</dd>
              </div>
            </dl>
            <section class="card" aria-labelledby="ends-title">
              <header>
                <h2 id="ends-title">Tokens by the time they end</h2>
                <span class="muted">A bar shows its tokens</span>
              </header>
              <div class="body">
                {total === 0 ? (
                  <Empty title="No tokens yet">
                    <a class="button primary" href={href(["new-token"])}>
                      New token
                    </a>
                  </Empty>
                ) : (
                  <Bars bars={data} />
                )}
              </div>
            </section>
          </>
        )}
      </div>
    </>
  );
}
