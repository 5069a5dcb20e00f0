import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const PROJECT = join(import.meta.dirname, "../../..");
const PAGES = globSync(["*.md", "docs/**/*.md"], { cwd: PROJECT }).sort();
/** Folders of `test/` that pages name without it. */
const IN_TEST = /^(?:conformance|e2e|support|unit|workers)\//;

/**
 * Paths of tests that a page names, below `test/`. A name without a folder, in the same parentheses or list, is in the
 * folder of the one before it. A recipe says "(new)" of a test that is to be written.
 */
function testsIn(page: string): string[] {
  const text = page.replaceAll(/```[\s\S]*?```/g, "");
  return [...text.matchAll(/`(?:test\/)?[\w-]+\/[\w./-]+`(?:(?:,| and)\s+`[\w.-]+`)*(?! \(new\))/g)].flatMap(
    ([named]) => {
      const [first = "", ...others] = [...named.matchAll(/`(?:test\/)?([^`]+)`/g)].map(([, path = ""]) => path);
      const isTest = named.startsWith("`test/") || IN_TEST.test(first);
      return isTest ? [first, ...others.map((name) => join(dirname(first), name))] : [];
    },
  );
}

const isThere = (path: string): boolean =>
  [path, `${path}.ts`, `${path}.test.ts`].some((one) => existsSync(join(PROJECT, "test", one)));

describe("the tests that pages name", () => {
  const named = PAGES.map((page) => ({ page, tests: testsIn(readFileSync(join(PROJECT, page), "utf8")) }));

  it("are found where pages are known to name some", () => {
    const pages = named.filter(({ tests }) => tests.length > 0).map(({ page }) => page);
    expect(pages).toEqual(expect.arrayContaining(["docs/security.md", "docs/conformance.md", "docs/internals.md"]));
    expect(testsIn("(`workers/methods/jwt/oidc-waiting`, `oidc`)")).toEqual([
      ...["workers/methods/jwt/oidc-waiting", "workers/methods/jwt/oidc"],
    ]);
  });

  it.each(named.filter(({ tests }) => tests.length > 0))("are there, in $page", ({ tests }) => {
    expect(tests.filter((path) => !isThere(path))).toEqual([]);
  });
});
