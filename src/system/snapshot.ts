import type { QuotaConfig, RateLimitQuota } from "../quota/quota.ts";
import type { FilterChange } from "./custom-id-filter.ts";
import type { Mount } from "./mount.ts";
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

export type PartName = keyof SnapshotParts;

const PART_NAMES: readonly PartName[] = ["keys", "policies", "mounts", "customIds", "quotas", "watermarks", "lists"];

/**
 * The version of each part, another one after every change of it. Random, not counted: an object that is restored and changes
 * again must not repeat a version.
 */
export type PartVersions = Readonly<Record<PartName, number>>;

/** The state of the installation for an isolate: the parts whose version differs from the one that the isolate has. */
export interface SystemSnapshot {
  readonly versions: PartVersions;
  readonly parts: Partial<SnapshotParts>;
}

/** The parts of which `known` has not the version that is now. */
export function changedParts(known: PartVersions | null, now: PartVersions): ReadonlySet<PartName> {
  return new Set(PART_NAMES.filter((part) => known?.[part] !== now[part]));
}
