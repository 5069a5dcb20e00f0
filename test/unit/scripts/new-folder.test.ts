import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "grove-new-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Makes a folder where no npm can pack the release. */
function make(name: string) {
  return spawnSync(process.execPath, ["scripts/installation/new.ts", join(directory, name)], {
    encoding: "utf8",
    env: { ...process.env, PATH: "" },
  });
}

it("leaves no folder when the release can't be packed, and an empty one that was there", () => {
  expect(make("mine")).toMatchObject({ status: 1, stderr: expect.stringContaining("can't be put there") });
  expect(existsSync(join(directory, "mine"))).toBe(false);
  mkdirSync(join(directory, "yours"));
  expect(make("yours").status).toBe(1);
  expect(readdirSync(join(directory, "yours"))).toEqual([]);
});
