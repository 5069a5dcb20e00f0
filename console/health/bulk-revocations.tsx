import type { RevocationJobs, WatermarkRevocations } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { jobSelectionText } from "../tokens/filter.ts";
import { AskedBy, EntityLink } from "../tokens/links.tsx";
import { isUnderWay } from "../tokens/revocation-preview.ts";
import { useJobNames } from "../tokens/use-job-names.ts";
import { Card, DataTable, Time, useLoad, usePolling } from "../ui/index.ts";
import { cleanUpText } from "./clean-up-text.ts";
import { JobState, useLeaseChecks } from "./job-state.tsx";

const POLL_MS = 2_000;
const LISTED = 20;

type Revocation = WatermarkRevocations["revocations"][number];

/** Bulk revocations: by filter, with their progress, and by path, method, role or entity. */
export function BulkRevocations() {
  const { api } = useSession();
  const walks = useLoad("walks", async () => {
    const [jobs, revocations] = await Promise.all([
      api.read<RevocationJobs>("sys/tokens/jobs"),
      api.read<WatermarkRevocations>("sys/leases/revocations"),
    ]);
    if (!jobs.ok) return jobs;
    if (!revocations.ok) return revocations;
    return done({ jobs: jobs.value.jobs, revocations: revocations.value.revocations });
  });
  const { jobs = [], revocations = [] } = walks.value ?? {};
  const isRunning = jobs.some(isUnderWay) || revocations.some(({ clean_up: state }) => state === "running");
  const checks = useLeaseChecks(jobs.slice(0, LISTED));
  usePolling(isRunning, walks.reload, POLL_MS);
  return (
    <Card of={walks} title="Revocations of many">
      {walks.value && jobs.length + revocations.length === 0 && <p class="body muted">None yet.</p>}
      {jobs.length > 0 && (
        <DataTable
          label="Revocations by filter"
          rows={jobs.slice(0, LISTED)}
          keyOf={({ id }) => id}
          columns={[
            {
              label: "Which tokens",
              wraps: true,
              cell: (job) => <JobLink job={job} />,
            },
            { label: "By", cell: ({ asked_by: by }) => <AskedBy by={by} /> },
            { label: "Began", cell: ({ started }) => <Time at={started} /> },
            {
              label: "State",
              wraps: true,
              cell: (job) => <JobState job={job} check={checks.get(job.id) ?? "not asked"} />,
            },
            {
              label: "Progress",
              cell: ({ total, preview, failures }) => (
                <>
                  <Progress done={total} of={preview?.total ?? 0} />
                  {failures.length > 0 && <span class="bad small">{counted(failures.length, "failure")}</span>}
                </>
              ),
            },
          ]}
        />
      )}
      {revocations.length > 0 && (
        <DataTable
          label="Revocations of all of a path or an entity"
          rows={revocations.slice(0, LISTED)}
          keyOf={({ prefix, entity_id: entity, issued_since: since, time }) => `${prefix} ${entity} ${since} ${time}`}
          columns={[
            {
              label: "All of",
              cell: ({ prefix, entity_id: entity, issued_since: since }) => {
                if (since !== undefined) return <>all issued from {since} to the restore</>;
                if (prefix !== undefined) return <span class="mono">{prefix}</span>;
                return entity === undefined ? null : <EntityLink id={entity} />;
              },
            },
            { label: "By", cell: ({ asked_by: by }) => <AskedBy by={by} /> },
            { label: "Since", cell: ({ time }) => <Time at={time} /> },
            { label: "Clean-up", cell: cleanUpText },
            { label: "Progress", cell: (revocation) => <CleanUp revocation={revocation} /> },
            {
              label: "Receipt",
              cell: ({ request_id: request }) => request !== "" && <a href={href(["revocations", request])}>receipt</a>,
            },
          ]}
        />
      )}
      {revocations.length > 0 && (
        <p class="body muted small">Disabled methods are listed too, also those that a failed set-up disabled.</p>
      )}
    </Card>
  );
}

/** What a job revokes, as a link to its receipt. */
function JobLink({ job }: { readonly job: RevocationJobs["jobs"][number] }) {
  const { names, tokenName } = useJobNames(job);
  return <a href={href(["receipts", job.id])}>{jobSelectionText(job, names, tokenName)}</a>;
}

/** The progress of a clean-up. */
function CleanUp({ revocation: { tokens_seen: seen, tokens_left: left } }: { readonly revocation: Revocation }) {
  if (seen !== null && left !== null) return <Progress done={seen} of={seen + left} />;
  if (left !== null) return <span class="number small">{counted(left, "token")} still on the map</span>;
  return <span class="number small">{seen === null ? "–" : `${counted(seen, "token")} seen`}</span>;
}

/** How much of a known number is done. */
export function Progress({ done, of }: { readonly done: number; readonly of: number }) {
  const percent = of === 0 ? 100 : Math.min(100, Math.round((100 * done) / of));
  return (
    <span class="progress-line">
      <span
        class="progress"
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <span style={{ width: `${percent}%` }} />
      </span>
      <span class="number small">
        {count(done)} of {counted(of, "token")}
      </span>
    </span>
  );
}
