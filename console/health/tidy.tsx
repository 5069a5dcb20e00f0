import { useState } from "preact/hooks";
import type { TidyStatus, TokenCounters } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { capitalized, compact } from "../format.ts";
import { needsOf } from "../needed-capabilities.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, type FactRows, Facts, SendProblem, Time, useLoad, usePolling } from "../ui/index.ts";
import { Progress } from "./bulk-revocations.tsx";

type Figures = NonNullable<TidyStatus["last"]>;

const POLL_MS = 2_000;

/** The tidy run, which compares all lists with the tokens in them. */
export function Tidy() {
  const { api } = useSession();
  const status = useLoad("tidy", () => api.read<TidyStatus>("auth/token/tidy-status"));
  const [problem, setProblem] = useState<Problem | null>(null);
  const value = status.value;
  const isRunning = value?.state === "running";
  usePolling(isRunning, status.reload, POLL_MS);
  const total = useLoad("total", () => api.read<TokenCounters>("sys/internal/counters/tokens"));
  const begin = async (): Promise<void> => {
    const answer = await api.call("auth/token/tidy", { body: {} });
    setProblem(answer.ok ? null : answer.problem);
    status.reload();
  };
  const run = (isRunning ? value?.running : value?.last) ?? null;
  return (
    <Card
      of={status}
      body
      title="Tidy"
      beside={
        <AllowedButton
          look="button slim"
          needs={needsOf(ASKED_PATHS.tidy)}
          onClick={begin}
          idle={isRunning ? "it runs already" : ""}
        >
          {isRunning ? "Running" : "Run now"}
        </AllowedButton>
      }
    >
      {value && (
        <Facts
          live
          rows={{
            State: value.state,
            Examined: isRunning && total.value && run && (
              <Progress done={run.accessors_examined} of={total.value.counters.service_tokens.total} />
            ),
            ...(run && factsOfRun(run)),
          }}
        />
      )}
      <SendProblem problem={problem} />
    </Card>
  );
}

function factsOfRun(run: Figures): FactRows {
  const { time_started: started } = run;
  const figures = Object.entries(run).flatMap(([name, value]) => {
    if (typeof value !== "number" || value === 0) return [];
    const isBad = ["failures", "rows_tampered", "tokens_revived"].includes(name);
    return [[words(name), isBad ? <span class="bad">{compact(value)}</span> : compact(value)] as const];
  });
  return { Began: typeof started === "string" && <Time at={started} both />, ...Object.fromEntries(figures) };
}

const words = (name: string): string => capitalized(name.replaceAll("_", " "));
