/** A rate limit for each client: an IPv4 address, or the /64 network of an IPv6 address (`clientNetwork`). */
export interface RateLimit {
  /** Requests in an interval. Rounded to a whole number of at least 1 when requests are counted. */
  readonly rate: number;
  /** Seconds. */
  readonly interval: number;
  /** Seconds for which a client is refused after it exceeded the rate; 0: until its interval is over. */
  readonly blockInterval: number;
}

/** A rate limit of an operator, and the requests that it applies to. */
export interface RateLimitQuota extends RateLimit {
  readonly name: string;
  /** The mount with a slash at the end, as in `auth/aws/`; "" for the whole installation. */
  readonly mountPath: string;
  /** The path below the mount, "" for all; an asterisk at its end matches any rest. */
  readonly pathSuffix: string;
  /** Applies to logins of this role only; "" for every request. */
  readonly role: string;
  /** Stored for clients, without effect: there are no namespaces that could inherit a quota. */
  readonly inheritable: boolean;
  /** Changes with every write of the quota, which restarts the counts. */
  readonly revision: number;
}

/** Configuration of all quotas. */
export interface QuotaConfig {
  /** Prefixes of exempt paths. A prefix with "!" before it is counted, although a shorter one is exempt. */
  readonly exemptPaths: readonly string[];
  /** True: the audit log has every refusal. False: the first one of each client and interval. */
  readonly auditLogging: boolean;
  /** True: answers have headers with the limit and the remaining requests. */
  readonly responseHeaders: boolean;
}

/** The reference's default: paths that load balancers use, and operators in an emergency, are exempt. */
export const DEFAULT_QUOTA_CONFIG: QuotaConfig = {
  exemptPaths: [
    "sys/generate-recovery-token/attempt",
    "sys/generate-recovery-token/update",
    "sys/generate-root/attempt",
    "sys/generate-root/update",
    "sys/health",
    "sys/seal-status",
    "sys/unseal",
  ],
  auditLogging: false,
  responseHeaders: false,
};

/** Limit of logins without a quota. A fleet behind one address can start at once and retry when it is asked to. */
export const LOGIN_LIMIT: RateLimit = { rate: 1000, interval: 10, blockInterval: 0 };

/** Limit of calls that only the init token protects: to initialise, to restore, and to generate a root token. */
export const INIT_LIMIT: RateLimit = { rate: 10, interval: 60, blockInterval: 0 };
