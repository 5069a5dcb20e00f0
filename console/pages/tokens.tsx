import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { go } from "../router.ts";
import { isTokenInSearch } from "../search/text-result.ts";
import { mayDo, useSession } from "../session.ts";
import { areColumns, type Column, ColumnChoice, haveSecondLine, shownColumns } from "../tokens/columns.tsx";
import { marksOfAlike } from "../tokens/distinct-names.ts";
import { ExportMenu } from "../tokens/export-menu.tsx";
import {
  entitiesOf,
  FILTER_FIELDS,
  type Filter,
  filterBody,
  filterOf,
  filterText,
  refusedFilter,
} from "../tokens/filter.ts";
import { FilterBar } from "../tokens/filter-bar.tsx";
import { GroupChoice } from "../tokens/group-choice.tsx";
import { GroupedList } from "../tokens/grouped-list.tsx";
import { groupingOf, isGrouping } from "../tokens/grouping.ts";
import { isBeingRevoked } from "../tokens/recent-revocations.ts";
import { RevokeMany } from "../tokens/revoke-dialog.tsx";
import type { Selection } from "../tokens/selection.ts";
import { detailText, nameOf } from "../tokens/token-name.ts";
import { Total } from "../tokens/token-total.tsx";
import { useTokenPages } from "../tokens/use-token-pages.ts";
import {
  AllowedButton,
  AllowedLink,
  Empty,
  Icon,
  MoreButton,
  Notice,
  PageHead,
  ProblemNotice,
  Scroll,
  UnknownValues,
  unknownIn,
  useDrawnRows,
  useWindowWidth,
} from "../ui/index.ts";
import { useEntityNames } from "../use-names.ts";

/** Heights of a row in the style sheet, with one line and with two (px). */
const [ROW_HEIGHT, TWO_LINES] = [34, 52];

interface Chosen {
  readonly selection: Selection;
  readonly text: string;
}

