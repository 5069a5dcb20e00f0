import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { pathOf } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { ParentLink } from "../tokens/links.tsx";
import { AllowedButton, SendProblem, Time, useNow } from "../ui/index.ts";
import { attemptOf, type LeaseFailure, leaseHref, serviceOf } from "./lease-text.ts";

interface LeaseFailuresProps {
  readonly failures: readonly LeaseFailure[];
  /** Called after another attempt. */
  readonly onTried: () => void;
}

const NEEDS = needsOf("sys/leases/revoke");

/** Leases with their errors, and buttons that retry the revocation of one lease or of all. */
export function LeaseFailures({ failures, onTried }: LeaseFailuresProps) {
  return (
    <>
      {failures.length > 1 && <TryAll failures={failures} onTried={onTried} />}
      <ul class="failures" aria-label="Leases that fail">
        {failures.map((failure) => (
          <OneFailure key={failure.lease_id} failure={failure} onTried={onTried} />
        ))}
      </ul>
    </>
  );
}

/** Retries the revocation of all shown leases, one after the other, because they may have the same target. */
function TryAll({ failures, onTried }: LeaseFailuresProps) {
  const { api } = useSession();
  const [tried, setTried] = useState<number | null>(null);
  const [result, setResult] = useState("");
  const tryAll = async (): Promise<void> => {
    if (tried !== null) return;
    let accepted = 0;
    for (const [at, { lease_id: id }] of failures.entries()) {
      setTried(at);
      const answer = await api.call("sys/leases/revoke", { body: { lease_id: id, sync: true } });
      if (answer.ok) accepted += 1;
    }
    setTried(null);
    setResult(`${counted(accepted, "lease")} of ${failures.length} ended`);
    onTried();
  };
  return (
    <div class="row">
      <AllowedButton look="button slim" needs={NEEDS} busy={tried !== null} onClick={tryAll}>
        {tried === null ? `Try all ${failures.length} again` : `Trying… ${tried + 1} of ${failures.length}`}
      </AllowedButton>
      <span role="status">{result}</span>
    </div>
  );
}

interface OneFailureProps {
  readonly failure: LeaseFailure;
  readonly onTried: () => void;
}

function OneFailure({ failure, onTried }: OneFailureProps) {
  const { lease_id: id, accessor = "" } = failure;
  return (
    <li class="stack tight">
      <a class="mono break" href={leaseHref(id)}>
        {id}
      </a>
      <span class="break">
        of <code>{serviceOf(id)}</code>
        {accessor !== "" && (
          <>
            , held by <ParentLink parent={accessor} />
          </>
        )}
      </span>
      <Attempt failure={failure} onTried={onTried} />
    </li>
  );
}

/** Why the revocation of a lease failed, when it is sent again, and a button that sends it now. */
export function Attempt({ failure, onTried }: OneFailureProps) {
  const { lease_id: id, error } = failure;
  const { api } = useSession();
  const [text, at] = attemptOf(failure, useNow(1_000));
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
    <>
      <span class="row">
        <span class="break">
          {error}; {text}
          {at !== null && (
            <>
              {" "}
              <Time at={at} mayCome />
            </>
          )}
        </span>
        <AllowedButton look="button slim" needs={NEEDS} busy={busy} onClick={tryAgain}>
          Try again
        </AllowedButton>
        {failure.next_attempt === null && <RemoveButton id={id} onRemoved={onTried} />}
      </span>
      <SendProblem problem={problem} />
    </>
  );
}

/** Removes an irrevocable lease whose secret was taken back by hand. */
function RemoveButton({ id, onRemoved }: { readonly id: string; readonly onRemoved: () => void }) {
  const { api } = useSession();
  const path = `sys/leases/revoke-force/${pathOf(...id.split("/"))}`;
  return (
    <ConfirmButton
      label="Remove…"
      needs={needsOf(path)}
      title="Remove the lease"
      typing={serviceOf(id)}
      action="Remove"
      send={() => api.call(path, { body: {} })}
      onDone={onRemoved}
    >
      <p>
        The revocation is sent once more, and the lease is removed whatever its target answers. First take the secret
        back at <code>{serviceOf(id)}</code>: from then on only receipts say that the target did not accept it.
      </p>
    </ConfirmButton>
  );
}
