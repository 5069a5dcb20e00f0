import type { LeaseWalk } from "./app/lease-walk.ts";
import type { Identity } from "./identity/directory/identity.ts";
import type { EntityShard } from "./identity/shard/entity-shard.ts";
import type { OidcIssuer } from "./issuer/oidc-issuer.ts";
import type { AccessorShard } from "./listing/accessor-shard.ts";
import type { TokenRevocations } from "./listing/inventory/revocations.ts";
import type { CloudLookups } from "./methods/aws/clients/lookups.ts";
import type { CloudAccessList } from "./methods/aws/mount/access-list.ts";
import type { CloudAuth } from "./methods/aws/mount/cloud-auth.ts";
import type { JwtAuth } from "./methods/jwt/jwt-auth.ts";
import type { System } from "./system/system.ts";
import type { OrganizationDirectory } from "./team/directory.ts";
import type { Organization } from "./team/organization.ts";
import type { Team } from "./team/team.ts";
import type { ShardTidy } from "./tidy/shard-tidy.ts";
import type { Tidy } from "./tidy/tidy.ts";
import type { TokenRoles } from "./token/roles/token-roles.ts";
import type { CustomIds } from "./tree/custom-ids.ts";
import type { TokenTree } from "./tree/token-tree.ts";

/** What the Worker is given: its objects (wrangler.toml) and its settings (docs/operations.md lists every one). */
export interface Env {
  readonly TOKEN_TREE: DurableObjectNamespace<TokenTree>;
  readonly ACCESSOR_SHARD: DurableObjectNamespace<AccessorShard>;
  readonly CUSTOM_IDS: DurableObjectNamespace<CustomIds>;
  readonly TIDY: DurableObjectNamespace<Tidy>;
  readonly SHARD_TIDY: DurableObjectNamespace<ShardTidy>;
  readonly TOKEN_REVOCATIONS: DurableObjectNamespace<TokenRevocations>;
  readonly TOKEN_ROLES: DurableObjectNamespace<TokenRoles>;
  readonly LEASE_WALK: DurableObjectNamespace<LeaseWalk>;
  readonly SYSTEM: DurableObjectNamespace<System>;
  readonly IDENTITY: DurableObjectNamespace<Identity>;
  readonly ENTITY_SHARD: DurableObjectNamespace<EntityShard>;
  readonly OIDC_ISSUER: DurableObjectNamespace<OidcIssuer>;
  readonly TEAM: DurableObjectNamespace<Team>;
  readonly ORGANIZATION: DurableObjectNamespace<Organization>;
  readonly ORGANIZATION_DIRECTORY: DurableObjectNamespace<OrganizationDirectory>;
  readonly CLOUD_ACCESS_LIST: DurableObjectNamespace<CloudAccessList>;
  readonly CLOUD_AUTH: DurableObjectNamespace<CloudAuth>;
  readonly JWT_AUTH: DurableObjectNamespace<JwtAuth>;
  readonly CLOUD_LOOKUPS: DurableObjectNamespace<CloudLookups>;

  /** `<version>:<base64 of 32 bytes>`; wraps the key ring. A secret. */
  readonly GROVE_SEAL_KEY?: string;
  /** The seal key before the last rotation, until the key ring has been wrapped anew. A secret. */
  readonly GROVE_SEAL_KEY_PREVIOUS?: string;
  /** What a request to `sys/init` must bring as its token; without it anybody may send one, and the first gets root. A secret. */
  readonly GROVE_INIT_TOKEN?: string;
  /** A rate limit of the network that stands behind those of logins and of `sys/init`; only a deployment can have one. */
  readonly LOGIN_RATE_LIMIT?: RateLimit;
  /** Development only: initialises the service with this root token. */
  readonly GROVE_DEV_ROOT_TOKEN?: string;
  /** The commit that the Worker was built from, for `sys/health`; set by `npm run dev`, `serve` and `deploy`. */
  readonly GROVE_COMMIT?: string;
  /** Seconds that an isolate works with the policies, mounts and keys that it read last. */
  readonly POLICY_CACHE_SECONDS?: string;
  /** Further seconds for which the copies are used while the system object does not answer; 0: none. */
  readonly POLICY_GRACE_SECONDS?: string;
  /**
   * "true" where one process serves everything: what one isolate knows all know, and what a tree knows of its live tokens
   * is read by the Worker without a call; and which requests of the gateway have begun is remembered. Set by `npm run serve`,
   * and by nothing else: on Cloudflare's network an object can be in another isolate.
   */
  readonly ONE_PROCESS?: string;
  /** Where Cloudflare keeps and runs all objects (`eu`, …); empty: anywhere. Never changes once there is an installation. */
  readonly JURISDICTION?: string;
  /** "false": the time of the last use is not kept for the inventory. */
  readonly TRACK_LAST_USE?: string;
  /** Largest request body in bytes. */
  readonly MAX_BODY_BYTES?: string;
  /** Tokens that one signed login of a cloud mount gives at most. */
  readonly TOKENS_PER_SIGNATURE?: string;
  /** The header that carries the client's address, set by whatever stands in front and can't be spoofed. */
  readonly CLIENT_ADDRESS_HEADER?: string;
  /**
   * Addresses, CIDR blocks and names of hosts that requests may go to beside public ones, also without TLS, with commas
   * between. Set by `npm run serve` and `npm run dev`.
   */
  readonly GROVE_PRIVATE_HOSTS?: string;
  /** Hosts that revocations of leases may be sent to, with commas between; empty: any public host. */
  readonly LEASE_TARGET_HOSTS?: string;
  /** Names of this Worker's service bindings that revocations of leases may be sent to, with commas between. */
  readonly LEASE_SERVICES?: string;
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
