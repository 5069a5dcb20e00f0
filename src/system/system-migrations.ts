import { QUOTA_TABLES } from "../quota/quota-store.ts";
import type { Migration } from "../storage/schema.ts";
import { CUSTOM_ID_TABLES } from "./custom-id-store.ts";
import { INSTALLATION_TABLE } from "./installation-store.ts";
import { MOUNT_TABLE } from "./mount-store.ts";
import { POLICY_TABLE } from "./policy-store.ts";
import { ROOT_GENERATION_TABLE } from "./root-generation-store.ts";
import { ROTATION_TABLES } from "./rotation-store.ts";
import { PART_VERSION_TABLE } from "./snapshot.ts";
import { WATERMARK_TABLE } from "./watermark-store.ts";

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
