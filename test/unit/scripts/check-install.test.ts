import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

const PROJECT = join(import.meta.dirname, "../../..");
let clone: string;

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "grove-clone-"));
  mkdirSync(join(clone, "scripts"));
  cpSync(join(PROJECT, "scripts/check-install.js"), join(clone, "scripts/check-install.js"));
  writeFileSync(join(clone, "package.json"), '{"type":"module"}');
  writeFileSync(join(clone, "scripts/dev.ts"), 'console.log("started" as string);');
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

const start = () =>
  spawnSync(process.execPath, ["--import", "./scripts/check-install.js", "scripts/dev.ts"], {
    cwd: clone,
    encoding: "utf8",
  });

it("without packages the message is to run npm install", () => {
  const { status, stderr } = start();
  expect(status).toBe(1);
  expect(stderr).toContain("npm install");
  expect(stderr).not.toContain("ERR_");
});

it("with packages the script starts", () => {
  mkdirSync(join(clone, "node_modules/wrangler"), { recursive: true });
  const { status, stdout } = start();
  expect([status, stdout.trim()]).toEqual([0, "started"]);
});

it("every script of package.json that runs TypeScript is checked first", () => {
  const { scripts } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const started = Object.values(scripts).filter((command) => /^node .*\.ts/.test(command));
  expect(started.length).toBeGreaterThan(4);
  for (const command of started) expect(command).toContain(" --import ./scripts/check-install.js ");
});

it("with an older Node on the path the message says how to get the right one", () => {
  // The check reads its own version, so the test gives it another.
  const fake = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' });";
  writeFileSync(join(clone, "old.mjs"), `${fake} await import("./scripts/check-install.js");`);
  const { status, stderr } = spawnSync(process.execPath, ["old.mjs"], { cwd: clone, encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toContain("This is Node 20.20.2");
  expect(stderr).toContain("npm run");
});
