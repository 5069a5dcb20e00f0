import type { RevocationJobs } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";
import { meantText, type NotedRevocation, revocationText } from "./revocation.ts";

/** A revocation of many, or its count, in words: which tokens were meant, and the way to the receipt. */
export function RevocationText({ noted }: { readonly noted: NotedRevocation }) {
  const { api } = useSession();
  const { isDry, job } = noted;
  const hasReceipt = !isDry && job !== "";
  // The log has the filter as hashes. The list of jobs has its words, and is short.
  const listed = useLoad(job, () => (hasReceipt ? api.read<RevocationJobs>("sys/tokens/jobs") : noJobs()));
  const meant = meantText(noted, listed.value?.jobs ?? []);
  return (
    <>
      {revocationText(noted)}
      {meant !== "" && <span class="break"> ({meant})</span>}
      {hasReceipt && (
        <>
          {" "}
          → <a href={href(["receipts", job])}>receipt</a>
        </>
      )}
    </>
  );
}

const noJobs = async () => done<RevocationJobs>({ jobs: [] });
