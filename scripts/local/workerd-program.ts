import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import project from "../../package.json" with { type: "json" };
import { err, ok, type Result } from "../../src/base/result.ts";

/** The path of the installed workerd program. The error is for the operator. */
export function findWorkerd(): Result<string, string> {
  const load = createRequire(import.meta.url);
  try {
    const { default: path }: { readonly default: string } = load("workerd");
    accessSync(path, constants.X_OK);
    const { version }: { readonly version: string } = load("workerd/package.json");
    const problem = engineProblem(version, project.overrides.workerd);
    return problem === null ? ok(path) : err(problem);
  } catch {
    return err(
      "the workerd program is missing or does not fit this machine; run npm ci (without --omit=optional) here",
    );
  }
}

/** The problem of an engine that is older than the one that this release is tested with. null: no problem. */
export function engineProblem(installed: string, needed: string): string | null {
  const [theirs, ours] = [installed, needed].map((version) => version.split(".").map(Number));
  const at = ours?.findIndex((part, index) => part !== theirs?.[index]) ?? -1;
  if (at < 0 || (theirs?.[at] ?? 0) > (ours?.[at] ?? 0)) return null;
  return `workerd ${installed} is installed, and this release needs ${needed}: npm pkg delete overrides.workerd && npm install in the folder of an installation, npm ci in a clone`;
}
