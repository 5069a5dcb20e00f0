import { PrefixIndex } from "../base/prefix-index.ts";
import type { QuotaConfig, RateLimitQuota } from "./quota.ts";

/** The quotas of one mount, or of the whole installation. */
interface MountQuotas {
  /** For all requests of the mount. */
  readonly all: RateLimitQuota | null;
  readonly byRole: ReadonlyMap<string, RateLimitQuota>;
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

  /** True when there is no quota. */
  get isEmpty(): boolean {
    return this.#byMount.size === 0;
  }

  /** True when the quota of a login at this mount can depend on its role, which is in the body. */
  hasRoles(mountPath: string): boolean {
    return (this.#byMount.get(mountPath)?.byRole.size ?? 0) > 0;
  }

  /**
   * Returns the quota of a request: for its role, its path, the longest prefix of its path, its mount, or the whole
   * installation, in this order; null when none applies. `mountPath` and `role` are "" for none.
   */
  find(mountPath: string, suffix: string, role: string): RateLimitQuota | null {
    const ofMount = this.#byMount.get(mountPath);
    const found = ofMount && (roleQuota(ofMount, role) ?? suffixQuota(ofMount, suffix) ?? ofMount.all);
    return found ?? this.#byMount.get("")?.all ?? null;
  }

  /** True when a path is exempt from limits. The longest prefix in the configuration decides. */
  isExempt(path: string): boolean {
    const longest = this.#exempt.find(({ prefix }) => path.startsWith(prefix));
    return longest !== undefined && !longest.counted;
  }
}

function quotasOfMount(quotas: readonly RateLimitQuota[]): MountQuotas {
  const { role = [], prefix = [], suffix = [], all = [] } = Object.groupBy(quotas, whatCounts);
  return {
    all: all[0] ?? null,
    byRole: new Map(role.map((quota) => [quota.role.toLowerCase(), quota])),
    bySuffix: new Map(suffix.map((quota) => [quota.pathSuffix, quota])),
    byPrefix: new PrefixIndex(new Map(prefix.map((quota) => [quota.pathSuffix.slice(0, -1), quota]))),
  };
}

function whatCounts({ role, pathSuffix }: RateLimitQuota): "role" | "prefix" | "suffix" | "all" {
  if (role !== "") return "role";
  if (pathSuffix.endsWith("*")) return "prefix";
  return pathSuffix === "" ? "all" : "suffix";
}

function roleQuota({ byRole }: MountQuotas, role: string): RateLimitQuota | undefined {
  return role === "" ? undefined : byRole.get(role.toLowerCase());
}

function suffixQuota({ bySuffix, byPrefix }: MountQuotas, suffix: string): RateLimitQuota | undefined {
  const path = suffix.replace(/\/$/, "");
  return bySuffix.get(path) ?? byPrefix.longest(path);
}
