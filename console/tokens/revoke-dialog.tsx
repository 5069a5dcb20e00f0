import { useEffect, useState } from "preact/hooks";
import { count, counted } from "../format.ts";
import { Confirm } from "../records/confirm.tsx";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { Dialog, Field } from "../ui/controls.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { noteRevocation } from "./going.ts";
import { amountText, isConfirmed, nameOf, type Selection } from "./model.ts";
import {
  beginRevocation,
  type Job,
  type Preview,
  previewRevocation,
  readJob,
  revokeToken,
  stopJob,
  type TokenDetail,
} from "./token.ts";

const POLL_MS = 400;

interface RevokeOneProps {
  readonly detail: TokenDetail;
  readonly onClose: () => void;
  readonly onRevoked: () => void;
}

/** Asks before one token is revoked with all below it; its name has to be typed. */
export function RevokeOne({ detail, onClose, onRevoked }: RevokeOneProps) {
  const { api, self } = useSession();
  const { token, descendants, leases, cubbyhole } = detail;
  const name = nameOf(token);
  return (
    <Confirm
      title={`Revoke ${name}`}
      typing={name}
      action={`Revoke ${counted(descendants.count + 1, "token")}`}
      send={() => revokeToken(api, token.accessor)}
      onDone={() => {
        noteRevocation({ accessors: [token.accessor] });
        onRevoked();
      }}
      onClose={onClose}
    >
      <dl class="figures">
        <div>
          <dt>Tokens</dt>
          <dd>{amountText({ count: descendants.count + 1, more: descendants.more })}</dd>
        </div>
        <div>
          <dt>Leases</dt>
          <dd>{amountText(leases)}</dd>
        </div>
        <div>
          <dt>Cubbyhole values</dt>
          <dd>{count(cubbyhole.values)}</dd>
        </div>
      </dl>
      <p>
        {descendants.count > 0 ? "This token and everything below it are" : "This token is"} refused from the answer on.
        There is no way back.
      </p>
      {token.accessor === self.accessor && (
        <Notice tone="warn" title="This is the token you are signed in with">
          You will be signed out.
        </Notice>
      )}
    </Confirm>
  );
}

interface RevokeManyProps {
  readonly selection: Selection;
  /** What is selected, in words. */
  readonly text: string;
  readonly onClose: () => void;
  /** Called when a job has begun. */
  readonly onBegun: () => void;
}

/** Shows what a bulk revocation would take, asks for the number, and follows the job. */
export function RevokeMany({ selection, text, onClose, onBegun }: RevokeManyProps) {
  const { api } = useSession();
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [typed, setTyped] = useState("");
  const [job, setJob] = useState<string | null>(null);

  const key = JSON.stringify(selection);
  useEffect(() => {
    previewRevocation(api, selection).then((answer) => {
      if (answer.ok) setPreview(answer.value);
      else setProblem(answer.problem);
    });
  }, [api, key]);

  if (job !== null) {
    return (
      <Dialog title="Revoking" onClose={onClose}>
        <JobProgress id={job} onClose={onClose} />
      </Dialog>
    );
  }
  const confirmed = preview !== null && isConfirmed(preview, typed);
  const begin = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!confirmed) return;
    const answer = await beginRevocation(api, selection, preview.count);
    if (!answer.ok) return setProblem(answer.problem);
    noteRevocation(selection);
    setJob(answer.value);
    onBegun();
  };

  return (
    <Dialog title="Revoke tokens" onClose={onClose}>
      <form class="stack" onSubmit={begin}>
        <p class="break">{text}, with everything below them.</p>
        {!preview && !problem && <p class="muted">Counting what would go…</p>}
        {preview && <PreviewFacts preview={preview} />}
        {preview?.more && (
          <Notice tone="warn" title="Too many to count">
            Narrow the filter: a revocation needs the exact number.
          </Notice>
        )}
        {preview && preview.count > 0 && !preview.more && (
          <Field label={`Type ${preview.count} to confirm`}>
            <input
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
              inputMode="numeric"
              autocomplete="off"
              autofocus
            />
          </Field>
        )}
        {problem && <ProblemNotice problem={problem} />}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            Keep them
          </button>
          <button type="submit" class="button danger solid" disabled={!confirmed}>
            {preview ? `Revoke ${counted(preview.count, "token")}` : "Revoke"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function PreviewFacts({ preview }: { readonly preview: Preview }) {
  const { sample, skipped, leases } = preview;
  const kept = [
    ...(skipped.root > 0 ? [`${counted(skipped.root, "root token")} stay`] : []),
    ...(skipped.self > 0 ? ["the token you are signed in with stays"] : []),
  ];
  return (
    <>
      <dl class="figures">
        <div>
          <dt>Tokens</dt>
          <dd>{amountText(preview)}</dd>
        </div>
        <div>
          <dt>Leases</dt>
          <dd>{leases.more && leases.count === 0 ? <small>not counted</small> : amountText(leases)}</dd>
        </div>
      </dl>
      {kept.length > 0 && <p class="muted">{kept.join("; ")}.</p>}
      {sample.length > 0 && (
        <p class="small muted break">
          Among them: {sample.slice(0, 8).map(nameOf).join(", ")}
          {preview.count > 8 && " …"}
        </p>
      )}
    </>
  );
}

interface JobProgressProps {
  readonly id: string;
  readonly onClose: () => void;
}

function JobProgress({ id, onClose }: JobProgressProps) {
  const { api } = useSession();
  const [job, setJob] = useState<Job | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async (): Promise<void> => {
      const answer = await readJob(api, id);
      if (gone) return;
      if (!answer.ok) return setProblem(answer.problem);
      setJob(answer.value);
      if (answer.value.state === "running") timer = window.setTimeout(ask, POLL_MS);
    };
    ask();
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [api, id]);
  const stop = async (): Promise<void> => {
    const answer = await stopJob(api, id);
    setProblem(answer.ok ? null : answer.problem);
  };
  const running = job === null || job.state === "running";
  const met = job ? job.revoked + job.ended_before + job.mismatched : 0;
  const percent = job && job.expected > 0 ? Math.min(100, (100 * met) / job.expected) : 0;
  return (
    <div class="stack" aria-live="polite">
      <div
        class="progress bad"
        role="progressbar"
        aria-label="Revoked"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(percent)}
      >
        <div style={{ width: `${running ? percent : 100}%` }} />
      </div>
      {job && (
        <p>
          <strong class="number">{count(job.revoked)}</strong> of {count(job.expected)} revoked
          {job.ended_before > 0 && `, ${count(job.ended_before)} had ended before`}
          {job.mismatched > 0 && `, ${count(job.mismatched)} are not what the list says of them`}
          {job.state === "done" && ". Done."}
          {job.state === "stopped" && ". Stopped: what was revoked stays revoked."}
        </p>
      )}
      {job?.state === "failed" && <Notice tone="bad" title="The revocation failed before its end" />}
      {job && job.failures.length > 0 && <Notice tone="warn" title={counted(job.failures.length, "failure")} />}
      {problem && <ProblemNotice problem={problem} />}
      <div class="actions">
        {running && (
          <button type="button" class="button" onClick={stop}>
            Stop
          </button>
        )}
        <button type="button" class="button primary" onClick={onClose}>
          {running ? "Let it run" : "Close"}
        </button>
      </div>
    </div>
  );
}
