import { useMemo } from "preact/hooks";
import type { ColourBy } from "../forest/area-category.ts";
import { ColourChoice, colourOf, isColour } from "../forest/colour-choice.tsx";
import { Tree } from "../forest/descendants-map.tsx";
import { groupsIn, groupsText, itemsByGroup, itemsOfGroup, withNames } from "../forest/items-by-group.ts";
import { Largest } from "../forest/largest-areas.tsx";
import { readMap } from "../forest/read-map.ts";
import { goingIn, type Item, itemsOfMap, sumOf, treesIn } from "../forest/token-map.ts";
import { Treemap } from "../forest/treemap.tsx";
import { useRefresh } from "../forest/use-refresh.ts";
import { approximate, count, counted } from "../format.ts";
import { href, type Parameters } from "../href.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { GroupChoice } from "../tokens/group-choice.tsx";
import { filterOfGroup, type GroupBy, groupingOf, isGrouping, treeCounterOf } from "../tokens/grouping.ts";
import { useWatermarks } from "../tokens/use-watermarks.ts";
import { Empty, PageHead, ProblemNotice, UnknownValues, unknownIn, useLoad } from "../ui/index.ts";
import { useEntityNames } from "../use-names.ts";

/** A map of all trees, of one method, of a group, or of the descendants of a token. */
export function ForestPage({ query }: { readonly query: URLSearchParams }) {
  const view: View = {
    token: query.get("token") ?? "",
    mount: query.get("mount") ?? "",
    group: query.get("group") ?? "",
    by: query.get("by") === TREE ? TREE : groupingOf(query.get("by"), "name"),
    colour: colourOf(query.get("colour")),
  };
  const show = (change: Partial<View>): void => go(href([], parametersOf({ ...view, ...change })), "replace");
  const unknown = unknownIn(query, { by: (by) => by === TREE || isGrouping(by), colour: isColour });
  if (view.token === "") return <Forest view={view} show={show} unknown={unknown} />;
  return <Tree accessor={view.token} colour={view.colour} onColour={(colour) => show({ colour })} />;
}

/** The grouping in which each tree is an area of its own. */
const TREE = "tree";

/** The view of the forest, kept in the URL. */
interface View {
  /** The accessor of a token; "" for all trees. */
  readonly token: string;
  readonly mount: string;
  readonly group: string;
  readonly by: GroupBy;
  readonly colour: ColourBy;
}

/** The URL leaves out defaults. */
const parametersOf = ({ by, colour, ...place }: View): Parameters => ({
  ...place,
  ...(by !== "name" && { by }),
  ...(colour !== "policy" && { colour }),
});

interface ForestProps {
  readonly view: View;
  readonly show: (change: Partial<View>) => void;
  /** Parameters of the URL with unknown values. */
  readonly unknown: readonly string[];
}

