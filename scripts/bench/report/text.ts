import type { Report } from "./report.ts";
import { sections } from "./sections.ts";
import { textTable } from "./table.ts";

/** The report for a terminal. */
export function renderText(report: Report): string {
  return sections(report)
    .map(({ title, header, rows }) => `\n${title}\n\n${textTable(header, rows)}\n`)
    .join("");
}
