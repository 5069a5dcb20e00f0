import { count } from "../format.ts";
import type { PageReading } from "./use-all-pages.ts";

interface ExportButtonProps {
  /** Reads all pages, and makes the file. */
  readonly walk: PageReading;
  /** Tokens in all; absent where that is not known. */
  readonly total?: number;
}

/** The button that starts the export of a receipt. It says how much has been read. */
export function ExportButton({ walk: { read, start }, total }: ExportButtonProps) {
  const of = total === undefined ? "" : ` of ${count(total)}`;
  return (
    <button type="button" class="button slim" aria-disabled={read !== null} onClick={start}>
      {read === null ? "Export JSON" : `Reading… ${count(read)}${of}`}
    </button>
  );
}
