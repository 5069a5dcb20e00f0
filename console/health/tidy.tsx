import { useEffect, useState } from "preact/hooks";
import { compact } from "../format.ts";
import { needsOf } from "../needs.ts";
import type { Problem } from "../result.ts";
import { ASKED_PATHS, useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";
import { LoadedPart } from "./loaded-part.tsx";
import { Progress } from "./walks.tsx";

type Figures = Readonly<Record<string, number | string | null>>;

interface TidyStatus {
  readonly state: string;
  readonly running: Figures | false | null;
  readonly last: Figures | null;
}

const POLL_MS = 2_000;

/** The run that compares all lists with the tokens in them. */
export function Tidy() {
  const { api } = useSession();
  const status = useLoad("tidy", () => api.read<TidyStatus>("auth/token/tidy-status"));
  const [problem, setProblem] = useState<Problem | null>(null);
  const value = status.value;
  const isRunning = value?.state === "running";
  const { reload } = status;
  useEffect(() => {
    if (!isRunning) return;
    const timer = window.setInterval(reload, POLL_MS);
    return () => window.clearInterval(timer);
  }, [isRunning, reload]);
  const total = useLoad("total", () => api.read<TokenCount>("sys/internal/counters/tokens"));
  const begin = async (): Promise<void> => {
    const answer = await api.call("auth/token/tidy", { body: {} });
    setProblem(answer.ok ? null : answer.problem);
    status.reload();
  };
  const run = (isRunning ? value.running : value?.last) || null;
  return (
    <section class="card" aria-labelledby="health-tidy">
      <header>
        <h2 id="health-tidy">Tidy</h2>
        <AllowedButton look="button slim" needs={needsOf(ASKED_PATHS.tidy)} onClick={begin} disabled={isRunning}>
          {isRunning ? "Running" : "Run now"}
        </AllowedButton>
      </header>
      <LoadedPart loaded={status}>
        {value && (
          <dl class="facts" aria-live="polite">
            <dt>State</dt>
            <dd>{value.state}</dd>
            {isRunning && total.value && run && (
              <>
                <dt>Examined</dt>
                <dd>
                  <Progress done={Number(run.accessors_examined ?? 0)} of={total.value.counters.service_tokens.total} />
                </dd>
              </>
            )}
            {run && <RunFacts run={run} />}
          </dl>
        )}
        {problem && <ProblemNotice problem={problem} />}
      </LoadedPart>
    </section>
  );
}

/** Service tokens now: about as many as a run examines. */
interface TokenCount {
  readonly counters: { readonly service_tokens: { readonly total: number } };
}

function RunFacts({ run }: { readonly run: Figures }) {
  const started = run.time_started;
  const figures = Object.entries(run).filter(([, value]) => typeof value === "number" && value > 0);
  return (
    <>
      {typeof started === "string" && (
        <>
          <dt>Began</dt>
          <dd>
            <Time at={started} both />
          </dd>
        </>
      )}
      {figures.map(([name, value]) => (
        <>
          <dt key={`${name} name`}>{words(name)}</dt>
          <dd key={name} class={name === "failures" || name === "rows_tampered" ? "bad" : undefined}>
            {compact(Number(value))}
          </dd>
        </>
      ))}
    </>
  );
}

const words = (name: string): string => {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
};
