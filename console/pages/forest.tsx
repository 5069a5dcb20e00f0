import { useEffect, useMemo, useState } from "preact/hooks";
import type { ColourBy } from "../forest/colour.ts";
import { type Branch, type Item, itemsOfBranch, itemsOfMap, type MountGroup, sumOf } from "../forest/map.ts";
import { readBranch, readMap } from "../forest/read.ts";
import { Treemap } from "../forest/treemap.tsx";
import { approximate, compact, count, counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { isGoing } from "../tokens/going.ts";
import { nameOf } from "../tokens/model.ts";
import { Empty, Segments } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Scroll } from "../ui/scroll.tsx";
import { End } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";

const COLOURS: readonly (readonly [ColourBy, string])[] = [
  ["policy", "Policy"],
  ["end", "End"],
  ["method", "Method"],
];
const LISTED = 12;
const REFRESH_MS = 10_000;
/** Pause between two loads of the map while something on it is swept. */
const FOLLOW_MS = 1_000;

/** All trees as a map: the forest, one method, or one tree and what hangs below a token of it. */
export function ForestPage({ query }: { readonly query: URLSearchParams }) {
  const accessor = query.get("token") ?? "";
  return accessor === "" ? <Forest mount={query.get("mount") ?? ""} /> : <Tree accessor={accessor} />;
}

function Forest({ mount }: { readonly mount: string }) {
  const { api } = useSession();
  const map = useLoad("map", () => readMap(api));
  const [by, setBy] = useState<ColourBy>("policy");
  const groups = map.value?.groups ?? [];
  const all = useMemo(() => (map.value ? itemsOfMap(map.value) : []), [map.value]);
  const items = useMemo(() => all.filter((item) => mount === "" || item.mount === mount), [all, mount]);
  useRefresh(map.reload, items);
  const shown = mount === "" ? groups : groups.filter((group) => group.mount === mount);
  const hasTrees = shown.some(({ largest }) => largest.length > 0);
  const trees = shown.reduce((sum, group) => sum + group.trees, 0);
  const total = sumOf(items);
  // The number of all methods together is exact.
  const isEstimate = mount !== "" && shown.some(({ rest }) => rest.estimated);

  return (
    <>
      <PageHead
        title={mount === "" ? "Forest" : mount}
        text={
          map.value && (
            <span class="number">
              {mount !== "" && <a href={href([])}>Forest</a>}
              {mount !== "" && " / "}
              {approximate(total, "token", isEstimate)} in {counted(trees, "tree")}
            </span>
          )
        }
      >
        <Segments legend="Colour by" options={COLOURS} value={by} onChange={setBy} />
      </PageHead>
      {map.problem && <ProblemNotice problem={map.problem} onRetry={map.reload} />}
      {!map.value && map.busy && <div class="treemap" aria-busy="true" />}
      {map.value && total === 0 && (
        <div class="card">
          <Empty title="Nothing grows here yet">
            <p>Each token without a parent begins a tree; the tokens that it makes hang below it.</p>
            <a class="button primary" href={href(["new-token"])}>
              New token
            </a>
          </Empty>
        </div>
      )}
      {map.value && total > 0 && !hasTrees && (
        <div class="card">
          <Empty title="No token has another below it yet">
            <p>
              A token hangs below the one that made it, and goes with it: then there is a tree, and it is drawn here.
              Make one, and open the token that you are signed in with.
            </p>
            <div class="row">
              <a class="button primary" href={href(["new-token"])}>
                New token
              </a>
              <a class="button" href={href(["tokens"], { mount })}>
                All tokens
              </a>
            </div>
          </Empty>
        </div>
      )}
      {map.value && hasTrees && (
        <div class="stack">
          <Treemap
            items={items}
            by={by}
            label={mount === "" ? "Trees by their number of tokens" : `Trees of ${mount} by their number of tokens`}
          />
          <Largest groups={shown} />
        </div>
      )}
    </>
  );
}

/** Loads the map again from time to time, and often while something on it is swept. */
function useRefresh(reload: () => void, items: readonly Item[]): void {
  const isSwept = useMemo(() => items.some(goes), [items]);
  useEffect(() => {
    const timer = window.setInterval(
      () => {
        if (!document.hidden) reload();
      },
      isSwept ? FOLLOW_MS : REFRESH_MS,
    );
    return () => window.clearInterval(timer);
  }, [reload, isSwept]);
}

const goes = ({ token, items = [] }: Item): boolean => isGoing(token) || items.some(goes);

/** The largest areas of the map as a table. */
function Largest({ groups }: { readonly groups: readonly MountGroup[] }) {
  const trees = groups
    .flatMap(({ largest }) => largest)
    .sort((a, b) => b.count - a.count)
    .slice(0, LISTED);
  return (
    <section class="card" aria-labelledby="largest">
      <header>
        <h2 id="largest">Largest trees</h2>
        <a href={href(["tokens"], { orphan: "true" })}>All roots</a>
      </header>
      <Scroll label="Largest trees">
        <table>
          <thead>
            <tr>
              <th scope="col">Root</th>
              <th scope="col">Method</th>
              <th scope="col">Ends</th>
              <th scope="col" class="right">
                Tokens
              </th>
            </tr>
          </thead>
          <tbody>
            {trees.map(({ tree, root, count: tokens }) => (
              <tr key={tree}>
                <td class="wide">{root ? <a href={href(["tokens", root.accessor])}>{nameOf(root)}</a> : "a tree"}</td>
                <td class="mono">{root?.mount ?? ""}</td>
                <td>{root && <End at={root.expires} />}</td>
                <td class="right">{count(tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function Tree({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const branch = useLoad(accessor, () => readBranch(api, accessor));
  const [by, setBy] = useState<ColourBy>("policy");
  const value = branch.value;
  const items = useMemo(() => (value ? itemsOfBranch(value) : []), [value]);
  useRefresh(branch.reload, items);
  return (
    <>
      <PageHead title={value ? nameOf(value.token) : "Tree"} text={value && <Way branch={value} />}>
        <Segments legend="Colour by" options={COLOURS} value={by} onChange={setBy} />
        <a class="button" href={href(["tokens", accessor])}>
          Open the token
        </a>
      </PageHead>
      {branch.problem && <ProblemNotice problem={branch.problem} onRetry={branch.reload} />}
      {!value && branch.busy && <div class="treemap" aria-busy="true" />}
      {value && items.length === 0 && (
        <div class="card">
          <Empty title="Nothing hangs below this token" />
        </div>
      )}
      {items.length > 0 && (
        <div class="stack">
          <Treemap items={items} by={by} label="Tokens below, by the number below each" />
          {value?.more && <p class="muted">The largest branches are shown.</p>}
        </div>
      )}
    </>
  );
}

function Way({ branch: { token, descendants } }: { readonly branch: Branch }) {
  return (
    <span class="number">
      <a href={href([])}>Forest</a>
      {" / "}
      <a href={href([], { mount: token.mount })}>{token.mount}</a>
      {token.parent !== null && (
        <>
          {" / "}
          <a href={href([], { token: token.parent })}>parent</a>
        </>
      )}
      {descendants && ` / ${compact(descendants.count)}${descendants.more ? "+" : ""} below`}
    </span>
  );
}
