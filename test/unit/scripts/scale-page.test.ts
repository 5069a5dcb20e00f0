import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allCalls, type Calls, OPERATION_NAMES, OPERATIONS, recordOf } from "../../support/operations.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../../docs/scale.md"), "utf8");

/** Title, calls to objects that others wait for too, and rows: the cells of a line without its price. */
function cellsOf(title: string, calls: Calls): string[] {
  const shared = new Map<string, number>();
  const rows = { read: 0, written: 0 };
  for (const [method, { times, rowsRead, rowsWritten }] of Object.entries(calls)) {
    const [type = ""] = method.split(".");
    if (type !== "TokenTree") shared.set(type, (shared.get(type) ?? 0) + times);
    rows.read += rowsRead;
    rows.written += rowsWritten;
  }
  const names = [...shared].map(([type, count]) => `${type} ${count}`).join(", ");
  return [title, names || "none", `${rows.read} / ${rows.written}`];
}

it.each(OPERATION_NAMES)("docs/scale.md has the measured calls and rows of %s", (name) => {
  const { title } = OPERATIONS[name];
  const lines = PAGE.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const [line = []] = lines.filter((cells) => cells[1] === title);
  expect(line.slice(1, 4)).toEqual(cellsOf(title, allCalls(name)));
});

it("docs/scale.md has the measured rows of a record in the audit store", () => {
  const { "AuditShard.append": append } = recordOf("createChild");
  expect(PAGE).toContain(`which reads ${append?.rowsRead} rows and writes ${append?.rowsWritten}`);
});
