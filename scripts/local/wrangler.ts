import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import project from "../../package.json" with { type: "json" };
import { err, ok, type Result } from "../../src/base/result.ts";
import { Child } from "./child.ts";
import { shownHelp } from "./command-line.ts";
import type { DataDirectory } from "./data-directory.ts";
import { DEPLOY_HELP } from "./deploy-help.ts";
import { PROJECT } from "./worker-definition.ts";

/**
 * The path of Wrangler's program. Looked up only when it is used: a server with a built Worker runs without Wrangler.
 */
function wranglerProgram(): string {
  return join(createRequire(import.meta.url).resolve("wrangler/package.json"), "../bin/wrangler.js");
}

/** True when Wrangler is installed: the package of the server does not depend on it. */
function hasWrangler(): boolean {
  try {
    return existsSync(wranglerProgram());
  } catch {
    return false;
  }
}

/** The environment that Wrangler runs in: no colours, no banner, no telemetry, no log of its own. */
const WRANGLER_ENVIRONMENT = {
  NO_COLOR: "1",
  FORCE_COLOR: undefined,
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_WRITE_LOGS: "false",
} as const;

/**
 * Runs a Node program to its end.
 *
 * @returns its standard output; the error is its standard error.
 */
export function runNode(
  words: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Result<string, string>> {
  return new Promise((resolve) => {
    execFile(process.execPath, words, options, (error, stdout, stderr) => {
      resolve(error ? err(stderr.trim() || error.message) : ok(stdout));
    });
  });
}

/** Shows the help of a deployment when this command line asks for it. */
export function showsDeployHelp(): boolean {
  const isAsked = process.argv.some((word) => word === "--help" || word === "-h");
  if (isAsked) process.stdout.write(shownHelp(DEPLOY_HELP));
  return isAsked;
}

/** Runs `wrangler deploy` with these words and those of this command line. Returns the exit code. */
export function runDeploy(words: readonly string[], cwd: string): number {
  if (!hasWrangler()) {
    console.error(`deploy: Wrangler is not installed here: npm install wrangler@${project.devDependencies.wrangler}`);
    return 1;
  }
  const given = process.argv.slice(2);
  // Names production: with several environments Wrangler would ask.
  const environment = given.some((word) => /^(-e|--env)(=|$)/.test(word)) ? [] : ["--env="];
  const all = [wranglerProgram(), "deploy", ...words, ...environment, ...given];
  return spawnSync(process.execPath, all, { cwd, stdio: "inherit" }).status ?? 1;
}

/** Starts `wrangler dev` on a free port of the loopback address. */
export function startWrangler(data: DataDirectory): Child {
  return new Child({
    command: process.execPath,
    args: [
      wranglerProgram(),
      "dev",
      "--config",
      join(PROJECT, "wrangler.toml"),
      "--local",
      "--ip=127.0.0.1",
      "--port=0",
      "--inspector-ip=127.0.0.1",
      "--inspector-port=0",
      "--persist-to",
      data.file("state"),
      "--env-file",
      data.file("environment"),
      "--show-interactive-dev-session=false",
    ],
    env: {
      ...process.env,
      ...WRANGLER_ENVIRONMENT,
      // No request to the network at the start, and no page that shows stored data to every client of the port.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      X_LOCAL_EXPLORER: "false",
      X_LOCAL_OBSERVABILITY: "false",
    },
    output: "pipe",
  });
}
