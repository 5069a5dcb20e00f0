import { describe, expect, it } from "vitest";
import { HELP as BENCH } from "../../../bench/arguments.ts";
import { HELP as BACKUP } from "../../../scripts/backup/arguments.ts";
import { HELP as DEV } from "../../../scripts/dev/arguments.ts";
import { HELP as GATEWAY } from "../../../scripts/gateway/arguments.ts";
import { shownHelp } from "../../../scripts/local/command-line.ts";
import { DEPLOY_HELP } from "../../../scripts/local/deploy-help.ts";
import { helpInLines, linesOf } from "../../../scripts/local/wrap-lines.ts";
import { HELP as SERVE, SERVE_OPTIONS } from "../../../scripts/serve/arguments.ts";
import { HELP as UPGRADE } from "../../../scripts/upgrade/arguments.ts";

const PROGRAMS = { serve: SERVE, backup: BACKUP, upgrade: UPGRADE, gateway: GATEWAY, dev: DEV, deploy: DEPLOY_HELP };

describe("the help of a program", () => {
  it.each(Object.entries({ ...PROGRAMS, bench: BENCH }))("%s fits 80 columns and loses no word", (_, help) => {
    const shown = shownHelp(help);
    for (const line of shown.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(shown.split(/\s+/)).toEqual(help.split(/\s+/));
  });

  it.each(Object.entries(PROGRAMS))("%s shows an example", (name, help) => {
    expect(shownHelp(help)).toMatch(new RegExp(`\\n\\nExample:\\n {2}npm run (-s )?${name}( -- .*)?\\n$`));
  });

  it("of serve has every option, each at the beginning of a line", () => {
    const named = [...shownHelp(SERVE).matchAll(/^ {2}--([a-z-]+)/gm)].map(([, option]) => option);
    expect(named.sort()).toEqual([...Object.keys(SERVE_OPTIONS), "help", "version"].sort());
  });
});

describe("lines", () => {
  it("break between words, and leave a long word whole", () => {
    const long = "x".repeat(30);
    expect(linesOf(`one two three four five ${long} six`, 20)).toEqual(["one two three four", "five", long, "six"]);
  });

  it("of a help keep the columns of options, and the calls as they are", () => {
    const call = `Example:\n  grove ${"word ".repeat(20)}end`;
    const help = `Usage: x\n\nSome words\nof it.\n\n  --a N   does this and that and more\n  --long-option-of-the-program VALUE\n          that\n\n${call}\n`;
    expect(helpInLines(help, 30)).toBe(
      `Usage: x\n\nSome words of it.\n\n  --a N  does this and that\n         and more\n  --long-option-of-the-program VALUE\n         that\n\n${call}\n`,
    );
  });
});
