import type { QuotaConfig, RateLimitQuota } from "./quota.ts";

/** The quotas of one mount, or of the whole installation. */
interface MountQuotas {
  /** Of all requests. */
  all: RateLimitQuota | null;
  readonly byRole: Map<string, RateLimitQuota>;
  readonly bySuffix: Map<string, RateLimitQuota>;
  /** By the path before the asterisk. */
  readonly byPrefix: Map<string, RateLimitQuota>;
  /** Lengths of these prefixes, the longest first. */
  prefixLengths: readonly number[];
}

/** Which quota counts for a request: the most specific, in the reference's order. Made once for each copy of the quotas. */
export class QuotaTable {
  readonly config: QuotaConfig;
  readonly #byMount = new Map<string, MountQuotas>();
  readonly #exempt: readonly { readonly prefix: string; readonly counted: boolean }[];

  constructor(quotas: readonly RateLimitQuota[], config: QuotaConfig) {
    this.config = config;
    for (const quota of quotas) this.#add(quota);
    for (const quotasOfMount of this.#byMount.values()) {
      const lengths = [...quotasOfMount.byPrefix.keys()].map(({ length }) => length);
      quotasOfMount.prefixLengths = [...new Set(lengths)].sort((a, b) => b - a);
    }
    this.#exempt = config.exemptPaths
      .map((path) => ({ prefix: path.replace(/^!/, "").replace(/\*$/, ""), counted: path.startsWith("!") }))
      .filter(({ prefix }) => prefix !== "")
      .sort((a, b) => b.prefix.length - a.prefix.length);
  }

  /** True while no quota was written. */
  get isEmpty(): boolean {
    return this.#byMount.size === 0;
  }

  /** True when the quota of a login at this mount can depend on its role, which its body says. */
  hasRoles(mountPath: string): boolean {
    return (this.#byMount.get(mountPath)?.byRole.size ?? 0) > 0;
  }

  /**
   * The quota that counts: of the role, of the path, of the longest beginning of the path, of the mount, or of the whole
   * installation.
   *
   * @param mountPath of the mount that serves the request, "" for none.
   * @param suffix path below it.
   * @param role of a login, "" for none.
   */
  find(mountPath: string, suffix: string, role: string): RateLimitQuota | null {
    const ofMount = this.#byMount.get(mountPath);
    const found = ofMount && (roleQuota(ofMount, role) ?? suffixQuota(ofMount, suffix) ?? ofMount.all);
    return found ?? this.#byMount.get("")?.all ?? null;
  }

  /** True when no quota counts for a path. The longest beginning that the configuration names decides. */
  isExempt(path: string): boolean {
    const longest = this.#exempt.find(({ prefix }) => path.startsWith(prefix));
    return longest !== undefined && !longest.counted;
  }

  #add(quota: RateLimitQuota): void {
    const ofMount = this.#byMount.get(quota.mountPath) ?? {
      all: null,
      byRole: new Map(),
      bySuffix: new Map(),
      byPrefix: new Map(),
      prefixLengths: [],
    };
    this.#byMount.set(quota.mountPath, ofMount);
    if (quota.role !== "") ofMount.byRole.set(quota.role.toLowerCase(), quota);
    else if (quota.pathSuffix.endsWith("*")) ofMount.byPrefix.set(quota.pathSuffix.slice(0, -1), quota);
    else if (quota.pathSuffix !== "") ofMount.bySuffix.set(quota.pathSuffix, quota);
    else ofMount.all = quota;
  }
}

function roleQuota({ byRole }: MountQuotas, role: string): RateLimitQuota | undefined {
  return role === "" ? undefined : byRole.get(role.toLowerCase());
}

function suffixQuota(ofMount: MountQuotas, suffix: string): RateLimitQuota | undefined {
  const path = suffix.replace(/\/$/, "");
  const exact = ofMount.bySuffix.get(path);
  if (exact) return exact;
  for (const length of ofMount.prefixLengths) {
    const found = length <= path.length ? ofMount.byPrefix.get(path.slice(0, length)) : undefined;
    if (found) return found;
  }
  return undefined;
}
