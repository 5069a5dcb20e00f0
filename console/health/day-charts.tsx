import type { MetricsHistory } from "../../client/answers.d.ts";
import { compact } from "../format.ts";
import { useSession } from "../session.ts";
import { LineChart, ProblemNotice, Time, useLoad, usePolling } from "../ui/index.ts";
import { ms, perSecond } from "./chart-units.ts";
import { dayPoints } from "./metrics-history.ts";

const WAITING = "A line begins with the second five minutes.";
const POLL_MS = 60_000;

/** The last day, as all isolates reported it. */
export function DayCharts() {
  const { api } = useSession();
  const history = useLoad("history", () => api.read<MetricsHistory>("sys/metrics/history"));
  usePolling(true, history.reload, POLL_MS);
  if (history.problem) return <ProblemNotice problem={history.problem} onRetry={history.reload} />;
  if (!history.value) return <p class="body muted">Loading…</p>;
  const [first] = history.value.samples;
  const { rates, latencies, counts } = dayPoints(history.value, Date.now());
  return (
    <>
      <div class="charts">
        <LineChart
          waiting={WAITING}
          title="Requests"
          format={perSecond}
          lines={[
            { name: "all", points: rates(({ requests }) => requests) },
            { name: "limited", points: rates(({ limited }) => limited) },
            { name: "500", points: rates(({ failures }) => failures) },
          ]}
        />
        <LineChart
          waiting={WAITING}
          title="Time of a request"
          format={ms}
          lines={[
            { name: "median", points: latencies(0.5) },
            { name: "99th percentile", points: latencies(0.99) },
          ]}
        />
        <LineChart
          waiting={WAITING}
          title="Logins"
          format={perSecond}
          lines={[
            { name: "success", points: rates(({ logins_success: good }) => good) },
            { name: "refused", points: rates(({ logins_refused: refused }) => refused) },
            { name: "failed", points: rates(({ logins_failed: failed }) => failed) },
          ]}
        />
        <LineChart
          waiting={WAITING}
          title="Dead tokens that are removed"
          format={perSecond}
          lines={[{ name: "tokens", points: rates(({ tokens_swept: swept }) => swept) }]}
        />
        <LineChart
          waiting={WAITING}
          title="Live, counted hourly"
          format={(value) => compact(Math.round(value))}
          lines={[
            { name: "tokens", points: counts(({ tokens }) => tokens) },
            { name: "leases", points: counts(({ leases }) => leases) },
          ]}
        />
      </div>
      <p class="body small muted">
        {first && (
          <>
            From <Time at={first.time} both /> until now, in steps of five minutes.{" "}
          </>
        )}
        Each instance of the server reports once a minute; what one counted after its last report is missing. Live
        numbers are counted once an hour, or whenever metrics are read.
      </p>
    </>
  );
}
