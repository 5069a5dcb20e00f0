import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isNarrow } from "./window-width.ts";

/** One column of a table, with what it shows of a row. */
export interface DataColumn<T> {
  readonly label: string;
  readonly right?: boolean;
  /** True for cells with sentences: these wrap onto several lines and are never cut off. */
  readonly wraps?: boolean;
  /** True when only screen readers see the label. */
  readonly isBare?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

interface DataTableProps<T> {
  /** The accessible name: what the rows are. */
  readonly label: string;
  /** Undefined or null while they are loaded. */
  readonly rows: readonly T[] | null | undefined;
  readonly columns: readonly DataColumn<T>[];
  readonly keyOf: (row: T) => string;
  /** Key of the row to highlight, which is scrolled into view once. A key may be empty. */
  readonly marked?: string;
  /** Shown in place of a table without rows. */
  readonly empty?: ComponentChildren;
}

/** A table of rows. */
export function DataTable<T>({ label, rows, columns, keyOf, marked, empty }: DataTableProps<T>) {
  if (!rows) return null;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <Scroll label={label} stacks>
      <table>
        <thead>
          <tr>
            {columns.map(({ label: head, right, isBare }) => (
              <th key={head} scope="col" class={right ? "right" : undefined}>
                {isBare ? <span class="visually-hidden">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              class={keyOf(row) === marked ? "selected" : undefined}
              ref={keyOf(row) === marked ? scrollTo : null}
            >
              {columns.map(({ label: head, right, wraps, isBare, cell }) => (
                <td
                  key={head}
                  class={right ? "right" : wraps ? "sentence" : "wide whole"}
                  data-label={isBare ? undefined : head}
                  onMouseEnter={right || wraps ? undefined : nameIfCut}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** A stable function, so that Preact calls it only once, when the row appears. */
function scrollTo(row: HTMLElement | null): void {
  row?.scrollIntoView({ block: "center" });
}

/** Sets the whole text of a cut cell as its tooltip. */
function nameIfCut({ currentTarget: cell }: { readonly currentTarget: HTMLElement }): void {
  const isCut = cell.scrollWidth > cell.clientWidth && cell.querySelector("[title]") === null;
  cell.title = isCut ? (cell.textContent ?? "") : "";
}

interface PagerProps {
  readonly page: number;
  readonly pages: number;
  readonly onPage: (page: number) => void;
}

/** Buttons to the previous and next page. Renders nothing for a single page. */
export function Pager({ page, pages, onPage }: PagerProps) {
  if (pages <= 1) return null;
  return <PageButtons page={page} text={`${page} of ${pages}`} isLast={page >= pages} onPage={onPage} />;
}

interface PageButtonsProps extends Pick<PagerProps, "page" | "onPage"> {
  /** The label of the current page. */
  readonly text: string;
  readonly isLast: boolean;
}

/** Buttons to the previous and next page of a list, whose number of pages may be unknown. */
export function PageButtons({ page, text, isLast, onPage }: PageButtonsProps) {
  return (
    <div class="table-foot">
      <div class="row">
        <button type="button" class="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
          Back
        </button>
        <span class="number muted" aria-live="polite">
          {text}
        </span>
        <button type="button" class="button" disabled={isLast} onClick={() => onPage(page + 1)}>
          Next
        </button>
      </div>
    </div>
  );
}

interface MoreButtonProps {
  readonly label: string;
  readonly onClick: () => void;
  /** True while more is being read. */
  readonly busy?: boolean;
}

/** The button below a list that shows more of it. */
export function MoreButton({ label, onClick, busy = false }: MoreButtonProps) {
  return (
    <div class="table-foot">
      <button type="button" class="button" onClick={() => !busy && onClick()} aria-disabled={busy}>
        {busy ? "Loading…" : label}
      </button>
    </div>
  );
}

/** True when the columns do not fit. Measured as a table, also while the rows are cards. */
function isWiderAsTable(frame: HTMLElement): boolean {
  const wasStacked = frame.classList.contains(STACKED);
  frame.classList.remove(STACKED);
  const isWider = frame.scrollWidth > frame.clientWidth;
  frame.classList.toggle(STACKED, wasStacked);
  return isWider;
}

/** The class of a table whose rows are cards. */
const STACKED = "stacked";

interface ScrollProps {
  /** The accessible name of the content. */
  readonly label: string;
  /** True for a table whose rows become cards when a phone has no room for its columns. */
  readonly stacks?: boolean;
  readonly children: ComponentChildren;
}

/** Scrolls wide content sideways. It is a tab stop only while there is something to scroll. */
export function Scroll({ label, stacks = false, children }: ScrollProps) {
  const element = useRef<HTMLDivElement>(null);
  const [isWider, setIsWider] = useState(false);
  const [isStacked, setIsStacked] = useState(false);
  useLayoutEffect(() => {
    const frame = element.current;
    if (!frame) return;
    const observer = new ResizeObserver(() => {
      const isCards = stacks && isNarrow() && isWiderAsTable(frame);
      setIsStacked(isCards);
      setIsWider(!isCards && frame.scrollWidth > frame.clientWidth);
    });
    observer.observe(frame);
    for (const child of frame.children) observer.observe(child);
    return () => observer.disconnect();
  }, [stacks]);
  const stop = isWider ? ({ tabIndex: 0, role: "region", "aria-label": `${label}, all columns` } as const) : {};
  return (
    <div class={isStacked ? `scroll ${STACKED}` : "scroll"} ref={element} {...stop}>
      {children}
    </div>
  );
}
