import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import project from "../../../package.json" with { type: "json" };
import { CLIENT_PACKAGE, REPOSITORY, SERVER_PACKAGE } from "../../../scripts/package/write-package.ts";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const pages = [
  "README.md",
  ...readdirSync(join(ROOT, "docs")).flatMap((name) => (/\.md$/.exec(name) ? [`docs/${name}`] : [])),
];

it("pages name the packages as they are packed", () => {
  const scope = SERVER_PACKAGE.slice(0, SERVER_PACKAGE.indexOf("/"));
  const named = pages.flatMap((page) => read(page).match(new RegExp(`${scope}/[a-z-]+`, "g")) ?? []);
  expect([...new Set(named)].sort()).toEqual([CLIENT_PACKAGE, SERVER_PACKAGE]);
});

it("the deploy button copies the repository that the packages name", () => {
  const [, copied] = /deploy\.workers\.cloudflare\.com\/\?url=([^)]+)\)/.exec(read("docs/deploy.md")) ?? [];
  expect(copied).toBe(REPOSITORY);
});

it("the deploy button asks for the secrets that a deployment needs, and says what each is", () => {
  const asked = Object.keys(parseEnv(read(".dev.vars.example"))).sort();
  expect(asked).toEqual(["GROVE_INIT_TOKEN", "GROVE_SEAL_KEY"]);
  expect(Object.keys(project.cloudflare.bindings).sort()).toEqual(asked);
});
