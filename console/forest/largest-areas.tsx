import { count } from "../format.ts";
import { href } from "../href.ts";
import { filterOfGroup, type GroupBy } from "../tokens/grouping.ts";
import { Card, DataTable, End } from "../ui/index.ts";
import { nextEndOf } from "./next-end.ts";
import { type Item, treesIn } from "./token-map.ts";

const LISTED = 12;

interface LargestProps {
  readonly items: readonly Item[];
  /** What they are grouped by. */
  readonly by: GroupBy;
}

/** The largest areas of the map as a table of trees and groups of trees. */
export function Largest({ items, by }: LargestProps) {
  const filterOf = ({ group }: Item) => (group === undefined ? {} : filterOfGroup(by, group));
  const largest = items
    .flatMap((frame) => frame.items ?? [])
    .filter(({ rest }) => rest === undefined)
    .sort((a, b) => b.count - a.count)
    .slice(0, LISTED);
  return (
    <Card title="Largest" beside={<a href={href(["tokens"], { orphan: "true" })}>All without a parent</a>}>
      <DataTable
        label="Largest"
        rows={largest}
        keyOf={({ key }) => key}
        columns={[
          {
            label: "Name",
            cell: ({ name, token, opens }) => <a href={token ? href(["tokens", token.accessor]) : opens}>{name}</a>,
          },
          { label: "Tokens", right: true, cell: ({ count: tokens }) => count(tokens) },
          { label: "Trees", right: true, cell: (item) => count(treesIn(item)) },
          { label: "Began by", cell: ({ mount }) => <span class="mono">{mount}</span> },
          {
            label: "Next tree ends",
            cell: (item) => {
              const end = nextEndOf(item);
              if (end !== undefined) return <End at={end} />;
              // The map names only the largest trees; the list has all, the first to end first.
              return <a href={href(["tokens"], { ...filterOf(item), mount: item.mount, sort: "end" })}>in the list</a>;
            },
          },
        ]}
      />
    </Card>
  );
}
