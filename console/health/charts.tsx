import { useEffect, useState } from "preact/hooks";
import { compact, duration } from "../format.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, type ChartPoint, LineChart, ProblemNotice, Segments } from "../ui/index.ts";
import { ms, perSecond } from "./chart-units.ts";
import { DayCharts } from "./day-charts.tsx";
import { latenciesOf, ratesOf, readMetrics, type Sample, sampleOf } from "./prometheus-text.ts";

const WAITING = "The line begins with the second reading, in three seconds.";
const POLL_MS = 3_000;
/** Number of samples that are kept: five minutes. */
const KEPT = 100;
const RESULTS = ["success", "refused", "failed"] as const;

/** Samples since the console was opened, kept while other pages are shown. */
let seen: readonly Sample[] = [];

const SPANS = [
  ["day", "Last day"],
  ["now", "Now"],
] as const;

/** Charts of the last day, or since this page was opened. */
export function Charts() {
  const [span, setSpan] = useState<"day" | "now">("day");
  return (
    <Card title="Traffic" beside={<Segments legend="Time" options={SPANS} value={span} onChange={setSpan} />}>
      {span === "day" ? <DayCharts /> : <LiveCharts />}
    </Card>
  );
}

/** The figures of `sys/metrics` since this page was opened. */
function LiveCharts() {
  const { api } = useSession();
  const [samples, setSamples] = useState(seen);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async (): Promise<void> => {
      const answer = await api.text("sys/metrics", { format: "prometheus" });
      if (gone) return;
      setProblem(answer.ok ? null : answer.problem);
      if (answer.ok) {
        seen = [...seen, sampleOf(readMetrics(answer.value), Date.now())].slice(-KEPT);
        setSamples(seen);
      }
      // A refusal by policies is final.
      if (answer.ok || answer.problem.status !== 403) timer = window.setTimeout(ask, POLL_MS);
    };
    ask();
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [api]);
  const last = samples.at(-1);
  if (problem) return <ProblemNotice problem={problem} />;
  if (!last) return <p class="body muted">Loading…</p>;
  const gauge = (of: (sample: Sample) => number | null): readonly ChartPoint[] =>
    samples.map((sample) => ({ at: sample.at, value: of(sample) }));
  return (
    <>
      <div class="charts">
        <LineChart
          waiting={WAITING}
          title="Requests"
          format={perSecond}
          lines={[
            { name: "all", points: ratesOf(samples, ({ requests }) => requests) },
            { name: "limited", points: ratesOf(samples, ({ limited }) => limited) },
            { name: "500", points: ratesOf(samples, ({ failures }) => failures) },
          ]}
        />
        <LineChart
          waiting={WAITING}
          title="Time of a request"
          format={ms}
          lines={[
            { name: "median", points: latenciesOf(samples, 0.5) },
            { name: "99th percentile", points: latenciesOf(samples, 0.99) },
          ]}
        />
        <LineChart
          waiting={WAITING}
          title="Logins"
          format={perSecond}
          lines={RESULTS.map((result) => ({
            name: result,
            points: ratesOf(samples, ({ logins }) => logins.get(result) ?? 0),
          }))}
        />
        <LineChart
          waiting={WAITING}
          title="Dead tokens that are removed"
          format={(value) => compact(Math.round(value))}
          lines={[
            { name: "trees at work", points: gauge(({ sweeping }) => sweeping) },
            { name: "tokens a second", points: ratesOf(samples, ({ swept }) => swept) },
          ]}
        />
        <LineChart
          waiting={WAITING}
          title="Age of this instance's copy"
          format={(value) => `${value.toFixed(1)} s`}
          lines={[{ name: "policies, mounts, keys", points: gauge(({ snapshotAge }) => snapshotAge) }]}
        />
        <LineChart
          waiting={WAITING}
          title="Live, counted hourly"
          format={(value) => compact(Math.round(value))}
          lines={[
            { name: "tokens", points: gauge(({ tokens }) => tokens) },
            { name: "leases", points: gauge(({ leases }) => leases) },
          ]}
        />
      </div>
      <p class="body small muted">
        As counted by the instance of the server that answered, since this page was opened.
        {last.tidyAge !== null && ` The last tidy run was ${duration(last.tidyAge)} ago.`}
      </p>
    </>
  );
}
