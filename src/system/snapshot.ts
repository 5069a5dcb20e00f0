import type { QuotaConfig, RateLimitQuota } from "../quota/quota.ts";
import { RANDOM_REVISION } from "../storage/revision.ts";
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

/** The table of the versions of the snapshot's parts. */
export const PART_VERSION_TABLE = `
  CREATE TABLE part_versions (part TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Reads and writes the versions of the snapshot's parts. They are cached in memory, since isolates poll them. */
export class PartVersionStore {
  readonly #sql: SqlStorage;
  #versions: PartVersions | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The current versions. A part without a stored version gets a random one. */
  get now(): PartVersions {
    this.#versions ??= this.#read();
    return this.#versions;
  }

  /** Assigns a new random version to each of `parts`, in the transaction that changes them. */
  change(...parts: readonly PartName[]): void {
    const changed = parts.map((part) => [part, this.#renew(part)] as const);
    this.#versions = { ...this.now, ...Object.fromEntries(changed) };
  }

  #read(): PartVersions {
    const rows = this.#sql.exec<{ part: string; version: number }>("SELECT part, version FROM part_versions").toArray();
    const stored = new Map(rows.map(({ part, version }) => [part, version]));
    const version = (part: PartName): number => stored.get(part) ?? this.#renew(part);
    return {
      keys: version("keys"),
      policies: version("policies"),
      mounts: version("mounts"),
      customIds: version("customIds"),
      quotas: version("quotas"),
      watermarks: version("watermarks"),
      lists: version("lists"),
    };
  }

  #renew(part: PartName): number {
    return this.#sql
      .exec<{ version: number }>(
        `INSERT INTO part_versions (part, version) VALUES (?, ${RANDOM_REVISION})
         ON CONFLICT (part) DO UPDATE SET version = excluded.version RETURNING version`,
        part,
      )
      .one().version;
  }
}
