import { useMemo } from "preact/hooks";
import { compact } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { nameOf } from "../tokens/token-name.ts";
import { Empty, PageHead, ProblemNotice, useLoad } from "../ui/index.ts";
import type { ColourBy } from "./area-category.ts";
import { ColourChoice } from "./colour-choice.tsx";
import { readBranch } from "./read-map.ts";
import { type Branch, itemsOfBranch } from "./token-map.ts";
import { Treemap } from "./treemap.tsx";
import { useRefresh } from "./use-refresh.ts";

interface TreeProps {
  readonly accessor: string;
  readonly colour: ColourBy;
  readonly onColour: (colour: ColourBy) => void;
}

/** A map of the descendants of a token. */
export function Tree({ accessor, colour, onColour }: TreeProps) {
  const { api } = useSession();
  const branch = useLoad(accessor, () => readBranch(api, accessor));
  const value = branch.value;
  const items = useMemo(() => (value ? itemsOfBranch(value) : []), [value]);
  useRefresh(branch.reload, items);
  return (
    <>
      <PageHead title={value ? nameOf(value.token) : "Tree"} text={value && <Way branch={value} />}>
        <ColourChoice colour={colour} onChange={onColour} />
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
          <Treemap items={items} by={colour} label="Tokens below, by the number below each" />
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
