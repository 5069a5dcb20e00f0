interface PagerProps {
  readonly page: number;
  readonly pages: number;
  readonly onPage: (page: number) => void;
}

/** To the page before and after; nothing where there is one page. */
export function Pager({ page, pages, onPage }: PagerProps) {
  if (pages <= 1) return null;
  return (
    <div class="more">
      <div class="row">
        <button type="button" class="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
          Back
        </button>
        <span class="number muted" aria-live="polite">
          {page} of {pages}
        </span>
        <button type="button" class="button" disabled={page >= pages} onClick={() => onPage(page + 1)}>
          Next
        </button>
      </div>
    </div>
  );
}
