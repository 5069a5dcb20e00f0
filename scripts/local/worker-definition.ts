import { join } from "node:path";
import type { Unstable_Config } from "wrangler";
import { err, ok, type Result } from "../../src/base/result.ts";
import { runNode } from "./wrangler.ts";

/** Where the project is. */
export const PROJECT = join(import.meta.dirname, "../..");

/** What wrangler.toml says, defaults filled in. */
export type WorkerDefinition = Unstable_Config;

/**
 * Reads wrangler.toml with Wrangler itself, so that it means here what it means in a deployment. In a process of its own,
 * as Wrangler takes 250 MiB that a server would keep for as long as it runs.
 */
export async function readWorkerDefinition(): Promise<Result<WorkerDefinition, string>> {
  const program = join(PROJECT, "scripts/local/print-definition.ts");
  const printed = await runNode([program, join(PROJECT, "wrangler.toml")]);
  return printed.ok ? ok(JSON.parse(printed.value)) : err(`wrangler.toml cannot be read: ${printed.error}`);
}

/** Settings for calls to the cloud, by the names that its own tools use too. Most are secrets, so they are in no file. */
const CLOUD_SETTINGS: ReadonlySet<string> = new Set([
  ...["CLOUD_ACCESS_KEY", "CLOUD_SECRET_KEY", "CLOUD_SESSION_TOKEN", "CLOUD_REGION"],
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"],
  ...["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"],
  ...["AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_EC2_METADATA_SERVICE_ENDPOINT"],
]);

/** Whether a server on this machine may ask the cloud's metadata services for keys: yes, unless the environment says no. */
export function usesMetadataServices(environment: Readonly<Record<string, string | undefined>>): boolean {
  const disabled = environment.AWS_EC2_METADATA_DISABLED?.toLowerCase() === "true";
  return !disabled && environment.CLOUD_METADATA_CREDENTIALS !== "false";
}

/**
 * The settings of the Worker that the environment has: those of wrangler.toml's `[vars]`, which it overrides, secrets and
 * other settings by the prefix `GROVE_`, and those for calls to the cloud. Everything else in the environment is none of
 * the Worker's business.
 */
export function settingsFromEnvironment(
  definition: Pick<WorkerDefinition, "vars">,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    const known = name.startsWith("GROVE_") || CLOUD_SETTINGS.has(name) || Object.hasOwn(definition.vars, name);
    if (value !== undefined && known) settings[name] = value;
  }
  return settings;
}
