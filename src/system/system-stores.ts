import { currentTime } from "../base/clock.ts";
import { DEFAULT_POLICY, DEFAULT_POLICY_TEXT } from "../policy/builtin.ts";
import { parsePolicy } from "../policy/parse.ts";
import { QUOTA_TABLES, QuotaStore } from "../quota/quota-store.ts";
import type { RowSeals } from "../storage/row-seals.ts";
import type { Migration } from "../storage/schema.ts";
import { CUSTOM_ID_TABLES, CustomIdStore } from "./custom-id-store.ts";
import {
  INSTALLATION_TABLE,
  InstallationStore,
  RestoreStore,
  ROOT_GENERATION_TABLE,
  RootGenerationStore,
} from "./installation-store.ts";
import { ListOpeningStore } from "./list-opening-store.ts";
import { tokenMount } from "./mount.ts";
import { MOUNT_TABLE, MountStore } from "./mount-store.ts";
import { POLICY_TABLE, PolicyStore } from "./policy-store.ts";
import { ROTATION_TABLES, RotationStore } from "./rotation-store.ts";
import { PART_VERSION_TABLE, PartVersionStore } from "./snapshot.ts";
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

/** The tables of the System object. */
export interface SystemStores {
  readonly installation: InstallationStore;
  readonly policies: PolicyStore;
  readonly mounts: MountStore;
  readonly customIds: CustomIdStore;
  readonly rotation: RotationStore;
  readonly rootGeneration: RootGenerationStore;
  readonly quotas: QuotaStore;
  readonly watermarks: WatermarkStore;
  readonly listOpenings: ListOpeningStore;
  readonly restore: RestoreStore;
  /** A change of a part of the snapshot renews the version of that part in the same transaction. */
  readonly versions: PartVersionStore;
  /** The seals of the rows in them. */
  readonly seals: RowSeals;
}

/** The tables in `sql`, whose rows carry the seals `seals`. */
export function systemStores(sql: SqlStorage, seals: RowSeals): SystemStores {
  return {
    installation: new InstallationStore(sql),
    policies: new PolicyStore(sql, seals),
    mounts: new MountStore(sql, seals),
    customIds: new CustomIdStore(sql),
    rotation: new RotationStore(sql, seals),
    rootGeneration: new RootGenerationStore(sql),
    quotas: new QuotaStore(sql, seals),
    watermarks: new WatermarkStore(sql, seals),
    listOpenings: new ListOpeningStore(sql, seals),
    restore: new RestoreStore(sql),
    versions: new PartVersionStore(sql),
    seals,
  };
}

/** The longest TTL, in seconds, of any batch token that was ever made. Batch tokens are not stored, so this bounds their end. */
export function longestTtl({ installation, mounts }: SystemStores): number {
  return Math.max(installation.longestTtl, mounts.longestTtl());
}

/** Writes what there is in every new installation: a policy "default", and the mount of tokens. */
export function fillNewInstallation({ installation, policies, mounts }: SystemStores): void {
  installation.create();
  const rules = parsePolicy(DEFAULT_POLICY_TEXT, 0);
  if (!rules.ok) throw new Error("the default policy does not parse");
  const content = { text: DEFAULT_POLICY_TEXT, rulesJson: JSON.stringify(rules.value) };
  policies.write(
    DEFAULT_POLICY,
    { content, expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false, cas: null },
    currentTime(),
  );
  mounts.put(tokenMount());
}
