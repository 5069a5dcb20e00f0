import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { err, ok, type Result } from "../../src/base/result.ts";

/** The root directory of the project. */
export const PROJECT = join(import.meta.dirname, "../..");

/** `[vars]` of wrangler.toml, by name. */
export type Variables = Readonly<Record<string, unknown>>;

/** Reads `[vars]` of wrangler.toml; the error is for the operator. */
export function readVariables(): Result<Variables, string> {
  try {
    const { vars } = parse(readFileSync(join(PROJECT, "wrangler.toml"), "utf8"));
    return ok(typeof vars === "object" ? { ...vars } : {});
  } catch (error) {
    return err(`wrangler.toml cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Settings for calls to the cloud, under the names of the cloud's own tools. Most are secrets, so no file has them. */
const CLOUD_SETTINGS: ReadonlySet<string> = new Set([
  ...["CLOUD_ACCESS_KEY", "CLOUD_SECRET_KEY", "CLOUD_SESSION_TOKEN", "CLOUD_REGION"],
  ...["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"],
  ...["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"],
  ...["AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_EC2_METADATA_SERVICE_ENDPOINT"],
]);

/** True unless the environment forbids the cloud's metadata services as a source of keys. */
export function usesMetadataServices(environment: Readonly<Record<string, string | undefined>>): boolean {
  const disabled = environment.AWS_EC2_METADATA_DISABLED?.toLowerCase() === "true";
  return !disabled && environment.CLOUD_METADATA_CREDENTIALS !== "false";
}

/**
 * The Worker's settings in the environment: overrides of wrangler.toml's `[vars]`, names that begin with `GROVE_`, and settings for calls
 * to the cloud. The Worker gets nothing else of the environment.
 */
export function settingsFromEnvironment(
  variables: Variables,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    const known = name.startsWith("GROVE_") || CLOUD_SETTINGS.has(name) || Object.hasOwn(variables, name);
    if (value !== undefined && known) settings[name] = value;
  }
  return settings;
}
