import type { EndingTokens } from "../../client/answers.d.ts";
import { OTHER_HUE } from "../forest/category-hues.ts";
import { count, hourText } from "../format.ts";
import { href } from "../href.ts";
import { GroupName } from "../tokens/group-table.tsx";
import type { GroupBy } from "../tokens/grouping.ts";
import { DataTable } from "../ui/index.ts";
import { othersText } from "./ending-groups.ts";
import { iso, type Span } from "./time-span.ts";

interface EndsTableProps {
  readonly ends: EndingTokens;
  readonly span: Span;
  readonly by: GroupBy;
  /** The filter for the tokens of all groups. */
  readonly filter: Readonly<Record<string, string>>;
  /** The colour of a group in the chart beside the table. */
  readonly hueOf: (group: string) => string;
}

/** Groups of ending tokens, with their counts and the first bar in which a token ends. */
export function EndsTable({ ends, span, by, filter, hueOf }: EndsTableProps) {
  const named = ends.groups.map((group) => ({ ...group, isRest: false }));
  const rest = ends.other.count > 0 ? [{ key: "", ...ends.other, isRest: true }] : [];
  return (
    <DataTable
      label="Groups"
      rows={[...named, ...rest]}
      // A group without a name has an empty key.
      keyOf={({ key, isRest }) => (isRest ? "rest" : `group ${key}`)}
      columns={[
        {
          label: "Group",
          cell: ({ key, isRest }) => (
            <span class="keyed">
              <i class={isRest ? OTHER_HUE : hueOf(key)} />
              {isRest ? (
                <a href={href(["tokens"], { ...filter, group: by })}>{othersText(by, ends.groups.length)}</a>
              ) : (
                <GroupName by={by} name={key} filter={filter} />
              )}
            </span>
          ),
        },
        { label: "First ends between", cell: ({ parts }) => firstBar(span, parts).map(hourText).join(" and ") },
        { label: "Tokens", right: true, cell: (group) => count(group.count) },
      ]}
    />
  );
}

/** Begin and end of the first bar that has tokens. */
function firstBar({ from, step }: Span, parts: readonly number[]): readonly [string, string] {
  const first = Math.max(
    0,
    parts.findIndex((one) => one > 0),
  );
  const at = from + first * step;
  return [iso(at), iso(at + step)];
}
