import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import project from "../../package.json" with { type: "json" };
import { misreadSettings } from "../../src/base/misread-settings.ts";
import { err, type Result } from "../../src/base/result.ts";
import { PROJECT, type Variables } from "../local/worker-definition.ts";
import { runDeploy, showsDeployHelp } from "../local/wrangler.ts";
import { deployedDefinition, type Section } from "./deployed-definition.ts";

// `wrangler deploy` of the release with the settings of the current folder. Wrangler gets the whole command line.

const SETTINGS = "wrangler.toml";
const SECRETS = "secrets.env";

const say = (line: string): void => console.error(`deploy: ${line}`);

function definition(): Result<Section, string> {
  if (!existsSync(SETTINGS))
    return err(`there is no ${SETTINGS} here; grove new DIR makes the folder of an installation`);
  const release: Section = JSON.parse(readFileSync(join(PROJECT, "dist/wrangler.json"), "utf8"));
  try {
    return deployedDefinition(release, parse(readFileSync(SETTINGS, "utf8")), join(PROJECT, "dist/worker/index.js"));
  } catch (error) {
    // The text of the error shows the lines about the mistake, which may have a secret.
    const where = error instanceof TomlError ? `: line ${error.line} is no TOML` : "";
    return err(`${SETTINGS} can't be read${where}`);
  }
}

function variablesOf({ vars }: Section): Variables {
  return typeof vars === "object" ? { ...vars } : {};
}

function deploy(): number {
  const made = definition();
  if (!made.ok) {
    say(made.error);
    return 1;
  }
  say(`Grove ${project.version}`);
  for (const line of misreadSettings(variablesOf(made.value))) say(line);
  const directory = resolve(".wrangler/grove");
  mkdirSync(directory, { recursive: true });
  const config = join(directory, "wrangler.json");
  writeFileSync(config, JSON.stringify(made.value, null, 2));
  const secrets = existsSync(SECRETS) ? ["--secrets-file", resolve(SECRETS)] : [];
  return runDeploy(["--config", config, ...secrets], process.cwd());
}

process.exitCode = showsDeployHelp() ? 0 : deploy();
