import type { RevocationJobs } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { entitiesOf, onlyAccessor } from "../tokens/filter.ts";
import { useEntityNames, useTokenName } from "../use-names.ts";
import { meantText, type NotedRevocation, receiptOf, revocationText } from "./revocation-event.ts";

interface RevocationTextProps {
  readonly noted: NotedRevocation;
  /** The jobs that `useJobs` has read. */
  readonly jobs: RevocationJobs["jobs"];
}

/** A bulk revocation or its dry run in words, with a link to the receipt. */
export function RevocationText({ noted, jobs }: RevocationTextProps) {
  const filters = jobs.filter(({ id }) => id === noted.job).map(({ filter }) => filter);
  const tokenName = useTokenName(filters.map(onlyAccessor).join(""));
  const meant = meantText(noted, jobs, useEntityNames(entitiesOf(filters)), tokenName);
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
