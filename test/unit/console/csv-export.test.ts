import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvOf, jsonOf } from "../../../console/tokens/csv-export.ts";
import { consoleToken } from "../../support/console-token.ts";

/** The cells of a CSV text whose every cell is quoted. */
const cellsOf = (csv: string): string[] =>
  [...csv.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell = ""]) => cell.replaceAll('""', '"'));

describe("the export of a list", () => {
  it("has a line of names, and a line for each token", () => {
    const csv = csvOf([consoleToken({ metadata: { owner: 'a "b", c' } }), consoleToken({ expires: null })]);
    const lines = csv.trimEnd().split("\r\n");
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^"accessor","display_name","mount"/);
    expect(cellsOf(csv)).toContain('{"owner":"a \\"b\\", c"}');
    expect(cellsOf(csv)).toContain("default fleet");
  });

  it("has no cell that a spreadsheet would take for a formula, whatever a token is called", () => {
    const start = fc.constantFrom(
      "=",
      "+",
      "-",
      "@",
      "\t=",
      " =",
      "\u200b=",
      "＝",
      "＋",
      "－",
      "＠",
      "\r",
      "\n",
      "|",
      "%",
    );
    fc.assert(
      fc.property(start, fc.string(), (begin, rest) => {
        const cells = cellsOf(csvOf([consoleToken({ display_name: begin + rest, role: `${begin}cmd` })]));
        for (const cell of cells) expect(cell).not.toMatch(/^[\s\p{Cf}]*[=+@|%＝＋－＠-]|^[\t\r\n]/u);
      }),
    );
  });

  it("has none in a spreadsheet that separates cells by semicolons or tabs, either", () => {
    const separator = fc.constantFrom(";", "\t", '";', ';"', '; "', ";;");
    const begin = fc.constantFrom("=", "+", "-", "@", "|", "%", "＝");
    fc.assert(
      fc.property(fc.string(), separator, begin, (text, between, formula) => {
        const csv = csvOf([consoleToken({ display_name: `${text}${between}${formula}cmd` })]);
        for (const cell of csv.split(/[;\t\r\n]/)) expect(cell).not.toMatch(/^[\s"]*[=+@|%＝-]/);
      }),
    );
  });

  it("leaves accessors as they are, with a minus at their beginning too", () => {
    const accessor = `-${"a".repeat(83)}`;
    expect(cellsOf(csvOf([consoleToken({ accessor })]))).toContain(accessor);
  });

  it("says in JSON what was asked, and whether there is more", () => {
    expect(JSON.parse(jsonOf([consoleToken()], { policy: "web" }, true))).toMatchObject({
      filter: { policy: "web" },
      count: 1,
      more: true,
      tokens: [{ accessor: "a1" }],
    });
  });
});
