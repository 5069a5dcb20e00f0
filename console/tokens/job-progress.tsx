import { useEffect, useState } from "preact/hooks";
import type { RevocationJob } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import type { LeaseHeadline } from "../receipts/lease-headline.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Icon, Notice, ProblemNotice } from "../ui/index.ts";
import { isStopping, isUnderWay, jobText, percentOf } from "./revocation-preview.ts";
import { POLL_MS, readJob, stopJob } from "./token-api.ts";

interface JobProgressProps {
  readonly id: string;
  /** Called after each read. */
  readonly onRead: (job: RevocationJob) => void;
  /** What is known of the leases, said when all tokens have ended. */
  readonly leases: LeaseHeadline;
}

/** Follows a revocation, which continues when the page is left. */
export function JobProgress({ id, onRead, leases }: JobProgressProps) {
  const { api } = useSession();
  const [job, setJob] = useState<RevocationJob | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  /** Number of times that the reader asked again after a read had failed. */
  const [retries, setRetries] = useState(0);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async (): Promise<void> => {
      const answer = await readJob(api, id);
      if (gone) return;
      if (!answer.ok) return setProblem(answer.problem);
      setProblem(null);
      setJob(answer.value);
      onRead(answer.value);
      if (isUnderWay(answer.value)) timer = window.setTimeout(ask, POLL_MS);
    };
    ask();
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [api, id, retries]);
  const stop = async (): Promise<void> => {
    const answer = await stopJob(api, id);
    setProblem(answer.ok ? null : answer.problem);
  };
  const running = job !== null && isUnderWay(job);
  const stopping = job !== null && isStopping(job);
  // Red also while a lease may still be used.
  const isBad = job !== null && !running && (job.state !== "done" || leases.tone === "bad");
  const percent = job ? percentOf(job) : 0;
  return (
    <div class="stack" aria-live="polite">
      <div
        class={isBad ? "progress bad" : "progress"}
        role="progressbar"
        aria-label="Revoked"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(percent)}
      >
        <div style={{ width: `${job && !running ? 100 : percent}%` }} />
      </div>
      {job && (
        <p>
          <span class="number">{jobText(job)}</span>
          {job.not_ended > 0 && (
            <strong class="bad">
              , {count(job.not_ended)} that matched {running ? "not yet" : "not"} ended
            </strong>
          )}
          {job.state === "done" && ". "}
          {job.state === "done" &&
            (leases.tone === "bad" ? (
              <strong class="bad">
                <Icon name="alert" size={15} /> {leases.text}
              </strong>
            ) : (
              <span>{leases.text}</span>
            ))}
          {stopping && ". Stopping after this step: what was revoked stays revoked."}
          {job.state === "stopped" && !stopping && ". Stopped: what was revoked stays revoked."}
        </p>
      )}
      {job?.state === "refused" && (
        <Notice tone="warn" title="More would end than was counted before">
          Nothing was revoked: go back to the list and count again.
        </Notice>
      )}
      {job?.state === "failed" && <Notice tone="bad" title="The revocation failed before its end" />}
      {job && job.failures.length > 0 && (
        <Notice tone="warn" title={counted(job.failures.length, "failure")}>
          The last: {job.failures.at(-1)}
        </Notice>
      )}
      {problem && <ProblemNotice problem={problem} onRetry={() => setRetries(retries + 1)} />}
      {running && (
        <div class="row">
          {!stopping && (
            <button type="button" class="button" onClick={stop}>
              Stop
            </button>
          )}
          <span class="muted">It goes on when you leave this page.</span>
        </div>
      )}
    </div>
  );
}
