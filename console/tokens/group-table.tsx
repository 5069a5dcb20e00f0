import type { Token } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import { href } from "../href.ts";
import { DataTable, End } from "../ui/index.ts";
import { filterOfGroup, type Group, type GroupBy, withoutText } from "./grouping.ts";
import { EntityName } from "./links.tsx";

/** Most groups that are listed. */
export const LISTED = 50;

interface GroupTableProps {
  readonly groups: readonly Group<Token>[];
  readonly by: GroupBy;
  /** The filter for the tokens of all groups. */
  readonly filter: Readonly<Record<string, string>>;
  /** The colour of a group in the chart beside the table. */
  readonly hueOf?: (group: string) => string;
}

/** Groups of tokens, each with its count and the first end of a token. */
export function GroupTable({ groups, by, filter, hueOf }: GroupTableProps) {
  return (
    <DataTable
      label="Groups"
      rows={groups.slice(0, LISTED)}
      keyOf={({ name }) => name}
      columns={[
        {
          label: "Group",
          cell: ({ name }) => (
            <span class="keyed">
              {hueOf && <i class={hueOf(name)} />}
              <GroupName by={by} name={name} filter={filter} />
            </span>
          ),
        },
        { label: "First end", cell: ({ of }) => <End at={firstEnd(of)} both /> },
        { label: "Trees", right: true, cell: ({ of }) => count(new Set(of.map(({ tree }) => tree)).size) },
        { label: "Tokens", right: true, cell: ({ of }) => count(of.length) },
      ]}
    />
  );
}

interface GroupNameProps {
  readonly by: GroupBy;
  readonly name: string;
  readonly filter: Readonly<Record<string, string>>;
}

/** The name of a group, as a link to its tokens. */
export function GroupName({ by, name, filter }: GroupNameProps) {
  const own = filterOfGroup(by, name);
  if (!own) return <span class="muted">{withoutText(by)}</span>;
  return <a href={href(["tokens"], { ...filter, ...own })}>{by === "entity" ? <EntityName id={name} /> : name}</a>;
}

const firstEnd = (tokens: readonly Token[]): string | null =>
  tokens.reduce<string | null>(
    (first, { expires }) => (first === null || (expires !== null && expires < first) ? expires : first),
    null,
  );
