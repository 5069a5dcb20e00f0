import type { EndingTokens } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import type { GroupBy } from "../tokens/group.ts";
import { GroupName } from "../tokens/group-table.tsx";
import { DataTable, Time } from "../ui/index.ts";
import type { Span } from "./span.ts";

interface EndsTableProps {
  readonly ends: EndingTokens;
  readonly span: Span;
  readonly by: GroupBy;
  /** The filter for the tokens of all groups. */
  readonly filter: Readonly<Record<string, string>>;
  /** The colour of a group in the picture beside the table. */
  readonly hueOf: (group: string) => string;
}

/** Groups of ending tokens, with their numbers and the end of the first bar that has some. */
export function EndsTable({ ends, span, by, filter, hueOf }: EndsTableProps) {
  const others = ends.other.count > 0 ? [{ key: "", ...ends.other }] : [];
  return (
    <DataTable
      label="Groups"
      rows={[...ends.groups, ...others]}
      keyOf={({ key }) => key}
      columns={[
        {
          label: "Group",
          cell: ({ key }) => (
            <span class="keyed">
              <i class={hueOf(key)} />
              {key === "" ? (
                <span class="muted">none, or a smaller one</span>
              ) : (
                <GroupName by={by} name={key} filter={filter} />
              )}
            </span>
          ),
        },
        { label: "First end before", cell: ({ parts }) => <Time at={endOfFirst(span, parts)} both /> },
        { label: "Tokens", right: true, cell: (group) => count(group.count) },
      ]}
    />
  );
}

/** The end of the bar in which the first of them ends. */
function endOfFirst({ from, step }: Span, parts: readonly number[]): string {
  const first = Math.max(
    0,
    parts.findIndex((one) => one > 0),
  );
  return new Date(from + (first + 1) * step).toISOString();
}
