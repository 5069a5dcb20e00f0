import type { LeaseWalk } from "../app/lease-walk.ts";
import type { ListingEnv } from "../listing/env.ts";

/** Settings of where requests may be sent that operators and clients name. */
export interface EndpointEnv {
  /**
   * Addresses, CIDR blocks and names of hosts that requests may go to beside public ones, also without TLS, with commas
   * between. Set by `npm run serve` and `npm run dev`.
   */
  readonly GROVE_PRIVATE_HOSTS?: string;
  /** Hosts that revocations of leases may be sent to, with commas between; empty: any public host. */
  readonly LEASE_TARGET_HOSTS?: string;
  /** Names of this Worker's service bindings that revocations of leases may be sent to, with commas between. */
  readonly LEASE_SERVICES?: string;
}

/** The bindings and settings that leases use. */
export interface LeaseEnv extends ListingEnv, EndpointEnv {
  readonly LEASE_WALK: DurableObjectNamespace<LeaseWalk>;
}
