import { expect, it } from "vitest";
import { conformancePage, lostTests, openLines } from "../../support/pages/conformance.ts";
import { ABSENT, LINES } from "../../support/pages/conformance-lines.ts";
import { lostMessages } from "../../support/pages/messages.ts";

it("docs/conformance.md is what the lists and the titles of their tests say; npm run docs:conformance writes it", async () => {
  await expect(conformancePage()).toMatchFileSnapshot("../../../docs/conformance.md");
});

it("every line of the conformance lists has a test that names it, or a reason why it does not apply", () => {
  expect(openLines()).toEqual([]);
  expect(Object.keys(ABSENT).filter((line) => !LINES.includes(line))).toEqual([]);
});

it("every test that shows a line is there under its title", () => {
  expect(lostTests()).toEqual([]);
});

it("every message that is kept word for word is written in the sources as it is listed", () => {
  expect(lostMessages()).toEqual([]);
});
