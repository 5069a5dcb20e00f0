import { currentTime } from "../base/clock.ts";
import { DEFAULT_POLICY, DEFAULT_POLICY_TEXT } from "../policy/builtin.ts";
import { builtinRules } from "../policy/parse.ts";
import { DEFAULT_QUOTA_CONFIG } from "../quota/quota.ts";
import { QUOTA_TABLES, QuotaStore } from "../quota/quota-store.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import type { Migration } from "../storage/tables.ts";
import { maxSnapshotAgeMs } from "./copy-age.ts";
import { CUSTOM_ID_TABLES, CustomIdStore } from "./custom-id-store.ts";
import type { SystemEnv } from "./env.ts";
import {
  INSTALLATION_TABLE,
  InstallationStore,
  RestoreStore,
  ROOT_GENERATION_TABLE,
  RootGenerationStore,
} from "./installation-store.ts";
import { ListOpeningStore } from "./list-openings.ts";
import { tokenMount } from "./mount.ts";
import { MOUNT_TABLE, MountStore } from "./mount-store.ts";
import { PART_VERSION_TABLE, type PartName, PartVersionStore, type PartVersions } from "./part-versions.ts";
import { POLICY_TABLE, PolicyStore } from "./policy-store.ts";
import { ROTATION_TABLES, RotationStore } from "./rotation-store.ts";
import type { SnapshotParts } from "./snapshot.ts";
import { WATERMARK_TABLE, WatermarkStore } from "./watermark-store.ts";

/** The schema of the System object. Each store declares its own tables. */
export const SYSTEM_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    description: "the installation with its policies, mounts, quotas, watermarks, custom ids and rotation of keys",
    sql: [
      INSTALLATION_TABLE,
      PART_VERSION_TABLE,
      POLICY_TABLE,
      MOUNT_TABLE,
      CUSTOM_ID_TABLES,
      ROTATION_TABLES,
      ROOT_GENERATION_TABLE,
      QUOTA_TABLES,
      WATERMARK_TABLE,
    ].join("\n"),
  },
];

/** The tables of the System object. A store whose rows are in the snapshot renews its part's version at each write. */
export type SystemStores = ReturnType<typeof systemStores>;

/** Opens the tables in `sql`. `seals` makes and checks the seals of their rows. */
export function systemStores(sql: SqlStorage, seals: RowSeals, env: SystemEnv) {
  const versions = new PartVersionStore(sql);
  const installation = new InstallationStore(sql, versions);
  const policies = new PolicyStore(sql, seals, versions);
  const mounts = new MountStore(sql, seals, installation, versions);
  const maxTokenAgeMs = () => mounts.longestTtl() * 1000 + maxSnapshotAgeMs(env);
  return {
    installation,
    policies,
    mounts,
    customIds: new CustomIdStore(sql, versions),
    rotation: new RotationStore(sql, seals),
    rootGeneration: new RootGenerationStore(sql),
    quotas: new QuotaStore(sql, seals, () => versions.change("quotas")),
    watermarks: new WatermarkStore(sql, seals, versions, maxTokenAgeMs),
    listOpenings: new ListOpeningStore(sql, seals, versions),
    restore: new RestoreStore(sql, versions),
    versions,
    /** The seals of the rows of all these tables. */
    seals,
  };
}

/** Writes the rows of a new installation: its cluster id, the policy "default" and the token mount. */
export function fillNewInstallation({ installation, policies, mounts }: SystemStores): void {
  installation.create();
  const content = { text: DEFAULT_POLICY_TEXT, rulesJson: JSON.stringify(builtinRules(DEFAULT_POLICY_TEXT)) };
  policies.write(
    DEFAULT_POLICY,
    { content, expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null },
    currentTime(),
  );
  mounts.put(tokenMount());
}

/**
 * Empty parts, returned while seals can't be checked. Isolates with the same settings can't open the key ring either,
 * so they serve no request with them.
 */
const UNCHECKED = {
  policies: { policies: [], tampered: [] },
  mounts: [],
  quotas: { list: [], config: DEFAULT_QUOTA_CONFIG },
  watermarks: { list: [], newest: 0 },
  lists: { openings: [] },
} as const;

/**
 * Reads the parts `changed` of the installation.
 *
 * @param opened false when the seals of rows can't be checked: then no sealed row is returned.
 * @param known versions of the calling isolate's copy; null when it has no copy.
 */
export function snapshotParts(
  { installation, customIds, policies, mounts, quotas, watermarks, listOpenings, restore }: SystemStores,
  changed: ReadonlySet<PartName>,
  opened: boolean,
  known: PartVersions | null,
): Partial<SnapshotParts> {
  return {
    ...(changed.has("keys") && { keys: { ...installation.keys(), restoring: restore.running } }),
    ...(changed.has("policies") && { policies: opened ? policies.rules() : UNCHECKED.policies }),
    ...(changed.has("mounts") && { mounts: opened ? mounts.all() : UNCHECKED.mounts }),
    ...(changed.has("customIds") && { customIds: customIds.changeSince(known?.customIds ?? null) }),
    ...(changed.has("quotas") && {
      quotas: opened ? { list: quotas.all(), config: quotas.config() } : UNCHECKED.quotas,
    }),
    ...(changed.has("watermarks") && { watermarks: opened ? watermarks.snapshot() : UNCHECKED.watermarks }),
    ...(changed.has("lists") && { lists: opened ? { openings: listOpenings.all() } : UNCHECKED.lists }),
  };
}
