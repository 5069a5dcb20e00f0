import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openLines } from "../../../scripts/docs/conformance.ts";
import { ABSENT, LINES, LISTS } from "../../../scripts/docs/conformance-lines.ts";
import { lostMessages } from "../../../scripts/docs/messages.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/conformance.md"), "utf8");

it("every line of the conformance lists has a test that names it, or a reason why it does not apply", () => {
  expect(openLines()).toEqual([]);
  expect(Object.keys(ABSENT).filter((line) => !LINES.includes(line))).toEqual([]);
});

it("every line has its rule on the page", () => {
  for (const { lines } of LISTS) {
    for (const [line, rule] of Object.entries(lines)) expect(page).toContain(`| ${line} | ${rule.slice(0, 20)}`);
  }
});

it("every message that is kept word for word is written in the sources as it is listed", () => {
  expect(lostMessages()).toEqual([]);
});
