import { useMemo } from "preact/hooks";
import type { TokenSummary } from "../../client/answers.d.ts";
import type { Query } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { count, counted } from "../format.ts";
import { needsOf } from "../needed-capabilities.ts";
import { mayDo, useSession } from "../session.ts";
import { DataTable, ProblemNotice, useLoad } from "../ui/index.ts";
import { MOST_COUNTED } from "./count-of-group.ts";
import type { Filter } from "./filter.ts";
import { GroupName, GroupTable, LISTED } from "./group-table.tsx";
import { counterOf, type GroupBy, grouped, groupOf, withoutText } from "./grouping.ts";
import { readTokens } from "./token-api.ts";
import { Total } from "./token-total.tsx";

/** Most tokens that are read for grouping. */
const MOST_GROUPED = 10_000;

interface GroupedListProps {
  readonly filter: Filter;
  readonly by: GroupBy;
}

/**
 * Groups of the tokens of a filter. The server counts groups of all tokens or of one method; for other filters the tokens are read and
 * grouped here.
 */
export function GroupedList({ filter, by }: GroupedListProps) {
  const counter = counterOf(by, filter);
  return counter ? <CountedGroups filter={filter} by={by} counter={counter} /> : <ReadGroups filter={filter} by={by} />;
}

function CountedGroups({ filter, by, counter }: GroupedListProps & { readonly counter: Query }) {
  const { api } = useSession();
  const counts = useLoad(JSON.stringify(counter), () => api.read<TokenSummary>("sys/tokens/summary", counter));
  if (counts.problem) return <ProblemNotice problem={counts.problem} onRetry={counts.reload} />;
  if (!counts.value) return <p class="muted">Loading…</p>;
  const { groups, total, other = 0 } = counts.value;
  const smaller = groups.length < MOST_COUNTED ? "" : " or in smaller groups";
  const rest = other > 0 ? `; ${count(other)} are ${withoutText(by)}${smaller}` : "";
  return (
    <section class="card" aria-label="Groups of tokens">
      <header>
        <span class="number" aria-live="polite">
          {counted(groups.length, "group")} of {counted(total, "token")}
          {rest}
        </span>
        <span class="muted">every token is counted{by === "policy" && ", once for each of its policies"}</span>
      </header>
      <DataTable
        label="Groups"
        rows={groups}
        keyOf={({ key }) => key}
        columns={[
          { label: "Group", cell: ({ key }) => <GroupName by={by} name={key} filter={filter} /> },
          { label: "Tokens", right: true, cell: (group) => count(group.count) },
          ...(groups.some(({ trees }) => trees !== undefined)
            ? [{ label: "Trees", right: true, cell: ({ trees = 0 }: TokenSummary["groups"][number]) => count(trees) }]
            : []),
        ]}
      />
    </section>
  );
}

/** Groups of a filter's tokens that the server does not count. */
function ReadGroups({ filter, by }: GroupedListProps) {
  const session = useSession();
  const { api } = session;
  const mayCount = mayDo(session, ...needsOf(ASKED_PATHS.revoke));
  const listed = useLoad(JSON.stringify(filter), () => readTokens(api, filter, MOST_GROUPED));
  const tokens = listed.value?.tokens ?? [];
  const groups = useMemo(() => grouped(tokens, (token) => groupOf(token, by)), [tokens, by]);
  if (listed.problem) return <ProblemNotice problem={listed.problem} onRetry={listed.reload} />;
  const more = listed.value?.more ?? false;
  return (
    <section class="card" aria-label="Groups of tokens">
      <header>
        <span class="number" aria-live="polite">
          {listed.value ? (
            <>
              {counted(groups.length, "group")} of{" "}
              <Total filter={filter} shown={tokens.length} more={more} mayCount={mayCount} />
              {groups.length > LISTED && `; the largest ${count(LISTED)} are listed`}
            </>
          ) : (
            "Loading…"
          )}
        </span>
        <span class="muted">
          {more
            ? `not exact: with a filter ${count(MOST_GROUPED)} tokens are read at most, and these are the numbers of those`
            : "exact: all that match are read"}
        </span>
      </header>
      <GroupTable groups={groups} by={by} filter={filter} />
    </section>
  );
}
