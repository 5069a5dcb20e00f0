import type { IrrevocableLeases } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { useSession } from "../session.ts";
import { Card, useLoad } from "../ui/index.ts";
import { LeaseFailures } from "./failures.tsx";

/** Irrevocable leases that are shown. */
const SHOWN = 100;

/** The leases whose revocation was given up, each with its error and a button that retries it. */
export function IrrevocableCard() {
  const { api } = useSession();
  const leases = useLoad("irrevocable", () =>
    api.read<IrrevocableLeases>("sys/leases", { type: "irrevocable", limit: SHOWN + 1 }),
  );
  const found = leases.value?.leases ?? [];
  if (leases.problem?.status === 403) return null;
  const number = found.length > SHOWN ? `more than ${counted(SHOWN, "lease")}` : counted(found.length, "lease");
  return (
    <Card of={leases} title="Irrevocable leases" body>
      {leases.value &&
        (found.length === 0 ? (
          <p>None has been given up. A lease whose target refuses is tried again for some minutes before it is here.</p>
        ) : (
          <>
            <p class="bad">{number}: the targets did not accept the revocation, and their secrets can still be used.</p>
            <LeaseFailures
              failures={found.slice(0, SHOWN).map((lease) => ({ ...lease, next_attempt: null }))}
              onTried={leases.reload}
            />
          </>
        ))}
    </Card>
  );
}
