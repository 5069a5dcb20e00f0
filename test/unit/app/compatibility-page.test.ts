import { describe, expect, it } from "vitest";
import page from "../../../docs/compatibility.md?raw";
import { ROUTES } from "../../support/routes.ts";

/** The path as the page writes it: names without their patterns. */
const written = (path: string) => path.replace("{.+/tune}", "/tune").replace(/\{[^}]*\}+/g, "");

describe("docs/compatibility.md", () => {
  const endpoints = [...new Set(ROUTES.map(({ path }) => written(path)))].sort();

  it.each(endpoints)("names %s", (path) => expect(page).toContain(`\`${path}\``));
});
