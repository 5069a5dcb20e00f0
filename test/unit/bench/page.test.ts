import { expect, it } from "vitest";
import { amount, fillPage, textTable } from "../../../bench/figures.ts";

it("a page keeps what people wrote around its tables, whatever was in their places", () => {
  const page = "before\n\n<!-- begin a -->\nold\n<!-- end a -->\n\nafter\n";
  const filled = fillPage(page, { a: "new" });
  expect(filled).toBe("before\n\n<!-- begin a -->\n\nnew\n\n<!-- end a -->\n\nafter\n");
  expect(fillPage(filled, { a: "new" })).toBe(filled);
});

it.each(["nothing", "<!-- end a -->\n<!-- begin a -->", "<!-- begin a -->"])(
  "a page without a place is refused: %s",
  (page) => {
    expect(() => fillPage(page, { a: "new" })).toThrow("no place for a");
  },
);

it.each([
  [0, "0"],
  [0.0123, "0.012"],
  [0.5, "0.50"],
  [5, "5"],
  [12.34, "12.3"],
  [123.4, "123"],
  [1234.5, "1,230"],
  [987_654, "988,000"],
])("%d is written as %s", (value, text) => {
  expect(amount(value)).toBe(text);
});

it("a table is as wide as its cells, with the first column to the left", () => {
  expect(textTable(["what", "n"], [["a|b", "12"]])).toBe("```\nwhat   n\na|b   12\n```");
});
