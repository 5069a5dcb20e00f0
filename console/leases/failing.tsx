import type { IrrevocableLeases } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, type Loaded, useLoad, Warnings } from "../ui/index.ts";
import { LeaseFailures } from "./failures.tsx";
import type { LeaseFailure } from "./lease-text.ts";

/** Failing leases that are shown. */
const SHOWN = 100;

interface Failing {
  /** First the leases whose revocation is tried again, then the irrevocable ones; at most `SHOWN + 1`. */
  readonly leases: readonly LeaseFailure[];
  readonly warnings: readonly string[];
}

/** The leases whose targets did not accept the revocation. */
export function useFailingLeases(): Loaded<Failing> {
  const { api } = useSession();
  return useLoad("failing", async () => {
    const query = { type: "failing", limit: SHOWN + 1 };
    const answer = await api.call<IrrevocableLeases>("sys/leases", { query });
    if (!answer.ok) return answer;
    const { data, warnings } = answer.value;
    const leases = data.leases.map((lease) => ({ ...lease, next_attempt: lease.next_attempt ?? null }));
    return done({ leases, warnings: warnings ?? [] });
  });
}

interface FailingLeasesProps {
  readonly failing: Loaded<Failing>;
  /** Called after an attempt, where the page says elsewhere that leases fail. */
  readonly onTried?: () => void;
}

/** The failing leases, each with its error and a button that sends its revocation again. */
export function FailingLeasesCard({ failing, onTried }: FailingLeasesProps) {
  const tried = (): void => {
    failing.reload();
    onTried?.();
  };
  const { leases = [], warnings = [] } = failing.value ?? {};
  const number = leases.length > SHOWN ? `more than ${counted(SHOWN, "lease")}` : counted(leases.length, "lease");
  return (
    <Card of={failing} title="Leases that fail" body>
      {failing.value && (
        <>
          {leases.length === 0 ? (
            <p>
              None is irrevocable, and none that ended in the last 15 minutes is tried again. A lease whose target
              refuses is tried again for some minutes before it is irrevocable.
            </p>
          ) : (
            <>
              <p class="bad">
                {number}: the targets did not accept the revocation, and their secrets can still be used.
              </p>
              <LeaseFailures failures={leases.slice(0, SHOWN)} onTried={tried} />
            </>
          )}
          <Warnings of={{ warnings }} />
        </>
      )}
    </Card>
  );
}
