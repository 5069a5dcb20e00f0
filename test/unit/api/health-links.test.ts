import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const SOURCES = [
  ...readdirSync("src/api/sys/health", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `src/api/sys/health/${name}`),
  "scripts/grove/commands/copies-check.ts",
  "scripts/grove/commands/doctor.ts",
];

/** The anchor of a heading, as hosts of repositories make it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

it("every link of a check leads to a page, and to a heading of it", () => {
  const links = SOURCES.flatMap((path) => [
    ...readFileSync(path, "utf8").matchAll(/"(docs\/[\w/-]+\.md)(?:#([\w-]+))?"/g),
  ]);
  expect(links.length).toBeGreaterThan(15);
  const broken = links.filter(([, page = "", anchor]) => {
    const headings = [...readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
      anchorOf(heading),
    );
    return anchor !== undefined && !headings.includes(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});
