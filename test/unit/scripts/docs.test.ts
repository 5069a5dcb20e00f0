import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { packedPage } from "../../../scripts/package/docs.ts";
import { brokenLinks, pagesBelow } from "../../support/links.ts";

const PROJECT = join(import.meta.dirname, "../../..");

describe("relative links", () => {
  it("all lead to a file, and to a heading", () => {
    const pages = pagesBelow(PROJECT);
    expect(pages.length).toBeGreaterThan(60);
    expect(brokenLinks(PROJECT, pages)).toEqual([]);
  });

  it("are found broken", () => {
    const directory = mkdtempSync(join(tmpdir(), "grove-links-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const links = "[a](#here-a) [b](b.md) [c](#there) [d](../d.md) `[e](e.md)` [f](https://f.example) [g](a.md#here-a)";
    writeFileSync(join(directory, "a.md"), `# Here: \`a\`\n\n${links}\n`);
    expect(brokenLinks(directory, ["a.md"])).toEqual(["a.md: b.md", "a.md: #there", "a.md: ../d.md"]);
  });
});

describe("a document in the package", () => {
  const packed = (text: string) => packedPage(text, (path) => path !== "scripts/serve.ts");

  it("has no pictures but those of the network", () => {
    const button = "[![Deploy](https://x.example/button)](https://y.example)";
    expect(packed(`a\n\n![The forest](images/forest.png)\n\n${button}\n`)).toBe(`a\n\n${button}\n`);
  });

  it("names its files from the folder that has the package", () => {
    const there = "node_modules/@grove-tokens/grove";
    expect(packed("`node scripts/verify-audit-archive.js DIR`")).toBe(
      `\`node ${there}/scripts/verify-audit-archive.js DIR\``,
    );
    expect(packed("cp examples/a.service examples/a.timer /etc/")).toBe(
      `cp ${there}/examples/a.service ${there}/examples/a.timer /etc/`,
    );
    for (const text of ["`scripts/serve.ts`", "-f ops/container/Containerfile", "[x](../examples/haproxy.cfg)"]) {
      expect(packed(text)).toBe(text);
    }
  });
});
