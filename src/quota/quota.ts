import { nameKey } from "../base/case-folding.ts";
import type { Seconds } from "../base/clock.ts";
import { PrefixIndex } from "../base/prefix-index.ts";
import { err, ok, type Result } from "../base/result.ts";
import { NO_NAME, spellingsOf, withNameInLowerCase } from "../policy/path-spellings.ts";

/** A rate limit for each client: an IPv4 address, or the /64 network of an IPv6 address (`clientNetworks`). */
export interface RateLimit {
  /** Requests in an interval. Rounded to a whole number of at least 1 when requests are counted. */
  readonly rate: number;
  readonly interval: Seconds;
  /** How long a client is refused after it exceeded the rate; 0: until its interval is over. */
  readonly blockInterval: Seconds;
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

export interface QuotaConfig {
  /** Prefixes of exempt paths. A prefix with "!" before it is counted, although a shorter one is exempt. */
  readonly exemptPaths: readonly string[];
  /** True: the audit log has every refusal. False: the first one of each client and interval. */
  readonly auditLogging: boolean;
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

/** A quota as a client writes it. An interval of 0 means 1. */
export interface QuotaWrite extends RateLimit, Pick<RateLimitQuota, "name" | "role"> {
  readonly path: string;
  /** undefined: true for a quota of the whole installation, else false, as in the reference. */
  readonly inheritable: boolean | undefined;
}

/** A mount that a quota can be for. */
export interface QuotaPlace {
  /** With a slash at the end, as in `auth/aws/`. */
  readonly path: string;
  /** True when clients log in there by the name of a role. */
  readonly hasRoles: boolean;
}

/** Maximum number of quotas: every isolate has a copy of all of them. */
const MAX_QUOTAS = 500;
const MAX_RATE = 1_000_000_000;
/** Maximum interval and block: one day, so that operators who block themselves get access again. */
const MAX_SECONDS = 24 * 3600;
const MAX_NAME_LENGTH = 128;
const MAX_PATH_LENGTH = 512;
const MAX_ROLE_LENGTH = 512;
const MAX_EXEMPT_PATHS = 200;

/** Returns the problem with the fields of a write of a quota, whatever is stored, or null. See `newQuota`. */
export function quotaWriteProblem({ name, path, role, rate, interval, blockInterval }: QuotaWrite): string | null {
  if (!(rate > 0) || rate > MAX_RATE) return "'rate' is invalid";
  if (interval < 0 || interval > MAX_SECONDS) return `interval must be from 1 to ${MAX_SECONDS} seconds`;
  if (blockInterval < 0 || blockInterval > MAX_SECONDS)
    return `block_interval must be from 0 to ${MAX_SECONDS} seconds`;
  if (path.length > MAX_PATH_LENGTH || role.length > MAX_ROLE_LENGTH) {
    return `path and role have at most ${MAX_PATH_LENGTH} characters`;
  }
  return name.length > MAX_NAME_LENGTH ? `the name has at most ${MAX_NAME_LENGTH} characters` : null;
}

/**
 * Returns the quota of a write, which replaces one with its name. The order of the checks and the messages are the
 * reference's. The bounds on sizes are additions. `others` are all quotas with other names.
 */
export function newQuota(
  write: QuotaWrite,
  places: readonly QuotaPlace[],
  others: readonly RateLimitQuota[],
  revision: number,
): Result<RateLimitQuota, string> {
  const problem = quotaWriteProblem(write);
  if (problem) return err(problem);
  const { name, rate, blockInterval } = write;
  const interval = write.interval || 1;
  if (others.length >= MAX_QUOTAS) return err(`there may be at most ${MAX_QUOTAS} quotas`);
  const target = readTarget(write, places);
  if (!target.ok) return target;
  const same = others.find((other) => isSameTarget(other, target.value));
  if (same) return err(`quota rule with similar properties exists under the name "${same.name}"`);
  const inheritable = write.inheritable ?? target.value.mountPath === "";
  return ok({ name, ...target.value, rate, interval, blockInterval, inheritable, revision });
}

type Target = Pick<RateLimitQuota, "mountPath" | "pathSuffix" | "role">;

function readTarget(write: QuotaWrite, places: readonly QuotaPlace[]): Result<Target, string> {
  const { role } = write;
  const path = `${write.path.replace(/\/+$/, "")}/`.replace(/^\/+/, "");
  const place = path === "" ? null : placeOf(path, places);
  if (path !== "" && !place) return err("invalid mount path: no mount serves it");
  const mountPath = place?.path ?? "";
  const pathSuffix = path.slice(mountPath.length).replace(/\/$/, "");
  if (role === "") return ok({ mountPath, pathSuffix, role });
  if (pathSuffix !== "") {
    return err(
      "Quotas cannot contain both a path suffix and a role. If a role is provided, path must be a valid auth mount with a concept of roles",
    );
  }
  if (!mountPath.startsWith("auth/")) {
    return err(
      `Mount path "${mountPath}" is not a valid auth method and therefore unsuitable for use with role-based quotas`,
    );
  }
  if (!place?.hasRoles) return err(`Mount path "${mountPath}" does not support use with role-based quotas`);
  return ok({ mountPath, pathSuffix, role });
}

function placeOf(path: string, places: readonly QuotaPlace[]): QuotaPlace | null {
  const serving = places.filter((place) => path.startsWith(place.path));
  return serving.sort((a, b) => b.path.length - a.path.length)[0] ?? null;
}

/** Roles are compared without regard to case, as in every auth method. */
function isSameTarget(a: Target, b: Target): boolean {
  const isSameRole = nameKey(a.role) === nameKey(b.role);
  return a.mountPath === b.mountPath && a.pathSuffix === b.pathSuffix && isSameRole;
}

/** Returns the configuration, or why it is refused. */
export function checkQuotaConfig(config: QuotaConfig): Result<QuotaConfig, string> {
  if (config.exemptPaths.length > MAX_EXEMPT_PATHS) return err(`at most ${MAX_EXEMPT_PATHS} paths can be exempt`);
  if (config.exemptPaths.some((path) => path.length > MAX_PATH_LENGTH)) {
    return err(`an exempt path has at most ${MAX_PATH_LENGTH} characters`);
  }
  return ok(config);
}

interface MountQuotas {
  readonly all: RateLimitQuota | null;
  readonly byRole: ReadonlyMap<string, RateLimitQuota>;
  /** null when no quota of the mount has a path: then a request need not be compared in every spelling. */
  readonly paths: {
    readonly exact: PathQuotas;
    /** By the paths in lower case, for requests for what has a case-insensitive name. */
    readonly folded: PathQuotas;
  } | null;
}

interface PathQuotas {
  readonly bySuffix: ReadonlyMap<string, RateLimitQuota>;
  /** By the path without the asterisk. */
  readonly byPrefix: PrefixIndex<RateLimitQuota>;
}

/** Finds the most specific quota of a request, in the reference's order. Built once for each copy of the quotas. */
export class QuotaTable {
  readonly config: QuotaConfig;
  readonly #byMount: ReadonlyMap<string, MountQuotas>;
  readonly #exempt: readonly { readonly prefix: string; readonly counted: boolean }[];

