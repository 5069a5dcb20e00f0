import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffOf, shortened } from "../../../console/policies/diff.ts";

const without = (kind: "added" | "removed", lines: ReturnType<typeof diffOf>): string =>
  lines
    .filter((line) => line.kind !== kind)
    .map(({ text }) => text)
    .join("\n");

describe("the difference of two texts", () => {
  // Few different lines, so that many are the same.
  const text = fc.array(fc.constantFrom("", "a", "b", "}", "path"), { maxLength: 30 }).map((lines) => lines.join("\n"));

  it("has both texts in it, whatever they are, and numbers their lines", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffOf(before, after);
        expect(without("added", lines)).toBe(before);
        expect(without("removed", lines)).toBe(after);
        const numbers = (kind: "added" | "removed") =>
          lines.filter((line) => line.kind === kind || (kind === "added" && line.kind === "same"));
        const later = after.split("\n");
        for (const { text: shown, number } of numbers("added")) expect(later[number - 1]).toBe(shown);
        const earlier = before.split("\n");
        for (const { text: shown, number } of lines.filter(({ kind }) => kind === "removed")) {
          expect(earlier[number - 1]).toBe(shown);
        }
      }),
    );
  });

  it("of a text and itself nothing was changed", () => {
    fc.assert(fc.property(text, (same) => diffOf(same, same).every(({ kind }) => kind === "same")));
  });

  it("keeps as many lines as there are in both, in their order", () => {
    const kinds = diffOf("a\nb\nc\nd", "b\nx\nd\ne").map(({ kind, text: line }) => `${kind} ${line}`);
    expect(kinds).toEqual(["removed a", "same b", "removed c", "added x", "same d", "added e"]);
  });

  it("takes what would be too much to compare as replaced, and what stands around it as the same", () => {
    const many = (word: string) => Array.from({ length: 1500 }, (_, at) => `${word} ${at}`).join("\n");
    const lines = diffOf(`first\n${many("old")}\nshared\nlast`, `first\n${many("new")}\nshared\nlast`);
    expect(lines.map(({ kind }) => kind).filter((kind) => kind === "same")).toHaveLength(3);
    expect(without("added", lines)).toContain("old 1499");
  });

  it("is shown with three lines around each change, and says how many others there are", () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}`).join("\n");
    const shown = shortened(diffOf(before, before.replace("line 10", "changed")));
    expect(shown.map((line) => (line.kind === "skipped" ? line.lines : line.kind))).toEqual([
      7,
      ...["same", "same", "same", "removed", "added", "same", "same", "same"],
      6,
    ]);
  });
});
