import type { CloudAuth } from "./cloud/cloud-auth.ts";
import type { Identity } from "./identity/identity.ts";
import type { LeaseWalk } from "./lease/walk.ts";
import type { System } from "./sys/system.ts";
import type { OrganizationDirectory } from "./team/directory.ts";
import type { Organization } from "./team/organization.ts";
import type { Team } from "./team/team.ts";
import type { AccessorShard } from "./token/accessor-shard.ts";
import type { CustomIds } from "./token/custom-ids.ts";
import type { TokenRoles } from "./token/roles/token-roles.ts";
import type { Tidy } from "./token/tidy/tidy.ts";
import type { TokenTree } from "./token/tree.ts";

/** What the Worker is given: its objects (wrangler.toml) and its settings (docs/operations.md lists every one). */
export interface Env {
  readonly TOKEN_TREE: DurableObjectNamespace<TokenTree>;
  readonly ACCESSOR_SHARD: DurableObjectNamespace<AccessorShard>;
  readonly CUSTOM_IDS: DurableObjectNamespace<CustomIds>;
  readonly TIDY: DurableObjectNamespace<Tidy>;
  readonly TOKEN_ROLES: DurableObjectNamespace<TokenRoles>;
  readonly LEASE_WALK: DurableObjectNamespace<LeaseWalk>;
  readonly SYSTEM: DurableObjectNamespace<System>;
  readonly IDENTITY: DurableObjectNamespace<Identity>;
  readonly TEAM: DurableObjectNamespace<Team>;
  readonly ORGANIZATION: DurableObjectNamespace<Organization>;
  readonly ORGANIZATION_DIRECTORY: DurableObjectNamespace<OrganizationDirectory>;
  readonly CLOUD_AUTH: DurableObjectNamespace<CloudAuth>;

  /** `<version>:<base64 of 32 bytes>`; wraps the key ring. A secret. */
  readonly GROVE_SEAL_KEY?: string;
  /** The seal key before the last rotation, until the key ring has been wrapped anew. A secret. */
  readonly GROVE_SEAL_KEY_PREVIOUS?: string;
  /** Development only: initialises the service with this root token. */
  readonly GROVE_DEV_ROOT_TOKEN?: string;
  /** Seconds that an isolate works with the policies, mounts and keys that it read last. */
  readonly POLICY_CACHE_SECONDS?: string;
  /** Largest request body in bytes. */
  readonly MAX_BODY_BYTES?: string;
  /** The header that carries the client's address, set by whatever stands in front and can't be spoofed. */
  readonly CLIENT_ADDRESS_HEADER?: string;
  /** Development only: "true" lets endpoints of the cloud and targets of revocations be http and in private networks. */
  readonly ALLOW_PRIVATE_ENDPOINTS?: string;
  /** Hosts that revocations of leases may be sent to, with commas between; empty: any public host. */
  readonly LEASE_TARGET_HOSTS?: string;
  /** Names of this Worker's service bindings that revocations of leases may be sent to, with commas between. */
  readonly LEASE_SERVICES?: string;
}