/** The tokens that match the filters in the URL. */
export function TokensPage({ query }: { readonly query: URLSearchParams }) {
  const session = useSession();
  const filter = filterOf(query);
  const names = useEntityNames(entitiesOf([filter]));
  const sort = query.get("sort") ?? "-created";
  const group = groupingOf(query.get("group"), "");
  const unknown = unknownIn(query, { group: isGrouping, columns: areColumns });
  const columns = shownColumns(query, useWindowWidth());
  const showsAccessor = columns.some(({ name }) => name === "accessor");
  const pages = useTokenPages(session.api, { ...filter, sort });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const rowHeight = haveSecondLine(columns) ? TWO_LINES : ROW_HEIGHT;
  const drawn = useDrawnRows(body, pages.tokens.length, rowHeight);
  // The URL contains a token, which is removed so that it does not stay in the history.
  const isToken = pages.problem !== null && isTokenInSearch(pages.problem);
  const [wasToken, setWasToken] = useState(false);
  useEffect(() => {
    if (!isToken) return;
    setWasToken(true);
    show({ search: "" });
  }, [isToken]);
  const going = pages.tokens.filter((token) => isBeingRevoked(token)).length;

  const show = (change: Readonly<Record<string, string>>): void => {
    const kept = { columns: query.get("columns") ?? "", sort: query.get("sort") ?? "", group, ...filter };
    setSelected(new Set());
    go(href(["tokens"], { ...kept, ...change }), "replace");
  };
  const known = useMemo(() => new Map(pages.tokens.map((one) => [one.accessor, one])), [pages.tokens]);
  const marks = useMemo(() => marksOfAlike(pages.tokens), [pages.tokens]);
  const keys = useMemo(() => [...new Set(pages.tokens.flatMap((one) => Object.keys(one.metadata)))], [pages.tokens]);
  const notTaken = pages.problem?.status === 400 ? pages.problem.messages : [];
  const isFiltered = Object.keys(filter).length > 0;
  const revocation = needsOf(ASKED_PATHS.revoke);
  const toggle = (accessor: string): void => {
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(accessor)) next.add(accessor);
      return next;
    });
  };

  return (
    <>
      <PageHead title="Tokens">
        <GroupChoice by={group} keys={keys} none={["", "Token by token"]} onChange={(next) => show({ group: next })} />
        <ExportMenu filter={filter} sort={sort} />
        <ColumnChoice shown={columns} onChange={(names) => show({ columns: names.join(",") })} />
        <AllowedLink look="button primary" needs={needsOf(ASKED_PATHS.create)} href={href(["new-token"])}>
          <Icon name="plus" /> New token
        </AllowedLink>
      </PageHead>
      <UnknownValues names={unknown} />
      {wasToken && !("search" in filter) && (
        <Notice tone="warn" title="The address had a token in it, and has it no more">
          The history of the browser and logs may keep it: the search (Ctrl K) says what it is, and leads to its page.
        </Notice>
      )}
      <div class="stack">
        <FilterBar filter={filter} refusal={notTaken} onChange={(next) => show({ ...cleared(), ...next })} />
        {pages.problem && refusedFilter(notTaken) === "" && (
          <ProblemNotice problem={pages.problem} onRetry={pages.reload} />
        )}
        {group !== "" && <GroupedList filter={filter} by={group} />}
        {group === "" && !pages.problem && (
          <section class="card" aria-label="Tokens">
            <header>
              <span class="number" aria-live="polite">
                {pages.busy && pages.tokens.length === 0 ? (
                  "Loading…"
                ) : (
                  <Total
                    filter={filter}
                    shown={pages.tokens.length}
                    more={pages.next !== ""}
                    mayCount={mayDo(session, ...revocation)}
                  />
                )}
                {going > 0 && `, ${count(going)} of them revoked and not swept yet`}
                {selected.size > 0 && `, ${selected.size} selected`}
              </span>
              <div class="row">
                {selected.size > 0 && (
                  <AllowedButton
                    look="button danger slim"
                    needs={revocation}
                    onClick={() =>
                      setChosen({
                        selection: { accessors: [...selected] },
                        text: counted(selected.size, "selected token"),
                      })
                    }
                  >
                    Revoke selected
                  </AllowedButton>
                )}
                {isFiltered && selected.size === 0 && pages.tokens.length > 0 && (
                  <AllowedButton
                    look="button danger slim"
                    needs={revocation}
                    onClick={() =>
                      setChosen({ selection: filterBody(filter), text: `All that match: ${filterText(filter, names)}` })
                    }
                  >
                    Contain: revoke all that match
                  </AllowedButton>
                )}
              </div>
            </header>
            {pages.tokens.length === 0 && !pages.busy ? (
              <NoTokens isFiltered={isFiltered} onClear={() => show(cleared())} />
            ) : (
              <Scroll label="Tokens">
                <table
                  class={haveSecondLine(columns) ? "rows two-lines" : "rows"}
                  aria-busy={pages.busy}
                  aria-rowcount={pages.tokens.length + 1}
                >
                  <thead>
                    <tr>
                      <th scope="col">
                        <span class="visually-hidden">Selected</span>
                      </th>
                      {columns.map((column) => (
                        <ColumnHead
                          key={column.name}
                          column={column}
                          sort={sort}
                          onSort={(next) => show({ sort: next })}
                        />
                      ))}
                    </tr>
                  </thead>
                  <tbody ref={body}>
                    <Space height={drawn.first * rowHeight} columns={columns.length + 1} />
                    {pages.tokens.slice(drawn.first, drawn.end).map((token, at) => (
                      <tr
                        key={token.accessor}
                        aria-rowindex={drawn.first + at + 2}
                        class={isBeingRevoked(token) ? "fading" : selected.has(token.accessor) ? "selected" : undefined}
                      >
                        <td>
                          <input
                            type="checkbox"
                            aria-label={`Select ${[nameOf(token), detailText(token), marks.get(token.accessor)].filter(Boolean).join(" ")}${isBeingRevoked(token) ? ", revoked" : ""}`}
                            checked={selected.has(token.accessor)}
                            onChange={() => toggle(token.accessor)}
                          />
                        </td>
                        {columns.map((column) => (
                          <td key={column.name} class={column.right ? "right" : "wide"}>
                            {column.cell(token, known, showsAccessor ? "" : (marks.get(token.accessor) ?? ""))}
                          </td>
                        ))}
                      </tr>
                    ))}
                    <Space height={(pages.tokens.length - drawn.end) * rowHeight} columns={columns.length + 1} />
                  </tbody>
                </table>
              </Scroll>
            )}
            {pages.next !== "" && <MoreButton label="Show more" onClick={pages.more} busy={pages.busy} />}
          </section>
        )}
      </div>
      {chosen && (
        <RevokeMany
          {...chosen}
          onClose={() => {
            setChosen(null);
            setSelected(new Set());
          }}
        />
      )}
    </>
  );
}

/** Empty space for rows that are not drawn. */
function Space({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null;
  return (
    <tr>
      <td colSpan={columns} class="space" style={{ height: `${height}px` }} />
    </tr>
  );
}

const cleared = (): Filter => Object.fromEntries(FILTER_FIELDS.map(({ name }) => [name, ""]));

interface ColumnHeadProps {
  readonly column: Column;
  readonly sort: string;
  readonly onSort: (sort: string) => void;
}

function ColumnHead({ column, sort, onSort }: ColumnHeadProps) {
  const { sort: by, label, right } = column;
  const ascending = sort === by;
  const descending = sort === `-${by}`;
  const order = ascending ? "ascending" : descending ? "descending" : undefined;
  return (
    <th scope="col" class={right ? "right" : undefined} aria-sort={order}>
      {by === undefined ? (
        label
      ) : (
        <button type="button" onClick={() => onSort(descending ? by : `-${by}`)}>
          {label}
          {order && <Icon name={ascending ? "up" : "down"} size={12} />}
        </button>
      )}
    </th>
  );
}

function NoTokens({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  if (isFiltered) {
    return (
      <Empty title="No token matches">
        <p>
          Batch tokens and tokens of <a href={href(["teams"])}>teams</a> are in no list, and may be alive. Search finds
          parts in any case; the fields below it are exact, but for a name that ends with *. The list is two seconds
          behind at most.
        </p>
        <button type="button" class="button" onClick={onClear}>
          Clear the filter
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="No tokens yet">
      <p>Make the first one here, or let a machine log in.</p>
      <a class="button primary" href={href(["new-token"])}>
        New token
      </a>
    </Empty>
  );
}
