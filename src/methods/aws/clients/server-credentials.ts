import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Credentials, TemporaryCredentials } from "../answers/sts.ts";
import type { AwsEnv } from "../env.ts";
import { findRegion, iamHostOf, type Partition } from "../regions.ts";
import { containerCredentials, instanceCredentials } from "./metadata.ts";

/** Renewed this long before they end, so that a call under way does not outlive them. */
export const EARLY_MS = 5 * 60_000;
/** After the metadata service gave none, the next look is this much later. */
const MISSING_MS = 30_000;

/** Credentials of the metadata services, as this isolate got them last. */
let kept: { readonly credentials: TemporaryCredentials | null; readonly until: number } | null = null;

/**
 * The credentials that the installation itself has, for mounts that configure none: from the settings, else from the
 * metadata service of the container or of the instance that it runs on.
 */
export async function serverCredentials(env: AwsEnv): Promise<Result<Credentials, Failure>> {
  const configured = fromSettings(env);
  if (configured) return configured;
  const now = currentTime();
  if (kept === null || kept.until <= now) {
    const credentials = (await containerCredentials(env)) ?? (await instanceCredentials(env));
    kept = { credentials, until: credentials ? credentials.expiresAt - EARLY_MS : now + MISSING_MS };
  }
  if (kept.credentials && kept.credentials.expiresAt > now) return ok(kept.credentials);
  return err(invalid("no credentials for the cloud's APIs are configured on this mount or for this server"));
}

/** Makes the next call ask the metadata services again. True when there was something to forget. */
export function forgetServerCredentials(): boolean {
  const had = kept?.credentials != null;
  kept = null;
  return had;
}

/** Where the server signs for in a partition: its own region when that is part of it, else the partition's first. */
export function serverRegion(env: AwsEnv, partition: Partition): string {
  const region = findRegion(env.CLOUD_REGION || env.AWS_REGION || env.AWS_DEFAULT_REGION || "");
  return region?.partition === partition ? region.name : iamHostOf(partition).signingRegion;
}

/** The partition of the server's own credentials, as far as the settings say it. */
export function serverPartition(env: AwsEnv): Partition {
  return findRegion(env.CLOUD_REGION || env.AWS_REGION || env.AWS_DEFAULT_REGION || "")?.partition ?? "aws";
}

/** null when the settings hold nothing. Half of a pair is a mistake: other credentials must not step in for it. */
function fromSettings(env: AwsEnv): Result<Credentials, Failure> | null {
  const sets = [
    [env.CLOUD_ACCESS_KEY, env.CLOUD_SECRET_KEY, env.CLOUD_SESSION_TOKEN],
    [env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN],
  ] as const;
  for (const [accessKeyId, secretAccessKey, sessionToken] of sets) {
    if (accessKeyId && secretAccessKey) return ok({ accessKeyId, secretAccessKey, sessionToken: sessionToken || null });
    if (accessKeyId || secretAccessKey) {
      return err(
        invalid("the server's credentials for the cloud's APIs are incomplete: one of the two keys is missing"),
      );
    }
  }
  return null;
}
