import type { QuotaConfig, RateLimitQuota } from "../quota/quota.ts";
import type { FilterChange } from "./custom-id-filter.ts";
import type { Mount } from "./mount.ts";
import type { PartVersions } from "./part-versions.ts";
import type { PoliciesForIsolates } from "./policy-store.ts";
import type { Watermark } from "./watermarks.ts";

/** The state of the installation that requests need, in parts with a version each. Isolates keep a copy. */
export interface SnapshotParts {
  readonly keys: {
    readonly clusterId: string;
    /** The wrapped key ring; null until the service is initialised. */
    readonly sealedKeyRing: string | null;
    /** Name of the run whose backup is being restored; null: none. Absent from a System object of an older release. */
    readonly restoring?: string | null;
  };
  readonly policies: PoliciesForIsolates;
  readonly mounts: readonly Mount[];
  /** The blocks of the filter of custom token ids that the isolate does not have yet. */
  readonly customIds: FilterChange;
  readonly quotas: { readonly list: readonly RateLimitQuota[]; readonly config: QuotaConfig };
  readonly watermarks: {
    readonly list: readonly Watermark[];
    /** Number of the newest watermark ever made; 0 before the first. */
    readonly newest: number;
  };
  readonly lists: {
    /** Opening times (ms) of the generations of shards after the first one, the earliest first. */
    readonly openings: readonly number[];
  };
}

/** An update of an isolate's copy: the parts whose version differs from that of the copy. */
export interface SystemSnapshot {
  readonly versions: PartVersions;
  readonly parts: Partial<SnapshotParts>;
}
