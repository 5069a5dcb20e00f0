import type { EndedCheck, RevocationJobs } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { type LeaseCheck, type LeaseHeadline, leaseHeadline } from "../receipts/lease-headline.ts";
import { verifyEnded } from "../receipts/read-receipt.ts";
import { done } from "../result.ts";
import { mayDo, useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";

type Job = RevocationJobs["jobs"][number];

/** Most jobs whose leases are checked, with one request each. */
const MOST_CHECKED = 5;

/** True for a job that came to its end and whose tokens had leases. */
const hadLeases = ({ state, preview }: Job): boolean =>
  state === "done" && preview !== undefined && (preview.leases.count > 0 || preview.leases.more);

/** What the trees answer about the leases of the last jobs that came to their end, by the id of the job. */
export function useLeaseChecks(jobs: readonly Job[]): ReadonlyMap<string, EndedCheck | "failed"> {
  const session = useSession();
  const mayAsk = mayDo(session, ASKED_PATHS.verifyEnded, "update", "sudo");
  const asked = mayAsk ? jobs.filter(hadLeases).slice(0, MOST_CHECKED) : [];
  const checks = useLoad(asked.map(({ id }) => id).join(), async () =>
    done(
      await Promise.all(
        asked.map(async ({ id }) => {
          const answer = await verifyEnded(session.api, { job: id }, "");
          return [id, answer.ok ? answer.value : "failed"] as const;
        }),
      ),
    ),
  );
  return new Map(checks.value ?? []);
}

/** The headline of a job's receipt, by the same rule: "done" is good only without leases that are left. */
function jobHeadline(job: Job, check: LeaseCheck): LeaseHeadline | null {
  if (job.state !== "done" || !job.preview) return null;
  return leaseHeadline(job.preview.leases, job.total, check);
}

/** The state of a job, and what is known of the leases of its tokens. */
export function JobState({ job, check }: { readonly job: Job; readonly check: LeaseCheck }) {
  const headline = jobHeadline(job, check);
  if (headline === null || headline.tone === "good") return <>{job.state}</>;
  return (
    <>
      {job.state}. <span class={headline.tone === "bad" ? "bad" : "muted"}>{headline.text}</span>
    </>
  );
}
