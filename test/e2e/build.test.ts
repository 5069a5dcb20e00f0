import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyProject } from "./support/copied-project.ts";

const PROJECT = copyProject();
const MODULE = join(PROJECT, "dist/worker/index.js");
const BUNDLE = join(PROJECT, "dist/bundled/scripts-gateway.js");

afterAll(() => rmSync(PROJECT, { recursive: true, force: true }));

/** Runs `npm run build` (without npm). Returns when the kept module was made. */
function build(): number {
  const { status, stderr } = spawnSync(process.execPath, [join(PROJECT, "scripts/build.ts")], { encoding: "utf8" });
  expect(stderr).toContain("the Worker is built");
  expect(status).toBe(0);
  return statSync(MODULE).mtimeMs;
}

describe("the built Worker that npm run serve starts", () => {
  let first: number;
  beforeAll(() => {
    first = build();
  });

  it("is kept while the sources are the same", () => expect(build()).toBe(first));

  it("is made again when somebody has changed it", () => {
    const made = readFileSync(MODULE, "utf8");
    appendFileSync(MODULE, "// changed");
    expect(build()).toBeGreaterThan(first);
    expect(readFileSync(MODULE, "utf8")).toBe(made);
  });

  it("is within the size limit of Cloudflare's free plan", () => {
    // 3 MB after compression; 10 MB with the paid plan.
    expect(gzipSync(readFileSync(MODULE)).length).toBeLessThan(3_000_000);
  });

  it("can be read by a server that runs as another user", () => {
    expect(statSync(join(PROJECT, "dist/worker")).mode & 0o777).toBe(0o755);
    expect(statSync(MODULE).mode & 0o777).toBe(0o644);
  });
});

/** Runs a program by scripts/bundled.js, and returns what it writes. */
function runBundled(flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}): string {
  const words = [...flags, join(PROJECT, "scripts/bundled.js"), "scripts/gateway.ts", "--help"];
  return spawnSync(process.execPath, words, { cwd: PROJECT, env: { ...process.env, ...env }, encoding: "utf8" }).stdout;
}

describe("a program that npm starts as one file of plain JavaScript", () => {
  const HELP = "Usage: npm run gateway -- --to URL [options]";
  const NO_TYPESCRIPT = ["--no-experimental-strip-types"];

  it("is not read as TypeScript", () => {
    build();
    expect(runBundled(NO_TYPESCRIPT)).toContain(HELP);
    expect(statSync(BUNDLE).mode & 0o777).toBe(0o644);
  });

  it("is bundled again when one of its sources has changed since, and not otherwise", () => {
    const made = readFileSync(BUNDLE, "utf8");
    const { mtimeMs } = statSync(BUNDLE);
    expect(runBundled(NO_TYPESCRIPT)).toContain(HELP);
    expect(statSync(BUNDLE).mtimeMs).toBe(mtimeMs);
    const source = join(PROJECT, "scripts/gateway/arguments.ts");
    const text = readFileSync(source, "utf8");
    writeFileSync(source, text.replace(HELP, "another usage"));
    expect(runBundled(NO_TYPESCRIPT)).toContain("another usage");
    writeFileSync(source, text);
    expect(runBundled(NO_TYPESCRIPT)).toContain(HELP);
    expect(readFileSync(BUNDLE, "utf8")).toBe(made);
  });

  it("is bundled again when somebody has changed it", () => {
    const made = readFileSync(BUNDLE, "utf8");
    writeFileSync(BUNDLE, made.replace(HELP, "a changed usage"));
    expect(runBundled(NO_TYPESCRIPT)).toContain(HELP);
    expect(readFileSync(BUNDLE, "utf8")).toBe(made);
  });

  it("is run from its sources where it can't be bundled", () => {
    rmSync(BUNDLE);
    expect(runBundled([], { ESBUILD_BINARY_PATH: "/bin/false" })).toContain(HELP);
    expect(runBundled(NO_TYPESCRIPT, { ESBUILD_BINARY_PATH: "/bin/false" })).toBe("");
  });
});