function Forest({ view, show, unknown }: ForestProps) {
  const { api } = useSession();
  const { mount, group, by, colour } = view;
  const counter = treeCounterOf(by);
  const map = useLoad(`map ${counter}`, () => readMap(api, counter));
  const all = useMemo(() => (map.value ? itemsOfMap(map.value) : []), [map.value]);
  const grouped = useMemo(() => {
    const shown = all.filter((item) => mount === "" || item.mount === mount);
    if (!map.value || by === TREE) return shown;
    if (group !== "") return itemsOfGroup(map.value, shown, by, group);
    return itemsByGroup(map.value, shown, by, (of, name) =>
      href([], parametersOf({ ...view, mount: of, group: name })),
    );
  }, [all, mount, group, by, colour]);
  const entities = useEntityNames(by !== "entity" ? [] : group === "" ? groupsIn(grouped) : [group]);
  const items = useMemo(() => withNames(grouped, entities), [grouped, entities]);
  const keys = useMemo(() => [...new Set(all.flatMap(keysOf))], [all]);
  useRefresh(map.reload, items);
  useWatermarks();
  const total = sumOf(items);
  const going = goingIn(items);
  const trees = items.reduce((sum, item) => sum + treesOf(item), 0);
  const hasTrees = items.some((item) => (item.items ?? []).some(({ rest }) => rest === undefined));
  // Only the total of all methods is exact.
  const isEstimate = mount !== "" && items.some((item) => item.items?.some(({ rest }) => rest?.estimated));
  const title = (entities.get(group) ?? group) || mount || "Forest";
  const ofGroup = filterOfGroup(by, group);

  return (
    <>
      <PageHead
        title={title}
        text={
          map.value && (
            <span class="number">
              {mount !== "" && <a href={href([], parametersOf({ ...view, mount: "", group: "" }))}>Forest</a>}
              {mount !== "" && " / "}
              {group !== "" && <a href={href([], parametersOf({ ...view, group: "" }))}>{mount}</a>}
              {group !== "" && " / "}
              {approximate(total, "token", isEstimate)} in {counted(trees, "tree")}
              {going > 0 && `, ${count(going)} of them revoked and not swept yet`}
            </span>
          )
        }
      >
        <ColourChoice colour={colour} onChange={(next) => show({ colour: next })} />
        {group === "" ? (
          <GroupChoice by={by} keys={keys} none={[TREE, "Tree by tree"]} onChange={(next) => show({ by: next })} />
        ) : (
          ofGroup && (
            <a class="button" href={href(["tokens"], { ...ofGroup, mount })}>
              Its tokens
            </a>
          )
        )}
      </PageHead>
      <UnknownValues names={unknown} />
      {map.problem && <ProblemNotice problem={map.problem} onRetry={map.reload} />}
      {!map.value && map.busy && <div class="treemap" aria-busy="true" />}
      {map.value && !hasTrees && (
        <NoTrees total={total} of={group === "" ? mount : title} filter={{ ...ofGroup, mount }} />
      )}
      {map.value && hasTrees && (
        <div class="stack">
          {by !== "tree" && <GroupsNote text={groupsText(map.value, mount)} />}
          <Treemap
            items={items}
            by={colour}
            label={
              title === "Forest" ? "Trees by their number of tokens" : `Trees of ${title} by their number of tokens`
            }
          />
          <Largest items={items} by={by} />
        </div>
      )}
    </>
  );
}

function GroupsNote({ text }: { readonly text: string }) {
  return text === "" ? null : <p class="muted">{text}</p>;
}

const treesOf = ({ items = [], ...one }: Item): number =>
  items.length > 0 ? items.reduce((sum, item) => sum + treesOf(item), 0) : treesIn(one);

const keysOf = ({ items = [], token }: Item): readonly string[] => [
  ...Object.keys(token?.metadata ?? {}),
  ...items.flatMap(keysOf),
];

interface NoTreesProps {
  readonly total: number;
  /** The shown group or method; "" for the whole forest. */
  readonly of: string;
  readonly filter: Parameters;
}

function NoTrees({ total, of, filter }: NoTreesProps) {
  if (total === 0) {
    return (
      <div class="card">
        <Empty title="Nothing grows here yet">
          <p>Each token without a parent begins a tree; the tokens that it makes hang below it.</p>
          <a class="button primary" href={href(["new-token"])}>
            New token
          </a>
        </Empty>
      </div>
    );
  }
  return (
    <div class="card">
      <Empty title={of === "" ? "No token has another below it yet" : `No tree of ${of} is drawn`}>
        <p>
          {of === ""
            ? "A token hangs below the one that made it, and ends with it: then there is a tree, and it is drawn here."
            : `${counted(total, "token")}: the map draws only the largest trees, and no single tokens.`}
        </p>
        <a class="button primary" href={href(["tokens"], filter)}>
          {of === "" ? "All tokens" : "Its tokens"}
        </a>
      </Empty>
    </div>
  );
}
