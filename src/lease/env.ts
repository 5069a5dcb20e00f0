import type { ListingEnv } from "../listing/env.ts";
import type { LeaseWalk } from "./prefix-revocation.ts";

/** Settings that limit the hosts of requests whose target an operator or a client chooses. */
export interface EndpointEnv {
  /**
   * Addresses, CIDR blocks and hosts, separated by commas, that are allowed besides public hosts, also without TLS. Set
   * by `npm run serve`.
   */
  readonly GROVE_PRIVATE_HOSTS?: string;
  /** In PEM: certificates that connections are checked against besides public ones. Set by `npm run serve`. */
  readonly GROVE_TRUSTED_CAS?: string;
  /** Hosts that may receive revocations of leases, separated by commas; empty: any public host. */
  readonly LEASE_TARGET_HOSTS?: string;
  /** Names of this Worker's service bindings that may receive revocations of leases, separated by commas. */
  readonly LEASE_SERVICES?: string;
}

export interface LeaseEnv extends ListingEnv, EndpointEnv {
  readonly LEASE_WALK: DurableObjectNamespace<LeaseWalk>;
}
