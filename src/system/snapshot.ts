import type { QuotaConfig, RateLimitQuota } from "../quota/quota.ts";
import type { FilterChange } from "./custom-id-filter.ts";
import type { Mount } from "./mount.ts";
import type { PartVersions } from "./part-versions.ts";
import type { PoliciesForIsolates } from "./policy-store.ts";
import type { Watermark } from "./watermarks.ts";

/** What every request needs to know about the installation, in parts that change for themselves; isolates keep a copy. */
export interface SnapshotParts {
  readonly keys: {
    readonly clusterId: string;
    /** The wrapped key ring; null until the service is initialised. */
    readonly sealedKeyRing: string | null;
    /** The backup that the installation is being restored from; null: it serves requests. Absent where the object is of an older release. */
    readonly restoring?: string | null;
  };
  readonly policies: PoliciesForIsolates;
  readonly mounts: readonly Mount[];
  /** Of the filter of the custom token ids that exist: what is not known yet. */
  readonly customIds: FilterChange;
  readonly quotas: { readonly list: readonly RateLimitQuota[]; readonly config: QuotaConfig };
  readonly watermarks: {
    readonly list: readonly Watermark[];
    /** The number of the newest that there ever was; 0 before the first. */
    readonly newest: number;
  };
  readonly lists: {
    /** When the generations of shards after the first one open (ms), the earliest first. */
    readonly openings: readonly number[];
  };
}

/** The state of the installation for an isolate: the parts whose version differs from the one that the isolate has. */
export interface SystemSnapshot {
  readonly versions: PartVersions;
  readonly parts: Partial<SnapshotParts>;
}
