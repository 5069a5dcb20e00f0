import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CASES } from "../../../bench/arguments.ts";
import { fillPage, readFigures, renderCase, renderFigures } from "../../../bench/figures.ts";

it("a case is rendered with its tables, its targets and how it was measured", () => {
  const text = renderCase({
    date: "2026-11-22",
    commit: "abc",
    machine: "two cores",
    options: "--rounds 3",
    tables: [
      [
        { operation: "look-up", us: 1234.5 },
        { operation: "renewal", "p99 ms": 0.5 },
      ],
      [],
    ],
    targets: [
      { what: "look-up", got: 0.9, atMost: 0.9 },
      { what: "renewal", got: 2, atMost: 1.5 },
    ],
  });
  expect(text.split("\n")).toEqual([
    "Measured on 2026-11-22 at commit abc with `--rounds 3`: two cores.",
    "",
    "```",
    "operation     us  p99 ms",
    "look-up    1,230",
    "renewal             0.50",
    "```",
    "",
    "```",
    "target   measured  at most  met",
    "look-up      0.90     0.90  yes",
    "renewal         2     1.50   NO",
    "```",
  ]);
});

it("what was measured with several numbers of tokens is one part of the page, the smallest first", () => {
  const measured = (options: string) => ({
    date: "2026-11-23",
    commit: "abc",
    machine: "two cores",
    options,
    tables: [],
    targets: [],
  });
  const figures = {
    "incident 1000000": measured("--tokens 1000000"),
    load: measured("--load-seconds 600"),
    "incident 100000": measured("--tokens 100000"),
  };
  const { load = "", incident = "", ...others } = renderFigures(figures);
  expect(others).toEqual({});
  expect(load).toContain("--load-seconds 600");
  expect(incident.match(/--tokens \d+/g)).toEqual(["--tokens 100000", "--tokens 1000000"]);
});

it("conditions that cases share are in the first of them", () => {
  const run = { date: "2026-11-23", commit: "abc", machine: "two cores", options: "", tables: [], targets: [] };
  const { console: first, load } = renderFigures({ load: run, console: run });
  expect(first).toBe("Measured on 2026-11-23 at commit abc: two cores.");
  expect(load).toBe("Measured in the run of *console*.");
});

it("docs/performance/figures.md has the kept figures, and a place for every case", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/performance/figures.md"), "utf8");
  expect(fillPage(page, renderFigures(readFigures()))).toBe(page);
  for (const name of CASES) expect(page).toContain(`<!-- begin ${name} -->`);
});
