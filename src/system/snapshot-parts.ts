import { DEFAULT_QUOTA_CONFIG } from "../quota/quota.ts";
import type { FilterJournal } from "./custom-id-store.ts";
import type { PartName, PartVersions, SnapshotParts } from "./snapshot.ts";
import type { SystemStores } from "./system-stores.ts";

/** The parts as they are where seals can't be checked. Isolates with the same settings can't open the key ring either. */
const UNCHECKED = {
  policies: { policies: [], tampered: [] },
  mounts: [],
  quotas: { list: [], config: DEFAULT_QUOTA_CONFIG },
  watermarks: { list: [], newest: 0 },
  lists: { openings: [] },
} as const;

/**
 * The parts of the installation that have changed.
 *
 * @param opened false when the seals of rows can't be checked: then no such row is returned.
 * @param known versions of the isolate that asks; null when it knows nothing.
 */
export function snapshotParts(
  { installation, customIds, policies, mounts, quotas, watermarks, listOpenings, restore }: SystemStores,
  journal: FilterJournal,
  changed: ReadonlySet<PartName>,
  opened: boolean,
  known: PartVersions | null,
): Partial<SnapshotParts> {
  return {
    ...(changed.has("keys") && { keys: { ...installation.keys(), restoring: restore.running } }),
    ...(changed.has("policies") && { policies: opened ? policies.rules() : UNCHECKED.policies }),
    ...(changed.has("mounts") && { mounts: opened ? mounts.all() : UNCHECKED.mounts }),
    ...(changed.has("customIds") && { customIds: customIds.change(known && journal.since(known.customIds)) }),
    ...(changed.has("quotas") && {
      quotas: opened ? { list: quotas.all(), config: quotas.config() } : UNCHECKED.quotas,
    }),
    ...(changed.has("watermarks") && { watermarks: opened ? watermarks.snapshot() : UNCHECKED.watermarks }),
    ...(changed.has("lists") && { lists: opened ? { openings: listOpenings.all() } : UNCHECKED.lists }),
  };
}
