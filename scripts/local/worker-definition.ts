import { join } from "node:path";
import type { Unstable_Config } from "wrangler";
import { err, ok, type Result } from "../../src/result.ts";

/** Where the project is. */
export const PROJECT = join(import.meta.dirname, "../..");

/** What wrangler.toml says, defaults filled in. */
export type WorkerDefinition = Unstable_Config;

/** Reads wrangler.toml with Wrangler itself, so that it means here what it means in a deployment. */
export async function readWorkerDefinition(): Promise<Result<WorkerDefinition, string>> {
  // Loaded here because it takes a second, which nobody who only asks for --help should wait.
  const { unstable_readConfig } = await import("wrangler");
  try {
    return ok(unstable_readConfig({ config: join(PROJECT, "wrangler.toml") }, { hideWarnings: true }));
  } catch (error) {
    return err(`wrangler.toml cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * The settings of the Worker that the environment has: those of wrangler.toml's `[vars]`, which it overrides, and secrets
 * and other settings by the prefix `GROVE_`. Everything else in the environment is none of the Worker's business.
 */
export function settingsFromEnvironment(
  definition: Pick<WorkerDefinition, "vars">,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && (name.startsWith("GROVE_") || Object.hasOwn(definition.vars, name)))
      settings[name] = value;
  }
  return settings;
}
