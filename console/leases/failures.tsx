import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { needsOf } from "../needs.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { AllowedButton, SendProblem, Time } from "../ui/index.ts";

/** A lease whose target did not accept its revocation. */
export interface LeaseFailure {
  readonly lease_id: string;
  readonly error: string;
  /** null: the revocation was given up, and the lease is irrevocable. */
  readonly next_attempt: string | null;
}

interface LeaseFailuresProps {
  readonly failures: readonly LeaseFailure[];
  /** Called after another attempt. */
  readonly onTried: () => void;
}

/** Leases with the error of each, and a button that sends the revocation again. */
export function LeaseFailures({ failures, onTried }: LeaseFailuresProps) {
  return (
    <ul class="failures" aria-label="Leases that fail">
      {failures.map((failure) => (
        <OneFailure key={failure.lease_id} failure={failure} onTried={onTried} />
      ))}
    </ul>
  );
}

function OneFailure({ failure, onTried }: { readonly failure: LeaseFailure; readonly onTried: () => void }) {
  const { lease_id: id, error, next_attempt: next } = failure;
  const { api } = useSession();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const tryAgain = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    const answer = await api.call("sys/leases/revoke", { body: { lease_id: id, sync: true } });
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) onTried();
  };
  return (
    <li class="stack tight">
      <a class="mono break" href={href(["leases"], { prefix: `${id.slice(0, id.lastIndexOf("/"))}/`, id })}>
        {id}
      </a>
      <span class="row">
        <span class="break">
          {error};{" "}
          {next === null ? (
            "irrevocable: nothing is sent any more"
          ) : (
            <>
              sent again <Time at={next} mayCome />
            </>
          )}
        </span>
        <AllowedButton look="button slim" needs={needsOf("sys/leases/revoke")} busy={busy} onClick={tryAgain}>
          Try again
        </AllowedButton>
      </span>
      <SendProblem problem={problem} />
    </li>
  );
}