  constructor(quotas: readonly RateLimitQuota[], config: QuotaConfig) {
    this.config = config;
    const byMount = Map.groupBy(quotas, ({ mountPath }) => mountPath);
    this.#byMount = new Map([...byMount].map(([path, ofMount]) => [path, quotasOfMount(ofMount)]));
    this.#exempt = config.exemptPaths
      .map((path) => ({ prefix: path.replace(/^!/, "").replace(/\*$/, ""), counted: path.startsWith("!") }))
      .filter(({ prefix }) => prefix !== "")
      .sort((a, b) => b.prefix.length - a.prefix.length);
  }

  get isEmpty(): boolean {
    return this.#byMount.size === 0;
  }

  /** True when the quota of a login at this mount can depend on its role, which is in the body. */
  hasRoles(mountPath: string): boolean {
    return (this.#byMount.get(mountPath)?.byRole.size ?? 0) > 0;
  }

  /** Returns the quota of a role of a mount; null for none. */
  ofRole(mountPath: string, role: string): RateLimitQuota | null {
    return this.#byMount.get(mountPath)?.byRole.get(nameKey(role)) ?? null;
  }

  /**
   * Returns the quota of a request: for its role, its path, the longest prefix of its path, its mount, or the whole
   * installation, in this order; null when none applies. `mountPath` and `role` are "" for none. Every spelling of a
   * path has the same quota, so that a client can't choose one that nothing counts.
   */
  find(mountPath: string, suffix: string, role: string): RateLimitQuota | null {
    const ofMount = this.#byMount.get(mountPath);
    const found = this.ofRole(mountPath, role) ?? (ofMount?.paths && quotaOfPath(ofMount.paths, mountPath, suffix));
    return found ?? ofMount?.all ?? this.#byMount.get("")?.all ?? null;
  }

  /** True when a path is exempt from limits. The longest prefix in the configuration decides. */
  isExempt(path: string): boolean {
    const longest = this.#exempt.find(({ prefix }) => path.startsWith(prefix));
    return longest !== undefined && !longest.counted;
  }
}

function quotaOfPath(
  paths: NonNullable<MountQuotas["paths"]>,
  mountPath: string,
  suffix: string,
): RateLimitQuota | undefined {
  // A list is served with any number of slashes at its end.
  const path = (mountPath + suffix).replace(/\/+$/, "");
  const mount = mountPath.startsWith("auth/") ? mountPath : undefined;
  const spelled = spellingsOf({ path, mount })
    .filter((spelling) => spelling.path.startsWith(mountPath))
    .map((spelling) => {
      const below = spelling.path.slice(mountPath.length).replace(/\/+$/, "");
      return spelling.nameAt === NO_NAME ? { below, at: paths.exact } : { below: folded(below), at: paths.folded };
    });
  const prefixes = () => spelled.flatMap(({ below, at }) => at.byPrefix.longest(below) ?? []);
  const exact = spelled.flatMap(({ below, at }) => at.bySuffix.get(below) ?? []);
  return exact[0] ?? prefixes().sort((a, b) => b.pathSuffix.length - a.pathSuffix.length)[0];
}

function folded(path: string): string {
  return withNameInLowerCase(path, 0);
}

function quotasOfMount(quotas: readonly RateLimitQuota[]): MountQuotas {
  const { role = [], prefix = [], suffix = [], all = [] } = Object.groupBy(quotas, whatCounts);
  const hasPaths = suffix.length + prefix.length > 0;
  const pathsIn = (form: (path: string) => string): PathQuotas => ({
    bySuffix: new Map(suffix.map((quota) => [form(quota.pathSuffix), quota])),
    byPrefix: new PrefixIndex(new Map(prefix.map((quota) => [form(quota.pathSuffix.slice(0, -1)), quota]))),
  });
  return {
    all: all[0] ?? null,
    byRole: new Map(role.map((quota) => [nameKey(quota.role), quota])),
    paths: hasPaths ? { exact: pathsIn((path) => path), folded: pathsIn(folded) } : null,
  };
}

function whatCounts({ role, pathSuffix }: RateLimitQuota): "role" | "prefix" | "suffix" | "all" {
  if (role !== "") return "role";
  if (pathSuffix.endsWith("*")) return "prefix";
  return pathSuffix === "" ? "all" : "suffix";
}
