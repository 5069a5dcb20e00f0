import { count } from "../format.ts";
import type { PageReading } from "./use-all-pages.ts";

interface ExportButtonProps {
  /** Reads all pages, and makes the file. */
  readonly walk: PageReading;
  /** Number of all tokens; absent when not known. */
  readonly total?: number;
}

/** The button that exports a receipt. It shows the progress. */
export function ExportButton({ walk: { read, start }, total }: ExportButtonProps) {
  const of = total === undefined ? "" : ` of ${count(total)}`;
  return (
    <button type="button" class="button slim" aria-disabled={read !== null} onClick={start}>
      {read === null ? "Export JSON" : `Reading… ${count(read)}${of}`}
    </button>
  );
}
