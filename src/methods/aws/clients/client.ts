import { privateHosts } from "../../../base/outbound-hosts.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { toHex } from "../../../crypto/bytes.ts";
import type { Env } from "../../../env.ts";
import type { Installation } from "../../../system/installation.ts";
import type { Mount } from "../../../system/mount.ts";
import type { Credentials } from "../answers/sts.ts";
import { openSecret } from "../secrets.ts";
import { type ClientConfig, SECRET_KEY, type StsRole } from "./config.ts";
import type { CallPolicy } from "./retry.ts";

/** The mount for which the cloud is called. Its configuration decides about the credentials. */
export interface CloudAccess {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
}

/** A mount with its client configuration. */
export interface CloudClient extends CloudAccess {
  readonly config: ClientConfig;
  /**
   * Hash of the mount and the configuration. It is part of the key of each cached answer of the cloud, so neither
   * another mount nor a changed configuration uses the answer.
   */
  readonly revision: string;
}

/** A client for one account of the cloud. */
export interface AccountClient extends CloudClient {
  /** 12 digits. */
  readonly accountId: string;
  /** The role to assume for the account; null for the account of the mount's or the server's own credentials. */
  readonly stsRole: StsRole | null;
}

/** The client of a mount with this configuration. */
export async function openClient(
  { env, installation, mount }: CloudAccess,
  config: ClientConfig,
): Promise<CloudClient> {
  // A secret that is written again is sealed to another text, so this counts as a change too.
  return { env, installation, mount, config, revision: await hashOf(mount.uuid, JSON.stringify(config)) };
}

/** SHA-256 of the parts, in hex. */
export async function hashOf(...parts: readonly (string | null)[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** How calls of this client are repeated, and which hosts they may reach. */
export function policyOf({ env, config }: CloudClient): CallPolicy {
  return { hosts: privateHosts(env), maxRetries: config.maxRetries };
}

/** The configured URL of a service without a slash at its end, or the cloud's own host. */
export function endpointOf(configured: string, host: string): string {
  return configured.replace(/\/$/, "") || `https://${host}`;
}

/** The access key of the configuration; null when none is configured. */
export async function configuredKeys({ config, ...access }: CloudClient): Promise<Result<Credentials | null>> {
  const { accessKey, sealedSecretKey } = config;
  if (accessKey === "" && sealedSecretKey === null) return ok(null);
  if (accessKey === "" || sealedSecretKey === null) {
    const half = "the access key or secret key were provided but not both";
    return refuse(`static client credentials haven't been properly configured (${half})`);
  }
  const secretAccessKey = await openSecret(access.installation.keys, access.mount, SECRET_KEY, sealedSecretKey);
  return ok({ accessKeyId: accessKey, secretAccessKey, sessionToken: null });
}
