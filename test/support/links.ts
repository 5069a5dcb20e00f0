import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** Folders that are no part of a project or a package. */
const FOREIGN = /(^|\/)(node_modules|dist|\.git|\.wrangler|\.grove)(\/|$)/;
const CODE = /^```[\s\S]*?^```$|`[^`\n]*`/gm;
const LINK = /\]\(\s*([^)\s]+)\s*\)/g;

/** The pages below a directory, by their path from it. */
export function pagesBelow(root: string): string[] {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" });
  return files.filter((name) => name.endsWith(".md") && !FOREIGN.test(name)).sort();
}

/** A heading as the end of a link names it. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

const anchorsOf = (page: string): string[] =>
  [...readFileSync(page, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => slugOf(heading));

/** Every relative link of these pages that leads to no file, or to no heading: `docs/a.md: b.md#c`. */
export function brokenLinks(root: string, pages: readonly string[]): string[] {
  return pages.flatMap((page) => {
    const text = readFileSync(join(root, page), "utf8").replace(CODE, "`");
    const links = [...text.matchAll(LINK)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
    return links.filter((link) => !leadsSomewhere(root, page, link)).map((link) => `${page}: ${link}`);
  });
}

function leadsSomewhere(root: string, page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(root, page) : join(root, dirname(page), path);
  // A link out of the package leads to whatever is beside it.
  if (relative(root, target).startsWith("..") || !existsSync(target)) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}
