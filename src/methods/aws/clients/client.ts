import type { Failure } from "../../../base/errors.ts";
import type { Result } from "../../../base/result.ts";
import { toHex } from "../../../crypto/bytes.ts";
import type { Credentials } from "../answers/sts.ts";
import type { AwsEnv } from "../env.ts";
import type { CallPolicy } from "./retry.ts";
import type { StsRole } from "./sts-role.ts";

/** How one mount talks to the cloud, as its configuration is now. */
export type CloudClient = {
  readonly env: AwsEnv;
  readonly policy: CallPolicy;
  /** URLs that replace the cloud's own hosts; "" leaves them. */
  readonly endpoints: { readonly ec2: string; readonly iam: string; readonly sts: string };
  /** Region that `endpoints.sts` takes signatures for; "" leaves it to the settings of the installation. */
  readonly stsRegion: string;
  /** The configured keys, opened only when they are needed; null when none are configured. */
  readonly staticKeys: () => Promise<Result<Credentials | null, Failure>>;
  /** The role that stands in for keys, when one is configured. */
  readonly webIdentity: {
    readonly roleArn: string;
    /** Signs a token that the role trusts. */
    readonly token: () => Promise<Result<string, Failure>>;
  } | null;
  /**
   * Identifies the mount and all of its configuration that affects the answers of the cloud. Cached answers are keyed
   * by it: neither a changed configuration nor another mount sees them.
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

/** A short name for parts of which each counts. */
export async function nameOf(...parts: readonly (string | number | null)[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
