import { useEffect, useState } from "preact/hooks";
import { compact, count } from "../format.ts";
import type { Problem } from "../result.ts";
import { ASKED_PATHS, mayDo, useSession } from "../session.ts";
import { Icon } from "../ui/icons.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { End, Time } from "../ui/time.tsx";
import { type Loaded, useLoad } from "../ui/use-load.ts";

interface Health {
  readonly initialized: boolean;
  readonly sealed: boolean;
  readonly version: string;
  readonly grove_version: string;
  readonly cluster_id?: string;
}

interface KeyStatus {
  readonly term: number;
  readonly install_time: string;
  readonly encryptions: number;
}

type Figures = Readonly<Record<string, number | string | null>>;

interface TidyStatus {
  readonly state: string;
  readonly running: Figures | false | null;
  readonly last: Figures | null;
  readonly next_run: string | null;
}

interface Quota {
  readonly name: string;
  readonly path: string;
  readonly rate: number;
  readonly interval?: number;
}

const POLL_MS = 2_000;

/** How the service is: state, keys, tidy and quotas. */
export function HealthPage() {
  const { api } = useSession();
  const health = useLoad("health", () => api.read<Health>("sys/health"));
  const value = health.value;
  return (
    <>
      <PageHead title="Health" />
      <div class="stack">
        {health.problem && <ProblemNotice problem={health.problem} onRetry={health.reload} />}
        {value && (
          <dl class="figures">
            <div>
              <dt>State</dt>
              <dd class={value.sealed ? "bad" : "good"}>
                <Icon name={value.sealed ? "alert" : "check"} size={18} /> {value.sealed ? "Sealed" : "Serving"}
              </dd>
            </div>
            <div>
              <dt>Grove</dt>
              <dd>{value.grove_version.split("+")[0]}</dd>
            </div>
            <div>
              <dt>Interface</dt>
              <dd>{value.version}</dd>
            </div>
          </dl>
        )}
        <div class="columns even">
          <Keys />
          <Tidy />
          <Quotas />
        </div>
      </div>
    </>
  );
}

function Keys() {
  const session = useSession();
  const { api } = session;
  const keys = useLoad("keys", () => api.read<KeyStatus>("sys/key-status"));
  const [problem, setProblem] = useState<Problem | null>(null);
  const rotate = async (): Promise<void> => {
    const answer = await api.call("sys/rotate", { body: {} });
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) keys.reload();
  };
  return (
    <section class="card" aria-labelledby="health-keys">
      <header>
        <h2 id="health-keys">Keys</h2>
        <button
          type="button"
          class="button slim"
          onClick={rotate}
          disabled={!mayDo(session, ASKED_PATHS.rotate, "update", "sudo")}
        >
          Begin a new term
        </button>
      </header>
      <Part loaded={keys}>
        {keys.value && (
          <dl class="facts">
            <dt>Term</dt>
            <dd>{keys.value.term}</dd>
            <dt>Since</dt>
            <dd>
              <Time at={keys.value.install_time} both />
            </dd>
            <dt>Uses</dt>
            <dd>{count(keys.value.encryptions)}</dd>
          </dl>
        )}
        {problem && <ProblemNotice problem={problem} />}
      </Part>
    </section>
  );
}

function Tidy() {
  const session = useSession();
  const { api } = session;
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
        <button
          type="button"
          class="button slim"
          onClick={begin}
          disabled={isRunning || !mayDo(session, ASKED_PATHS.tidy, "update", "sudo")}
        >
          {isRunning ? "Running" : "Run now"}
        </button>
      </header>
      <Part loaded={status}>
        {value && (
          <dl class="facts" aria-live="polite">
            <dt>State</dt>
            <dd>{value.state}</dd>
            {value.next_run && (
              <>
                <dt>Next run</dt>
                <dd>
                  <End at={value.next_run} />
                </dd>
              </>
            )}
            {run && <RunFacts run={run} />}
          </dl>
        )}
        {problem && <ProblemNotice problem={problem} />}
      </Part>
    </section>
  );
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

function Quotas() {
  const { api } = useSession();
  const quotas = useLoad("quotas", async () => {
    const names = await api.list("sys/quotas/rate-limit");
    if (!names.ok) return names;
    const read = await Promise.all(
      names.value.slice(0, 50).map((name) => api.read<Quota>(`sys/quotas/rate-limit/${encodeURIComponent(name)}`)),
    );
    return { ok: true as const, value: read.flatMap((one) => (one.ok ? [one.value] : [])) };
  });
  return (
    <section class="card" aria-labelledby="health-quotas">
      <header>
        <h2 id="health-quotas">Quotas</h2>
      </header>
      <Part loaded={quotas}>
        {quotas.value?.length === 0 && (
          <p class="muted">
            None. A quota bounds what one client address may ask: <code>sys/quotas/rate-limit</code>.
          </p>
        )}
        {quotas.value && quotas.value.length > 0 && (
          <dl class="facts">
            {quotas.value.map(({ name, path, rate, interval }) => (
              <>
                <dt key={`${name} name`}>{name}</dt>
                <dd key={name}>
                  {count(rate)} a{interval && interval > 1 ? ` ${interval} s` : " second"} on{" "}
                  <code>{path || "everything"}</code>
                </dd>
              </>
            ))}
          </dl>
        )}
      </Part>
    </section>
  );
}

interface PartProps {
  readonly loaded: Loaded<unknown>;
  readonly children: preact.ComponentChildren;
}

/** The inside of a card: what is loaded, or why it is not. */
function Part({ loaded, children }: PartProps) {
  return (
    <div class="body">
      {loaded.problem && <ProblemNotice problem={loaded.problem} onRetry={loaded.reload} />}
      {loaded.value === null && loaded.busy && <p class="muted">Loading…</p>}
      {children}
    </div>
  );
}
