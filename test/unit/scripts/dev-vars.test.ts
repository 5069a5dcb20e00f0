import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let project: string;

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "grove-dev-vars-"));
  mkdirSync(join(project, "scripts"));
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  copyFileSync("scripts/dev-vars.js", join(project, "scripts/dev-vars.js"));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

const file = () => join(project, ".dev.vars");

/** Runs the script as Wrangler does for one of its commands. */
function build(command: string | undefined): void {
  const env = { ...process.env, WRANGLER_COMMAND: command };
  execFileSync(process.execPath, [join(project, "scripts/dev-vars.js")], { env });
}

describe("the secrets of a plain `wrangler dev`", () => {
  it("are a seal key that only this user can read, made once", () => {
    build("dev");
    const made = readFileSync(file(), "utf8");
    expect(made).toContain("ONE_THREAD='true'\n");
    expect(made).toMatch(/^GROVE_SEAL_KEY='1:[A-Za-z0-9+/]{43}='$/m);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    build("dev");
    expect(readFileSync(file(), "utf8")).toBe(made);
  });

  it("are another key in another clone", () => {
    build("dev");
    const made = readFileSync(file(), "utf8");
    rmSync(file());
    build("dev");
    expect(readFileSync(file(), "utf8")).not.toBe(made);
  });

  it("are left alone where there are some, whatever they are", () => {
    writeFileSync(file(), "MINE=1\n");
    build("dev");
    expect(readFileSync(file(), "utf8")).toBe("MINE=1\n");
  });

  it.each(["deploy", "versions upload", undefined])("are not made by another command: %s", (command) => {
    build(command);
    expect(existsSync(file())).toBe(false);
  });
});
