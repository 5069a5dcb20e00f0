import { privateHosts } from "../../../base/private-hosts.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { toHex } from "../../../crypto/bytes.ts";
import type { Env } from "../../../env.ts";
import { signMountToken } from "../../../issuer/service.ts";
import type { Installation } from "../../../system/installation.ts";
import type { Mount } from "../../../system/mount.ts";
import type { Credentials } from "../answers/sts.ts";
import type { AwsEnv } from "../env.ts";
import { openSecret } from "../secrets.ts";
import { type ClientConfig, SECRET_KEY, type StsRole, type WebIdentity } from "./config.ts";
import type { CallPolicy } from "./retry.ts";

/** How one mount talks to the cloud, as its configuration is now. */
export type CloudClient = {
  readonly env: AwsEnv;
  readonly policy: CallPolicy;
  /** URLs that replace the cloud's own hosts; "" leaves them. */
  readonly endpoints: { readonly ec2: string; readonly iam: string; readonly sts: string };
  /** Region that `endpoints.sts` takes signatures for; "" leaves it to the settings of the installation. */
  readonly stsRegion: string;
  /** The configured keys, opened only when they are needed; null when none are configured. */
  readonly staticKeys: () => Promise<Result<Credentials | null>>;
  /** The role that stands in for keys, when one is configured. */
  readonly webIdentity: {
    readonly roleArn: string;
    /** Signs a token that the role trusts. */
    readonly token: () => Promise<Result<string>>;
  } | null;
  /**
   * Identifies the mount and its configuration. Cached answers of the cloud are keyed by it: neither a changed
   * configuration nor another mount sees them.
   */
  readonly revision: string;
};

/** An account of the cloud, and how its instances and principals are looked up. */
export type CloudAccount = {
  /** 12 digits. */
  readonly accountId: string;
  /** The role to assume for it; null for the account of the server's own credentials. */
  readonly stsRole: StsRole | null;
};

/** An account of the cloud, and the client that asks about it. */
export interface AccountClient {
  readonly client: CloudClient;
  readonly account: CloudAccount;
}

/** A short name for parts of which each counts. */
export async function nameOf(...parts: readonly (string | number | null)[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** On whose behalf the cloud is asked: the configuration of the mount says with which credentials. */
export interface CloudAccess {
  readonly env: Env;
  readonly installation: Installation;
  readonly mount: Mount;
}

/** The client of a mount with this configuration. */
export async function openClient(access: CloudAccess, config: ClientConfig): Promise<CloudClient> {
  const { endpoint, iamEndpoint, stsEndpoint, stsRegion, maxRetries, webIdentity } = config;
  return {
    env: access.env,
    policy: { hosts: privateHosts(access.env), maxRetries },
    endpoints: { ec2: withoutSlash(endpoint), iam: withoutSlash(iamEndpoint), sts: withoutSlash(stsEndpoint) },
    stsRegion,
    staticKeys: () => openKeys(access, config),
    webIdentity: webIdentity
      ? { roleArn: webIdentity.roleArn, token: () => signWebIdentity(access, webIdentity) }
      : null,
    revision: await revisionOf(access.mount.uuid, config),
  };
}

/** The revisions of configurations that are at hand. A configuration never changes: another one takes its place. */
const REVISIONS = new WeakMap<ClientConfig, { readonly mount: string; readonly revision: string }>();

async function revisionOf(mount: string, config: ClientConfig): Promise<string> {
  const known = REVISIONS.get(config);
  if (known?.mount === mount) return known.revision;
  // Sealing the same secret again gives another text, so writing it again counts as a change too.
  const revision = await nameOf(mount, JSON.stringify(config));
  REVISIONS.set(config, { mount, revision });
  return revision;
}

async function openKeys(access: CloudAccess, config: ClientConfig): Promise<Result<Credentials | null>> {
  const { accessKey, sealedSecretKey } = config;
  if (accessKey === "" && sealedSecretKey === null) return ok(null);
  if (accessKey === "" || sealedSecretKey === null) {
    const half = "the access key or secret key were provided but not both";
    return refuse(`static client credentials haven't been properly configured (${half})`);
  }
  const secretAccessKey = await openSecret(access.installation.keys, access.mount, SECRET_KEY, sealedSecretKey);
  return ok({ accessKeyId: accessKey, secretAccessKey, sessionToken: null });
}

function signWebIdentity({ env, installation, mount }: CloudAccess, { audience, ttl, key }: WebIdentity) {
  return signMountToken(env, installation.keys, { mountAccessor: mount.accessor, audience, ttl, key });
}

function withoutSlash(endpoint: string): string {
  return endpoint.replace(/\/$/, "");
}
