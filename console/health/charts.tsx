import { useEffect, useState } from "preact/hooks";
import { compact, count, duration } from "../format.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, type ChartPoint, LineChart, ProblemNotice } from "../ui/index.ts";
import { latenciesOf, ratesOf, readMetrics, type Sample, sampleOf } from "./metrics.ts";

const POLL_MS = 3_000;
/** Samples that are kept: five minutes. */
const KEPT = 100;
const RESULTS = ["success", "refused", "failed"] as const;

/** Samples since the console was opened, kept while other pages are shown. */
let seen: readonly Sample[] = [];

/** The figures of `sys/metrics` since this page was opened, and how they change. */
export function Charts() {
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
  if (!last) return <p class="muted">Loading…</p>;
  const gauge = (of: (sample: Sample) => number | null): readonly ChartPoint[] =>
    samples.map((sample) => ({ at: sample.at, value: of(sample) }));
  const perSecond = (value: number): string => `${value < 10 ? value.toFixed(1) : compact(Math.round(value))}/s`;
  const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : count(Math.round(value))} ms`;
  return (
    <Card
      title="Now"
      beside={<span class="small muted">as counted by the isolate that answered, since this page was opened</span>}
    >
      <div class="charts">
        <LineChart
          title="Requests"
          format={perSecond}
          lines={[
            { name: "all", points: ratesOf(samples, ({ requests }) => requests) },
            { name: "limited", points: ratesOf(samples, ({ limited }) => limited) },
            { name: "500", points: ratesOf(samples, ({ failures }) => failures) },
          ]}
        />
        <LineChart
          title="Time of a request"
          format={ms}
          lines={[
            { name: "median", points: latenciesOf(samples, 0.5) },
            { name: "99th percentile", points: latenciesOf(samples, 0.99) },
          ]}
        />
        <LineChart
          title="Logins"
          format={perSecond}
          lines={RESULTS.map((result) => ({
            name: result,
            points: ratesOf(samples, ({ logins }) => logins.get(result) ?? 0),
          }))}
        />
        <LineChart
          title="Sweep of dead tokens"
          format={(value) => compact(Math.round(value))}
          lines={[
            { name: "trees that sweep", points: gauge(({ sweeping }) => sweeping) },
            { name: "tokens a second", points: ratesOf(samples, ({ swept }) => swept) },
          ]}
        />
        <LineChart
          title="Age of what is known"
          format={(value) => `${value.toFixed(1)} s`}
          lines={[{ name: "policies, mounts, keys", points: gauge(({ snapshotAge }) => snapshotAge) }]}
        />
        <LineChart
          title="Live"
          format={(value) => compact(Math.round(value))}
          lines={[
            { name: "tokens", points: gauge(({ tokens }) => tokens) },
            { name: "leases", points: gauge(({ leases }) => leases) },
          ]}
        />
      </div>
      {last.tidyAge !== null && <p class="body small muted">The last tidy run was {duration(last.tidyAge)} ago.</p>}
    </Card>
  );
}
