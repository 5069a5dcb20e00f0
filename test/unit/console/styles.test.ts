import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const FOLDER = "console/styles";
const SHEETS = readdirSync(FOLDER).map((name) => readFileSync(`${FOLDER}/${name}`, "utf8"));
const SELECTORS = SHEETS.flatMap((sheet) =>
  [...sheet.replaceAll(/\/\*[\s\S]*?\*\//g, "").matchAll(/([^{}]+)\{/g)].flatMap(([, list = ""]) =>
    list.split(",").map((one) => one.trim()),
  ),
);

describe("the style sheets of the console", () => {
  it("have no class that changes another one and is styled for itself elsewhere: its rules would meet there", () => {
    const alone = new Set(SELECTORS.flatMap((one) => /^\.([\w-]+)$/.exec(one)?.[1] ?? []));
    const changing = SELECTORS.flatMap((one) => /^\.[\w-]+\.([\w-]+)$/.exec(one)?.[1] ?? []);
    expect(changing.length).toBeGreaterThan(10);
    expect([...new Set(changing)].filter((name) => alone.has(name))).toEqual([]);
  });
});
