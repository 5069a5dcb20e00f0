import type { RevocationJobs } from "../../client/answers.d.ts";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import type { AuditEvent } from "./event.ts";
import { receiptOf, revocationOf } from "./revocation-event.ts";

/**
 * The jobs of the revocations among events. The log has filters as hashes only, so the list of jobs is read for their
 * texts: once for all events, and not at all when no event has a job.
 */
export function useJobs(events: readonly AuditEvent[]): RevocationJobs["jobs"] {
  const { api } = useSession();
  const ids = events.map((event) => receiptOf(revocationOf(event))).filter((id) => id !== "");
  const listed = useLoad(ids.join(" "), async () =>
    ids.length > 0 ? api.read<RevocationJobs>("sys/tokens/jobs") : done<RevocationJobs>({ jobs: [] }),
  );
  return listed.value?.jobs ?? [];
}
