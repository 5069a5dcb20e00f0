import type { RevocationJobs } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { useJobNames } from "../tokens/use-job-names.ts";
import { meantText, type NotedRevocation, receiptOf, revocationText } from "./revocation-event.ts";

interface RevocationTextProps {
  readonly noted: NotedRevocation;
  /** The jobs that `useJobs` has read. */
  readonly jobs: RevocationJobs["jobs"];
}

/** A bulk revocation or its dry run in words, with a link to the receipt. */
export function RevocationText({ noted, jobs }: RevocationTextProps) {
  const { names, tokenName } = useJobNames(jobs.find(({ id }) => id === noted.job));
  const meant = meantText(noted, jobs, names, tokenName);
  const receipt = receiptOf(noted);
  return (
    <>
      {revocationText(noted)}
      {meant !== "" && <span class="break"> ({meant})</span>}
      {receipt !== "" && (
        <>
          {" "}
          → <a href={href(["receipts", receipt])}>receipt</a>
        </>
      )}
    </>
  );
}
