import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { charts } from "./charts.ts";
import { renderDocument } from "./document.ts";
import type { Report } from "./report.ts";

/** Writes performance.md and its pictures into `docs`. */
export function writeDocument(docs: string, report: Report): void {
  const pictures = join(docs, "performance");
  mkdirSync(pictures, { recursive: true });
  for (const { name, svg } of charts(report)) writeFileSync(join(pictures, `${name}.svg`), svg);
  writeFileSync(join(docs, "performance.md"), renderDocument(report));
}
