import type { OidcIssuer } from "./issuer/oidc-issuer.ts";
import type { CloudLookups } from "./methods/aws/clients/lookups.ts";
import type { CloudAccessList } from "./methods/aws/mount/access-list.ts";
import type { CloudAuth } from "./methods/aws/mount/cloud-auth.ts";
import type { JwtAuth } from "./methods/jwt/jwt-auth.ts";
import type { OrganizationDirectory } from "./team/directory.ts";
import type { Organization } from "./team/organization.ts";
import type { Team } from "./team/team.ts";
import type { ShardTidy } from "./tidy/shard-tidy.ts";
import type { Tidy } from "./tidy/tidy.ts";
import type { TreeEnv } from "./tree/env.ts";

/**
 * What the Worker is given: its objects (wrangler.toml) and its settings (docs/operations.md lists every one). A room declares
 * what it uses; what is declared here is still to find its room.
 */
export interface Env extends TreeEnv {
  readonly TIDY: DurableObjectNamespace<Tidy>;
  readonly SHARD_TIDY: DurableObjectNamespace<ShardTidy>;
  readonly OIDC_ISSUER: DurableObjectNamespace<OidcIssuer>;
  readonly TEAM: DurableObjectNamespace<Team>;
  readonly ORGANIZATION: DurableObjectNamespace<Organization>;
  readonly ORGANIZATION_DIRECTORY: DurableObjectNamespace<OrganizationDirectory>;
  readonly CLOUD_ACCESS_LIST: DurableObjectNamespace<CloudAccessList>;
  readonly CLOUD_AUTH: DurableObjectNamespace<CloudAuth>;
  readonly JWT_AUTH: DurableObjectNamespace<JwtAuth>;
  readonly CLOUD_LOOKUPS: DurableObjectNamespace<CloudLookups>;

  /** What a request to `sys/init` must bring as its token; without it anybody may send one, and the first gets root. A secret. */
  readonly GROVE_INIT_TOKEN?: string;
  /** A rate limit of the network that stands behind those of logins and of `sys/init`; only a deployment can have one. */
  readonly LOGIN_RATE_LIMIT?: RateLimit;
  /** Development only: initialises the service with this root token. */
  readonly GROVE_DEV_ROOT_TOKEN?: string;
  /** The commit that the Worker was built from, for `sys/health`; set by `npm run dev`, `serve` and `deploy`. */
  readonly GROVE_COMMIT?: string;
  /**
   * "true" where one process serves everything: what one isolate knows all know, and what a tree knows of its live tokens
   * is read by the Worker without a call; and which requests of the gateway have begun is remembered. Set by `npm run serve`,
   * and by nothing else: on Cloudflare's network an object can be in another isolate.
   */
  readonly ONE_PROCESS?: string;
  /** Largest request body in bytes. */
  readonly MAX_BODY_BYTES?: string;
  /** Tokens that one signed login of a cloud mount gives at most. */
  readonly TOKENS_PER_SIGNATURE?: string;
  /** The header that carries the client's address, set by whatever stands in front and can't be spoofed. */
  readonly CLIENT_ADDRESS_HEADER?: string;
  /** "true" brings back signatures with SHA-1 and DSA, and certificates signed with SHA-1, for instances' documents. */
  readonly ALLOW_SHA1_SIGNATURES?: string;

  /** "error" leaves out lines about ordinary work, such as reports of tidy; "info" unless set. */
  readonly LOG_LEVEL?: string;
  /** "true" answers `sys/metrics` without a token. */
  readonly METRICS_UNAUTHENTICATED?: string;
  /** Where Analytics Engine takes a point for each request, when wrangler.toml binds a dataset. */
  readonly METRICS?: AnalyticsEngineDataset;

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
