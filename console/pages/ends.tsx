import { useMemo } from "preact/hooks";
import type { TokenSummary } from "../../client/answers.d.ts";
import { barsOf } from "../ends/bars-of-span.ts";
import { endSums, groupsText, hoursInBars, partsOfBar } from "../ends/ending-groups.ts";
import { EndsTable } from "../ends/ends-table.tsx";
import { readEnds } from "../ends/read-ends.ts";
import { TeamEnds } from "../ends/team-ends.tsx";
import { filterOfSpan, HOUR, iso, RANGES, type Range, rangeOf, spanOf } from "../ends/time-span.ts";
import { keptHues, OTHER_HUE } from "../forest/category-hues.ts";
import { count } from "../format.ts";
import { href } from "../href.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { GroupChoice } from "../tokens/group-choice.tsx";
import { type GroupBy, groupingOf, isGrouping } from "../tokens/grouping.ts";
import { listTokens } from "../tokens/token-api.ts";
import {
  Bars,
  Card,
  Empty,
  Figures,
  Loading,
  PageHead,
  ProblemNotice,
  Segments,
  UnknownValues,
  unknownIn,
  useLoad,
  useNow,
} from "../ui/index.ts";

/** Number of tokens from which the metadata keys of the grouping are collected. */
const SOME = 100;
/** Groups that have a colour of their own. */
const HUES = 7;

/** Numbers of ending tokens by time and group. A bar links to its tokens; range and grouping are parameters of the page. */
export function EndsPage({ query }: { readonly query: URLSearchParams }) {
  const { api } = useSession();
  const range = rangeOf(query.get("range"));
  const by = groupingOf(query.get("by"), "name");
  const unknown = unknownIn(query, { range: RANGES.map(([name]) => name), by: isGrouping });
  const show = (change: { readonly range?: Range; readonly by?: GroupBy }): void =>
    go(href(["ends"], { range, by, ...change }), "replace");
  const summary = useLoad("ends", () => api.read<TokenSummary>("sys/tokens/summary", { group_by: "end_hour" }));
  const now = useNow(60_000);
  const hour = Math.floor(now / HOUR);
  const span = useMemo(() => spanOf(range, hour * HOUR), [range, hour]);
  const filter = filterOfSpan(span.from, span.until);
  const ends = useLoad(JSON.stringify([span.from, span.until, by]), () => readEnds(api, span, by));
  const groups = ends.value?.groups ?? [];
  const hues = keptHues(
    `ends ${by}`,
    groups.map(({ key }) => key),
    HUES,
  );
  const hueOf = (group: string): string => hues.get(group) ?? OTHER_HUE;
  // The metadata keys that can be chosen are those of some tokens that end soon.
  const some = useLoad(JSON.stringify(filter), () => listTokens(api, { ...filter, limit: SOME }));
  const keys = useMemo(
    () => [...new Set((some.value?.tokens ?? []).flatMap(({ metadata }) => Object.keys(metadata)))],
    [some.value],
  );

  const counts = summary.value?.groups ?? [];
  const isOfSpan = ends.value?.parts.length === span.bars;
  const inBars = ends.value && isOfSpan ? ends.value.parts : hoursInBars(span, counts);
  const sums = endSums(span, summary.value ?? { groups: [], total: 0 });
  const data = barsOf(span, range, inBars, (at) =>
    ends.value && isOfSpan ? partsOfBar(ends.value, at, hueOf, OTHER_HUE) : [],
  );

  return (
    <>
      <PageHead title="What ends when">
        <Segments legend="Time" options={RANGES} value={range} onChange={(next) => show({ range: next })} />
        <GroupChoice by={by} keys={keys} onChange={(next) => show({ by: next })} />
      </PageHead>
      <UnknownValues names={unknown} />
      <div class="stack">
        <Loading of={summary} />
        {summary.value && (
          <>
            <Figures
              rows={{
                ...(sums.before > 0 && {
                  "End before": listed(count(sums.before), { ends_before: iso(span.from), sort: "end" }),
                }),
                "End in this time": listed(count(sums.within), { ...filter, sort: "end" }),
                "End later": listed(count(sums.later), {
                  ends_after: iso(span.until - 1),
                  never_ends: "false",
                  sort: "end",
                }),
                "Never end": listed(count(sums.never), { never_ends: "true" }),
                All: listed(count(sums.all), {}),
              }}
            />
            <Card
              title="Tokens by the time they end"
              beside={<span class="muted">{span.barText}, and leads to its tokens</span>}
              body
            >
              {sums.all === 0 ? (
                <Empty title="No tokens yet">
                  <a class="button primary" href={href(["new-token"])}>
                    New token
                  </a>
                </Empty>
              ) : (
                <Bars bars={data} />
              )}
            </Card>
          </>
        )}
        {!summary.problem && ends.problem && <ProblemNotice problem={ends.problem} onRetry={ends.reload} />}
        {ends.value && isOfSpan && ends.value.total > 0 && (
          <Card
            title={
              <>
                Whose end <span class="muted number">{groupsText(groups.length)}</span>
              </>
            }
            beside={
              <span class="muted">
                every token in the list is counted{by === "policy" && ", once for each of its policies"}: batch tokens
                and tokens of teams are in no list
              </span>
            }
          >
            <EndsTable ends={ends.value} span={span} by={by} filter={{ ...filter, sort: "end" }} hueOf={hueOf} />
          </Card>
        )}
        <TeamEnds span={span} />
      </div>
    </>
  );
}

/** A number that links to its tokens. */
const listed = (value: string, filter: Readonly<Record<string, string>>) => (
  <a href={href(["tokens"], filter)}>{value}</a>
);
