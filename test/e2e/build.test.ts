import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

const PROJECT = join(import.meta.dirname, "../..");
const MODULE = join(PROJECT, "dist/worker/index.js");

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

  it("can be read by a server that runs as another user", () => {
    expect(statSync(join(PROJECT, "dist/worker")).mode & 0o777).toBe(0o755);
    expect(statSync(MODULE).mode & 0o777).toBe(0o644);
  });
});
