/** How many requests of one kind each client address may send in a while. */
export interface RateLimit {
  /** Requests in an interval. Counted in whole ones: 7.7 is 8, and 0.2 is 1. */
  readonly rate: number;
  /** Seconds. */
  readonly interval: number;
  /** Seconds that an address is refused for once it sent more; 0: until its interval is over. */
  readonly blockInterval: number;
}

/** A limit that an operator wrote, with the requests that it is for. */
export interface RateLimitQuota extends RateLimit {
  readonly name: string;
  /** The mount with a slash at the end, as in `auth/aws/`; "" for the whole installation. */
  readonly mountPath: string;
  /** The path below the mount, "" for all; an asterisk at its end stands for any rest. */
  readonly pathSuffix: string;
  /** Logins of this role only; "" for every request. */
  readonly role: string;
  /** Kept for clients: there are no namespaces that could inherit. */
  readonly inheritable: boolean;
  /** Another one after every write: counting begins again then. */
  readonly revision: number;
}

/** What holds for all quotas. */
export interface QuotaConfig {
  /** Beginnings of paths that no quota counts; one that starts with "!" is counted although a shorter one is exempt. */
  readonly exemptPaths: readonly string[];
  /** Every refusal is on record; otherwise the first of each address and interval. */
  readonly auditLogging: boolean;
  /** Answers say what is left. */
  readonly responseHeaders: boolean;
}

/** The reference's: what load balancers and operators in need ask for. */
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

/** The limit of logins that have no quota: enough for a fleet behind one address that starts at once and retries on request. */
export const LOGIN_LIMIT: RateLimit = { rate: 1000, interval: 10, blockInterval: 0 };

/** Calls that the init token alone protects: to initialise, and to generate a root token. */
export const INIT_LIMIT: RateLimit = { rate: 10, interval: 60, blockInterval: 0 };
