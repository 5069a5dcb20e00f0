import { useState } from "preact/hooks";
import type { EndedToken } from "../../client/answers.d.ts";
import { RequestLink } from "../audit/links.tsx";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { type EndedRow, rowsOfEnded, singleRows } from "../tokens/ended-rows.ts";
import { AskedBy, ParentLink } from "../tokens/links.tsx";
import { listEnded } from "../tokens/token-api.ts";
import { detailText, namedAncestor, nameOf } from "../tokens/token-name.ts";
import {
  Accessor,
  type DataColumn,
  DataTable,
  Empty,
  Loading,
  MoreButton,
  PageHead,
  ProblemNotice,
  Time,
  useLoad,
} from "../ui/index.ts";

/** Tokens per page. In the list of all, the tokens of one bulk revocation are one row. */
const PAGE = 500;

/** A column of its own: in that of the name, which is cut off, the links would not be seen. */
const TOGETHER: DataColumn<EndedRow> = {
  label: "Ended with it",
  cell: ({ others, of }) => (
    <>
      {others > 0 && <a href={href(["ended"], of)}>{counted(others, "other")}</a>}
      {others > 0 && "job" in of && " · "}
      {"job" in of && <a href={href(["receipts", of.job])}>receipt</a>}
    </>
  ),
};

/** Recently ended tokens: all, or those of a job or a cause in the parameters. */
export function EndedPage({ query }: { readonly query: URLSearchParams }) {
  const { api } = useSession();
  const of = {
    job: query.get("job") ?? "",
    cause: query.get("cause") ?? "",
    request_id: query.get("request_id") ?? "",
  };
  const first = useLoad(JSON.stringify(of), () => listEnded(api, { ...of, limit: PAGE }));
  const [later, setLater] = useState<{ readonly tokens: readonly EndedToken[]; readonly next: string } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const tokens = [...(first.value?.tokens ?? []), ...(later?.tokens ?? [])];
  const isOfAll = Object.values(of).every((one) => one === "");
  const known = new Map(tokens.map(({ token }) => [token.accessor, token]));
  const rows = isOfAll ? rowsOfEnded(tokens) : singleRows(tokens);
  const next = later?.next ?? first.value?.next ?? "";
  const more = async (): Promise<void> => {
    const answer = await listEnded(api, { ...of, limit: PAGE, after: next });
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) setLater({ tokens: [...(later?.tokens ?? []), ...answer.value.tokens], next: answer.value.next });
  };
  return (
    <>
      <PageHead
        title="Ended lately"
        text={
          isOfAll ? undefined : (
            <>
              Only those that ended {of.job !== "" && <a href={href(["receipts", of.job])}>by one revocation</a>}
              {of.request_id !== "" && (
                <>
                  by the request <RequestLink id={of.request_id} />
                </>
              )}
              {of.cause !== "" && (
                <>
                  with <ParentLink parent={of.cause} />
                </>
              )}
              . <a href={href(["ended"])}>Show all</a>
            </>
          )
        }
      />
      <Loading of={first} />
      {problem && <ProblemNotice problem={problem} onRetry={more} />}
      {first.value && (
        <section class="card" aria-label="Tokens that have ended">
          <header>
            <span class="number" aria-live="polite">
              {next !== "" && "the last "}
              {counted(tokens.length, "token")}
            </span>
          </header>
          <DataTable
            empty={<Empty title="No token has ended lately" />}
            label="Tokens that have ended"
            rows={rows}
            keyOf={({ first }) => first.token.accessor}
            columns={[
              {
                label: "Token",
                cell: ({ first: { token } }) => (
                  <>
                    <a href={href(["tokens", token.accessor])}>{nameOf(token)}</a>
                    <div class="muted small">{detailText(token, namedAncestor(token, known))}</div>
                  </>
                ),
              },
              ...(isOfAll ? [TOGETHER] : []),
              { label: "Accessor", cell: ({ first }) => <Accessor value={first.token.accessor} /> },
              { label: "Ended", cell: ({ first }) => <Time at={first.ended.at} /> },
              { label: "How", cell: ({ first }) => first.ended.how },
              { label: "By", cell: ({ first }) => <AskedBy by={first.ended.by} /> },
            ]}
          />
          {next !== "" && <MoreButton label="Show more" onClick={more} />}
        </section>
      )}
    </>
  );
}
