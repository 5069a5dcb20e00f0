import type { SystemEnv } from "../../system/env.ts";
import type { CloudLookups } from "./clients/batched-lookups.ts";
import type { CloudAccessList } from "./mount/access-list.ts";
import type { CloudAuth } from "./mount/cloud-auth.ts";

/** The bindings and settings of the AWS method. */
export interface AwsEnv extends SystemEnv {
  readonly CLOUD_ACCESS_LIST: DurableObjectNamespace<CloudAccessList>;
  readonly CLOUD_AUTH: DurableObjectNamespace<CloudAuth>;
  readonly CLOUD_LOOKUPS: DurableObjectNamespace<CloudLookups>;
  readonly TOKENS_PER_SIGNATURE?: string;
  /** "true" allows SHA-1 and DSA for the signatures and certificates of identity documents. */
  readonly ALLOW_SHA1_SIGNATURES?: string;

  /** Keys for the cloud's APIs, for mounts without their own. The AWS_* names apply when these are absent. */
  readonly CLOUD_ACCESS_KEY?: string;
  /** A secret. */
  readonly CLOUD_SECRET_KEY?: string;
  /** A secret, for temporary keys. */
  readonly CLOUD_SESSION_TOKEN?: string;
  /** Region of calls that belong to no region. Default: the first one of the partition. */
  readonly CLOUD_REGION?: string;
  readonly AWS_ACCESS_KEY_ID?: string;
  /** A secret. */
  readonly AWS_SECRET_ACCESS_KEY?: string;
  /** A secret. */
  readonly AWS_SESSION_TOKEN?: string;
  readonly AWS_REGION?: string;
  readonly AWS_DEFAULT_REGION?: string;
  /** URL of the container's credentials, which the platform sets. */
  readonly AWS_CONTAINER_CREDENTIALS_RELATIVE_URI?: string;
  readonly AWS_CONTAINER_CREDENTIALS_FULL_URI?: string;
  /** A secret. */
  readonly AWS_CONTAINER_AUTHORIZATION_TOKEN?: string;
  /** "true" allows credentials from the metadata service of this instance. */
  readonly CLOUD_METADATA_CREDENTIALS?: string;
  /** URL of that service, if not the usual one. */
  readonly AWS_EC2_METADATA_SERVICE_ENDPOINT?: string;
}
