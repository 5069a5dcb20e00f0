import type { SystemEnv } from "../../system/env.ts";
import type { CloudLookups } from "./clients/lookups.ts";
import type { CloudAccessList } from "./mount/access-list.ts";
import type { CloudAuth } from "./mount/cloud-auth.ts";

/** The bindings and settings that the AWS method uses. */
export interface AwsEnv extends SystemEnv {
  readonly CLOUD_ACCESS_LIST: DurableObjectNamespace<CloudAccessList>;
  readonly CLOUD_AUTH: DurableObjectNamespace<CloudAuth>;
  readonly CLOUD_LOOKUPS: DurableObjectNamespace<CloudLookups>;
  /** Tokens that one signed login of a cloud mount gives at most. */
  readonly TOKENS_PER_SIGNATURE?: string;
  /** "true" brings back signatures with SHA-1 and DSA, and certificates signed with SHA-1, for instances' documents. */
  readonly ALLOW_SHA1_SIGNATURES?: string;

  /** Keys for the cloud's APIs, for mounts that configure none; the AWS_* names are read when these are not there. */
  readonly CLOUD_ACCESS_KEY?: string;
  /** A secret. */
  readonly CLOUD_SECRET_KEY?: string;
  /** A secret; with temporary keys. */
  readonly CLOUD_SESSION_TOKEN?: string;
  /** Where calls go that belong to no region: the partition's first unless set. */
  readonly CLOUD_REGION?: string;
  readonly AWS_ACCESS_KEY_ID?: string;
  /** A secret. */
  readonly AWS_SECRET_ACCESS_KEY?: string;
  /** A secret. */
  readonly AWS_SESSION_TOKEN?: string;
  readonly AWS_REGION?: string;
  readonly AWS_DEFAULT_REGION?: string;
  /** Where the container that this runs in gets credentials, as its platform sets it. */
  readonly AWS_CONTAINER_CREDENTIALS_RELATIVE_URI?: string;
  readonly AWS_CONTAINER_CREDENTIALS_FULL_URI?: string;
  /** A secret. */
  readonly AWS_CONTAINER_AUTHORIZATION_TOKEN?: string;
  /** "true": credentials may come from the metadata service of the instance that this runs on. */
  readonly CLOUD_METADATA_CREDENTIALS?: string;
  /** URL of that service, when it is not the usual one. */
  readonly AWS_EC2_METADATA_SERVICE_ENDPOINT?: string;
}
